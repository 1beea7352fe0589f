#include "cpfm/plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"
#include "support/files.hpp"

namespace cpfm {
namespace {

using namespace test;

// A plan of random blobs, its rows set right: column sums are whatever they are.
Plan random_plan(std::size_t n, std::size_t m, std::size_t d, double epsilon, std::uint64_t seed = 1) {
  PlanParts parts;
  parts.epsilon = epsilon;
  for (std::size_t i = 0; i < n; ++i) {
    Rng rng(seed, 1, i);
    parts.w.push_back(0.2 + 0.3 * rng.uniform());
    for (std::size_t k = 0; k < d; ++k) parts.p.push_back(0.3 * rng.normal());
  }
  for (std::size_t j = 0; j < m; ++j) {
    Rng rng(seed, 2, j);
    for (std::size_t k = 0; k < d; ++k) parts.y.push_back(static_cast<float>(rng.normal()));
    parts.column_potential.push_back(0.3 * rng.normal());
  }
  parts.row_potential.assign(n, 0.0);
  parts.row_mass.assign(n, 1.0 / static_cast<double>(n));
  parts.column_mass.assign(m, 1.0 / static_cast<double>(m));
  const std::vector<double> w = parts.w, p = parts.p;
  return Plan(std::move(parts)).with_rows(w, p);
}

// χ² of draws against a distribution, classes of small expectation pooled; returns (statistic - dof) / √(2 dof).
double chi_square_score(const std::vector<std::size_t>& counts, const std::vector<double>& chances, std::size_t draws) {
  double statistic = 0, pooled_count = 0, pooled_chance = 0;
  int classes = 0;
  const auto add = [&](double count, double expected) {
    statistic += (count - expected) * (count - expected) / expected;
    ++classes;
  };
  for (std::size_t j = 0; j < counts.size(); ++j) {
    const double expected = chances[j] * static_cast<double>(draws);
    if (expected >= 8) {
      add(static_cast<double>(counts[j]), expected);
    } else {
      pooled_count += static_cast<double>(counts[j]);
      pooled_chance += expected;
    }
  }
  if (pooled_chance > 5) add(pooled_count, pooled_chance);
  const double dof = std::max(1, classes - 1);
  return (statistic - dof) / std::sqrt(2 * dof);
}

TEST(Plan, RowsAreTheDistributionsOfTheDensePlan) {
  const Plan plan = random_plan(7, 9, 2, 0.1);
  const std::vector<double> dense = plan.dense();
  for (std::size_t i = 0; i < 7; ++i) {
    const std::vector<double> row = plan.row(i);
    EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1.0, 1e-12);
    for (std::size_t j = 0; j < 9; ++j) EXPECT_NEAR(row[j] / 7, dense[i * 9 + j], 1e-12);
  }
  EXPECT_CONTAINS(error_of([&] { plan.row(7); }), "there is no row 7");
}

TEST(Plan, TransposedColumnsAreRows) {
  const Plan plan = random_plan(7, 9, 3, 0.1);
  const Plan back = plan.transposed();
  EXPECT_EQ(back.rows(), 9u);
  EXPECT_EQ(back.columns(), 7u);
  const std::vector<double> dense = plan.dense();
  for (std::size_t j = 0; j < 9; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < 7; ++i) sum += dense[i * 9 + j];
    const std::vector<double> row = back.row(j);
    for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR(row[i], dense[i * 9 + j] / sum, 1e-12);
  }
  EXPECT_EQ(back.transposed().row(3), plan.row(3));
}

TEST(Plan, DrawsFollowTheRows) {
  // Soft and sharp, few columns and several tiles of them, both directions, all dimensions.
  for (const double epsilon : {1.0, 0.02, 0.0005}) {
    for (const std::size_t m : {5u, 700u}) {
      for (const std::size_t d : {1u, 2u, 8u}) {
        const Plan forward = random_plan(40, m, d, epsilon);
        for (const Plan& plan : {forward, forward.transposed()}) {
          const std::size_t draws = 4000;
          const std::vector<std::size_t> which(draws, 3);
          std::vector<std::size_t> counts(plan.columns(), 0);
          for (const std::uint32_t j : plan.draw(which, 5)) ++counts.at(j);
          EXPECT_LT(chi_square_score(counts, plan.row(3), draws), 4.5)
              << "ε " << epsilon << ", m " << m << ", d " << d << ", rows " << plan.rows();
        }
      }
    }
  }
}

TEST(Plan, DrawsFollowTheRowsWhereTilesAreLeftOut) {
  const Plan forward = random_plan(2500, 2600, 2, 0.002);
  for (const Plan& plan : {forward, forward.transposed()}) {
    // Every row once per index: the mean of what was drawn is the row's mean, within its spread.
    FloatMatrix coordinate(plan.columns(), 1);
    for (std::size_t j = 0; j < plan.columns(); ++j) coordinate(j, 0) = static_cast<float>(Rng(1, 3, j).normal());
    const FloatMatrix means = plan.means(coordinate.view());
    double error = 0, variance = 0;
    constexpr std::size_t kIndices = 20;
    for (std::size_t index = 0; index < kIndices; ++index) {
      const std::vector<std::uint32_t> drawn = plan.draw(1, index);
      for (std::size_t i = 0; i < plan.rows(); ++i) error += coordinate(drawn[i], 0) - means(i, 0);
    }
    for (std::size_t i = 0; i < plan.rows(); ++i) {
      const std::vector<double> row = plan.row(i);
      double second = 0;
      for (std::size_t j = 0; j < row.size(); ++j) second += row[j] * std::pow(coordinate(j, 0), 2);
      variance += kIndices * (second - std::pow(means(i, 0), 2));
    }
    EXPECT_LT(std::abs(error), 4.5 * std::sqrt(variance));
    EXPECT_GT(variance, 0);
  }
}

TEST(Plan, DrawsAreTheSameForAnyNumberOfThreadsAndAnyCompany) {
  const Plan plan = random_plan(300, 600, 2, 0.01);
  set_threads(1);
  const std::vector<std::uint32_t> one = plan.draw(9, 4);
  for (const int count : {2, 4}) {
    set_threads(count);
    EXPECT_EQ(plan.draw(9, 4), one);
  }
  set_threads(0);
  EXPECT_NE(plan.draw(9, 5), one);
  EXPECT_NE(plan.draw(8, 4), one);
}

TEST(Plan, SamplesPairsByTheirMass) {
  PlanParts parts = random_plan(4, 6, 2, 0.2).parts();
  parts.row_mass = {0.4, 0.3, 0.2, 0.1};
  for (std::size_t i = 0; i < 4; ++i) parts.row_potential[i] += std::log2(parts.row_mass[i] * 4);
  const Plan plan(parts);
  const std::vector<double> dense = plan.dense();
  const std::size_t draws = 20000;
  std::vector<std::size_t> counts(24, 0);
  for (const auto& [i, j] : plan.sample(draws, 3)) ++counts.at(i * 6 + j);
  EXPECT_LT(chi_square_score(counts, dense, draws), 4.5);
}

TEST(Plan, MeansAreThoseOfTheRows) {
  for (const double epsilon : {0.5, 0.001}) {
    const Plan forward = random_plan(60, 530, 2, epsilon);
    for (const Plan& plan : {forward, forward.transposed()}) {
      FloatMatrix values(plan.columns(), 5);
      for (std::size_t k = 0; k < values.size(); ++k) values.data()[k] = static_cast<float>(Rng(1, 8, k).normal());
      const FloatMatrix means = plan.means(values.view());
      for (std::size_t i = 0; i < plan.rows(); i += 7) {
        const std::vector<double> row = plan.row(i);
        for (std::size_t k = 0; k < 5; ++k) {
          double mean = 0;
          for (std::size_t j = 0; j < row.size(); ++j) mean += row[j] * values(j, k);
          EXPECT_NEAR(means(i, k), mean, 5e-3) << "ε " << epsilon;
        }
      }
    }
  }
  const Plan plan = random_plan(3, 4, 1, 0.1);
  EXPECT_CONTAINS(error_of([&] { plan.means(FloatMatrix(3, 1).view()); }), "3 rows for 4 columns");
}

TEST(Plan, TopIsTheBestOfEachRowInOrder) {
  const Plan plan = random_plan(20, 300, 2, 0.05);
  const Plan::Top top = plan.top(4);
  for (std::size_t i = 0; i < 20; ++i) {
    std::vector<double> row = plan.row(i);
    for (std::size_t r = 0; r < 4; ++r) EXPECT_DOUBLE_EQ(top.probability[i * 4 + r], row[top.index[i * 4 + r]]);
    std::sort(row.rbegin(), row.rend());
    for (std::size_t r = 0; r < 4; ++r) EXPECT_DOUBLE_EQ(top.probability[i * 4 + r], row[r]);
  }
  EXPECT_CONTAINS(error_of([&] { plan.top(301); }), "301 of 300 columns");
}

TEST(Plan, ARowFarFromItsMassIsStillADistribution) {
  PlanParts parts = random_plan(10, 300, 2, 0.01).parts();
  parts.row_potential[4] -= 4000;  // its terms are below everything a float holds
  const Plan plan(parts), whole = random_plan(10, 300, 2, 0.01);
  EXPECT_EQ(plan.row(4), whole.row(4));
  FloatMatrix values(300, 1);
  for (std::size_t j = 0; j < 300; ++j) values(j, 0) = static_cast<float>(j);
  EXPECT_NEAR(plan.means(values.view())(4, 0), whole.means(values.view())(4, 0), 0.01);
  const std::vector<std::size_t> which(3000, 4);
  std::vector<std::size_t> counts(300, 0);
  for (const std::uint32_t j : plan.draw(which, 2)) ++counts[j];
  EXPECT_LT(chi_square_score(counts, whole.row(4), which.size()), 4.5);
}

TEST(Plan, RefusesPartsThatDoNotFit) {
  const PlanParts good = random_plan(5, 6, 2, 0.1).parts();
  const auto refusal = [&](auto change) {
    PlanParts parts = good;
    change(parts);
    return error_of([&] { Plan{parts}; });
  };
  EXPECT_CONTAINS(refusal([](PlanParts& p) { p.p.pop_back(); }), "p: there are 9 numbers instead of 10");
  EXPECT_CONTAINS(refusal([](PlanParts& p) { p.row_potential[2] = NAN; }), "row potential: entry 3 is not finite");
  EXPECT_CONTAINS(refusal([](PlanParts& p) { p.epsilon = 0; }), "0 is no ε");
  EXPECT_CONTAINS(refusal([](PlanParts& p) { p.w.clear(); }), "no rows");
  EXPECT_CONTAINS(refusal([](PlanParts& p) { p.y.resize(6 * 9); }), "9 dimensions");
}

TEST(Plan, DenseExportIsRefusedWhereMemoryDoesNotSuffice) {
  const std::size_t n = 3000000;
  PlanParts parts;
  parts.epsilon = 1;
  for (std::vector<double>* all : {&parts.w, &parts.p, &parts.y}) all->assign(n, 0.5);
  for (std::vector<double>* all : {&parts.row_potential, &parts.column_potential}) all->assign(n, 0.0);
  for (std::vector<double>* all : {&parts.row_mass, &parts.column_mass}) all->assign(n, 1.0 / double(n));
  EXPECT_CONTAINS(error_of([&] { Plan(std::move(parts)).dense(); }), "the dense plan of 3000000 × 3000000 needs 72");
}

}  // namespace
}  // namespace cpfm
