// What stands between two convolutions, z = norm(x + before), then SiLU(z · scale + shift): one kernel on a GPU, a few
// operations of torch elsewhere.
#pragma once

#include <torch/torch.h>

namespace cpfm {

struct NormSurroundings {
  torch::Tensor before;        // channels, a bias that is still missing; or none
  torch::Tensor scale, shift;  // B × channels; or none
  bool silu = true;
};

// x is B × channels or B × channels × height × width.
torch::Tensor fused_norm(torch::nn::GroupNorm& norm, const torch::Tensor& x, const NormSurroundings& around = {});

// The same by operations of torch: what the kernel is measured against.
torch::Tensor plain_norm(torch::nn::GroupNorm& norm, const torch::Tensor& x, const NormSurroundings& around = {});

}  // namespace cpfm
