// A squared distance that compilers turn into vectors: for loops over all pairs of rows with many columns.
#pragma once

#include <array>
#include <cstddef>

namespace cpfm {

// |a - b|² in double, in a fixed order of summation.
inline double lane_distance(const float* a, const float* b, std::size_t d) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  std::size_t k = 0;
  for (; k + kLanes <= d; k += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double difference = static_cast<double>(a[k + lane]) - b[k + lane];
      sums[lane] += difference * difference;
    }
  }
  for (; k < d; ++k) sums[0] += (static_cast<double>(a[k]) - b[k]) * (static_cast<double>(a[k]) - b[k]);
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace cpfm
