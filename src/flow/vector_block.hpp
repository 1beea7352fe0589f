// A residual block for vectors, of which the MLP drift and the deep head are made.
#pragma once

#include <torch/torch.h>

#include "flow/conditioning.hpp"

namespace cpfm {

// norm, then the condition (film: scale and shift; concat: a linear layer and a shift), SiLU, linear, SiLU, linear,
// added to what came in.
class VectorBlock : public torch::nn::Module {
 public:
  VectorBlock(std::int64_t width, double dropout, bool film);
  torch::Tensor forward(const torch::Tensor& features, const BlockSignal& signal);

 private:
  double dropout_;
  torch::nn::LayerNorm norm_{nullptr};
  torch::nn::Linear project_{nullptr}, first_{nullptr}, last_{nullptr};
};

}  // namespace cpfm
