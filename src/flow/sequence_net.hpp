// The network of the autoencoder of sequences: convolutions read a sequence, a gated recurrent unit writes it, told the
// symbol before at every step.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <utility>

#include "cpfm/matrix.hpp"
#include "flow/compat.hpp"

namespace cpfm {

struct SequenceShape {
  std::int64_t alphabet = 0, length = 0, features = 0, targets = 0, latent = 0, embedding = 0, hidden = 0;

  // Numbers in the weights, up to a few: enough to tell a shape that cannot be that of a file.
  double weights() const;
};
nlohmann::ordered_json to_json(const SequenceShape& shape);
// An Error where the file that it came from is damaged.
SequenceShape sequence_shape(const nlohmann::ordered_json& json);
// What the shape is called in a file; the weights' names begin with it and a dot.
inline constexpr const char* kSequenceFacts = "sequence_vae";

// One step at a time; what the inputs contribute is computed for all steps together. Samples are columns (1 × width ×
// n): that is the form in which small products are fastest where there is no good BLAS.
struct GruImpl : torch::nn::Module {
  torch::nn::Linear input{nullptr}, state{nullptr};

  GruImpl(std::int64_t in, std::int64_t hidden);
  torch::Tensor step(const torch::Tensor& from_input, const torch::Tensor& before);
};
TORCH_MODULE(Gru);

struct SequenceNetImpl : torch::nn::Module {
  SequenceShape shape;
  torch::nn::Embedding symbols{nullptr};  // the last one: a beginning, or a symbol that is not told
  torch::nn::Conv1d near{nullptr}, far{nullptr};
  Gru writer{nullptr};
  torch::nn::Linear from_places{nullptr}, from_features{nullptr}, to_mean{nullptr}, to_log_variance{nullptr},
      to_state{nullptr}, to_writer{nullptr}, to_symbol{nullptr};

  explicit SequenceNetImpl(const SequenceShape& shape);
  // Mean and logarithm of the variance of each sequence's latent point.
  std::pair<torch::Tensor, torch::Tensor> encode(const torch::Tensor& sequences, const torch::Tensor& features);
  // Scores of every symbol at every place, told the symbols before: 1 × alphabet × (length · n), place by place.
  torch::Tensor scores(const torch::Tensor& z, const torch::Tensor& told);
  // The likeliest symbol at every place, told those written before.
  torch::Tensor write(const torch::Tensor& z);
  // 1 up to the first padding, 0 from there on.
  static torch::Tensor before_padding(const torch::Tensor& sequences);

 private:
  torch::Tensor first_state(const torch::Tensor& point);
};
TORCH_MODULE(SequenceNet);

torch::Tensor to_tensor(MatrixView<const std::int32_t> values);
torch::Tensor to_tensor(MatrixView<const float> values);

}  // namespace cpfm
