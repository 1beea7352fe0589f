// Entropic transport where it is known in closed form, and against a dense iteration written down once more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpfm/metric.hpp"
#include "cpfm/parallel.hpp"
#include "metric/point_clouds.hpp"

namespace cpfm {
namespace {

using namespace test;

// Sinkhorn's iteration on the whole matrix, in logarithms, until nothing moves.
struct Dense {
  double objective = 0, transport = 0, ot = 0;

  Dense(const FloatMatrix& a, const FloatMatrix& b, double epsilon) {
    const std::size_t n = a.rows(), m = b.rows();
    std::vector<double> cost(n * m), f(n), g(m);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) {
        for (std::size_t k = 0; k < a.cols(); ++k) cost[i * m + j] += std::pow(double(a(i, k)) - b(j, k), 2);
      }
    }
    const auto log_gamma = [&](std::size_t i, std::size_t j) { return (f[i] + g[j] - cost[i * m + j]) / epsilon; };
    for (int iteration = 0; iteration < 5000; ++iteration) {
      for (std::size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < m; ++j) sum += std::exp(log_gamma(i, j));
        f[i] -= epsilon * std::log(sum * static_cast<double>(n));
      }
      for (std::size_t j = 0; j < m; ++j) {
        double sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += std::exp(log_gamma(i, j));
        g[j] -= epsilon * std::log(sum * static_cast<double>(m));
      }
    }
    double entropy = 0, kl = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) {
        const double log = log_gamma(i, j), gamma = std::exp(log);
        transport += gamma * cost[i * m + j];
        entropy += gamma * (log - 1);
        kl += gamma * (log + std::log(static_cast<double>(n * m)));
      }
    }
    objective = transport + epsilon * entropy;
    ot = transport + epsilon * kl;
  }
};

FloatMatrix moved(const FloatMatrix& points, float by) {
  FloatMatrix result(points.rows(), points.cols());
  for (std::size_t k = 0; k < points.size(); ++k) result.data()[k] = points.data()[k] + by;
  return result;
}

TEST(EntropicDistance, OfTwoPointsIsKnown) {
  const EntropicDistance found = entropic_distance(points_of(2, {1, 2}).view(), points_of(2, {4, 6}).view(), 0.5);
  EXPECT_NEAR(found.transport, 25, 1e-9);
  EXPECT_NEAR(found.objective, 25 - 0.5, 1e-9);
  EXPECT_NEAR(found.divergence, 25, 1e-9);
  EXPECT_EQ(found.epsilon, 0.5);
}

// By symmetry a share p = 1 / (1 + exp(-c/ε)) stays where it is, c being the squared distance.
TEST(EntropicDistance, OfTwoPairsIsKnown) {
  const FloatMatrix points = points_of(1, {0, 0.5f});
  for (const double epsilon : {0.01, 0.1, 1.0}) {
    const EntropicDistance found = entropic_distance(points.view(), points.view(), epsilon);
    const double p = 1 / (1 + std::exp(-0.25 / epsilon)), q = 1 - p;
    const double entropy = p * std::log(p / 2) + (q > 0 ? q * std::log(q / 2) : 0);
    EXPECT_NEAR(found.transport, 0.25 * q, 1e-9);
    EXPECT_NEAR(found.objective, 0.25 * q + epsilon * (entropy - 1), 1e-9);
    EXPECT_EQ(found.divergence, 0);
  }
}

TEST(EntropicDistance, AgreesWithADenseIterationAlsoForDifferentNumbersOfPoints) {
  const FloatMatrix a = normal_points(31, 2, 1), b = normal_points(20, 2, 2);
  for (const double epsilon : {0.05, 0.3, 5.0}) {
    SCOPED_TRACE(epsilon);
    const Dense ab(a, b, epsilon), aa(a, a, epsilon), bb(b, b, epsilon);
    const EntropicDistance found = entropic_distance(a.view(), b.view(), epsilon);
    EXPECT_NEAR(found.objective, ab.objective, 1e-7);
    EXPECT_NEAR(found.transport, ab.transport, 1e-4);
    EXPECT_NEAR(found.divergence, ab.ot - (aa.ot + bb.ot) / 2, 1e-7);
    EXPECT_LE(found.marginal_error, 1e-5);
    EntropicOptions tight;
    tight.tolerance = 1e-8;
    EXPECT_NEAR(entropic_distance(a.view(), b.view(), epsilon, tight).transport, ab.transport, 1e-6);
  }
}

// A shift adds |s|² to the cost, and a part that potentials take up: the bias of the two is the same and goes.
TEST(EntropicDistance, DivergenceOfMovedPointsIsTheSquareOfTheWay) {
  const FloatMatrix points = normal_points(300, 3, 3);
  EXPECT_NEAR(entropic_distance(points.view(), moved(points, 2).view(), 0.2).divergence, 12, 1e-4);
  EXPECT_NEAR(entropic_distance(points.view(), moved(points, 0.125f).view(), 0.2).divergence, 3.0 / 64, 1e-5);
  EXPECT_EQ(entropic_distance(points.view(), points.view(), 0.2).divergence, 0);
}

TEST(EntropicDistance, TransportGoesFromTheProductPlanToTheExactOne) {
  const FloatMatrix a = normal_points(120, 2, 4), b = normal_points(120, 2, 5);
  double product = 0;
  for (std::size_t i = 0; i < a.rows(); ++i) {
    for (std::size_t j = 0; j < b.rows(); ++j) {
      for (std::size_t k = 0; k < 2; ++k) product += std::pow(double(a(i, k)) - b(j, k), 2) / 14400;
    }
  }
  const double exact = wasserstein2(a.view(), b.view());
  EXPECT_NEAR(entropic_distance(a.view(), b.view(), 1e6).transport, product, 1e-4);
  double last = product;
  for (const double epsilon : {1.0, 0.1, 0.01, 0.002}) {
    const double transport = entropic_distance(a.view(), b.view(), epsilon).transport;
    EXPECT_LT(transport, last);
    EXPECT_GT(transport, exact - 1e-4);
    last = transport;
  }
  EXPECT_NEAR(last, exact, 0.05 * exact);
}

TEST(EntropicDistance, IsTheSameFarFromTheOrigin) {
  FloatMatrix a = normal_points(50, 2, 6), b = normal_points(60, 2, 7);
  for (FloatMatrix* points : {&a, &b}) {
    for (std::size_t k = 0; k < points->size(); ++k) points->data()[k] = std::round(points->data()[k] * 64) / 64;
  }
  const EntropicDistance here = entropic_distance(a.view(), b.view(), 0.1);
  const EntropicDistance there = entropic_distance(moved(a, 65536).view(), moved(b, 65536).view(), 0.1);
  EXPECT_NEAR(here.objective, there.objective, 1e-6);
  EXPECT_NEAR(here.divergence, there.divergence, 1e-6);
}

TEST(EntropicDistance, KnowsRepeatedPoints) {
  const FloatMatrix same = points_of(2, std::vector<float>(12, 3)), other = points_of(2, std::vector<float>(8, 4));
  EXPECT_EQ(entropic_distance(same.view(), same.view()).transport, 0);
  const EntropicDistance found = entropic_distance(same.view(), other.view());
  EXPECT_NEAR(found.transport, 2, 1e-9);
  EXPECT_NEAR(found.divergence, 2, 1e-9);
  EXPECT_NEAR(found.objective, 2 - 0.01 * (std::log(24.0) + 1), 1e-9);
}

TEST(EntropicDistance, RefusesWhatIsNoProblem) {
  const FloatMatrix points = normal_points(20, 2, 8), other = normal_points(20, 3, 8), wide = normal_points(20, 9, 8);
  const FloatMatrix none(0, 2), broken = points_of(2, {1, std::numeric_limits<float>::quiet_NaN()});
  expect_error("b", {"3 values", "2 values"}, [&] { entropic_distance(points.view(), other.view(), 1); });
  expect_error("a", {"0 × 2"}, [&] { entropic_distance(none.view(), points.view(), 1); });
  expect_error("b", {"nan"}, [&] { entropic_distance(points.view(), broken.view(), 1); });
  expect_error("a", {"9 coordinates", "1 to 8"}, [&] { entropic_distance(wide.view(), wide.view(), 1); });
  for (const double epsilon : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    expect_error("epsilon", {"above 0"}, [&] { entropic_distance(points.view(), points.view(), epsilon); });
  }
  expect_error("epsilon", {"too small", "squared distance"},
               [&] { entropic_distance(points.view(), points.view(), 1e-12); });
  expect_error("epsilon", {"too small"},
               [&] { entropic_distance(points_of(1, {3e38f}).view(), points_of(1, {-3e38f}).view(), 1); });
  EntropicOptions options;
  options.tolerance = 0;
  expect_error("tolerance", {"above 0"}, [&] { entropic_distance(points.view(), points.view(), 1, options); });
  options = {};
  options.most_iterations = 0;
  expect_error("most_iterations", {"at least 1"}, [&] { entropic_distance(points.view(), points.view(), 1, options); });
}

TEST(EntropicDistance, SaysWhereMassesCannotBeMet) {
  const FloatMatrix a = normal_points(100, 2, 9), b = normal_points(100, 2, 10);
  EntropicOptions options;
  options.most_iterations = 2;
  expect_error("epsilon", {"a and b", "after 2 iterations", "larger epsilon"},
               [&] { entropic_distance(a.view(), b.view(), 0.001, options); });
}

TEST(EntropicGaussianDistance, ComesWithItsFloorsAndTheExactValueOfTheSamePoints) {
  const FloatMatrix y = normal_points(300, 2, 11);
  const EntropicGaussianDistance found = entropic_to_gaussian(y.view(), 250, 3);
  EXPECT_EQ(found.n, 250u);
  EXPECT_EQ(found.value.epsilon, kEntropicEpsilon);
  const GaussianDistance exact = wasserstein2_to_gaussian(y.view(), 250, 3);
  ASSERT_TRUE(found.exact.has_value());
  EXPECT_EQ(found.exact->value, exact.value);
  EXPECT_EQ(found.exact->floor, exact.floor);
  // A plan that spreads a little costs a little more than the best one, and at most its entropy less.
  EXPECT_GT(found.value.transport, exact.value);
  EXPECT_LT(found.value.transport, exact.value + kEntropicEpsilon * std::log(250.0));
  // Debiased, and of the size of the exact value: entropy lowers what is due to sampling.
  EXPECT_GT(found.floor.divergence, 0.3 * exact.floor);
  EXPECT_LT(found.floor.divergence, exact.floor);
  EXPECT_GT(found.floor.divergence_sd, 0);
  EXPECT_NEAR(found.value.divergence, found.floor.divergence, 5 * found.floor.divergence_sd);
  EXPECT_NEAR(found.value.objective, found.floor.objective, 5 * found.floor.objective_sd);
}

TEST(EntropicGaussianDistance, SeesPointsThatAreNotGaussian) {
  const FloatMatrix y = normal_points(200, 2, 12);
  const EntropicGaussianDistance found = entropic_to_gaussian(moved(y, 2).view(), 1000, 1, 0.1);
  EXPECT_EQ(found.n, 200u);
  EXPECT_NEAR(found.value.divergence, 8 + found.floor.divergence, 1.5);
}

TEST(EntropicGaussianDistance, LeavesTheExactValueOutForManyPoints) {
  const FloatMatrix y = normal_points(kMostExact + 1, 1, 13);
  const EntropicGaussianDistance found = entropic_to_gaussian(y.view(), kMostExact + 1, 1, 2.0);
  EXPECT_FALSE(found.exact.has_value());
  EXPECT_GT(found.floor.divergence, 0);
}

TEST(EntropicGaussianDistance, DependsOnTheSeedAndNotOnTheThreads) {
  const FloatMatrix y = normal_points(150, 2, 14);
  set_threads(1);
  const EntropicGaussianDistance one = entropic_to_gaussian(y.view(), 100, 3, 0.1);
  set_threads(4);
  const EntropicGaussianDistance four = entropic_to_gaussian(y.view(), 100, 3, 0.1);
  const EntropicGaussianDistance other = entropic_to_gaussian(y.view(), 100, 4, 0.1);
  set_threads(0);
  EXPECT_EQ(one.value.objective, four.value.objective);
  EXPECT_EQ(one.value.divergence, four.value.divergence);
  EXPECT_EQ(one.floor.divergence, four.floor.divergence);
  EXPECT_NE(one.value.objective, other.value.objective);
}

TEST(EntropicGaussianDistance, TakesAFloorThatIsKnown) {
  const FloatMatrix y = normal_points(120, 2, 16);
  const EntropicFloor floor = entropic_floor(100, 2, 3, 0.1);
  const EntropicGaussianDistance found = entropic_to_gaussian(y.view(), 100, 3, 0.1);
  EXPECT_EQ(found.floor.objective, floor.objective);
  EXPECT_EQ(found.floor.divergence_sd, floor.divergence_sd);
  EntropicGaussianDistance other = found;
  other.floor = {1, 2, 3, 4};
  other.exact->floor = 5;
  const EntropicGaussianDistance with = entropic_to_gaussian(y.view(), 100, 3, 0.1, {}, &other);
  EXPECT_EQ(with.floor.divergence, 3);
  EXPECT_EQ(with.exact->floor, 5);
  EXPECT_EQ(with.value.divergence, found.value.divergence);
  EXPECT_EQ(with.exact->value, found.exact->value);
  expect_error("known", {"100 points", "not of 90"}, [&] { entropic_to_gaussian(y.view(), 90, 3, 0.1, {}, &other); });
  expect_error("known", {"not of 90"}, [&] { wasserstein2_to_gaussian(y.view(), 90, 3, &*other.exact); });
}

TEST(EntropicGaussianDistance, RefusesNoPoints) {
  const FloatMatrix y = normal_points(10, 2, 15), wide = normal_points(10, 9, 15);
  expect_error("n", {"at least 1"}, [&] { entropic_to_gaussian(y.view(), 0, 1); });
  expect_error("y", {"1 to 8"}, [&] { entropic_to_gaussian(wide.view(), 10, 1); });
  expect_error("n", {"at least 1"}, [&] { entropic_floor(0, 2, 1); });
  expect_error("coordinates", {"1 to 8"}, [&] { entropic_floor(10, 9, 1); });
}

}  // namespace
}  // namespace cpfm
