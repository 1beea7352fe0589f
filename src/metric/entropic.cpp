// Entropic transport between point sets of equal masses, by the Sinkhorn iteration of stage 1: with w = 1 and p = a its
// cost w |b|² - 2 <p, b> is |a - b|² less |a|², which a row potential takes up.
//
// OT, from which the objective and the divergence are made, is taken as the value of the dual, Σ μ f + Σ ν g: it is
// wrong by the square of the marginal error only, where the cost of the plan is wrong by the error itself.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "coupling/sinkhorn.hpp"
#include "cpfm/error.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/parallel.hpp"
#include "metric/gaussian_samples.hpp"
#include "metric/point_sets.hpp"

namespace cpfm {
namespace {

constexpr double kFall = 0.5;           // from one ε to the next
constexpr double kLooseError = 1e-4;    // of the marginals on the way to the last ε
constexpr int kLooseIterations = 2000;  // most of them at one ε on the way
constexpr double kLeastEpsilon = 1e-9;  // beside the mean squared distance: below it double has no digits left
constexpr std::array kProblems = {"a and b", "a and itself", "b and itself"};

struct Solved {
  double ot = 0, transport = 0, error = 0;
};

// Both sets moved by one vector to where squares are small. In float, so that equal points stay equal.
std::pair<FloatMatrix, FloatMatrix> about_their_mean(MatrixView<const float> a, MatrixView<const float> b) {
  std::vector<double> mean(a.cols);
  for (const MatrixView<const float>& points : {a, b}) {
    for (std::size_t i = 0; i < points.rows; ++i) {
      for (std::size_t k = 0; k < points.cols; ++k) mean[k] += points(i, k) / (2 * static_cast<double>(points.rows));
    }
  }
  const auto moved = [&](MatrixView<const float> points) {
    FloatMatrix out(points.rows, points.cols);
    for (std::size_t i = 0; i < points.rows; ++i) {
      for (std::size_t k = 0; k < points.cols; ++k) out(i, k) = static_cast<float>(points(i, k) - mean[k]);
    }
    return out;
  };
  return {moved(a), moved(b)};
}

double mean_square(MatrixView<const float> points) {
  double sum = 0;
  for (std::size_t k = 0; k < points.size(); ++k) sum += static_cast<double>(points.data[k]) * points.data[k];
  return sum / static_cast<double>(points.rows);
}

void check_epsilon(double epsilon, double scale) {
  if (!(epsilon > 0) || !std::isfinite(epsilon)) {
    throw Error("epsilon", fmt::format("{} is no regularization", epsilon), "a finite number above 0");
  }
  if (!std::isfinite(scale) || epsilon < kLeastEpsilon * scale) {
    throw Error("epsilon",
                fmt::format("{} is too small for points whose mean squared distance is {:.3g}", epsilon, scale),
                "bring the points to the scale of N(0, I), or take at least 1e-9 of that distance");
  }
}

struct Reached {
  bool reached = false;
  double error = 0;
  int iterations = 0;
};

// A set and itself have the same prices on both sides, but for the |a|² that `squares` has (cost units).
// Half-iterations find that slowly, because a point that exchanges little with others can keep any difference of the
// two for long; the mean of old and new prices finds it at once. Ends with rows that are right.
Reached solve_symmetric(Sinkhorn& sinkhorn, std::span<const double> squares, double bound, int limit) {
  const double unit = sinkhorn.epsilon() * std::numbers::ln2;
  const auto columns = sinkhorn.column_potential();
  std::vector<double> prices(columns.begin(), columns.end()), rows(prices.size());
  Reached result;
  while (result.iterations < limit && !result.reached) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = prices[i] - squares[i] / unit;
    sinkhorn.set_potentials(rows, prices);
    result.error = sinkhorn.update_rows();
    ++result.iterations;
    result.reached = result.error <= bound;
    const auto updated = sinkhorn.row_potential();
    for (std::size_t i = 0; i < rows.size(); ++i) prices[i] = (prices[i] + updated[i] + squares[i] / unit) / 2;
  }
  return result;
}

Reached solve_level(Sinkhorn& sinkhorn, bool symmetric, std::span<const double> squares, double bound, int limit) {
  if (symmetric) return solve_symmetric(sinkhorn, squares, bound, limit);
  const InnerControl found = sinkhorn.solve(bound, limit, true);
  return {found.reached, found.error, found.iterations};
}

Solved solve(MatrixView<const float> a, MatrixView<const float> b, double epsilon, const EntropicOptions& options,
             const char* problem) {
  const std::size_t n = a.rows, m = b.rows, d = a.cols;
  const std::vector<double> w(n, 1.0), p(a.data, a.data + a.size());
  std::vector<double> squares(n);
  for (std::size_t k = 0; k < p.size(); ++k) squares[k / d] += p[k] * p[k];
  SinkhornOptions sinkhorn_options;
  sinkhorn_options.double_precision = true;
  sinkhorn_options.drop = 1e-3 * options.tolerance;
  sinkhorn_options.device = options.device;
  Sinkhorn sinkhorn(b, std::vector<double>(n, 1.0 / static_cast<double>(n)),
                    std::vector<double>(m, 1.0 / static_cast<double>(m)), sinkhorn_options);
  const bool symmetric = n == m && std::equal(a.data, a.data + a.size(), b.data);
  for (double level = mean_square(a) + mean_square(b); level > epsilon; level *= kFall) {
    sinkhorn.set_cost(w, {p.data(), n, d}, level);
    solve_level(sinkhorn, symmetric, squares, kLooseError, kLooseIterations);
  }
  sinkhorn.set_cost(w, {p.data(), n, d}, epsilon);
  const Reached found = solve_level(sinkhorn, symmetric, squares, options.tolerance, options.most_iterations);
  if (!found.reached) {
    throw Error("epsilon",
                fmt::format("at {} the masses of {} are still wrong by {:.1e} after {} iterations", epsilon, problem,
                            found.error, found.iterations),
                fmt::format("a larger epsilon; {:.1e} is asked for", options.tolerance));
  }
  PlanMoments moments;
  sinkhorn.update_rows(moments);

  Solved solved;
  solved.error = found.error;
  const double unit = epsilon * std::numbers::ln2;
  double potentials = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double cross = 0;
    for (std::size_t k = 0; k < d; ++k) cross += p[i * d + k] * moments.mean[i * d + k];
    solved.transport += squares[i] / static_cast<double>(n) + moments.second[i] - 2 * cross;
    potentials += (unit * sinkhorn.row_potential()[i] + squares[i]) / static_cast<double>(n);
  }
  for (std::size_t j = 0; j < m; ++j) potentials += unit * sinkhorn.column_potential()[j] / static_cast<double>(m);
  // Potentials hold the logarithms of the masses; without them they are f and g of the product's density.
  solved.ot = potentials + epsilon * std::log(static_cast<double>(n) * static_cast<double>(m));
  return solved;
}

void check_options(std::size_t d, const EntropicOptions& options, const char* field) {
  if (d > static_cast<std::size_t>(kMaxLatentDim)) {
    throw Error(field, fmt::format("points of {} coordinates", d),
                fmt::format("the entropic distance takes 1 to {}; wasserstein2() takes any", kMaxLatentDim));
  }
  if (!(options.tolerance > 0) || !std::isfinite(options.tolerance)) {
    throw Error("tolerance", fmt::format("{} is no tolerance", options.tolerance), "a finite number above 0");
  }
  if (options.most_iterations < 1) {
    throw Error("most_iterations", fmt::format("{} iterations", options.most_iterations), "at least 1");
  }
}

struct Problem {
  FloatMatrix a, b;
  std::array<Solved, 3> solved;  // a with b, a with a, b with b

  void solve_part(std::size_t part, double epsilon, const EntropicOptions& options) {
    const MatrixView<const float> from = part == 2 ? std::as_const(b).view() : std::as_const(a).view();
    const MatrixView<const float> to = part == 1 ? std::as_const(a).view() : std::as_const(b).view();
    solved[part] = solve(from, to, epsilon, options, kProblems[part]);
  }

  EntropicDistance result(double epsilon) const {
    const double pairs = static_cast<double>(a.rows()) * static_cast<double>(b.rows());
    EntropicDistance result;
    result.transport = solved[0].transport;
    // Σ γ (log γ - 1) = KL(γ | product of masses) - log(n m) - 1.
    result.objective = solved[0].ot - epsilon * (std::log(pairs) + 1);
    result.divergence = std::max(0.0, solved[0].ot - (solved[1].ot + solved[2].ot) / 2);  // negative by rounding alone
    result.epsilon = epsilon;
    for (const Solved& one : solved) result.marginal_error = std::max(result.marginal_error, one.error);
    return result;
  }
};

Problem make_problem(MatrixView<const float> a, MatrixView<const float> b, double epsilon) {
  auto [from, to] = about_their_mean(a, b);
  check_epsilon(epsilon, mean_square(from.view()) + mean_square(to.view()));
  return {std::move(from), std::move(to), {}};
}

// Small problems leave threads idle; several at once do not. A device has one at a time.
void solve_all(std::vector<Problem>& problems, double epsilon, const EntropicOptions& options) {
  const auto solve_some = [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) {
      problems[t / kProblems.size()].solve_part(t % kProblems.size(), epsilon, options);
    }
  };
  const std::size_t tasks = problems.size() * kProblems.size();
  if (options.device.is_cuda()) {
    solve_some(0, tasks);
  } else {
    parallel_for(tasks, 1, solve_some);
  }
}

}  // namespace

EntropicDistance entropic_distance(MatrixView<const float> a, MatrixView<const float> b, double epsilon,
                                   const EntropicOptions& options) {
  check_points(a, "a");
  check_points(b, "b");
  check_same_columns(b, "b", a, "a");
  check_options(a.cols, options, "a");
  Problem problem = make_problem(a, b, epsilon);
  for (std::size_t part = 0; part < kProblems.size(); ++part) problem.solve_part(part, epsilon, options);
  return problem.result(epsilon);
}

EntropicFloor entropic_floor(std::size_t n, std::size_t coordinates, std::uint64_t seed, double epsilon,
                             const EntropicOptions& options) {
  check_options(coordinates, options, "coordinates");
  if (n == 0) throw Error("n", "0 points have no distance to anything", "at least 1");
  std::vector<Problem> problems;
  for (std::size_t p = 0; p < floor_pairs(n); ++p) {
    const GaussianPair pair = gaussian_floor_pair(n, coordinates, seed, p);
    problems.push_back(make_problem(pair.a.view(), pair.b.view(), epsilon));
  }
  solve_all(problems, epsilon, options);
  std::vector<double> objectives, divergences;
  for (const Problem& problem : problems) {
    const EntropicDistance found = problem.result(epsilon);
    objectives.push_back(found.objective);
    divergences.push_back(found.divergence);
  }
  const Repeated objective = repeated(objectives), divergence = repeated(divergences);
  return {objective.mean, *objective.sd, divergence.mean, *divergence.sd};
}

EntropicGaussianDistance entropic_to_gaussian(MatrixView<const float> y, std::size_t n, std::uint64_t seed,
                                              double epsilon, const EntropicOptions& options,
                                              const EntropicGaussianDistance* known) {
  check_points(y, "y");
  check_options(y.cols, options, "y");
  if (n == 0) throw Error("n", "0 points have no distance to anything", "at least 1");
  EntropicGaussianDistance result;
  result.n = std::min(n, y.rows);
  if (known != nullptr && (known->n != result.n || known->value.epsilon != epsilon)) {
    throw Error(
        "known",
        fmt::format("is of {} points at {}, not of {} at {}", known->n, known->value.epsilon, result.n, epsilon),
        "a floor belongs to its number of points and its epsilon");
  }
  const GaussianPair pair = gaussian_pair(y, result.n, seed);
  std::vector<Problem> problem;
  problem.push_back(make_problem(pair.a.view(), pair.b.view(), epsilon));
  solve_all(problem, epsilon, options);
  result.value = problem[0].result(epsilon);
  result.floor = known != nullptr ? known->floor : entropic_floor(result.n, y.cols, seed, epsilon, options);
  if (result.n <= kMostExact) {
    result.exact =
        wasserstein2_to_gaussian(y, result.n, seed, known != nullptr && known->exact ? &*known->exact : nullptr);
  }
  return result;
}

}  // namespace cpfm
