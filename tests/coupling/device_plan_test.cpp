// Questions to a plan on a CUDA device against the CPU, which is their specification. Sums round differently, so a draw
// close to the edge between two columns may fall to the other one, and means agree to 1e-4 of what they are means of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/plan.hpp"
#include "cpfm/random.hpp"
#include "cuda/plan.hpp"
#include "support/device.hpp"

namespace cpfm {
namespace {

using test::any_cuda;
using test::kernels_are_slow;

// A plan of random blobs whose rows and columns have their masses: rows by their potentials, columns by definition.
PlanParts random_parts(std::size_t n, std::size_t m, std::size_t d, double epsilon) {
  PlanParts parts;
  parts.epsilon = epsilon;
  for (std::size_t i = 0; i < n; ++i) {
    Rng rng(1, 1, i);
    parts.w.push_back(0.2 + 0.3 * rng.uniform());
    for (std::size_t k = 0; k < d; ++k) parts.p.push_back(0.3 * rng.normal());
  }
  for (std::size_t j = 0; j < m; ++j) {
    Rng rng(1, 2, j);
    for (std::size_t k = 0; k < d; ++k) parts.y.push_back(static_cast<float>(rng.normal()));
    parts.column_potential.push_back(0.3 * rng.normal());
  }
  parts.row_potential.assign(n, 0.0);
  parts.row_mass.assign(n, 1.0 / static_cast<double>(n));
  parts.column_mass.assign(m, 1.0 / static_cast<double>(m));
  const std::vector<double> w = parts.w, p = parts.p;
  const Plan plan = Plan(std::move(parts)).with_rows(w, p);
  parts = plan.parts();
  const std::vector<double> dense = plan.dense();
  std::fill(parts.column_mass.begin(), parts.column_mass.end(), 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j) parts.column_mass[j] += dense[i * m + j];
  }
  return parts;
}

// The plan on the CPU and on the device, then both transposed.
template <class Check>
void on_both(const PlanParts& parts, const Check& check) {
  const Plan cpu(parts);
  Plan gpu(parts);
  gpu.use(any_cuda());
  {
    SCOPED_TRACE("rows are data");
    check(cpu, gpu);
  }
  SCOPED_TRACE("rows are latent points");
  check(cpu.transposed(), gpu.transposed());
}

// Every row, and a list with repeats in no order.
std::vector<std::size_t> some_rows(std::size_t rows, std::size_t count) {
  std::vector<std::size_t> which(count);
  for (std::size_t e = 0; e < count; ++e) which[e] = Rng(4, 1, e / 2).below(rows);
  return which;
}

double share_of_equals(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  EXPECT_EQ(a.size(), b.size());
  std::size_t equal = 0;
  for (std::size_t e = 0; e < a.size(); ++e) equal += a[e] == b[e] ? 1 : 0;
  return static_cast<double>(equal) / static_cast<double>(a.size());
}

void expect_same_draws(const Plan& cpu, const Plan& gpu) {
  std::vector<std::uint32_t> here, there;
  for (std::uint64_t index = 0; index < 4; ++index) {
    for (const std::uint32_t j : cpu.draw(7, index)) here.push_back(j);
    for (const std::uint32_t j : gpu.draw(7, index)) there.push_back(j);
  }
  EXPECT_GE(share_of_equals(here, there), 0.99);
  const std::vector<std::size_t> which = some_rows(cpu.rows(), 777);
  here = cpu.draw(which, 8, 3);
  there = gpu.draw(which, 8, 3);
  EXPECT_GE(share_of_equals(here, there), 0.99);
  for (const std::uint32_t j : there) ASSERT_LT(j, gpu.columns());
}

void expect_same_means(const Plan& cpu, const Plan& gpu, std::size_t columns) {
  FloatMatrix values(cpu.columns(), columns);
  float largest = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    values.data()[k] = static_cast<float>(Rng(1, 8, k).normal());
    largest = std::max(largest, std::abs(values.data()[k]));
  }
  const FloatMatrix here = cpu.means(values.view()), there = gpu.means(values.view());
  ASSERT_EQ(there.rows(), here.rows());
  ASSERT_EQ(there.cols(), here.cols());
  double most = 0;
  for (std::size_t k = 0; k < here.size(); ++k)
    most = std::max<double>(most, std::abs(here.data()[k] - there.data()[k]));
  EXPECT_LT(most, 1e-4 * largest) << columns << " columns";
}

// Which of two that differ by rounding alone comes first is open: each listed one has the probability that is told, and
// the probabilities are those of the CPU's list.
void expect_same_top(const Plan& cpu, const Plan& gpu, std::size_t k) {
  const Plan::Top here = cpu.top(k), there = gpu.top(k);
  ASSERT_EQ(there.k, k);
  ASSERT_EQ(there.index.size(), here.index.size());
  ASSERT_EQ(there.probability.size(), here.probability.size());
  for (std::size_t i = 0; i < cpu.rows(); ++i) {
    const std::vector<double> row = cpu.row(i);
    for (std::size_t e = i * k; e < (i + 1) * k; ++e) {
      const double bound = 1e-9 * here.probability[e] + 1e-300;
      ASSERT_NEAR(there.probability[e], here.probability[e], bound) << "row " << i;
      ASSERT_NEAR(there.probability[e], row.at(there.index[e]), bound) << "row " << i;
    }
    std::vector<std::uint32_t> listed(&there.index[i * k], &there.index[i * k] + k);
    std::sort(listed.begin(), listed.end());
    ASSERT_EQ(std::adjacent_find(listed.begin(), listed.end()), listed.end()) << "row " << i;
  }
}

// (χ² - dof) / √(2 dof) of draws against a distribution, classes of small expectation pooled.
double chi_square_score(const std::vector<std::uint32_t>& drawn, const std::vector<double>& chances) {
  const auto draws = static_cast<double>(drawn.size());
  std::vector<double> counts(chances.size());
  for (const std::uint32_t j : drawn) ++counts.at(j);
  double statistic = 0, pooled = 0, expected_of_pooled = 0;
  int classes = 0;
  const auto add = [&](double count, double expected) {
    statistic += (count - expected) * (count - expected) / expected;
    ++classes;
  };
  for (std::size_t j = 0; j < counts.size(); ++j) {
    const double expected = chances[j] * draws;
    if (expected >= 8) {
      add(counts[j], expected);
    } else {
      pooled += counts[j];
      expected_of_pooled += expected;
    }
  }
  if (expected_of_pooled > 5) add(pooled, expected_of_pooled);
  const double dof = std::max(1, classes - 1);
  return (statistic - dof) / std::sqrt(2 * dof);
}

TEST(DevicePlan, AgreesWithTheCpuInEveryDimension) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  for (std::size_t d = 1; d <= 8; ++d) {
    // The last is in double.
    for (const double epsilon : {1.0, 0.05, 0.0001}) {
      if (kernels_are_slow() && d > 3 && epsilon != 0.05) continue;
      SCOPED_TRACE(testing::Message() << "d " << d << ", ε " << epsilon);
      on_both(random_parts(300, 1000, d, epsilon), [](const Plan& cpu, const Plan& gpu) {
        expect_same_draws(cpu, gpu);
        expect_same_means(cpu, gpu, 3);
        expect_same_means(cpu, gpu, 13);
        expect_same_top(cpu, gpu, 3);
      });
    }
  }
}

TEST(DevicePlan, AgreesWhereSizesAreNoWholeRuns) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  for (const auto& [n, m] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {2, 2}, {1, 257}, {255, 3}, {256, 256}, {257, 511}}) {
    SCOPED_TRACE(testing::Message() << n << " × " << m);
    on_both(random_parts(n, m, 2, 0.1), [](const Plan& cpu, const Plan& gpu) {
      expect_same_draws(cpu, gpu);
      expect_same_means(cpu, gpu, 1);
      expect_same_top(cpu, gpu, 1);
      expect_same_top(cpu, gpu, std::min<std::size_t>(32, cpu.columns()));
    });
  }
}

TEST(DevicePlan, AgreesWhereRunsAreLeftOut) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  for (const double epsilon : {0.02, 0.002, 0.0002}) {
    SCOPED_TRACE(epsilon);
    const std::size_t n = kernels_are_slow() ? 1200 : 2500;
    on_both(random_parts(n, n + 500, 2, epsilon), [](const Plan& cpu, const Plan& gpu) {
      expect_same_draws(cpu, gpu);
      expect_same_means(cpu, gpu, 2);
      expect_same_top(cpu, gpu, 32);
    });
  }
}

TEST(DevicePlan, DrawsFollowTheRows) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  for (const double epsilon : {1.0, 0.02, 0.0002}) {
    SCOPED_TRACE(epsilon);
    on_both(random_parts(300, 700, 2, epsilon), [](const Plan&, const Plan& gpu) {
      for (const std::size_t row : {std::size_t{3}, gpu.rows() - 1}) {
        const std::vector<std::size_t> which(kernels_are_slow() ? 3000 : 6000, row);
        EXPECT_LT(chi_square_score(gpu.draw(which, 5), gpu.row(row)), 4.5) << "row " << row;
      }
    });
  }
}

TEST(DevicePlan, SamplesPairsByTheirMass) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  on_both(random_parts(4, 6, 2, 0.2), [](const Plan& cpu, const Plan& gpu) {
    const auto here = cpu.sample(3000, 3), there = gpu.sample(3000, 3);
    std::size_t equal = 0;
    for (std::size_t e = 0; e < here.size(); ++e) equal += here[e] == there[e] ? 1 : 0;
    EXPECT_GE(equal, 2970u);
  });
}

TEST(DevicePlan, AListOfEveryRowIsEveryRowAndAnEmptyOneIsNothing) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  on_both(random_parts(300, 1000, 2, 0.05), [](const Plan&, const Plan& gpu) {
    std::vector<std::size_t> every(gpu.rows());
    std::iota(every.begin(), every.end(), std::size_t{0});
    EXPECT_EQ(gpu.draw(every, 2, 1), gpu.draw(2, 1));
    EXPECT_TRUE(gpu.draw(std::vector<std::size_t>(), 2, 1).empty());
    EXPECT_EQ(gpu.means(FloatMatrix(gpu.columns(), 0).view()).size(), 0u);
  });
}

TEST(DevicePlan, RowsFarFromTheirMassAreThoseOfTheCpu) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  for (const double epsilon : {0.05, 0.0001}) {
    PlanParts parts = random_parts(300, 700, 2, epsilon);
    for (std::size_t i = 0; i < 300; i += 3) parts.row_potential[i] += i % 2 == 0 ? -4000 : 3;
    const Plan cpu(parts);
    Plan gpu(parts);
    gpu.use(any_cuda());
    expect_same_draws(cpu, gpu);
    expect_same_means(cpu, gpu, 5);
    expect_same_top(cpu, gpu, 4);
    const std::vector<std::uint32_t> here = cpu.draw(5), there = gpu.draw(5);
    for (std::size_t i = 0; i < 300; i += 3) EXPECT_EQ(here[i], there[i]) << "row " << i;
  }
}

TEST(DevicePlan, LeavesOnlyRowsWithoutTheirMassToTheHost) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  for (const bool double_precision : {false, true}) {
    PlanParts parts = random_parts(300, 700, 2, 0.05);
    for (std::size_t i = 0; i < 300; i += 7) parts.row_potential[i] += i % 2 == 0 ? 1.1 : -1.1;
    DevicePlan plan(any_cuda(), {300, 700, 2, parts.epsilon, parts.w.data(), parts.p.data(), parts.row_potential.data(),
                                 parts.row_mass.data(), parts.y.data(), parts.column_potential.data(),
                                 parts.column_mass.data(), 1e-9, double_precision});
    const std::vector<double> uniforms(300, 0.5);
    const std::vector<float> values(700 * 9, 1.0f);
    std::vector<std::uint32_t> drawn(300);
    std::vector<unsigned char> lost(300, 2);
    std::vector<float> means(300 * 9);
    plan.draw(false, nullptr, 300, uniforms.data(), drawn.data());
    plan.means(false, values.data(), 9, means.data(), lost.data());
    for (std::size_t i = 0; i < 300; ++i) {
      EXPECT_EQ(drawn[i] == DevicePlan::kUndrawn, i % 7 == 0) << "row " << i;
      EXPECT_EQ(lost[i], i % 7 == 0 ? 1 : 0) << "row " << i;
      for (std::size_t k = 0; k < 9 && i % 7 != 0; ++k) EXPECT_NEAR(means[i * 9 + k], 1, 1e-5) << "row " << i;
    }
  }
}

TEST(DevicePlan, RowsWithoutACentreAreComputedWhole) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  PlanParts parts = random_parts(2300, 2100, 2, 0.05);
  for (std::size_t i = 0; i < 600; ++i) parts.w[i] = i % 2 == 0 ? 0 : -0.05;
  const std::vector<double> w = parts.w, p = parts.p;
  parts = Plan(std::move(parts)).with_rows(w, p).parts();
  const Plan cpu(parts);
  Plan gpu(parts);
  gpu.use(any_cuda());
  expect_same_draws(cpu, gpu);
  expect_same_means(cpu, gpu, 2);
  expect_same_means(cpu.transposed(), gpu.transposed(), 2);
  // As sources, such rows lie elsewhere along the curve than on the CPU, so that draws are others of the same law.
  const std::vector<std::size_t> which(6000, 11);
  EXPECT_LT(chi_square_score(gpu.transposed().draw(which, 5), gpu.transposed().row(11)), 4.5);
}

TEST(DevicePlan, OfEqualColumnsTheFirstComesFirst) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  PlanParts parts = random_parts(20, 600, 2, 0.3);
  for (std::size_t j = 300; j < 600; ++j) {
    for (std::size_t k = 0; k < 2; ++k) parts.y[j * 2 + k] = parts.y[(599 - j) * 2 + k];
    parts.column_potential[j] = parts.column_potential[599 - j];
  }
  const Plan cpu(parts);
  Plan gpu(parts);
  gpu.use(any_cuda());
  EXPECT_EQ(gpu.top(31).index, cpu.top(31).index);
  EXPECT_EQ(gpu.top(33).index, cpu.top(33).index);  // more than a thread keeps: on the CPU
}

// More rows than one launch lists.
TEST(DevicePlan, ListsTheLikeliestOfManyRowsAndEndsWhenInterrupted) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  const PlanParts parts = random_parts(kernels_are_slow() ? 4500 : 140000, 20, 2, 0.05);
  const Plan cpu(parts);
  Plan gpu(parts);
  gpu.use(any_cuda());
  expect_same_top(cpu, gpu, 2);
  request_interrupt();
  EXPECT_THROW(gpu.top(2), Interrupted);
  clear_interrupt();
  EXPECT_EQ(gpu.top(2).k, 2u);
}

TEST(DevicePlan, PlacesNewRowsAsTheCpuDoes) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  for (const std::size_t d : {1u, 2u, 3u, 8u}) {
    for (const double epsilon : {1.0, 0.01, 0.0001}) {
      SCOPED_TRACE(testing::Message() << "d " << d << ", ε " << epsilon);
      const PlanParts parts = random_parts(40, 1300, d, epsilon);
      const Plan cpu(parts);
      Plan gpu(parts);
      gpu.use(any_cuda());
      for (const std::size_t count : {1u, 300u}) {
        std::vector<double> w(count), p(count * d);
        for (std::size_t i = 0; i < count; ++i) w[i] = Rng(3, 1, i).uniform() - 0.1;  // some are no blob
        for (std::size_t k = 0; k < p.size(); ++k) p[k] = Rng(3, 2, k).normal();
        const Plan here = cpu.with_rows(w, p), there = gpu.transposed().with_rows(w, p);
        for (std::size_t i = 0; i < count; ++i) {
          const double potential = here.parts().row_potential[i];
          ASSERT_NEAR(there.parts().row_potential[i], potential, 1e-12 * std::abs(potential) + 1e-10) << "row " << i;
        }
        EXPECT_GE(share_of_equals(here.draw(3), there.draw(3)), 0.99);
      }
    }
  }
}

TEST(DevicePlan, GivesTheSameBytesEveryTimeAndToEveryCopy) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  const std::size_t n = kernels_are_slow() ? 400 : 1500;
  const PlanParts parts = random_parts(n, n + 500, 3, 0.02);
  Plan gpu(parts), again(parts);
  gpu.use(any_cuda());
  again.use(any_cuda());
  const Plan copy = gpu, back = gpu.transposed().transposed();
  FloatMatrix values(n + 500, 9);
  for (std::size_t k = 0; k < values.size(); ++k) values.data()[k] = static_cast<float>(Rng(1, 8, k).normal());
  const std::vector<std::uint32_t> drawn = gpu.draw(9, 4);
  const FloatMatrix means = gpu.means(values.view());
  const Plan::Top top = gpu.top(7);
  const Plan placed = gpu.with_rows(parts.w, parts.p);
  for (const Plan* plan : {static_cast<const Plan*>(&again), &copy, &back, static_cast<const Plan*>(&gpu)}) {
    EXPECT_EQ(plan->top(7).probability, top.probability);
    EXPECT_EQ(plan->draw(9, 4), drawn);
    const FloatMatrix same = plan->means(values.view());
    EXPECT_TRUE(std::equal(same.data(), same.data() + same.size(), means.data()));
    EXPECT_EQ(plan->with_rows(parts.w, parts.p).parts().row_potential, placed.parts().row_potential);
  }
  EXPECT_NE(gpu.draw(9, 5), drawn);
  gpu.use({});
  EXPECT_EQ(gpu.draw(9, 4), Plan(parts).draw(9, 4));
}

}  // namespace
}  // namespace cpfm
