// The Fréchet distance of two Gaussians without a matrix square root. For any factors Σ_a = F_aᵀ F_a and Σ_b = F_bᵀ F_b
// the trace of (Σ_a^½ Σ_b Σ_a^½)^½ is the sum of the singular values of F_a F_bᵀ. The centred data are such a factor
// themselves, and where there are more rows than features the triangle of their QR decomposition is one: so the matrix
// is never larger than rows or features, and no square of a small number is ever taken, as eigenvalues of the products
// would need.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/memory.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/metric.hpp"
#include "metric/point_sets.hpp"

namespace cpfm {
namespace {

using Matrix = Eigen::MatrixXd;

struct Moments {
  Eigen::VectorXd mean;
  Matrix factor;     // rank × d with factorᵀ factor = covariance
  double trace = 0;  // of the covariance
};

void check_rows(MatrixView<const float> points, const char* field) {
  check_points(points, field);
  if (points.rows < 2) throw Error(field, "1 row has no covariance", "at least 2 rows");
  const double rows = static_cast<double>(points.rows), cols = static_cast<double>(points.cols);
  require_memory(sizeof(double) * (2 * rows * cols + 3 * std::min(rows, cols) * std::min(rows, cols)), field,
                 fmt::format("the covariance of {} × {} values", points.rows, points.cols), "take fewer rows");
}

Moments moments_of(MatrixView<const float> points) {
  check_interrupt();
  const auto n = static_cast<Eigen::Index>(points.rows), d = static_cast<Eigen::Index>(points.cols);
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Matrix centred = Eigen::Map<const Rows>(points.data, n, d).cast<double>();
  Moments moments;
  moments.mean = centred.colwise().mean().transpose();
  centred.rowwise() -= moments.mean.transpose();
  centred /= std::sqrt(static_cast<double>(n - 1));
  moments.trace = centred.squaredNorm();
  if (n <= d) {
    moments.factor = std::move(centred);
  } else {
    const Eigen::HouseholderQR<Eigen::Ref<Matrix>> qr(centred);  // in place
    moments.factor = qr.matrixQR().topRows(d).triangularView<Eigen::Upper>();
  }
  return moments;
}

}  // namespace

double frechet_distance(MatrixView<const float> a, MatrixView<const float> b) {
  check_rows(a, "a");
  check_rows(b, "b");
  check_same_columns(b, "b", a, "a");
  const Moments of_a = moments_of(a), of_b = moments_of(b);
  check_interrupt();
  const Matrix product = of_a.factor * of_b.factor.transpose();
  check_interrupt();
  const double shared = Eigen::BDCSVD<Matrix>(product).singularValues().sum();
  const double distance = (of_a.mean - of_b.mean).squaredNorm() + of_a.trace + of_b.trace - 2 * shared;
  return std::max(0.0, distance);  // rounding alone can make it negative
}

}  // namespace cpfm
