#include "cpfm/gwot.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "coupling/descent.hpp"
#include "coupling/sinkhorn.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using namespace test;

FloatMatrix normal_points(std::size_t n, std::size_t d, std::uint32_t stream, std::uint64_t seed = 1) {
  FloatMatrix points(n, d);
  for (std::size_t i = 0; i < n; ++i) {
    Rng rng(seed, stream, i);
    for (std::size_t k = 0; k < d; ++k) points(i, k) = static_cast<float>(rng.normal());
  }
  return points;
}

std::vector<double> uniform(std::size_t n) { return std::vector<double>(n, 1.0 / static_cast<double>(n)); }

// A dense kernel for tests, its row sums and its product.
struct Dense {
  std::size_t n = 0;
  std::vector<double> k;

  std::vector<double> row_sums(const std::vector<double>& mass) const {
    std::vector<double> w(n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) w[i] += k[i * n + j] * mass[j];
    return w;
  }
  auto times() const {
    return [n = n, k = k](MatrixView<const double> m, MatrixView<double> out) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t c = 0; c < m.cols; ++c) {
          double sum = 0;
          for (std::size_t j = 0; j < n; ++j) sum += k[i * n + j] * m(j, c);
          out(i, c) = sum;
        }
      }
    };
  }
};

// Gaussian-like clusters: K = exp(-|x - x'|²) for points in 3 dimensions; `indefinite` makes it a random symmetric
// matrix.
Dense random_kernel(std::size_t n, bool indefinite, std::uint64_t seed) {
  Dense dense{n, std::vector<double>(n * n)};
  const FloatMatrix x = normal_points(n, 3, 9, seed);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double value = 0;
      if (indefinite) {
        value = Rng(seed, 11, i * n + j).uniform() - 0.3;
      } else {
        for (std::size_t c = 0; c < 3; ++c) value += std::pow(double(x(i, c)) - x(j, c), 2);
        value = std::exp(-value);
      }
      dense.k[i * n + j] = dense.k[j * n + i] = value;
    }
  }
  return dense;
}

GwotProblem problem_of(const Dense& dense, FloatMatrix y) {
  GwotProblem problem;
  problem.w = dense.row_sums(uniform(dense.n));
  problem.times = dense.times();
  problem.y = std::move(y);
  return problem;
}

std::vector<double> dense_plan(const GwotSolver& solver, const std::vector<double>& w) {
  const auto y = solver.y();
  const auto p = solver.p();
  std::vector<double> plan(w.size() * y.rows);
  for (std::size_t i = 0; i < w.size(); ++i) {
    for (std::size_t j = 0; j < y.rows; ++j) {
      double cost = 0;
      for (std::size_t k = 0; k < y.cols; ++k) cost += w[i] * y(j, k) * y(j, k) - 2 * p(i, k) * y(j, k);
      plan[i * y.rows + j] = std::exp2(solver.row_potential()[i] + solver.column_potential()[j] -
                                       cost / (solver.state().epsilon * std::log(2.0)));
    }
  }
  return plan;
}

TEST(Sinkhorn, MeetsItsMarginalsFromLargeToTinyEpsilon) {
  const std::size_t n = 150, m = 120;
  const FloatMatrix y = normal_points(m, 2, 1);
  std::vector<double> row_mass(n), column_mass(m), w(n, 0.5), p(n * 2);
  for (std::size_t i = 0; i < n; ++i) row_mass[i] = 1 + Rng(1, 5, i).uniform();
  for (std::size_t j = 0; j < m; ++j) column_mass[j] = 1 + Rng(1, 6, j).uniform();
  for (auto* mass : {&row_mass, &column_mass}) {
    const double sum = std::accumulate(mass->begin(), mass->end(), 0.0);
    for (double& v : *mass) v /= sum;
  }
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = 0.4 * Rng(1, 7, i).normal();
  Sinkhorn sinkhorn(y.view(), row_mass, column_mass, {.double_precision = true, .drop = 0});
  for (double epsilon = 1; epsilon > 0.9e-4; epsilon /= 10) {
    sinkhorn.set_cost(w, {p.data(), n, 2}, epsilon);
    double error = 1;
    for (int k = 0; k < 200000 && error > 1e-6; ++k) {
      sinkhorn.update_rows(k % 2 == 0 ? 1 : 1.5);
      if (k % 2 == 1) sinkhorn.update_rows();
      error = sinkhorn.update_columns();
    }
    EXPECT_LE(error, 1e-6) << "ε = " << epsilon;
    // Both marginals, from the definition.
    std::vector<double> columns(m, 0.0);
    double row_error = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double row = 0;
      for (std::size_t j = 0; j < m; ++j) {
        double cost = 0;
        for (std::size_t k = 0; k < 2; ++k) cost += w[i] * y(j, k) * double(y(j, k)) - 2 * p[2 * i + k] * y(j, k);
        const double mass =
            std::exp2(sinkhorn.row_potential()[i] + sinkhorn.column_potential()[j] - cost / (epsilon * std::log(2.0)));
        row += mass;
        columns[j] += mass;
      }
      row_error += std::abs(row - row_mass[i]);
    }
    double column_error = 0;
    for (std::size_t j = 0; j < m; ++j) column_error += std::abs(columns[j] - column_mass[j]);
    EXPECT_LE(row_error, 2e-6);
    EXPECT_LE(column_error, 1e-9);
  }
}

TEST(Sinkhorn, IsRescuedFromPotentialsFarAway) {
  const std::size_t n = 300;
  const FloatMatrix y = normal_points(n, 2, 1);
  Sinkhorn sinkhorn(y.view(), uniform(n), uniform(n), {});
  std::vector<double> w(n, 1.0), p(n * 2, 0.5), far(n, 900.0), zero(n, 0.0);
  sinkhorn.set_cost(w, {p.data(), n, 2}, 0.01);
  sinkhorn.set_potentials(far, zero);
  sinkhorn.set_cost(w, {p.data(), n, 2}, 0.01);
  PlanMoments moments;
  sinkhorn.update_rows(moments);
  EXPECT_GT(sinkhorn.rescued(), 0u);
  for (const double v : moments.mean) EXPECT_TRUE(std::isfinite(v));
  EXPECT_LT(sinkhorn.update_rows(), 1e-4);
}

TEST(Gwot, ObjectiveIsTheDefinition) {
  for (std::size_t n = 3; n <= 8; ++n) {
    const Dense dense = random_kernel(n, n % 2 == 0, n);
    GwotOptions options;
    options.starts = 1;
    options.marginal_tolerance = 1e-8;
    options.epsilon = 0.05;
    GwotProblem problem = problem_of(dense, normal_points(n + 1, 2, 1));
    const std::vector<double> w = problem.w;
    GwotSolver solver(std::move(problem), options);
    solver.run();
    const std::vector<double> plan = dense_plan(solver, w);
    const auto y = solver.y();
    double objective = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < y.rows; ++j)
        for (std::size_t a = 0; a < n; ++a)
          for (std::size_t b = 0; b < y.rows; ++b) {
            double distance = 0;
            for (std::size_t k = 0; k < 2; ++k) distance += std::pow(double(y(j, k)) - y(b, k), 2);
            objective += plan[i * y.rows + j] * plan[a * y.rows + b] * dense.k[i * n + a] * distance;
          }
    EXPECT_NEAR(2 * solver.state().reduced, objective, 1e-6 * std::abs(solver.state().scale)) << n;
  }
}

TEST(Gwot, MeritNeverRises) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const bool indefinite = seed % 2 == 0;
    const std::size_t n = 60;
    const Dense dense = random_kernel(n, indefinite, seed);
    const std::vector<double> w = dense.row_sums(uniform(n));
    FloatMatrix y = normal_points(n, 2, 1, seed);
    for (std::size_t k = 0; k < 2; ++k) {
      double mean = 0;
      for (std::size_t j = 0; j < n; ++j) mean += y(j, k) / n;
      for (std::size_t j = 0; j < n; ++j) y(j, k) -= static_cast<float>(mean);
    }
    Sinkhorn sinkhorn(y.view(), uniform(n), uniform(n), {.double_precision = true, .drop = 0});
    const Descent::Times times = dense.times();
    Descent descent(sinkhorn, w, times,
                    {.tolerance = 1e-9, .marginal_tolerance = 1e-10, .loosest_marginal = 1e-10, .inner_limit = 100000});
    for (std::size_t i = 0; i < n * 2; ++i) descent.p()[i] = 0.1 * Rng(seed, 3, i).normal();
    for (const double epsilon : {0.2, 0.05}) {
      descent.start_level(epsilon);
      double last = std::numeric_limits<double>::infinity();
      for (int k = 0; k < 100; ++k) {
        const DescentResult result = descent.step(descent.inner_limit());
        ASSERT_NE(result, DescentResult::kPrecisionFailure);
        EXPECT_LE(descent.state().merit, last + 1e-9 * std::abs(last)) << "seed " << seed << ", update " << k;
        last = descent.state().merit;
        if (result == DescentResult::kConverged) break;
      }
    }
  }
}

TEST(Gwot, StandardGromovWassersteinFindsAPermutedCopy) {
  for (const std::size_t n : {20u, 100u, 500u}) {
    const FloatMatrix x = normal_points(n, 2, 4);
    const auto order = permutation(n, 7, 8);
    FloatMatrix y(n, 2);  // a turned and permuted copy
    for (std::size_t i = 0; i < n; ++i) {
      y(order[i], 0) = 0.8f * x(i, 0) - 0.6f * x(i, 1);
      y(order[i], 1) = 0.6f * x(i, 0) + 0.8f * x(i, 1);
    }
    Dense dense{n, std::vector<double>(n * n)};  // -|x - x'|²
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t k = 0; k < 2; ++k) dense.k[i * n + j] -= std::pow(double(x(i, k)) - x(j, k), 2);
    GwotProblem problem = problem_of(dense, std::move(y));
    const std::vector<double> w = problem.w;
    GwotOptions options;
    options.starts = 20;
    options.epsilon = 1e-4;
    GwotSolver solver(std::move(problem), options);
    solver.run();
    const std::vector<double> plan = dense_plan(solver, w);
    std::size_t right = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto row = plan.begin() + static_cast<std::ptrdiff_t>(i * n);
      right += static_cast<std::size_t>(std::max_element(row, row + static_cast<std::ptrdiff_t>(n)) - row) == order[i]
                   ? 1
                   : 0;
    }
    EXPECT_GE(right, n * 95 / 100) << n;
  }
}

GwotOptions small_run() {
  GwotOptions options;
  options.starts = 3;
  options.epsilon = 0.01;
  return options;
}

std::vector<double> all_numbers(const GwotSolver& solver) {
  std::vector<double> numbers(solver.row_potential().begin(), solver.row_potential().end());
  numbers.insert(numbers.end(), solver.column_potential().begin(), solver.column_potential().end());
  numbers.insert(numbers.end(), solver.mean().data, solver.mean().data + solver.mean().size());
  numbers.insert(numbers.end(), {solver.state().reduced, solver.state().epsilon, solver.state().marginal_error,
                                 static_cast<double>(solver.state().half_iterations)});
  numbers.insert(numbers.end(), solver.state().starts.begin(), solver.state().starts.end());
  return numbers;
}

TEST(Gwot, GoesOnFromACheckpointToTheSameBytes) {
  const Dense dense = random_kernel(200, false, 3);
  GwotSolver whole(problem_of(dense, normal_points(200, 2, 1)), small_run());
  int steps = 0;
  while (whole.step()) ++steps;
  EXPECT_EQ(whole.state().status, GwotStatus::kConverged);
  const TempDir dir;
  for (int stop = 1; stop < steps; stop += 3) {
    GwotSolver first(problem_of(dense, normal_points(200, 2, 1)), small_run());
    for (int k = 0; k < stop; ++k) first.step();
    TensorFileWriter writer;
    first.save(writer);
    writer.save(dir / "state");
    GwotSolver second(problem_of(dense, normal_points(200, 2, 1)), small_run());
    second.load(TensorFile::open(dir / "state"));
    second.run();
    ASSERT_EQ(all_numbers(second), all_numbers(whole)) << "stopped after step " << stop << " of " << steps;
  }
}

// Three classes that are alike inside, and a little like each other along a line.
GwotProblem classes(std::size_t n) {
  Dense dense;
  dense.n = n;
  dense.k.resize(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double apart = (static_cast<double>(i) - static_cast<double>(j)) / static_cast<double>(n);
      dense.k[i * n + j] = (i % 3 == j % 3 ? 1.0 : 0.2) * std::exp(-4 * apart * apart);
    }
  }
  GwotProblem problem = problem_of(dense, normal_points(n, 2, 1));
  problem.times_on = [dense](const std::vector<std::size_t>& rows) {
    Dense part;
    part.n = rows.size();
    for (const std::size_t i : rows) {
      for (const std::size_t j : rows) part.k.push_back(dense.k[i * dense.n + j]);
    }
    return part.times();
  };
  return problem;
}

TEST(Gwot, BeginsLargeProblemsOnASubset) {
  GwotOptions options = small_run();
  options.epsilon = 0.004;
  options.start_points = 150;
  GwotSolver direct(classes(600), options);
  direct.run();
  options.coarse_points = 200;
  GwotSolver whole(classes(600), options);
  int steps = 0;
  while (whole.step()) ++steps;
  EXPECT_EQ(whole.state().status, GwotStatus::kConverged);
  EXPECT_EQ(whole.state().epsilon, direct.state().epsilon);
  EXPECT_LT(whole.state().half_iterations, direct.state().half_iterations);
  EXPECT_EQ(whole.state().starts.size(), direct.state().starts.size());
  EXPECT_NEAR(whole.state().reduced, direct.state().reduced, 0.02 * std::abs(direct.state().reduced));
  EXPECT_EQ(whole.state().rescued, 0u);
  // Saved on the subset or after it, it goes on to the same bytes.
  const TempDir dir;
  for (int stop = 1; stop < steps; stop += 3) {
    GwotSolver first(classes(600), options);
    for (int k = 0; k < stop; ++k) first.step();
    TensorFileWriter writer;
    first.save(writer);
    writer.save(dir / "state");
    GwotSolver second(classes(600), options);
    second.load(TensorFile::open(dir / "state"));
    second.run();
    ASSERT_EQ(all_numbers(second), all_numbers(whole)) << "stopped after step " << stop << " of " << steps;
  }
}

TEST(Gwot, BringsASubsetWithAnotherOriginToAllPoints) {
  GwotOptions options = small_run();
  options.epsilon = 0.004;
  options.start_points = 150;
  options.coarse_points = 200;
  // A latent point far out with much of the mass, which the subset may lack: its mean is elsewhere than that of all.
  const auto uneven = [] {
    GwotProblem problem = classes(600);
    problem.column_mass.assign(600, 0.7 / 599);
    problem.column_mass[17] = 0.3;
    problem.y(17, 0) = 3;
    problem.y(17, 1) = -2;
    return problem;
  };
  GwotOptions all = options;
  all.coarse_points = 0;
  GwotSolver direct(uneven(), all), solver(uneven(), options);
  direct.run();
  solver.run();
  EXPECT_EQ(solver.state().status, direct.state().status);
  EXPECT_EQ(solver.state().rescued, 0u);
  EXPECT_NEAR(solver.state().reduced, direct.state().reduced, 0.02 * std::abs(direct.state().reduced));
  // Potentials in the wrong coordinates would have to be found again.
  EXPECT_LT(solver.state().half_iterations, 0.7 * static_cast<double>(direct.state().half_iterations));
}

TEST(Gwot, WhatWasSavedOnASubsetLivesOnAfterIt) {
  GwotOptions options = small_run();
  options.start_points = 150;
  options.coarse_points = 200;
  const TempDir dir;
  GwotSolver solver(classes(600), options), same(classes(600), options);
  solver.step();
  same.step();
  TensorFileWriter at_once, later;
  same.save(at_once);
  at_once.save(dir / "at_once");
  solver.save(later);
  solver.run();  // past the subset
  later.save(dir / "later");
  EXPECT_EQ(read_bytes(dir / "later"), read_bytes(dir / "at_once"));
}

TEST(Gwot, RefusesASubsetOfOnePoint) {
  GwotOptions options = small_run();
  options.coarse_points = 1;
  EXPECT_CONTAINS(error_of([&] { GwotSolver solver(classes(60), options); }), "coarse_points: one point");
}

TEST(Gwot, RefusesACheckpointOfOtherDataOrOptions) {
  const Dense dense = random_kernel(50, false, 3);
  GwotSolver first(problem_of(dense, normal_points(50, 2, 1)), small_run());
  first.step();
  const TempDir dir;
  TensorFileWriter writer;
  first.save(writer);
  writer.save(dir / "state");
  GwotOptions other = small_run();
  other.epsilon = 0.02;
  GwotSolver second(problem_of(dense, normal_points(50, 2, 1)), other);
  EXPECT_CONTAINS(error_of([&] { second.load(TensorFile::open(dir / "state")); }), "epsilon: is 0.02 here and 0.01");
  GwotSolver third(problem_of(dense, normal_points(49, 2, 1)), small_run());
  EXPECT_CONTAINS(error_of([&] { third.load(TensorFile::open(dir / "state")); }), "latent points");
}

TEST(Gwot, GivesTheSameBytesForAnyNumberOfThreads) {
  const Dense dense = random_kernel(300, false, 5);
  std::vector<double> one;
  for (const int threads : {1, 2, 4}) {
    set_threads(threads);
    GwotSolver solver(problem_of(dense, normal_points(260, 3, 1)), small_run());
    solver.run();
    if (threads == 1) one = all_numbers(solver);
    EXPECT_EQ(all_numbers(solver), one) << threads;
  }
  set_threads(0);
}

TEST(Gwot, BeatsTheIndependentPlanAndKeepsItsPromiseOnMarginals) {
  const Dense dense = random_kernel(300, false, 6);
  GwotOptions options = small_run();
  GwotSolver solver(problem_of(dense, normal_points(300, 2, 1)), options);
  EXPECT_EQ(solver.run(), GwotStatus::kConverged);
  EXPECT_LT(2 * solver.state().reduced, 0.6 * solver.state().scale);
  EXPECT_LE(solver.state().marginal_error, options.marginal_tolerance);
  EXPECT_EQ(solver.state().starts.size(), 4u);
}

TEST(Gwot, SaysWhenItsBudgetRanOut) {
  const Dense dense = random_kernel(100, false, 6);
  GwotOptions options = small_run();
  options.max_half_iterations = 5;
  GwotSolver solver(problem_of(dense, normal_points(100, 2, 1)), options);
  EXPECT_EQ(solver.run(), GwotStatus::kBudgetExhausted);
  EXPECT_EQ(to_string(solver.state().status), "budget_exhausted");
}

TEST(Gwot, RefusesWhatCannotBeCoupled) {
  const Dense dense = random_kernel(10, false, 1);
  const auto refusal = [&](const std::function<void(GwotProblem&, GwotOptions&)>& spoil) {
    GwotProblem problem = problem_of(dense, normal_points(10, 2, 1));
    GwotOptions options;
    spoil(problem, options);
    return error_of([&] { GwotSolver solver(std::move(problem), options); });
  };
  EXPECT_CONTAINS(refusal([](auto&, auto& o) { o.epsilon = 0; }), "epsilon: 0 is out of range");
  EXPECT_CONTAINS(refusal([](auto&, auto& o) { o.tolerance = 2; }), "tolerance");
  EXPECT_CONTAINS(refusal([](auto& p, auto&) { p.y = normal_points(10, 9, 1); }),
                  "9 dimensions are out of range; 1 to 8");
  EXPECT_CONTAINS(refusal([](auto& p, auto&) { p.row_mass = std::vector<double>(10, 0.2); }), "sum to 2");
  EXPECT_CONTAINS(refusal([](auto& p, auto&) { p.row_mass = uniform(9); }), "9 for 10 points");
  EXPECT_CONTAINS(refusal([](auto& p, auto&) { p.column_mass = uniform(10), p.column_mass[3] = -0.1; }), "entry 4");
  EXPECT_CONTAINS(refusal([](auto& p, auto&) {
                    std::fill(p.w.begin(), p.w.end(), 0.0);
                    p.times = [](MatrixView<const double>, MatrixView<double> out) {
                      std::fill_n(out.data, out.size(), 0.0);
                    };
                  }),
                  "it is zero for all samples");
  EXPECT_CONTAINS(refusal([](auto& p, auto&) { std::fill_n(p.y.data(), p.y.size(), 3.0f); }), "all of them are equal");
  EXPECT_CONTAINS(refusal([](auto& p, auto&) { p.w[2] = NAN; }), "not finite");
}

}  // namespace
}  // namespace cpfm
