#include "flow/vector_block.hpp"

#include "flow/backbone.hpp"
#include "flow/compat.hpp"

namespace cpfm {

VectorBlock::VectorBlock(std::int64_t width, double dropout, bool film) : dropout_(dropout) {
  norm_ = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
  // The signal's shift is its bias.
  if (!film)
    project_ = register_module("project", torch::nn::Linear(torch::nn::LinearOptions(width, width).bias(false)));
  first_ = register_module("first", torch::nn::Linear(width, width));
  last_ = register_module("last", zeroed(torch::nn::Linear(width, width)));
}

torch::Tensor VectorBlock::forward(const torch::Tensor& features, const BlockSignal& signal) {
  torch::Tensor h = norm_->forward(features);
  h = project_ ? dense(project_, h) + signal.shift : torch::addcmul(signal.shift, h, signal.scale);
  h = silu(dense(first_, silu(std::move(h))));
  if (dropout_ > 0) h = torch::dropout(h, dropout_, is_training());
  return features + dense(last_, h);
}

}  // namespace cpfm
