// Standard Gromov–Wasserstein against POT (Python Optimal Transport), an independent implementation. pot_reference.py
// derives how its loss and ε relate to ours, and prints what it finds, here stored and, where POT is installed, run
// again.
#include <gtest/gtest.h>

#include <cmath>

#include "base/subprocess.hpp"
#include "cpfm/gwot.hpp"
#include "support/python.hpp"

namespace cpfm {
namespace {

using namespace test;

// Made with POT 0.8.2 by: python3 tests/coupling/pot_reference.py
constexpr const char* kStored = R"(
8 9 0.1 -7.092604544186 -5.322771586964 7.9e-10
8 9 0.02 -7.689046240344 -4.143502424198 2.5e-09
8 9 0.005 -7.709347866765 -3.924522264220 2.2e-09
30 24 0.1 -7.858956199726 -7.279070484164 1.2e-09
30 24 0.05 -8.260646882957 -5.667448869386 2.5e-09
30 24 0.02 -8.461746276012 -4.784900846299 4.0e-09
60 60 0.1 -8.565426759806 -9.139848989346 3.6e-10
60 60 0.02 -9.436084368749 -5.521282098240 4.1e-09
60 60 0.01 -9.517232403827 -5.132466860155 5.8e-09
)";

struct Reference {
  std::size_t n = 0, m = 0;
  double epsilon = 0;  // in units of the cost scale
  double objective = 0, merit = 0, marginal_error = 0;
};

std::vector<Reference> parse(const std::string& text) {
  return records_of<Reference>(text, [](std::istream& fields, Reference& r) {
    return bool(fields >> r.n >> r.m >> r.epsilon >> r.objective >> r.merit >> r.marginal_error);
  });
}

// K = -|x - x'|² over the clouds of pot_reference.py.
struct StandardGw {
  std::size_t n;
  std::vector<double> kernel, w;
  FloatMatrix y;

  StandardGw(std::size_t rows, std::size_t columns) : n(rows), kernel(rows * rows), w(rows) {
    const FloatMatrix x = matrix_of(rows, 3, [](double i, std::size_t k) {
      return k == 0 ? std::sin(1.3 * i + 0.2) + 0.02 * i : k == 1 ? std::cos(2.1 * i) : std::sin(0.7 * i * i + 0.5);
    });
    y = matrix_of(columns, 2, [](double j, std::size_t k) {
      return k == 0 ? std::sin(0.9 * j + 1) : std::cos(1.7 * j + 0.3) + 0.01 * j;
    });
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < 3; ++k) kernel[i * n + j] -= std::pow(double(x(i, k)) - x(j, k), 2);
        w[i] += kernel[i * n + j] / static_cast<double>(n);
      }
    }
  }

  GwotProblem problem() const {
    GwotProblem problem;
    problem.w = w;
    problem.times = [this](MatrixView<const double> m, MatrixView<double> out) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t c = 0; c < m.cols; ++c) {
          out(i, c) = 0;
          for (std::size_t j = 0; j < n; ++j) out(i, c) += kernel[i * n + j] * m(j, c);
        }
      }
    };
    problem.y = FloatMatrix(y.rows(), y.cols());
    std::copy_n(y.data(), y.size(), problem.y.data());
    return problem;
  }
};

GwotOptions tight(double epsilon) {
  GwotOptions options;
  options.epsilon = epsilon;
  options.tolerance = 1e-10;
  options.marginal_tolerance = options.loosest_marginal = 1e-9;
  options.double_precision = true;
  options.drop = 0;
  return options;
}

// R + ε Σ π log π of the solver's plan, from the definition.
double merit_of(const GwotSolver& solver, const std::vector<double>& w) {
  const auto y = solver.y();
  const auto p = solver.p();
  const double epsilon = solver.state().epsilon;
  double entropy = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    for (std::size_t j = 0; j < y.rows; ++j) {
      double cost = 0;
      for (std::size_t k = 0; k < y.cols; ++k) cost += w[i] * y(j, k) * y(j, k) - 2 * p(i, k) * y(j, k);
      const double log2 = solver.row_potential()[i] + solver.column_potential()[j] - cost / (epsilon * std::log(2.0));
      entropy += std::exp2(log2) * log2 * std::log(2.0);
    }
  }
  return solver.state().reduced + epsilon * entropy;
}

void expect_agreement(const std::vector<Reference>& references) {
  for (const Reference& pot : references) {
    SCOPED_TRACE(testing::Message() << pot.n << " x " << pot.m << ", ε = " << pot.epsilon);
    ASSERT_LE(pot.marginal_error, 1e-7) << "POT did not converge: not a reference";
    const StandardGw gw(pot.n, pot.m);
    const double objective_slack = 1e-6 * std::abs(pot.objective), merit_slack = 1e-6 * std::abs(pot.merit);

    // POT starts from the product plan, at the final ε: so started, the solver ends in the same plan.
    GwotOptions same_start = tight(pot.epsilon);
    same_start.starts = 0;
    same_start.epsilon_start = pot.epsilon;
    GwotSolver same(gw.problem(), same_start);
    ASSERT_EQ(same.run(), GwotStatus::kConverged);
    EXPECT_NEAR(2 * same.state().reduced, pot.objective, objective_slack);
    EXPECT_NEAR(merit_of(same, gw.w), pot.merit, merit_slack);

    // In its own way, by a falling ε from the best of several starts, it does as well or better.
    GwotSolver own(gw.problem(), tight(pot.epsilon));
    ASSERT_EQ(own.run(), GwotStatus::kConverged);
    EXPECT_LE(merit_of(own, gw.w), pot.merit + merit_slack);
    EXPECT_LE(2 * own.state().reduced, pot.objective + objective_slack);
  }
}

TEST(Pot, StoredValuesAreReached) {
  const auto references = parse(kStored);
  ASSERT_EQ(references.size(), 9u);
  expect_agreement(references);
}

TEST(Pot, ValuesComputedNowAreReached) {
  const std::string python = python_with("ot");
  if (python.empty()) GTEST_SKIP() << "NOT CHECKED: no python3 here has POT (Debian: python3-pot)";
  const ProcessResult run = run_process({python, CPFM_TEST_SOURCE_DIR "/coupling/pot_reference.py"});
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const auto references = parse(run.output), stored = parse(kStored);
  ASSERT_EQ(references.size(), stored.size()) << run.output;
  for (std::size_t i = 0; i < stored.size(); ++i) EXPECT_NEAR(references[i].objective, stored[i].objective, 1e-6);
  expect_agreement(references);
}

}  // namespace
}  // namespace cpfm
