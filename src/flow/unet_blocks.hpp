// The blocks of the U-Net: residual convolutions that are told the condition, and self-attention.
#pragma once

#include <torch/torch.h>

#include "flow/conditioning.hpp"

namespace cpfm {

// 32, or the most below that divide the channels, with at least two channels in a group: a norm of single channels
// takes away what is the same all over a picture, and with it what a shift put there.
std::int64_t norm_groups(std::int64_t channels);

// film:   norm, SiLU, 3×3, norm · scale + shift, SiLU, 3×3, added to what came in.
// concat: the paper's form, norm, [features, t, y, r] projected by 1×1, SiLU, 3×3, norm, SiLU, 3×3, added. Projecting a
//         grid that is the same everywhere adds one number per channel, which is the signal's shift.
// In both the condition meets the features between a norm and a nonlinearity; before a norm it would be partly undone.
class ResBlock : public torch::nn::Module {
 public:
  ResBlock(std::int64_t in, std::int64_t out, double dropout, bool film);
  torch::Tensor forward(const torch::Tensor& features, const BlockSignal& signal);

 private:
  bool film_;
  double dropout_;
  torch::nn::GroupNorm norm1_{nullptr}, norm2_{nullptr};
  torch::nn::Conv2d project_{nullptr}, conv1_{nullptr}, conv2_{nullptr}, skip_{nullptr};
};

// Self-attention over the places of a picture, added to what came in. `heads` divides `channels`.
class AttentionBlock : public torch::nn::Module {
 public:
  AttentionBlock(std::int64_t channels, std::int64_t heads);
  torch::Tensor forward(const torch::Tensor& features);

 private:
  std::int64_t heads_;
  torch::nn::GroupNorm norm_{nullptr};
  torch::nn::Linear qkv_{nullptr}, out_{nullptr};
};

// A 3×3 convolution that keeps the size, or halves it.
torch::nn::Conv2d conv3x3(std::int64_t in, std::int64_t out, int stride = 1);

}  // namespace cpfm
