#include "flow/drift.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "flow/conditioning.hpp"
#include "flow/mlp_drift.hpp"
#include "flow/unet.hpp"
#include "flow/y_head.hpp"

namespace cpfm {
namespace {

// Far above any network that can be trained, and small enough that no product of them overflows.
constexpr std::int64_t kMostChannels = 8192, kMostBlocks = 64, kMostLevels = 10, kMostFeatures = 65536,
                       kMostEntries = std::int64_t{1} << 31;

void check_name(const char* field, const std::string& name, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw Error(field, fmt::format("there is no '{}'", printable(name)), suggest(name, names));
}

void check_range(const char* field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high)
    throw Error(field, fmt::format("{} is out of range", value), fmt::format("{} to {}", low, high));
}

void check_shape(const DriftShape& shape) {
  if (shape.x.size() != 1 && shape.x.size() != 3)
    throw Error("samples", fmt::format("are of {} dimensions", shape.x.size()), "vectors (1) or pictures (3)");
  std::int64_t entries = 1;
  for (const std::int64_t size : shape.x) {
    if (size < 1 || size > kMostEntries / entries)
      throw Error("samples", fmt::format("a shape of {} is out of range", fmt::join(shape.x, " x ")));
    entries *= size;
  }
  check_range("latent dimensions", shape.y, 1, kMostFeatures);
}

void check_unet(const NetworkOptions& o, const DriftShape& shape) {
  if (shape.x.size() != 3)
    throw Error("kind", "a unet works on pictures, and these samples are vectors",
                "use mlp, or say what shape the pictures have");
  check_range("model_channels", o.model_channels, 1, kMostChannels);
  check_range("num_res_blocks", o.num_res_blocks, 1, kMostBlocks);
  check_range("num_heads", o.num_heads, 1, kMostChannels);
  if (o.channel_mult.empty()) throw Error("channel_mult", "is empty", "one number per level, such as 1,2,2");
  const auto levels = static_cast<std::int64_t>(o.channel_mult.size());
  if (levels > kMostLevels)
    throw Error("channel_mult", fmt::format("{} levels are too many", levels), fmt::format("at most {}", kMostLevels));
  for (const int mult : o.channel_mult) check_range("channel_mult", mult, 1, kMostChannels / o.model_channels);
  for (const int size : o.attention_resolutions) {
    if (size < 1) throw Error("attention_resolutions", fmt::format("{} is no size", size), "1 or more");
  }
  for (std::size_t level = 0; level < o.channel_mult.size(); ++level) {
    const int channels = o.model_channels * o.channel_mult[level];
    const bool attends = level + 1 == o.channel_mult.size() || has_attention(o, shape.x, level);
    if (attends && channels % o.num_heads != 0)
      throw Error("num_heads", fmt::format("{} heads do not divide {} channels", o.num_heads, channels),
                  "there is attention at the listed sizes and at the last level");
  }
}

void check_options(const NetworkOptions& o, bool unet, const DriftShape& shape) {
  check_name("conditioning", o.conditioning, {"film", "concat"});
  check_name("head", o.head, {"deep", "paper"});
  if (!(o.dropout >= 0 && o.dropout < 1))
    throw Error("dropout", fmt::format("{} is out of range", o.dropout), "0 to below 1");
  check_range("fourier_features", o.fourier_features, 0, kMostFeatures);
  if (!(o.fourier_scale > 0 && o.fourier_scale <= 1000))
    throw Error("fourier_scale", fmt::format("{} is out of range", o.fourier_scale), "above 0, at most 1000");
  if (o.head == "deep") {
    check_range("head_width", o.head_width, 1, kMostChannels);
    check_range("head_depth", o.head_depth, 1, kMostBlocks);
  }
  if (unet) return check_unet(o, shape);
  check_range("width", o.width, 1, kMostChannels);
  check_range("depth", o.depth, 1, kMostBlocks);
}

bool is_unet(const NetworkOptions& options, const DriftShape& shape) {
  return options.kind == "auto" ? shape.x.size() == 3 : options.kind == "unet";
}

class TwoRoleDrift final : public Drift {
 public:
  TwoRoleDrift(const NetworkOptions& options, const DriftShape& shape) {
    condition_ = register_module("condition", make_conditioning(options, shape));
    backbone_ = register_module("backbone", make_backbone(options, shape, condition_->size()));
    if (options.head == "deep") {
      deep_ = register_module("y_head", std::make_shared<DeepHead>(options, *backbone_, shape.y));
    } else {
      paper_ = register_module("y_head", std::make_shared<PaperHead>(*backbone_, shape.y));
    }
  }

  torch::Tensor drift_x(const torch::Tensor& x, const torch::Tensor& y, const torch::Tensor& t) override {
    const torch::Tensor condition = condition_->forward(t, y, 0);
    return backbone_->decode(backbone_->encode(as(condition, x), condition), condition);
  }

  torch::Tensor features(const torch::Tensor& x) override {
    if (paper_) return x;
    const torch::Tensor condition = condition_->role_alone(1, x.size(0));
    return deep_->pool(backbone_->encode(as(condition, x), condition).bottleneck);
  }

  torch::Tensor drift_y(const torch::Tensor& features, const torch::Tensor& y, const torch::Tensor& t) override {
    if (deep_) return deep_->forward(features, y, t);
    CPFM_ASSERT(features.size(0) == y.size(0), "the paper's head has one row of y per sample");
    const torch::Tensor condition = condition_->forward(t, y, 1);
    return paper_->forward(backbone_->encode(as(condition, features), condition).bottleneck);
  }

  std::pair<torch::Tensor, torch::Tensor> both(const torch::Tensor& x_t, const torch::Tensor& y, const torch::Tensor& t,
                                               const torch::Tensor& x, const torch::Tensor& y_t,
                                               const torch::Tensor& s) override {
    const std::int64_t moving = x_t.size(0), still = x.size(0);
    CPFM_ASSERT(deep_ || still == y_t.size(0), "the paper's head has one row of y per sample");
    const torch::Tensor given_y = condition_->forward(t, y, 0);
    const torch::Tensor given_x = deep_ ? condition_->role_alone(1, still) : condition_->forward(s, y_t, 1);
    Encoded encoded = backbone_->encode(torch::cat({as(given_y, x_t), as(given_y, x)}), torch::cat({given_y, given_x}));
    // Views; the whole goes when the decoder has used up its part.
    const torch::Tensor bottleneck = encoded.bottleneck.narrow(0, moving, still);
    const torch::Tensor v_y = deep_ ? deep_->forward(deep_->pool(bottleneck), y_t, s) : paper_->forward(bottleneck);
    encoded = encoded.first(moving);
    return {backbone_->decode(std::move(encoded), given_y), v_y};
  }

 private:
  static torch::Tensor as(const torch::Tensor& like, const torch::Tensor& x) { return x.to(like.scalar_type()); }

  std::shared_ptr<Conditioning> condition_;
  std::shared_ptr<Backbone> backbone_;
  std::shared_ptr<DeepHead> deep_;  // one of the two heads
  std::shared_ptr<PaperHead> paper_;
};

}  // namespace

void check_drift(const NetworkOptions& options, const DriftShape& shape) {
  check_shape(shape);
  check_name("kind", options.kind, {"auto", "unet", "mlp"});
  check_options(options, is_unet(options, shape), shape);
}

std::shared_ptr<Drift> make_drift(const NetworkOptions& options, const DriftShape& shape) {
  check_drift(options, shape);
  return std::make_shared<TwoRoleDrift>(options, shape);
}

std::shared_ptr<Conditioning> make_conditioning(const NetworkOptions& options, const DriftShape& shape) {
  const std::int64_t width = is_unet(options, shape) ? 4 * std::int64_t{options.model_channels} : options.width;
  return std::make_shared<Conditioning>(options, shape.y, width);
}

std::shared_ptr<Backbone> make_backbone(const NetworkOptions& options, const DriftShape& shape,
                                        std::int64_t condition_size) {
  if (is_unet(options, shape)) return std::make_shared<Unet>(options, shape.x, condition_size);
  return std::make_shared<Mlp>(options, shape.x, condition_size);
}

std::uint64_t count_parameters(const torch::nn::Module& module) {
  std::uint64_t count = 0;
  for (const torch::Tensor& parameter : module.parameters()) count += static_cast<std::uint64_t>(parameter.numel());
  return count;
}

}  // namespace cpfm
