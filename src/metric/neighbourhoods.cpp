// Trustworthiness and continuity after J. Venna and S. Kaski, "Neighborhood preservation in nonlinear projection
// methods: an experimental study", ICANN 2001. Ranks are needed for k rows per point only, so no row of distances is
// sorted: the ranks of k rows are counted in one pass.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/parallel.hpp"
#include "metric/lane_distance.hpp"
#include "metric/point_sets.hpp"

namespace cpfm {
namespace {

constexpr std::size_t kGrain = 16;
using Neighbour = std::pair<double, std::size_t>;  // squared distance and row: in this order no two are equal

// All rows but i, in the order of rows.
void distances_from(MatrixView<const float> points, std::size_t i, std::vector<Neighbour>& out) {
  out.clear();
  for (std::size_t j = 0; j < points.rows; ++j) {
    if (j != i) out.emplace_back(lane_distance(points.row(i).data(), points.row(j).data(), points.cols), j);
  }
}

// Σ over the k rows nearest to row i in `y` of how far their ranks in `x` (the nearest has 1) are beyond k.
double excess_ranks(MatrixView<const float> x, MatrixView<const float> y, std::size_t k, std::size_t i,
                    std::vector<Neighbour>& in_x, std::vector<Neighbour>& in_y) {
  distances_from(x, i, in_x);
  distances_from(y, i, in_y);
  std::nth_element(in_y.begin(), in_y.begin() + static_cast<std::ptrdiff_t>(k - 1), in_y.end());
  std::vector<Neighbour> near;
  for (std::size_t t = 0; t < k; ++t) {
    const std::size_t j = in_y[t].second;
    near.push_back(in_x[j < i ? j : j - 1]);
  }
  std::sort(near.begin(), near.end());
  // further[t]: rows of x that are nearer than near[t] and not nearer than near[t - 1].
  std::vector<std::size_t> further(k + 1);
  for (const Neighbour& other : in_x) {
    ++further[static_cast<std::size_t>(std::upper_bound(near.begin(), near.end(), other) - near.begin())];
  }
  double excess = 0;
  std::size_t nearer = 0;
  for (std::size_t t = 0; t < k; ++t) {
    nearer += further[t];
    if (nearer + 1 > k) excess += static_cast<double>(nearer + 1 - k);
  }
  return excess;
}

double rank_score(MatrixView<const float> x, MatrixView<const float> y, std::size_t k) {
  const std::size_t n = x.rows;
  const double excess = parallel_reduce(
      n, kGrain, 0.0,
      [&](std::size_t begin, std::size_t end) {
        check_interrupt();
        std::vector<Neighbour> in_x, in_y;
        in_x.reserve(n);
        in_y.reserve(n);
        double sum = 0;
        for (std::size_t i = begin; i < end; ++i) sum += excess_ranks(x, y, k, i, in_x, in_y);
        return sum;
      },
      [](double a, double b) { return a + b; });
  const auto rows = static_cast<double>(n), near = static_cast<double>(k);
  return 1 - 2 * excess / (rows * near * (2 * rows - 3 * near - 1));
}

void check_neighbourhoods(MatrixView<const float> x, MatrixView<const float> y, std::size_t k) {
  check_points(x, "x");
  check_points(y, "y");
  if (x.rows != y.rows) {
    throw Error("y", fmt::format("{} rows, and x has {}", y.rows, x.rows), "one row for each row of x");
  }
  if (k == 0) throw Error("k", "0 neighbours make no neighbourhood", "at least 1");
  if (k >= x.rows || k >= x.rows - k) {
    throw Error("k", fmt::format("{} neighbours are too many for {} samples", k, x.rows),
                fmt::format("it takes at least {:.0f} samples", 2 * static_cast<double>(k) + 1));
  }
}

}  // namespace

double trustworthiness(MatrixView<const float> x, MatrixView<const float> y, std::size_t k) {
  check_neighbourhoods(x, y, k);
  return rank_score(x, y, k);
}

double continuity(MatrixView<const float> x, MatrixView<const float> y, std::size_t k) {
  check_neighbourhoods(x, y, k);
  return rank_score(y, x, k);
}

}  // namespace cpfm
