// The specification of dot_block, and what runs where Highway is missing.
#include <algorithm>
#include <cmath>

#include "kernel/dot_block.hpp"

namespace cpfm {

void dot_block_reference(std::span<const float* const> a, std::span<const float* const> b, std::size_t d, float* out,
                         std::size_t stride) {
  // Eight partial sums: shorter chains of roundings, and a loop that compilers vectorise without being allowed to
  // reorder.
  constexpr std::size_t kLanes = 8;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      float lane[kLanes] = {};
      std::size_t k = 0;
      for (; k + kLanes <= d; k += kLanes) {
        for (std::size_t l = 0; l < kLanes; ++l) lane[l] += a[i][k + l] * b[j][k + l];
      }
      for (std::size_t l = 0; k + l < d; ++l) lane[l] += a[i][k + l] * b[j][k + l];
      out[i * stride + j] = ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
    }
  }
}

void heat_from_dots_reference(std::span<float> values, float a2, std::span<const float> b2, float rate) {
  for (std::size_t j = 0; j < values.size(); ++j) {
    values[j] = std::exp(-std::max(0.0f, a2 + b2[j] - 2 * values[j]) * rate);
  }
}

#if !CPFM_HAS_HWY
void dot_block(std::span<const float* const> a, std::span<const float* const> b, std::size_t d, float* out,
               std::size_t stride) {
  dot_block_reference(a, b, d, out, stride);
}
void heat_from_dots(std::span<float> values, float a2, std::span<const float> b2, float rate) {
  heat_from_dots_reference(values, a2, b2, rate);
}
std::vector<std::int64_t> dot_block_targets() { return {}; }
#endif

}  // namespace cpfm
