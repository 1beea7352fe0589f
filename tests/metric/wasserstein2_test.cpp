// Distances that are known: of moved and shuffled points, and between Gaussian samples.
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

FloatMatrix moved(const FloatMatrix& points, const std::vector<float>& by) {
  FloatMatrix result(points.rows(), points.cols());
  for (std::size_t i = 0; i < points.rows(); ++i) {
    for (std::size_t k = 0; k < points.cols(); ++k) result(i, k) = points(i, k) + by[k];
  }
  return result;
}

FloatMatrix shuffled(const FloatMatrix& points) {
  FloatMatrix result(points.rows(), points.cols());
  const std::vector<std::size_t> order = permutation(points.rows(), 5, 5);
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::copy_n(points.row(order[i]).begin(), points.cols(), result.row(i).begin());
  }
  return result;
}

TEST(Wasserstein2, OfShuffledPointsIsZero) {
  const FloatMatrix points = normal_points(500, 3, 1);
  EXPECT_EQ(wasserstein2(points.view(), shuffled(points).view()), 0);
}

TEST(Wasserstein2, OfMovedPointsIsTheSquareOfTheWay) {
  const FloatMatrix points = normal_points(400, 2, 2);
  EXPECT_NEAR(wasserstein2(points.view(), shuffled(moved(points, {3, -4})).view()), 25, 1e-5);
  EXPECT_NEAR(wasserstein2(points.view(), moved(points, {0.5f, 0}).view()), 0.25, 1e-6);
}

TEST(Wasserstein2, KeepsTheAssignmentHoweverFarPointsAreMoved) {
  FloatMatrix points = normal_points(200, 2, 3);
  for (std::size_t i = 0; i < points.size(); ++i) points.data()[i] = std::round(points.data()[i] * 64) / 64;  // exact
  const FloatMatrix there = moved(points, {65536, 0});
  EXPECT_EQ(wasserstein2(points.view(), there.view()), 65536.0 * 65536.0);
}

TEST(Wasserstein2, KnowsRepeatedPoints) {
  const FloatMatrix a = points_of(2, {0, 0, 0, 0, 1, 0, 1, 0}), b = points_of(2, {1, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_DOUBLE_EQ(wasserstein2(a.view(), b.view()), 0.25);
  const FloatMatrix same = points_of(1, std::vector<float>(300, 7.0f));
  EXPECT_EQ(wasserstein2(same.view(), same.view()), 0);
  EXPECT_EQ(wasserstein2(points_of(3, {1, 2, 3}).view(), points_of(3, {1, 2, 5}).view()), 4);
}

TEST(Wasserstein2, IsTheSameBothWaysRoundAndForAnyNumberOfThreads) {
  const FloatMatrix a = normal_points(300, 40, 4), b = normal_points(300, 40, 5);
  set_threads(1);
  const double one = wasserstein2(a.view(), b.view());
  set_threads(3);
  EXPECT_EQ(wasserstein2(a.view(), b.view()), one);
  EXPECT_NEAR(wasserstein2(b.view(), a.view()), one, 1e-12 * one);
  set_threads(0);
}

TEST(Wasserstein2, HoldsForTheLargestAndSmallestNumbers) {
  for (const float scale : {1e38f, 1e-30f}) {
    const FloatMatrix a = points_of(1, {scale, -scale, 0}), b = points_of(1, {0, scale, -scale});
    EXPECT_EQ(wasserstein2(a.view(), b.view()), 0);
    const FloatMatrix c = points_of(1, {scale, scale, scale});
    const double s = scale;
    EXPECT_NEAR(wasserstein2(a.view(), c.view()) / (s * s), 5.0 / 3, 1e-12);
  }
}

TEST(Wasserstein2, RefusesWhatAreNoTwoPointSets) {
  const FloatMatrix three = normal_points(3, 2, 1), four = normal_points(4, 2, 1), flat = normal_points(3, 1, 1);
  FloatMatrix broken = normal_points(3, 2, 1);
  broken(1, 0) = std::numeric_limits<float>::quiet_NaN();
  expect_error("b", {"4 points", "the 3 of a"}, [&] { wasserstein2(three.view(), four.view()); });
  expect_error("b", {"1 values", "2 values"}, [&] { wasserstein2(three.view(), flat.view()); });
  expect_error("a", {"row 2, column 1", "nan"}, [&] { wasserstein2(broken.view(), three.view()); });
  expect_error("a", {"0 × 2"}, [&] { wasserstein2({three.data(), 0, 2}, {three.data(), 0, 2}); });
  expect_error("n", {"at least 1"}, [&] { wasserstein2_to_gaussian(three.view(), 0, 1); });
  expect_error("y", {"row 2"}, [&] { wasserstein2_to_gaussian(broken.view(), 2, 1); });
}

TEST(Wasserstein2, RefusesMorePointsThanThereIsMemoryForBeforehand) {
  const std::vector<float> many(2'000'000, 1.0f);
  const MatrixView<const float> points{many.data(), many.size(), 1};
  expect_error("a", {"assignment of 2000000 points needs 36.0 TB", "fewer"}, [&] { wasserstein2(points, points); });
  expect_error("n", {"2000000 points", "TB", "fewer"}, [&] { wasserstein2_to_gaussian(points, 3'000'000, 1); });
}

// Means and standard deviations in the plane from 2000, 800 and 400 pairs of samples.
TEST(GaussianDistance, HasTheKnownFloor) {
  struct Known {
    std::size_t n;
    double mean, sd;
  };
  const FloatMatrix y = normal_points(512, 2, 6);
  for (const Known known : {Known{100, 0.236, 0.058}, Known{256, 0.115, 0.024}, Known{512, 0.066, 0.014}}) {
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      const GaussianDistance found = wasserstein2_to_gaussian(y.view(), known.n, seed);
      EXPECT_EQ(found.n, known.n);
      EXPECT_NEAR(found.floor, known.mean, 4 * known.sd / std::sqrt(static_cast<double>(floor_pairs(known.n))))
          << known.n << " " << seed;
      EXPECT_NEAR(found.value, known.mean, 4 * known.sd) << known.n << " " << seed;
      EXPECT_GT(found.floor_sd, 0.1 * known.sd);
      EXPECT_LT(found.floor_sd, 3 * known.sd);
    }
  }
}

TEST(GaussianDistance, HasItsFloorFromMorePairsWhereTheyCostLittle) {
  EXPECT_EQ(floor_pairs(0), 64u);
  EXPECT_EQ(floor_pairs(359), 64u);
  EXPECT_EQ(floor_pairs(1000), 32u);
  EXPECT_EQ(floor_pairs(2000), 16u);
  EXPECT_EQ(floor_pairs(100000), 8u);
}

TEST(GaussianDistance, SeesPointsThatAreNotGaussian) {
  const FloatMatrix y = normal_points(300, 2, 8);
  const GaussianDistance found = wasserstein2_to_gaussian(moved(y, {2, 0}).view(), 1000, 1);
  EXPECT_EQ(found.n, 300u);
  EXPECT_NEAR(found.value, 4 + found.floor, 0.8);
}

TEST(GaussianDistance, DependsOnTheSeedAndNotOnTheThreads) {
  const FloatMatrix y = normal_points(400, 2, 9);
  set_threads(1);
  const GaussianDistance one = wasserstein2_to_gaussian(y.view(), 150, 3);
  set_threads(4);
  const GaussianDistance four = wasserstein2_to_gaussian(y.view(), 150, 3);
  const GaussianDistance other = wasserstein2_to_gaussian(y.view(), 150, 4);
  set_threads(0);
  EXPECT_EQ(one.value, four.value);
  EXPECT_EQ(one.floor, four.floor);
  EXPECT_EQ(one.floor_sd, four.floor_sd);
  EXPECT_NE(one.value, other.value);
  EXPECT_NE(one.floor, other.floor);
}

}  // namespace
}  // namespace cpfm
