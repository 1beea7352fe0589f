// Numbers that say how good an embedding is: how far its points are from the law they should follow, and how well its
// neighbourhoods agree with known classes. Everything is exact and the same for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cpfm/matrix.hpp"

namespace cpfm {

// The one-to-one assignment of the rows of `a` to the rows of `b` with the least sum of squared distances: row i of `a`
// goes to row result[i] of `b`. Both are n × d, n ≥ 1, of finite numbers, else cpfm::Error. Takes 9 n² bytes of memory
// (225 MB for n = 5,000) and refuses beforehand where they are not there; the time grows like n² to n³.
std::vector<std::uint32_t> optimal_assignment(MatrixView<const float> a, MatrixView<const float> b);

// The squared 2-Wasserstein distance between two sets of n points of mass 1/n each: the mean of |a_i - b_σ(i)|² over
// the optimal assignment σ. Conditions and cost are those of optimal_assignment().
double wasserstein2(MatrixView<const float> a, MatrixView<const float> b);

// The distance of points to the standard normal law, with what it takes to read it. Even a perfect sample is not at
// distance 0 from another sample: the `floor` says how far, and depends on n strongly, so values of different n cannot
// be compared.
struct GaussianDistance {
  double value = 0;     // squared 2-Wasserstein distance to n independent points of N(0, I)
  std::size_t n = 0;    // points in each of the two sets
  double floor = 0;     // mean of the value over kFloorPairs pairs of independent samples of n points of N(0, I)
  double floor_sd = 0;  // standard deviation of one such value; of their mean it is this over √kFloorPairs
};
inline constexpr std::size_t kFloorPairs = 8;

// Takes min(n, rows) random rows of `y`, without repetition. `y` has at least one row and column of finite numbers,
// n ≥ 1, else cpfm::Error. Solves 1 + kFloorPairs assignment problems, on all threads; depends on (y, n, seed) alone.
GaussianDistance wasserstein2_to_gaussian(MatrixView<const float> y, std::size_t n, std::uint64_t seed);

// For every row of `queries` the majority label among the k nearest rows of `reference` by Euclidean distance. Rows
// labelled -1 are no neighbours. Of equally near rows the earlier one is nearer; of classes with equally many votes the
// one with the nearest member wins. With `leave_one_out` the queries are the reference itself, and no row votes for its
// own label. `labels` has one entry ≥ -1 per row of the reference, k is from 1 to the number of labelled rows (one less
// with leave_one_out), else cpfm::Error.
std::vector<std::int32_t> nearest_labels(MatrixView<const float> reference, std::span<const std::int32_t> labels,
                                         MatrixView<const float> queries, std::size_t k, bool leave_one_out = false);

// The mean over all entries of (a - b)²; cpfm::Error where shapes differ or there is no entry.
double mean_squared_error(MatrixView<const float> a, MatrixView<const float> b);

// For each column the share of the variance of `a` that `b` explains, 1 - Σ(a - b)² / Σ(a - mean a)²: 1 where they are
// equal, 0 where b is no better than the mean, below that where it is worse; 0 for a column of `a` that is constant and
// not met. Conditions as above.
std::vector<double> explained_variance(MatrixView<const float> a, MatrixView<const float> b);

// The share of entries with a[i] = b[i] among those where b[i] is not -1; cpfm::Error where lengths differ or no entry
// of `b` is labelled.
double agreement(std::span<const std::int32_t> a, std::span<const std::int32_t> b);

}  // namespace cpfm
