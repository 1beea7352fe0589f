// Numbers that say how good an embedding is: how far its points are from the law they should follow, how well its
// neighbourhoods agree with those of the data and with known classes, how far generated data are from real ones. All is
// the same for any number of threads, and exact where nothing else is said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cpfm/device.hpp"
#include "cpfm/matrix.hpp"
#include "cpfm/progress.hpp"

namespace cpfm {

class Kernel;
class FlowModel;
struct SampleOptions;

// One number measured in several independent runs, as the tables of the paper have it.
struct Repeated {
  std::vector<double> values;  // one per run
  double mean = 0;
  std::optional<double> sd;  // sample standard deviation, with R - 1 below; none of a single run
};
// At least one value, all finite, else cpfm::Error.
Repeated repeated(std::vector<double> values);

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
  double floor = 0;     // mean of the value over floor_pairs(n) pairs of independent samples of n points of N(0, I)
  double floor_sd = 0;  // standard deviation of one such value; of their mean it is this over √floor_pairs(n)
};
// More where they cost little: 64 up to 500 points, 32 of 1,000, 8 from 4,000 on.
std::size_t floor_pairs(std::size_t n);

// Takes min(n, rows) random rows of `y`, without repetition. `y` has at least one row and column of finite numbers,
// n ≥ 1, else cpfm::Error. Solves 1 + floor_pairs(n) assignment problems, on all threads; depends on (y, n, seed)
// alone. Where several maps are measured, the floor of an earlier result, of as many points, need not be found again.
GaussianDistance wasserstein2_to_gaussian(MatrixView<const float> y, std::size_t n, std::uint64_t seed,
                                          const GaussianDistance* known = nullptr);

// Entropic transport, the paper's way of measuring the distance of two point sets. Its numbers depend on ε: they are
// worth nothing without it.
inline constexpr double kEntropicEpsilon = 0.01;  // in units of squared distance; for data at the scale of N(0, I)

struct EntropicOptions {
  double tolerance = 1e-5;      // L1 error that the masses of b's points may have in the plan; above 0
  int most_iterations = 50000;  // at the last ε; where they do not do, there is a cpfm::Error
  Device device = {};
};

struct EntropicDistance {
  double objective = 0;  // Σ γ |a - b|² + ε Σ γ (log γ - 1), as the paper prints it; it may be negative
  double transport = 0;  // Σ γ |a - b|² alone
  double divergence = 0;  // OT(a, b) - (OT(a, a) + OT(b, b)) / 2 with OT = Σ γ |a - b|² + ε KL(γ | product of masses):
                          // never negative, and 0 for a = b row by row
  double epsilon = 0;
  double marginal_error = 0;  // L1, the largest of the three plans
};

// Points have equal masses, 1/rows of `a` and of `b`; the two may differ in number. Sinkhorn's iteration in double,
// from a large ε down to the one that is asked for; O(rows) memory. cpfm::Error unless both have at least one row, the
// same 1 to 8 columns, finite numbers, and ε > 0 is not tiny beside their squared distances; and where the masses
// cannot be met (a larger ε can).
EntropicDistance entropic_distance(MatrixView<const float> a, MatrixView<const float> b,
                                   double epsilon = kEntropicEpsilon, const EntropicOptions& options = {});

// What floor_pairs(n) pairs of independent samples of n points of N(0, I) have between them; an sd is that of one pair.
struct EntropicFloor {
  double objective = 0, objective_sd = 0;
  double divergence = 0, divergence_sd = 0;
};
// n ≥ 1 points of 1 to 8 coordinates, ε > 0. Most of the work of entropic_to_gaussian().
EntropicFloor entropic_floor(std::size_t n, std::size_t coordinates, std::uint64_t seed,
                             double epsilon = kEntropicEpsilon, const EntropicOptions& options = {});

// All that can be said of the distance of points to the standard normal law, each number with its floor.
struct EntropicGaussianDistance {
  EntropicDistance value;
  std::size_t n = 0;  // points in each of the two sets
  EntropicFloor floor;
  std::optional<GaussianDistance> exact;  // where n ≤ kMostExact; of the very same samples
};
inline constexpr std::size_t kMostExact = 4000;

// Conditions are those of wasserstein2_to_gaussian() and entropic_distance(). Depends on (y, n, seed, ε) and the
// options alone. The divergence is the number to compare across embeddings; the objective is there because the paper
// has it. Where several maps are measured, the floors of an earlier result, of as many points, need not be found again.
EntropicGaussianDistance entropic_to_gaussian(MatrixView<const float> y, std::size_t n, std::uint64_t seed,
                                              double epsilon = kEntropicEpsilon, const EntropicOptions& options = {},
                                              const EntropicGaussianDistance* known = nullptr);

// The generalized Gromov–Wasserstein objective of an embedding whose row i belongs to sample i of the kernel:
// (1/n²) Σ_ij K(i, j) |y_i - y_j|², in one streaming pass over K. cpfm::Error where `y` has fewer than two rows,
// another number of rows than the kernel has samples, or numbers that are not finite.
double gwot_objective(const Kernel& kernel, MatrixView<const float> y, Progress* progress = nullptr,
                      Device device = {});

// The Fréchet distance of the Gaussians that have the means and covariances (n - 1 below) of the rows of `a` and `b`:
// |μ_a - μ_b|² + Tr(Σ_a + Σ_b - 2 (Σ_a^½ Σ_b Σ_a^½)^½). On Inception-V3 features it is the FID, on others it is not. A
// side with no more rows than columns has a singular covariance: the distance is exact for that covariance all the
// same, but its bias as an estimate is large. At least 2 rows on each side, as many columns, finite numbers, else
// cpfm::Error. O(rows · columns²) time, or O(rows² · columns) where there are fewer rows.
double frechet_distance(MatrixView<const float> a, MatrixView<const float> b);

// How far neighbourhoods of the embedding `y` can be trusted (Venna and Kaski 2001): 1 where every one of the k nearest
// rows in y is among the k nearest in x, less by how far down in x's order the others are:
// 1 - 2 / (n k (2n - 3k - 1)) Σ_i Σ_{j near i in y, not in x} (rank of j from i in x - k). Euclidean distances; of
// equally near rows the earlier one is nearer. Needs n > 2k rows, as many in both, else cpfm::Error. O(n²) time.
double trustworthiness(MatrixView<const float> x, MatrixView<const float> y, std::size_t k);
// How far neighbours in `x` stay neighbours in `y`: the same with the roles exchanged.
double continuity(MatrixView<const float> x, MatrixView<const float> y, std::size_t k);

// Whether p(y|x) knows how uncertain it is. For each of n places, the true y of some x, places[i] is its log density
// under p(y|x) and draws.row(i) the log densities of draws from p(y|x). A place is inside the highest-density region of
// level L when fewer than L (K + 1) of its K draws are denser. Returns the share of places inside, one per level: L
// where the densities are right, less where they are too sure. cpfm::Error unless there is a place and a draw, none of
// them NaN, and every level is in (0, 1).
std::vector<double> coverage(std::span<const double> places, MatrixView<const double> draws,
                             std::span<const double> levels);
// Whether the two ways of a model belong to one joint law: a sample from p(x|y) for each of the `places`, which follow
// the law of the model's map, and the coverage of the place by kCoverageDraws draws from p(y|x). Less than the level
// where p(y|x) is too sure or p(x|y) does not keep to its place. The draws have noise of their own, which options.seed
// decides too; they are of the law whose densities are compared at temperature 1 only. Conditions are those of
// coverage() and of the model, which needs densities.
std::vector<double> model_coverage(FlowModel& model, MatrixView<const float> places, const SampleOptions& options,
                                   std::span<const double> levels);
inline constexpr std::size_t kCoverageDraws = 49;  // levels that are whole fiftieths can be met exactly

// For every row of `queries` the mean of `values` over the k nearest rows of `reference`; with `leave_one_out` the
// queries are the reference itself, and no row counts for itself. `values` has one entry per row of the reference, k is
// from 1 to its rows (one less with leave_one_out), else cpfm::Error. O(rows · queries) time.
std::vector<double> nearest_mean(MatrixView<const float> reference, std::span<const double> values,
                                 MatrixView<const float> queries, std::size_t k, bool leave_one_out = false);
// Share of the variance of `actual` that `predicted` explains: 1 is all of it, 0 no more than the mean does.
double r_squared(std::span<const double> predicted, std::span<const double> actual);
// Spearman's: 1 where both rise together, -1 where one falls, 0 where one does neither.
double rank_correlation(std::span<const double> a, std::span<const double> b);

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
