// Hilbert's curve by Skilling's transpose algorithm ("Programming the Hilbert curve", 2004): coordinates of `bits` bits
// are turned, in place, into the bits of the position, which are then interleaved into one 64-bit key.
#include "coupling/spatial_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "cpfm/error.hpp"

namespace cpfm {
namespace {

std::uint64_t hilbert_key(std::vector<std::uint32_t>& x, int bits) {
  const std::size_t n = x.size();
  const std::uint32_t top = 1u << (bits - 1);
  for (std::uint32_t q = top; q > 1; q >>= 1) {  // undo excess work
    const std::uint32_t below = q - 1;
    for (std::size_t i = 0; i < n; ++i) {
      if (x[i] & q) {
        x[0] ^= below;
      } else {
        const std::uint32_t swapped = (x[0] ^ x[i]) & below;
        x[0] ^= swapped;
        x[i] ^= swapped;
      }
    }
  }
  for (std::size_t i = 1; i < n; ++i) x[i] ^= x[i - 1];  // Gray encode
  std::uint32_t flips = 0;
  for (std::uint32_t q = top; q > 1; q >>= 1) {
    if (x[n - 1] & q) flips ^= q - 1;
  }
  for (std::uint32_t& coordinate : x) coordinate ^= flips;
  std::uint64_t key = 0;
  for (int bit = bits - 1; bit >= 0; --bit) {
    for (std::size_t i = 0; i < n; ++i) key = key << 1 | (x[i] >> bit & 1u);
  }
  return key;
}

}  // namespace

std::vector<std::uint32_t> spatial_order(MatrixView<const double> points) {
  CPFM_ASSERT(points.cols >= 1 && points.cols <= 8, "the curve is for 1 to 8 dimensions");
  const int bits = std::min<int>(16, 64 / static_cast<int>(points.cols));
  const double cells = std::ldexp(1.0, bits) - 1;
  std::vector<double> low(points.cols, std::numeric_limits<double>::infinity()), high(points.cols, -low[0]);
  const auto finite = [&](std::size_t i) {
    const auto row = points.row(i);
    return std::all_of(row.begin(), row.end(), [](double v) { return std::isfinite(v); });
  };
  for (std::size_t i = 0; i < points.rows; ++i) {
    if (!finite(i)) continue;
    for (std::size_t k = 0; k < points.cols; ++k) {
      low[k] = std::min(low[k], points(i, k));
      high[k] = std::max(high[k], points(i, k));
    }
  }
  std::vector<std::uint64_t> keys(points.rows, ~std::uint64_t{0});
  std::vector<std::uint32_t> cell(points.cols);
  for (std::size_t i = 0; i < points.rows; ++i) {
    if (!finite(i)) continue;
    for (std::size_t k = 0; k < points.cols; ++k) {
      const double width = high[k] - low[k];
      cell[k] = width > 0 ? static_cast<std::uint32_t>((points(i, k) - low[k]) / width * cells) : 0;
    }
    keys[i] = hilbert_key(cell, bits);
  }
  std::vector<std::uint32_t> order(points.rows);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  return order;
}

}  // namespace cpfm
