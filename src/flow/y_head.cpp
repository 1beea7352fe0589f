#include "flow/y_head.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cpfm/error.hpp"
#include "flow/compat.hpp"
#include "flow/fused_norm.hpp"

namespace cpfm {

Pool::Pool(const Backbone& backbone, bool places) : size_(backbone.bottleneck_channels()) {
  norm_ = register_module("norm", torch::nn::GroupNorm(backbone.bottleneck_groups(), backbone.bottleneck_channels()));
  constexpr std::int64_t kMost = 1024;  // numbers, all places together
  if (!places || backbone.bottleneck_places() == 1 || backbone.bottleneck_places() > kMost) return;
  const std::int64_t few = std::min(kMost / backbone.bottleneck_places(), size_);
  places_ = register_module("places", torch::nn::Conv2d(torch::nn::Conv2dOptions(size_, few, 1)));
  size_ += few * backbone.bottleneck_places();
}

torch::Tensor Pool::forward(const torch::Tensor& bottleneck) {
  const torch::Tensor h = fused_norm(norm_, bottleneck);
  if (h.dim() == 2) return h;
  const torch::Tensor mean = h.flatten(2).mean(2);
  return places_ ? torch::cat({mean, places_->forward(h).flatten(1)}, 1) : mean;
}

PaperHead::PaperHead(const Backbone& backbone, std::int64_t latent_dim) {
  pool_ = register_module("pool", std::make_shared<Pool>(backbone, false));
  out_ = register_module("out", zeroed(torch::nn::Linear(backbone.bottleneck_channels(), latent_dim)));
}

torch::Tensor PaperHead::forward(const torch::Tensor& bottleneck) { return dense(out_, pool_->forward(bottleneck)); }

DeepHead::DeepHead(const NetworkOptions& options, const Backbone& backbone, std::int64_t latent_dim) {
  const std::int64_t width = options.head_width;
  pool_ = register_module("pool", std::make_shared<Pool>(backbone, true));
  time_ = register_module("time", std::make_shared<TimeFeatures>());
  latent_ = register_module(
      "latent", std::make_shared<LatentFeatures>(latent_dim, options.fourier_features, options.fourier_scale));
  from_x_ = register_module("from_x", torch::nn::Linear(pool_->size(), width));
  query_in_ = register_module("query_in", torch::nn::Linear(TimeFeatures::kSize + latent_->size(), width));
  query_out_ = register_module("query_out", torch::nn::Linear(width, width));
  const std::vector<std::int64_t> widths(static_cast<std::size_t>(options.head_depth), width);
  signals_ = register_module("signals", std::make_shared<BlockSignals>(width, widths, true));
  for (int k = 0; k < options.head_depth; ++k) {
    blocks_.push_back(
        register_module(fmt::format("block{}", k), std::make_shared<VectorBlock>(width, options.dropout, true)));
  }
  norm_ = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
  out_ = register_module("out", zeroed(torch::nn::Linear(width, latent_dim)));
}

torch::Tensor DeepHead::forward(const torch::Tensor& pooled, const torch::Tensor& y, const torch::Tensor& t) {
  const std::int64_t samples = pooled.size(0), rows = y.size(0);
  CPFM_ASSERT(samples == 0 ? rows == 0 : rows % samples == 0, "every sample has as many rows of y");
  const auto dtype = latent_->options().dtype();
  const torch::Tensor time = time_->forward(t), latent = latent_->forward(y);
  const torch::Tensor asked = torch::cat({time, latent.to(time.scalar_type())}, 1).to(dtype);
  const torch::Tensor query = dense(query_out_, silu(dense(query_in_, asked)));
  // What x says is worked out once for all rows of a sample: a function of (y, t) that they are put through.
  const torch::Tensor said = dense(from_x_, pooled.to(dtype)).unsqueeze(1);
  torch::Tensor h = query.view({samples, samples == 0 ? 0 : rows / samples, query.size(1)}) + said;
  const std::vector<BlockSignal> signals = signals_->forward(torch::silu(said));
  for (std::size_t k = 0; k < blocks_.size(); ++k) h = blocks_[k]->forward(h, signals[k]);
  return dense(out_, silu(norm_->forward(h))).flatten(0, 1);
}

}  // namespace cpfm
