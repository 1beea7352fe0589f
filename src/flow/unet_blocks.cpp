#include "flow/unet_blocks.hpp"

#include <algorithm>

#include "flow/attention.hpp"
#include "flow/backbone.hpp"
#include "flow/compat.hpp"
#include "flow/fused_norm.hpp"

namespace cpfm {
namespace {

torch::nn::Conv2d conv1x1(std::int64_t in, std::int64_t out, bool bias) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 1).bias(bias));
}

}  // namespace

std::int64_t norm_groups(std::int64_t channels) {
  std::int64_t groups = std::clamp<std::int64_t>(channels / 2, 1, 32);
  while (channels % groups != 0) --groups;
  return groups;
}

torch::nn::Conv2d conv3x3(std::int64_t in, std::int64_t out, int stride) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).stride(stride).padding(1));
}

ResBlock::ResBlock(std::int64_t in, std::int64_t out, double dropout, bool film) : film_(film), dropout_(dropout) {
  norm1_ = register_module("norm1", torch::nn::GroupNorm(norm_groups(in), in));
  if (!film_) project_ = register_module("project", conv1x1(in, in, false));  // the shift is its bias
  conv1_ = register_module("conv1", conv3x3(in, out));
  norm2_ = register_module("norm2", torch::nn::GroupNorm(norm_groups(out), out));
  conv2_ = register_module("conv2", zeroed(conv3x3(out, out)));
  if (in != out) skip_ = register_module("skip", conv1x1(in, out, true));
}

torch::Tensor ResBlock::forward(const torch::Tensor& features, const BlockSignal& signal) {
  NormSurroundings first, second;
  first.silu = film_;
  torch::Tensor h = fused_norm(norm1_, features, first);
  if (!film_) h = silu(project_->forward(h).add_(signal.shift.unsqueeze(-1).unsqueeze(-1)));
  if (h.is_cuda()) {  // where a bias is a pass of its own, and the norm can take it along
    second.before = conv1_->bias;
    h = torch::conv2d(h, conv1_->weight, {}, 1, 1);
  } else {
    h = conv1_->forward(h);
  }
  if (film_) {
    second.scale = signal.scale;
    second.shift = signal.shift;
  }
  h = fused_norm(norm2_, h, second);
  if (dropout_ > 0) h = torch::dropout(h, dropout_, is_training());
  return conv2_->forward(h).add_(skip_ ? skip_->forward(features) : features);
}

AttentionBlock::AttentionBlock(std::int64_t channels, std::int64_t heads) : heads_(heads) {
  norm_ = register_module("norm", torch::nn::GroupNorm(norm_groups(channels), channels));
  qkv_ = register_module("qkv", torch::nn::Linear(channels, 3 * channels));
  out_ = register_module("out", zeroed(torch::nn::Linear(channels, channels)));
}

torch::Tensor AttentionBlock::forward(const torch::Tensor& features) {
  const std::int64_t batch = features.size(0), channels = features.size(1);
  // B × places × channels: with channels last this is how the features lie already.
  NormSurroundings alone;
  alone.silu = false;
  const torch::Tensor tokens = fused_norm(norm_, features, alone).flatten(2).transpose(1, 2);
  const std::int64_t places = tokens.size(1);
  const std::vector<torch::Tensor> qkv =
      dense(qkv_, tokens).view({batch, places, 3, heads_, channels / heads_}).permute({2, 0, 3, 1, 4}).unbind(0);
  const torch::Tensor mixed =
      dot_product_attention(qkv[0], qkv[1], qkv[2]).transpose(1, 2).reshape({batch, places, channels});
  return features + dense(out_, mixed).transpose(1, 2).reshape(features.sizes());
}

}  // namespace cpfm
