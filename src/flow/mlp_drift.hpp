// The residual MLP for samples that are vectors (or pictures, as vectors): encoder and decoder are a row of blocks
// each.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "flow/backbone.hpp"
#include "flow/conditioning.hpp"
#include "flow/drift.hpp"
#include "flow/vector_block.hpp"

namespace cpfm {

class Mlp final : public Backbone {
 public:
  Mlp(const NetworkOptions& options, const std::vector<std::int64_t>& shape, std::int64_t condition_size);

  std::int64_t bottleneck_channels() const override { return width_; }
  std::int64_t bottleneck_groups() const override { return 1; }  // a layer norm
  std::int64_t bottleneck_places() const override { return 1; }
  Encoded encode(const torch::Tensor& x, const torch::Tensor& condition) override;
  torch::Tensor decode(Encoded encoded, const torch::Tensor& condition) override;

 private:
  std::int64_t width_;
  std::vector<std::int64_t> shape_;
  torch::nn::Linear in_{nullptr}, out_{nullptr};
  torch::nn::LayerNorm norm_out_{nullptr};
  std::vector<std::shared_ptr<VectorBlock>> down_, up_;
  std::shared_ptr<BlockSignals> down_signals_, up_signals_;
};

}  // namespace cpfm
