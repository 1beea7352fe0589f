// Small networks for tests.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

#include "flow/drift.hpp"

namespace cpfm {

// Seconds, not minutes: a few channels, two levels, attention at 4.
inline NetworkOptions small_network(const std::string& conditioning = "film", const std::string& head = "deep") {
  NetworkOptions options;
  options.model_channels = 8;
  options.num_res_blocks = 1;
  options.channel_mult = {1, 2};
  options.attention_resolutions = {4};
  options.num_heads = 2;
  options.width = 32;
  options.depth = 2;
  options.conditioning = conditioning;
  options.head = head;
  options.head_width = 24;
  options.head_depth = 2;
  options.fourier_features = 8;
  return options;
}

// A new network says 0 everywhere; this one says something.
inline std::shared_ptr<Drift> stirred_drift(const NetworkOptions& options, const DriftShape& shape) {
  torch::manual_seed(5);
  auto drift = make_drift(options, shape);
  torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : drift->parameters()) parameter.add_(torch::randn_like(parameter), 0.1);
  return drift;
}

inline torch::Tensor noise(std::int64_t batch, std::vector<std::int64_t> shape) {
  shape.insert(shape.begin(), batch);
  return torch::randn(shape);
}

inline double largest(const torch::Tensor& values) { return values.abs().max().item<double>(); }

}  // namespace cpfm
