// AdamW on the flat weights of a network: a few operations a step, and a state of two tensors.
#pragma once

#include <torch/torch.h>

#include <cmath>

namespace cpfm {

struct AdamW {
  torch::Tensor first, second;  // moments of the gradient

  explicit AdamW(const torch::Tensor& weights)
      : first(torch::zeros_like(weights)), second(torch::zeros_like(weights)) {}

  // Step number `step`, counted from 0.
  void update(torch::Tensor& weights, const torch::Tensor& gradient, std::uint64_t step, double rate, double decay) {
    constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kSmall = 1e-8;
    const auto k = static_cast<double>(step + 1);
    first.lerp_(gradient, 1 - kBeta1);
    second.mul_(kBeta2).addcmul_(gradient, gradient, 1 - kBeta2);
    weights.mul_(1 - rate * decay);
    const torch::Tensor scale = (second / (1 - std::pow(kBeta2, k))).sqrt_().add_(kSmall);
    weights.addcdiv_(first, scale, -rate / (1 - std::pow(kBeta1, k)));
  }
};

}  // namespace cpfm
