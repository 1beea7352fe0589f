// The assignment solver against all permutations, against sorting on a line, and by the optimality conditions that
// prove a solution whatever found it.
#include "metric/assignment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cpfm/interrupt.hpp"
#include "cpfm/metric.hpp"
#include "metric/point_clouds.hpp"

namespace cpfm {
namespace {

using namespace test;

double total(MatrixView<const double> cost, const std::vector<std::uint32_t>& column_of) {
  double sum = 0;
  for (std::size_t i = 0; i < cost.rows; ++i) sum += cost(i, column_of[i]);
  return sum;
}

double least_total(MatrixView<const double> cost) {
  std::vector<std::uint32_t> order(cost.rows);
  std::iota(order.begin(), order.end(), 0u);
  double least = total(cost, order);
  while (std::next_permutation(order.begin(), order.end())) least = std::min(least, total(cost, order));
  return least;
}

bool is_permutation_of_rows(std::vector<std::uint32_t> order) {
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

// u[i] + v[j] ≤ cost everywhere, with equality on the assignment: no assignment can cost less.
void expect_proof(MatrixView<const double> cost, const Assignment& solved, double tolerance) {
  ASSERT_TRUE(is_permutation_of_rows(solved.column_of));
  double worst = 0, gap = 0;
  for (std::size_t i = 0; i < cost.rows; ++i) {
    for (std::size_t j = 0; j < cost.cols; ++j) worst = std::max(worst, solved.u[i] + solved.v[j] - cost(i, j));
    const std::size_t j = solved.column_of[i];
    gap = std::max(gap, std::abs(solved.u[i] + solved.v[j] - cost(i, j)));
  }
  EXPECT_LE(worst, tolerance);
  EXPECT_LE(gap, tolerance);
}

std::vector<double> squared_distances(const FloatMatrix& a, const FloatMatrix& b) {
  std::vector<double> cost;
  for (std::size_t i = 0; i < a.rows(); ++i) {
    for (std::size_t j = 0; j < b.rows(); ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < a.cols(); ++k) sum += std::pow(double{a(i, k)} - b(j, k), 2);
      cost.push_back(sum);
    }
  }
  return cost;
}

TEST(Assignment, IsTheBestOfAllPermutations) {
  for (std::size_t n = 1; n <= 8; ++n) {
    for (std::uint64_t seed = 0; seed < (n == 8 ? 10u : 60u); ++seed) {
      Rng rng(seed, 2, n);
      std::vector<double> cost(n * n);
      const bool ties = seed % 2 == 0, negative = seed % 3 == 0;
      for (double& c : cost) c = (ties ? static_cast<double>(rng.below(4)) : rng.normal()) - (negative ? 2 : 0);
      const MatrixView<const double> view{cost.data(), n, n};
      const Assignment solved = solve_assignment(view);
      ASSERT_TRUE(is_permutation_of_rows(solved.column_of));
      EXPECT_NEAR(total(view, solved.column_of), least_total(view), 1e-12) << n << " " << seed;
    }
  }
}

TEST(Assignment, IsProvenByItsPrices) {
  for (const std::size_t d : {1u, 2u, 5u}) {
    const FloatMatrix a = normal_points(300, d, 1), b = normal_points(300, d, 2);
    const std::vector<double> cost = squared_distances(a, b);
    expect_proof({cost.data(), 300, 300}, solve_assignment({cost.data(), 300, 300}), 1e-12);
  }
}

TEST(Assignment, IsProvenByItsPricesForCostsWithoutGeometry) {
  for (const std::uint64_t most : {2u, 100u, 1000000000u}) {
    const std::size_t n = 257;
    Rng rng(3, 3, most);
    std::vector<double> cost(n * n);
    for (double& c : cost) c = static_cast<double>(rng.below(most));
    expect_proof({cost.data(), n, n}, solve_assignment({cost.data(), n, n}), 1e-12 * static_cast<double>(most));
  }
  std::vector<double> products;  // the hard case of Machol and Wien
  for (int i = 1; i <= 200; ++i) {
    for (int j = 1; j <= 200; ++j) products.push_back(i * j);
  }
  expect_proof({products.data(), 200, 200}, solve_assignment({products.data(), 200, 200}), 1e-8);
}

TEST(Assignment, IsProvenByItsPricesForClustersOfDifferentSizes) {
  FloatMatrix a = normal_points(400, 2, 4), b = normal_points(400, 2, 5);
  for (std::size_t i = 0; i < 400; ++i) {
    a(i, 0) = 0.01f * a(i, 0) + (i % 4 == 0 ? 1.0f : 0.0f);
    b(i, 0) = 0.01f * b(i, 0) + (i % 3 == 0 ? 1.0f : 0.0f);
  }
  const std::vector<double> cost = squared_distances(a, b);
  expect_proof({cost.data(), 400, 400}, solve_assignment({cost.data(), 400, 400}), 1e-12);
}

TEST(Assignment, OnALineFollowsTheOrder) {
  for (const std::size_t n : {1u, 2u, 3u, 10u, 100u, 1000u}) {
    const FloatMatrix a = normal_points(n, 1, 6), b = normal_points(n, 1, 7);
    std::vector<std::uint32_t> by_a(n), by_b(n);
    std::iota(by_a.begin(), by_a.end(), 0u);
    std::iota(by_b.begin(), by_b.end(), 0u);
    std::sort(by_a.begin(), by_a.end(), [&](auto i, auto j) { return a(i, 0) < a(j, 0); });
    std::sort(by_b.begin(), by_b.end(), [&](auto i, auto j) { return b(i, 0) < b(j, 0); });
    const std::vector<std::uint32_t> assigned = optimal_assignment(a.view(), b.view());
    ASSERT_TRUE(is_permutation_of_rows(assigned));
    double found = 0, sorted = 0;
    for (std::size_t i = 0; i < n; ++i) {
      found += std::pow(double{a(i, 0)} - b(assigned[i], 0), 2);
      sorted += std::pow(double{a(by_a[i], 0)} - b(by_b[i], 0), 2);
    }
    EXPECT_NEAR(found, sorted, 1e-11 * static_cast<double>(n)) << n;
  }
}

TEST(Assignment, EndsWhenAllCostsAreEqual) {
  const std::vector<double> cost(500 * 500, 3.0);
  const Assignment solved = solve_assignment({cost.data(), 500, 500});
  expect_proof({cost.data(), 500, 500}, solved, 0);
}

TEST(Assignment, StopsWhenInterrupted) {
  const FloatMatrix a = normal_points(300, 2, 8), b = normal_points(300, 2, 9);
  request_interrupt();
  EXPECT_THROW(optimal_assignment(a.view(), b.view()), Interrupted);
  clear_interrupt();
}

}  // namespace
}  // namespace cpfm
