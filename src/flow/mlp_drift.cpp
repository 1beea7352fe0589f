#include "flow/mlp_drift.hpp"

#include <fmt/format.h>

#include <functional>
#include <numeric>

#include "flow/compat.hpp"

namespace cpfm {

Mlp::Mlp(const NetworkOptions& options, const std::vector<std::int64_t>& shape, std::int64_t condition_size)
    : width_(options.width), shape_(shape) {
  const bool film = options.conditioning == "film";
  const std::int64_t dim = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  in_ = register_module("in", torch::nn::Linear(dim, width_));
  for (int k = 0; k < options.depth; ++k) {
    down_.push_back(
        register_module(fmt::format("down_{}", k), std::make_shared<VectorBlock>(width_, options.dropout, film)));
  }
  for (int k = 0; k < options.depth; ++k) {
    up_.push_back(
        register_module(fmt::format("up_{}", k), std::make_shared<VectorBlock>(width_, options.dropout, film)));
  }
  norm_out_ = register_module("norm_out", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width_})));
  out_ = register_module("out", zeroed(torch::nn::Linear(width_, dim)));
  const std::vector<std::int64_t> widths(static_cast<std::size_t>(options.depth), width_);
  down_signals_ = register_module("down_signals", std::make_shared<BlockSignals>(condition_size, widths, film));
  up_signals_ = register_module("up_signals", std::make_shared<BlockSignals>(condition_size, widths, film));
}

Encoded Mlp::encode(const torch::Tensor& x, const torch::Tensor& condition) {
  const std::vector<BlockSignal> signals = down_signals_->forward(condition);
  torch::Tensor h = dense(in_, x.flatten(1));
  for (std::size_t k = 0; k < down_.size(); ++k) h = down_[k]->forward(h, signals[k]);
  return {h, {}};
}

torch::Tensor Mlp::decode(Encoded encoded, const torch::Tensor& condition) {
  const std::vector<BlockSignal> signals = up_signals_->forward(condition);
  torch::Tensor h = std::move(encoded.bottleneck);
  for (std::size_t k = 0; k < up_.size(); ++k) h = up_[k]->forward(h, signals[k]);
  h = dense(out_, silu(norm_out_->forward(h)));
  if (shape_.size() == 1) return h;
  std::vector<std::int64_t> sizes{h.size(0)};
  sizes.insert(sizes.end(), shape_.begin(), shape_.end());
  return h.view(sizes);
}

}  // namespace cpfm
