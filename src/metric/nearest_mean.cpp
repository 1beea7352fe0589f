// Quantities on a map: whether near places have near values, and whether two quantities rise together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/parallel.hpp"
#include "metric/point_sets.hpp"

namespace cpfm {
namespace {

// Ranks from 1; equal values share the mean of theirs.
std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (std::size_t k = first; k < last; ++k) result[order[k]] = static_cast<double>(first + last + 1) / 2;
    first = last;
  }
  return result;
}

void check_same_size(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) throw Error("b", fmt::format("{} values beside {}", b.size(), a.size()), "as many");
  if (a.size() < 2) throw Error("a", "has fewer than two values", "at least two");
  for (const std::span<const double>& values : {a, b}) {
    if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); }))
      throw Error("values", "are not all finite");
  }
}

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::vector<double> nearest_mean(MatrixView<const float> reference, std::span<const double> values,
                                 MatrixView<const float> queries, std::size_t k, bool leave_one_out) {
  check_points(reference, "reference");
  check_points(queries, "queries");
  check_same_columns(queries, "queries", reference, "reference");
  if (values.size() != reference.rows)
    throw Error("values", fmt::format("{} for {} rows", values.size(), reference.rows), "one per row");
  const std::size_t most = reference.rows - (leave_one_out ? 1 : 0);
  if (k < 1 || k > most)
    throw Error("k", fmt::format("{} neighbours of {} rows", k, reference.rows), fmt::format("1 to {}", most));
  constexpr std::size_t kAtOnce = 16;
  std::vector<double> means(queries.rows);
  parallel_for(queries.rows, kAtOnce, [&](std::size_t begin, std::size_t end) {
    check_interrupt();
    std::vector<std::pair<double, std::size_t>> near;
    for (std::size_t i = begin; i < end; ++i) {
      near.clear();
      for (std::size_t j = 0; j < reference.rows; ++j) {
        if (!leave_one_out || i != j) near.emplace_back(squared_distance(queries.row(i), reference.row(j)), j);
      }
      std::nth_element(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(k - 1), near.end());
      double sum = 0;
      for (std::size_t n = 0; n < k; ++n) sum += values[near[n].second];
      means[i] = sum / static_cast<double>(k);
    }
  });
  return means;
}

double r_squared(std::span<const double> predicted, std::span<const double> actual) {
  check_same_size(predicted, actual);
  const double mean = mean_of(actual);
  double left = 0, all = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    left += (actual[i] - predicted[i]) * (actual[i] - predicted[i]);
    all += (actual[i] - mean) * (actual[i] - mean);
  }
  if (all == 0) throw Error("actual", "has one value throughout", "there is nothing to explain");
  return 1 - left / all;
}

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  check_same_size(a, b);
  const std::vector<double> x = ranks(a), y = ranks(b);
  const double mean = static_cast<double>(a.size() + 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

}  // namespace cpfm
