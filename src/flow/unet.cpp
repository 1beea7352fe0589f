#include "flow/unet.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "flow/fused_norm.hpp"

namespace cpfm {

Margins margins(std::int64_t height, std::int64_t width, std::size_t levels) {
  const std::int64_t unit = std::int64_t{1} << (levels - 1);
  const std::int64_t rows = (unit - height % unit) % unit, columns = (unit - width % unit) % unit;
  return {rows / 2, rows - rows / 2, columns / 2, columns - columns / 2};
}

bool has_attention(const NetworkOptions& options, const std::vector<std::int64_t>& shape, std::size_t level) {
  const Margins around = margins(shape[1], shape[2], options.channel_mult.size());
  const std::int64_t height = shape[1] + around.top + around.bottom, width = shape[2] + around.left + around.right;
  const std::vector<int>& sizes = options.attention_resolutions;
  return std::find(sizes.begin(), sizes.end(), std::max(height, width) >> level) != sizes.end();
}

Unet::Unet(const NetworkOptions& options, const std::vector<std::int64_t>& shape, std::int64_t condition_size)
    : shape_{shape[0], shape[1], shape[2]}, margins_(margins(shape[1], shape[2], options.channel_mult.size())) {
  const bool film = options.conditioning == "film";
  const std::size_t levels = options.channel_mult.size();
  const auto channels_at = [&](std::size_t level) {
    return std::int64_t{options.model_channels} * options.channel_mult[level];
  };
  // The channels at which each block meets the condition.
  std::vector<std::int64_t> down_channels, up_channels;
  const auto make_step = [&](const std::string& name, std::int64_t in, std::int64_t out, bool attention,
                             std::vector<std::int64_t>& met) {
    Step step;
    step.block = register_module(name + "_block", std::make_shared<ResBlock>(in, out, options.dropout, film));
    if (attention)
      step.attention = register_module(name + "_attention", std::make_shared<AttentionBlock>(out, options.num_heads));
    met.push_back(film ? out : in);
    return step;
  };

  std::int64_t channels = options.model_channels;
  conv_in_ = register_module("conv_in", conv3x3(shape_[0], channels));
  std::vector<std::int64_t> skips{channels};
  for (std::size_t level = 0; level < levels; ++level) {
    const bool attention = has_attention(options, shape, level);
    for (int k = 0; k < options.num_res_blocks; ++k) {
      const std::string name = fmt::format("down{}_{}", level, k);
      down_.push_back(make_step(name, channels, channels_at(level), attention, down_channels));
      skips.push_back(channels = channels_at(level));
    }
    if (level + 1 == levels) continue;
    down_.back().resample = register_module(fmt::format("down{}_half", level), conv3x3(channels, channels, 2));
    skips.push_back(channels);
  }
  middle_.push_back(make_step("middle_0", channels, channels, true, down_channels));
  middle_.push_back(make_step("middle_1", channels, channels, false, down_channels));
  bottleneck_channels_ = channels;
  bottleneck_places_ = ((shape_[1] + margins_.top + margins_.bottom) >> (levels - 1)) *
                       ((shape_[2] + margins_.left + margins_.right) >> (levels - 1));
  for (std::size_t level = levels; level-- > 0;) {
    const bool attention = has_attention(options, shape, level);
    for (int k = 0; k <= options.num_res_blocks; ++k) {
      const std::string name = fmt::format("up{}_{}", level, k);
      up_.push_back(make_step(name, channels + skips.back(), channels_at(level), attention, up_channels));
      skips.pop_back();
      channels = channels_at(level);
    }
    if (level > 0) up_.back().resample = register_module(fmt::format("up{}_twice", level), conv3x3(channels, channels));
  }
  norm_out_ = register_module("norm_out", torch::nn::GroupNorm(norm_groups(channels), channels));
  conv_out_ = register_module("conv_out", zeroed(conv3x3(channels, shape_[0])));
  down_signals_ = register_module("down_signals", std::make_shared<BlockSignals>(condition_size, down_channels, film));
  up_signals_ = register_module("up_signals", std::make_shared<BlockSignals>(condition_size, up_channels, film));
}

Encoded Unet::encode(const torch::Tensor& x, const torch::Tensor& condition) {
  const std::vector<BlockSignal> signals = down_signals_->forward(condition);
  auto signal = signals.begin();
  const bool fits = margins_.top + margins_.bottom + margins_.left + margins_.right == 0;
  Encoded encoded;
  torch::Tensor h = conv_in_->forward(
      fits ? x : torch::constant_pad_nd(x, {margins_.left, margins_.right, margins_.top, margins_.bottom}));
  encoded.skips.push_back(h);
  for (Step& step : down_) {
    h = step.block->forward(h, *signal++);
    if (step.attention) h = step.attention->forward(h);
    encoded.skips.push_back(h);
    if (!step.resample) continue;
    h = step.resample->forward(h);
    encoded.skips.push_back(h);
  }
  for (Step& step : middle_) {
    h = step.block->forward(h, *signal++);
    if (step.attention) h = step.attention->forward(h);
  }
  encoded.bottleneck = h;
  return encoded;
}

torch::Tensor Unet::decode(Encoded encoded, const torch::Tensor& condition) {
  const std::vector<BlockSignal> signals = up_signals_->forward(condition);
  auto signal = signals.begin();
  torch::Tensor h = std::move(encoded.bottleneck);
  for (Step& step : up_) {
    h = torch::cat({h, encoded.skips.back()}, 1);
    encoded.skips.pop_back();
    h = step.block->forward(h, *signal++);
    if (step.attention) h = step.attention->forward(h);
    if (step.resample) h = step.resample->forward(torch::upsample_nearest2d(h, {2 * h.size(2), 2 * h.size(3)}));
  }
  h = conv_out_->forward(fused_norm(norm_out_, h));
  return h.narrow(2, margins_.top, shape_[1]).narrow(3, margins_.left, shape_[2]);
}

}  // namespace cpfm
