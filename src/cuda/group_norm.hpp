// Group normalisation with what usually surrounds it in a residual network, as one pass: a bias before it (a
// convolution's), a scale and a shift per sample and channel behind it, then SiLU. Features lie as samples × places ×
// channels (channels last), where convolutions are fastest.
//
//     z = norm(x + before) · weight + bias,   out = act(z · scale + shift)
//
// Raw pointers to device memory, no torch: src/flow/fused_norm.cpp is its face there.
#pragma once

#include <cstdint>

namespace cpfm {

enum class CudaReal { kFloat32, kBFloat16 };

struct GroupNorm {
  std::int64_t samples = 0, places = 0;
  int channels = 0, groups = 0;
  CudaReal real = CudaReal::kFloat32;  // of x, out, weight, bias, before, scale, shift
  float epsilon = 1e-5f;
  bool silu = true;
  const void* x = nullptr;
  const void *weight = nullptr, *bias = nullptr;  // channels
  const void* before = nullptr;                   // channels, or null: 0
  const void *scale = nullptr, *shift = nullptr;  // samples × channels, `stride` apart, or null: 1 and 0
  std::int64_t scale_stride = 0, shift_stride = 0;
  int device = 0;
};

// Whether the kernels can do it: they were compiled for the device, and a piece of whole groups fits a block.
bool can_group_norm(const GroupNorm& norm);

// `mean` and `rstd` are samples × groups, `channel_mean` (of x + before) is samples × channels; the backward pass wants
// them. On the device's default stream. Throws std::runtime_error with CUDA's words.
void group_norm_forward(const GroupNorm& norm, void* out, float* mean, float* rstd, float* channel_mean);

// From the gradient of out: that of x, and for every sample and channel what the other gradients are sums of, as
// 5 × samples × channels: shift, scale, weight, bias, before.
void group_norm_backward(const GroupNorm& norm, const void* out_gradient, const float* mean, const float* rstd,
                         const float* channel_mean, void* x_gradient, float* sums);

}  // namespace cpfm
