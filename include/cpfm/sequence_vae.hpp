// A variational autoencoder of sequences of symbols: strings such as SELFIES become points that a flow can learn, and
// points become strings. Knows numbers only; what they stand for is the caller's. Torch stays behind this header.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cpfm/matrix.hpp"
#include "cpfm/model.hpp"
#include "cpfm/progress.hpp"

namespace cpfm {

struct SequenceVaeOptions {
  int latent = 64, embedding = 64, hidden = 256;
  // Weight of the KL divergence against the sum of the symbols' losses, and the share of training over which it rises
  // from 0: at once in full it would teach the decoder to do without the latent point.
  double beta = 0.05, rise = 0.3;
  double forget = 0.15;      // share of the symbols that the decoder is not told while it learns, for the same reason
  double target_weight = 2;  // of the squares by which the first numbers of a point miss their targets
  int batch = 128;
  double learning_rate = 2e-3;
  // What ends training; the first one reached. 0: no such limit.
  double epochs = 150, minutes = 0;
  std::uint64_t seed = 1;
  std::string device = "auto";
  std::filesystem::path checkpoint;  // written on an interrupt and every few minutes, gone on with where it is there
};

struct SequenceData {
  // n × length; symbol 0 pads, and what follows a first 0 is not looked at. All in [0, alphabet).
  MatrixView<const std::int32_t> symbols;
  std::int32_t alphabet = 0;
  // n × f, f ≥ 0: what the encoder may look at besides; near 0 and 1 in size.
  MatrixView<const float> features;
  // n × p, 0 ≤ p < latent: what the first numbers of a latent point should be, so that points lie in their order.
  MatrixView<const float> targets;
};

class SequenceVae {
 public:
  virtual ~SequenceVae() = default;
  virtual std::size_t length() const = 0;
  virtual std::size_t alphabet() const = 0;
  virtual std::size_t latent() const = 0;
  virtual std::size_t features() const = 0;
  virtual std::string device() const = 0;
  // The mean latent point of each sequence. A symbol that is not known is the one after the last of the alphabet;
  // `features` has as many columns as in training.
  virtual FloatMatrix encode(MatrixView<const std::int32_t> symbols, MatrixView<const float> features) = 0;
  // The likeliest sequence of each latent point, symbol by symbol: n × length, padded.
  virtual std::vector<std::int32_t> decode(MatrixView<const float> points) = 0;
  // Tensors and metadata named "sequence_vae…"; they live as long as this object.
  virtual void add_to(TensorFileWriter& writer) = 0;
};

std::unique_ptr<SequenceVae> train_sequence_vae(const SequenceData& data, const SequenceVaeOptions& options = {},
                                                Progress* progress = nullptr);
// What add_to() wrote.
std::unique_ptr<SequenceVae> load_sequence_vae(const TensorFile& file, const std::string& device = "auto");

}  // namespace cpfm
