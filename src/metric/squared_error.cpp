#include <fmt/format.h>

#include "cpfm/error.hpp"
#include "cpfm/metric.hpp"

namespace cpfm {
namespace {

void check_shapes(MatrixView<const float> a, MatrixView<const float> b) {
  if (a.rows != b.rows || a.cols != b.cols) {
    throw Error("squared error", fmt::format("{} x {} and {} x {} do not compare", a.rows, a.cols, b.rows, b.cols),
                "two of one shape");
  }
  if (a.size() == 0) throw Error("squared error", "there is nothing to compare");
}

}  // namespace

double mean_squared_error(MatrixView<const float> a, MatrixView<const float> b) {
  check_shapes(a, b);
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double error = static_cast<double>(a.data[k]) - static_cast<double>(b.data[k]);
    sum += error * error;
  }
  return sum / static_cast<double>(a.size());
}

std::vector<double> explained_variance(MatrixView<const float> a, MatrixView<const float> b) {
  check_shapes(a, b);
  std::vector<double> explained(a.cols);
  for (std::size_t c = 0; c < a.cols; ++c) {
    double mean = 0, about = 0, missed = 0;
    for (std::size_t i = 0; i < a.rows; ++i) mean += a(i, c) / static_cast<double>(a.rows);
    for (std::size_t i = 0; i < a.rows; ++i) {
      about += (a(i, c) - mean) * (a(i, c) - mean);
      const double error = static_cast<double>(a(i, c)) - static_cast<double>(b(i, c));
      missed += error * error;
    }
    explained[c] = about > 0 ? 1 - missed / about : missed > 0 ? 0 : 1;
  }
  return explained;
}

}  // namespace cpfm
