// The U-Net of the paper's appendix ("Architecture of the Model"): on every level some residual blocks, with attention
// where the picture has one of the listed sizes; a middle of block, attention, block, which is the bottleneck; and the
// way back up, where every block also sees what its counterpart on the way down made.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "flow/backbone.hpp"
#include "flow/conditioning.hpp"
#include "flow/drift.hpp"
#include "flow/unet_blocks.hpp"

namespace cpfm {

// Margins of zeros that make a picture of height × width divisible by 2^(levels − 1). Zeros because the convolutions
// continue a picture by zeros too, and because noise and data of any scale have no better common value.
struct Margins {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
};
Margins margins(std::int64_t height, std::int64_t width, std::size_t levels);

// Whether the blocks of a level have attention: its pictures, margins included, are of a listed size. The longer side
// counts.
bool has_attention(const NetworkOptions& options, const std::vector<std::int64_t>& shape, std::size_t level);

class Unet final : public Backbone {
 public:
  // `options` and `shape` {C, H, W} make a network (make_drift has checked).
  Unet(const NetworkOptions& options, const std::vector<std::int64_t>& shape, std::int64_t condition_size);

  std::int64_t bottleneck_channels() const override { return bottleneck_channels_; }
  std::int64_t bottleneck_groups() const override { return norm_groups(bottleneck_channels_); }
  std::int64_t bottleneck_places() const override { return bottleneck_places_; }
  Encoded encode(const torch::Tensor& x, const torch::Tensor& condition) override;
  torch::Tensor decode(Encoded encoded, const torch::Tensor& condition) override;

 private:
  // A residual block, then attention (or null), then a convolution to the next level (or null).
  struct Step {
    std::shared_ptr<ResBlock> block;
    std::shared_ptr<AttentionBlock> attention;
    torch::nn::Conv2d resample{nullptr};
  };

  std::array<std::int64_t, 3> shape_;
  Margins margins_;
  std::int64_t bottleneck_channels_ = 0, bottleneck_places_ = 0;
  torch::nn::Conv2d conv_in_{nullptr}, conv_out_{nullptr};
  torch::nn::GroupNorm norm_out_{nullptr};
  std::vector<Step> down_, middle_, up_;
  std::shared_ptr<BlockSignals> down_signals_, up_signals_;  // of down_ and middle_; of up_
};

}  // namespace cpfm
