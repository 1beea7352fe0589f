#include "metric/gaussian_samples.hpp"

#include <algorithm>
#include <vector>

#include "cpfm/random.hpp"

namespace cpfm {
namespace {

// "mrow", "mgau", "mflr"
constexpr std::uint32_t kRowStream = 0x6d726f77, kGaussStream = 0x6d676175, kFloorStream = 0x6d666c72;

// Sample `sample` of the purpose `stream`.
FloatMatrix gaussian_points(std::size_t n, std::size_t d, std::uint64_t seed, std::uint32_t stream,
                            std::uint64_t sample) {
  FloatMatrix points(n, d);
  for (std::size_t i = 0; i < n; ++i) {
    Rng rng(seed, stream, sample << 32 | i);
    for (float& value : points.row(i)) value = static_cast<float>(rng.normal());
  }
  return points;
}

FloatMatrix random_rows(MatrixView<const float> y, std::size_t n, std::uint64_t seed) {
  const std::vector<std::size_t> order = permutation(y.rows, seed, kRowStream);
  FloatMatrix rows(n, y.cols);
  for (std::size_t i = 0; i < n; ++i) std::copy_n(y.row(order[i]).begin(), y.cols, rows.row(i).begin());
  return rows;
}

}  // namespace

GaussianPair gaussian_pair(MatrixView<const float> y, std::size_t n, std::uint64_t seed) {
  return {random_rows(y, n, seed), gaussian_points(n, y.cols, seed, kGaussStream, 0)};
}

GaussianPair gaussian_floor_pair(std::size_t n, std::size_t d, std::uint64_t seed, std::uint64_t pair) {
  return {gaussian_points(n, d, seed, kFloorStream, 2 * pair + 2),
          gaussian_points(n, d, seed, kFloorStream, 2 * pair + 3)};
}

}  // namespace cpfm
