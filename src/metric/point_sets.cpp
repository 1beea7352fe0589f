#include "metric/point_sets.hpp"

#include <fmt/format.h>

#include <cmath>

#include "cpfm/error.hpp"

namespace cpfm {

void check_points(MatrixView<const float> points, const char* field) {
  if (points.rows == 0 || points.cols == 0) {
    throw Error(field, fmt::format("{} × {} values are no points", points.rows, points.cols),
                "at least one row and one column");
  }
  for (std::size_t i = 0; i < points.rows; ++i) {
    for (std::size_t k = 0; k < points.cols; ++k) {
      if (!std::isfinite(points(i, k))) {
        throw Error(field, fmt::format("row {}, column {} is {}", i + 1, k + 1, points(i, k)), "finite numbers only");
      }
    }
  }
}

void check_same_columns(MatrixView<const float> points, const char* field, MatrixView<const float> other,
                        const char* other_field) {
  if (points.cols != other.cols) {
    throw Error(field,
                fmt::format("rows of {} values do not go with {} of {} values", points.cols, other_field, other.cols));
  }
}

double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double difference = static_cast<double>(a[k]) - b[k];
    sum += difference * difference;
  }
  return sum;
}

}  // namespace cpfm
