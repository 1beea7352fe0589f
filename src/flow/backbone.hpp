// The part of a drift network that depends on what a sample is: a U-Net for pictures, an MLP for vectors. The roles
// share its encoder; its decoder serves role 0.
#pragma once

#include <torch/torch.h>

#include <vector>

namespace cpfm {

// What the encoder leaves, for every sample of a batch.
struct Encoded {
  torch::Tensor bottleneck;          // B × C × h × w, or B × C
  std::vector<torch::Tensor> skips;  // for the decoder, in the order they were made

  // The first `count` samples.
  Encoded first(std::int64_t count) const {
    Encoded part{bottleneck.narrow(0, 0, count), skips};
    for (torch::Tensor& skip : part.skips) skip = skip.narrow(0, 0, count);
    return part;
  }
};

class Backbone : public torch::nn::Module {
 public:
  virtual std::int64_t bottleneck_channels() const = 0;
  virtual std::int64_t bottleneck_groups() const = 0;  // of the norm that suits them
  virtual std::int64_t bottleneck_places() const = 0;  // h · w; 1 for vectors
  // `condition` is B × the size the backbone was made for.
  virtual Encoded encode(const torch::Tensor& x, const torch::Tensor& condition) = 0;
  virtual torch::Tensor decode(Encoded encoded, const torch::Tensor& condition) = 0;
};

// SiLU of a tensor nobody else needs. In place only where no gradient is wanted: autograd would first copy the input.
inline torch::Tensor silu(torch::Tensor&& features) {
  return features.requires_grad() ? torch::silu(features) : torch::silu_(features);
}

// The last layer of a residual branch starts as zero: every block is the identity at first.
template <class Layer>
Layer zeroed(Layer layer) {
  torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : layer->parameters()) parameter.zero_();
  return layer;
}

}  // namespace cpfm
