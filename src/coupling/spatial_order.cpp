#include "coupling/spatial_order.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/hilbert.hpp"
#include "cpfm/error.hpp"

namespace cpfm {

std::vector<std::uint32_t> spatial_order(MatrixView<const double> points) {
  CPFM_ASSERT(points.cols >= 1 && points.cols <= 8, "the curve is for 1 to 8 dimensions");
  const int dim = static_cast<int>(points.cols), bits = hilbert_bits(dim);
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
    keys[i] = hilbert_key(cell.data(), dim, bits);
  }
  std::vector<std::uint32_t> order(points.rows);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
  return order;
}

}  // namespace cpfm
