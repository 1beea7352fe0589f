// The network of the methods that learn their latent space: CPFM's, so that all have the same to learn with. Its
// encoder looks at a sample alone and a linear layer makes the latent numbers of what it finds; told a latent point and
// a time, the whole of it makes a picture of a picture, or of a learned canvas.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "flow/backbone.hpp"
#include "flow/conditioning.hpp"
#include "flow/drift.hpp"
#include "flow/y_head.hpp"

namespace cpfm {

class LatentNetwork : public torch::nn::Module {
 public:
  // `outputs` numbers per sample from the encoder; `canvas`: something to decode from.
  LatentNetwork(const NetworkOptions& options, const DriftShape& shape, std::int64_t outputs, bool canvas);

  // B × outputs, float32.
  torch::Tensor encode(const torch::Tensor& x);
  torch::Tensor decode(const torch::Tensor& x, const torch::Tensor& y, const torch::Tensor& t);
  torch::Tensor decode(const torch::Tensor& y);  // from the canvas

 private:
  std::shared_ptr<Conditioning> condition_;
  std::shared_ptr<Backbone> backbone_;
  std::shared_ptr<Pool> pool_;
  torch::nn::Linear head_{nullptr};
  torch::Tensor canvas_;
};

// A normal law for each sample of a batch, as the encoder says: means, then logarithms of variances.
struct Posterior {
  torch::Tensor mean, log_variance;

  explicit Posterior(const torch::Tensor& encoded);
  // A draw for each row of `noise`, of which there are K for each sample.
  torch::Tensor draw(const torch::Tensor& noise) const;
  torch::Tensor log_density(const torch::Tensor& y) const;
};

// Squared maximum mean discrepancy between two sets of n ≥ 2 points, without the pairs of a point with itself, under
// inverse multiquadrics of several widths: 0 on average, and at times below it, where both are of one law.
torch::Tensor discrepancy(const torch::Tensor& a, const torch::Tensor& b);

// Options for such a network: places on the map enter as they are. A place that is being learned is pulled this way and
// that by features of high frequency.
NetworkOptions latent_network_options(NetworkOptions options);

}  // namespace cpfm
