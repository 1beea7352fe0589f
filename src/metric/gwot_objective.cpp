// (1/n²) Σ_ij K_ij |y_i - y_j|² (paper, appendix on metrics) without the sum over pairs of distances: K is symmetric,
// so it is (2/n²) Σ_i (|y_i|² (K 1)_i - <y_i, (K y)_i>), and one product K [1, y] has it all.
#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/memory.hpp"
#include "cpfm/error.hpp"
#include "cpfm/kernel.hpp"
#include "cpfm/metric.hpp"
#include "metric/point_sets.hpp"

namespace cpfm {

double gwot_objective(const Kernel& kernel, MatrixView<const float> y, Progress* progress, Device device) {
  check_points(y, "y");
  const std::size_t n = y.rows, d = y.cols, width = d + 1;
  if (n < 2) throw Error("y", "one row has no pairs", "at least two rows");
  if (n != kernel.size()) {
    throw Error("y", fmt::format("{} rows for a kernel on {} samples", n, kernel.size()), "one row per sample");
  }
  require_memory(2.0 * sizeof(double) * static_cast<double>(n) * static_cast<double>(width), "y",
                 "products of the kernel");
  // About the mean: differences stay the same, and less is cancelled.
  std::vector<double> mean(d), columns(checked_mul(n, width, "y"));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < d; ++k) mean[k] += y(i, k) / static_cast<double>(n);
  }
  for (std::size_t i = 0; i < n; ++i) {
    columns[i * width] = 1;
    for (std::size_t k = 0; k < d; ++k) columns[i * width + 1 + k] = y(i, k) - mean[k];
  }
  const std::vector<double> products = kernel_times(kernel, {columns.data(), n, width}, progress, device);
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double *point = &columns[i * width + 1], *product = &products[i * width];
    for (std::size_t k = 0; k < d; ++k) sum += point[k] * (point[k] * product[0] - product[1 + k]);
  }
  return 2 * sum / static_cast<double>(n) / static_cast<double>(n);
}

}  // namespace cpfm
