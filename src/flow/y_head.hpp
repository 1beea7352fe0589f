// Where v_y leaves the network: at the bottleneck, without the decoder.
//
// paper: y(t) and t went through the encoder, a linear layer is left to do. deep: the encoder saw x alone, and its
// features shape a residual MLP of y(t) and t. The deep head is the better one on MNIST, and it needs the encoder once
// for any number of (y(t), t).
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "flow/backbone.hpp"
#include "flow/conditioning.hpp"
#include "flow/vector_block.hpp"

namespace cpfm {

// Bottleneck features of a sample as one vector: norm, SiLU, mean over the places of a picture. With `places`, also
// what is where: a few channels of every place.
class Pool : public torch::nn::Module {
 public:
  Pool(const Backbone& backbone, bool places);
  std::int64_t size() const { return size_; }
  torch::Tensor forward(const torch::Tensor& bottleneck);

 private:
  std::int64_t size_;
  torch::nn::GroupNorm norm_{nullptr};
  torch::nn::Conv2d places_{nullptr};  // to the few channels
};

class PaperHead : public torch::nn::Module {
 public:
  PaperHead(const Backbone& backbone, std::int64_t latent_dim);
  torch::Tensor forward(const torch::Tensor& bottleneck);

 private:
  std::shared_ptr<Pool> pool_;
  torch::nn::Linear out_{nullptr};
};

class DeepHead : public torch::nn::Module {
 public:
  DeepHead(const NetworkOptions& options, const Backbone& backbone, std::int64_t latent_dim);
  torch::Tensor pool(const torch::Tensor& bottleneck) { return pool_->forward(bottleneck); }
  // `pooled` has B rows, y and t have K · B; row b·K + k belongs to b.
  torch::Tensor forward(const torch::Tensor& pooled, const torch::Tensor& y, const torch::Tensor& t);

 private:
  std::shared_ptr<Pool> pool_;
  std::shared_ptr<TimeFeatures> time_;
  std::shared_ptr<LatentFeatures> latent_;
  torch::nn::Linear from_x_{nullptr}, query_in_{nullptr}, query_out_{nullptr}, out_{nullptr};
  torch::nn::LayerNorm norm_{nullptr};
  std::shared_ptr<BlockSignals> signals_;
  std::vector<std::shared_ptr<VectorBlock>> blocks_;
};

}  // namespace cpfm
