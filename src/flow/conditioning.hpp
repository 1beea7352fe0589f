// What the blocks of a drift network are told besides the features: the time t, the latent point y, the role r.
//
// Angles are computed in float32 whatever the network computes in, because cos(25 y) of a y rounded to eight bits is
// noise. So t and y are best left in float32 when the weights are bfloat16; their features are cast afterwards.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "cpfm/flow.hpp"

namespace cpfm {

// t as cosines and sines of geometric frequencies: B to B × kSize.
class TimeFeatures : public torch::nn::Module {
 public:
  static constexpr std::int64_t kSize = 64;
  TimeFeatures();
  torch::Tensor forward(const torch::Tensor& t) const;

 private:
  torch::Tensor frequencies_;
};

// y with its random Fourier features: [y, cos(w₁·y) …, sin(w₁·y) …], B × d to B × size(). Directions are random, the
// lengths of w/2π spread evenly up to the highest frequency (turns per unit of y). The same for every network.
class LatentFeatures : public torch::nn::Module {
 public:
  LatentFeatures(std::int64_t dim, std::int64_t features, double highest);
  std::int64_t size() const { return frequencies_.size(0) + 2 * frequencies_.size(1); }
  torch::Tensor forward(const torch::Tensor& y) const;
  // Of the network, as it was last converted.
  torch::TensorOptions options() const { return frequencies_.options(); }

 private:
  torch::Tensor frequencies_;  // d × F
};

// [t, y, r] as one vector per sample. film: an embedding of `width`, made by two layers, ready for linear layers;
// concat: the numbers themselves.
class Conditioning : public torch::nn::Module {
 public:
  Conditioning(const NetworkOptions& options, std::int64_t latent_dim, std::int64_t width);
  std::int64_t size() const { return size_; }
  torch::Tensor forward(const torch::Tensor& t, const torch::Tensor& y, int role);
  // The role without t and y, for a batch that does not depend on them.
  torch::Tensor role_alone(int role, std::int64_t batch);

 private:
  torch::Tensor embed(const torch::Tensor& hidden);

  bool film_;
  std::int64_t size_;
  std::shared_ptr<TimeFeatures> time_;
  std::shared_ptr<LatentFeatures> latent_;
  torch::nn::Linear in_{nullptr}, out_{nullptr};
  torch::Tensor roles_;  // 2 × width
};

// A block's share of the condition, B × channels each. film: features become features · scale + shift, scale being near
// one; concat: shift alone, scale is undefined.
struct BlockSignal {
  torch::Tensor scale, shift;
};

// The signals of many blocks by one matrix product.
class BlockSignals : public torch::nn::Module {
 public:
  BlockSignals(std::int64_t condition_size, std::vector<std::int64_t> channels, bool film);
  std::vector<BlockSignal> forward(const torch::Tensor& condition);

 private:
  bool film_;
  std::vector<std::int64_t> channels_;
  torch::nn::Linear linear_{nullptr};
};

}  // namespace cpfm
