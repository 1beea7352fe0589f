// Optimal transport between two point sets of the same size and equal masses is an assignment problem. The headline
// number of an embedding is the squared distance to a Gaussian sample of the same size, and is meaningless without what
// two Gaussian samples of that size have between them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/checked.hpp"
#include "base/memory.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/parallel.hpp"
#include "metric/assignment.hpp"
#include "metric/gaussian_samples.hpp"
#include "metric/point_sets.hpp"

namespace cpfm {
namespace {

// For `problems` at once: the costs with those of the samples that the solver takes (1/9, 1/81, … of them), and the
// points as normalised_columns() has them.
void require_costs(std::size_t n, std::size_t d, std::size_t problems, const char* field, const std::string& what) {
  if (n >= std::size_t{1} << 31) throw Error(field, fmt::format("{} points are too many", n), "fewer than 2147483648");
  const double points = static_cast<double>(n);
  const double values = 1.125 * points * points + 2 * points * static_cast<double>(d);
  require_memory(sizeof(double) * values * static_cast<double>(problems), field, what, "take fewer points");
}

// The rows about their mean and at mean square 1, feature by feature (d × n, so that a loop over points runs straight
// through memory).
std::vector<double> normalised_columns(MatrixView<const float> points) {
  std::vector<double> columns(points.size());
  double squares = 0;
  for (std::size_t k = 0; k < points.cols; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < points.rows; ++i) sum += points(i, k);
    const double mean = sum / static_cast<double>(points.rows);
    for (std::size_t i = 0; i < points.rows; ++i) {
      const double value = points(i, k) - mean;
      columns[k * points.rows + i] = value;
      squares += value * value;
    }
  }
  if (squares > 0) {
    const double scale = std::sqrt(static_cast<double>(points.rows) / squares);
    for (double& value : columns) value *= scale;
  }
  return columns;
}

// For points that are checked. The best assignment is the one with the largest Σ ⟨a_i, b_σ(i)⟩, and moving or scaling
// one set as a whole changes nothing about which that is. So the costs are those of sets with the same mean and size:
// they keep their digits however far apart the sets are, and nearby points are good first guesses.
std::vector<std::uint32_t> assign(MatrixView<const float> a, MatrixView<const float> b) {
  constexpr std::size_t kRows = 8, kTile = 512;  // costs that stay in the first-level cache while features go by
  const std::size_t n = a.rows, d = a.cols;
  const std::vector<double> from = normalised_columns(a), to = normalised_columns(b);
  const std::unique_ptr<double[]> costs(new double[checked_mul(n, n, "a")]);
  parallel_for(n, kRows, [&](std::size_t begin, std::size_t end) {
    check_interrupt();
    std::fill(costs.get() + begin * n, costs.get() + end * n, 0.0);
    for (std::size_t first = 0; first < n; first += kTile) {
      const std::size_t last = std::min(n, first + kTile);
      for (std::size_t k = 0; k < d; ++k) {
        const double* y = to.data() + k * n;
        for (std::size_t i = begin; i < end; ++i) {
          const double x = from[k * n + i];
          double* cost = costs.get() + i * n;
          for (std::size_t j = first; j < last; ++j) cost[j] += (x - y[j]) * (x - y[j]);
        }
      }
    }
  });
  return solve_assignment({costs.get(), n, n}).column_of;
}

double mean_cost(MatrixView<const float> a, MatrixView<const float> b) {
  const std::vector<std::uint32_t> column_of = assign(a, b);
  double sum = 0;
  for (std::size_t i = 0; i < a.rows; ++i) sum += squared_distance(a.row(i), b.row(column_of[i]));
  return sum / static_cast<double>(a.rows);
}

void check_pair(MatrixView<const float> a, MatrixView<const float> b) {
  check_points(a, "a");
  check_points(b, "b");
  check_same_columns(b, "b", a, "a");
  if (a.rows != b.rows) {
    throw Error("b", fmt::format("{} points cannot be assigned one to one to the {} of a", b.rows, a.rows),
                "as many rows as a has");
  }
  require_costs(a.rows, a.cols, 1, "a", fmt::format("the exact assignment of {} points", a.rows));
}

}  // namespace

std::vector<std::uint32_t> optimal_assignment(MatrixView<const float> a, MatrixView<const float> b) {
  check_pair(a, b);
  return assign(a, b);
}

double wasserstein2(MatrixView<const float> a, MatrixView<const float> b) {
  check_pair(a, b);
  return mean_cost(a, b);
}

std::size_t floor_pairs(std::size_t n) {
  constexpr std::size_t kPoints = 32000, kFewest = 8, kMost = 64;
  return std::clamp(kPoints / std::max<std::size_t>(n, 1), kFewest, kMost);
}

GaussianDistance wasserstein2_to_gaussian(MatrixView<const float> y, std::size_t n, std::uint64_t seed,
                                          const GaussianDistance* known) {
  check_points(y, "y");
  if (n == 0) throw Error("n", "0 points have no distance to anything", "at least 1");
  n = std::min(n, y.rows);
  if (known != nullptr && known->n != n)
    throw Error("known", fmt::format("is of {} points, not of {}", known->n, n),
                "a floor belongs to its number of points");
  const std::size_t d = y.cols;
  std::vector<double> values(known != nullptr ? 1 : 1 + floor_pairs(n));
  const std::size_t at_once = std::min(static_cast<std::size_t>(threads()), values.size());
  require_costs(n, d, at_once, "n", fmt::format("the exact distance of {} points on {} threads", n, at_once));
  parallel_for(values.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      const GaussianPair pair = p == 0 ? gaussian_pair(y, n, seed) : gaussian_floor_pair(n, d, seed, p - 1);
      values[p] = mean_cost(pair.a.view(), pair.b.view());
    }
  });
  GaussianDistance result;
  result.value = values[0];
  result.n = n;
  if (known != nullptr) {
    result.floor = known->floor;
    result.floor_sd = known->floor_sd;
    return result;
  }
  const Repeated floor = repeated({values.begin() + 1, values.end()});
  result.floor = floor.mean;
  result.floor_sd = *floor.sd;
  return result;
}

}  // namespace cpfm
