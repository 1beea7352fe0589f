#include <gtest/gtest.h>

#include <vector>

#include "cpfm/error.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/random.hpp"

namespace cpfm {
namespace {

FloatMatrix line(std::size_t n) {
  FloatMatrix points(n, 1);
  for (std::size_t i = 0; i < n; ++i) points(i, 0) = static_cast<float>(i);
  return points;
}

TEST(NearestMean, IsTheMeanOfTheNearest) {
  const FloatMatrix points = line(5);
  const std::vector<double> values{1, 2, 4, 8, 16};
  FloatMatrix query(1, 1);
  query(0, 0) = 3.4F;
  EXPECT_DOUBLE_EQ(nearest_mean(points.view(), values, query.view(), 2, false)[0], 12);
  const std::vector<double> others = nearest_mean(points.view(), values, points.view(), 1, true);
  EXPECT_DOUBLE_EQ(others[0], 2);  // of itself it knows nothing
  EXPECT_DOUBLE_EQ(others[4], 8);
  EXPECT_DOUBLE_EQ(others[1], 1);  // of two equally near the earlier
}

TEST(NearestMean, ExplainsWhatVariesSmoothlyAndNothingElse) {
  constexpr std::size_t kPoints = 400;
  FloatMatrix points(kPoints, 2);
  std::vector<double> smooth(kPoints), noise(kPoints);
  Rng rng(3, 1, 0);
  for (std::size_t i = 0; i < kPoints; ++i) {
    points(i, 0) = static_cast<float>(rng.normal());
    points(i, 1) = static_cast<float>(rng.normal());
    smooth[i] = points(i, 0) - 2 * points(i, 1);
    noise[i] = rng.normal();
  }
  EXPECT_GT(r_squared(nearest_mean(points.view(), smooth, points.view(), 10, true), smooth), 0.9);
  EXPECT_LT(r_squared(nearest_mean(points.view(), noise, points.view(), 10, true), noise), 0.1);
}

TEST(NearestMean, RefusesWhatCannotBe) {
  const FloatMatrix points = line(5);
  const std::vector<double> values{1, 2, 4, 8, 16}, few{1};
  EXPECT_THROW(nearest_mean(points.view(), few, points.view(), 1, false), Error);
  EXPECT_THROW(nearest_mean(points.view(), values, points.view(), 0, false), Error);
  EXPECT_NO_THROW(nearest_mean(points.view(), values, points.view(), 5, false));
  EXPECT_THROW(nearest_mean(points.view(), values, points.view(), 5, true), Error);
}

TEST(RSquared, IsOneForAllAndZeroForTheMean) {
  const std::vector<double> actual{1, 2, 3, 6}, mean{3, 3, 3, 3}, flat{2, 2};
  EXPECT_DOUBLE_EQ(r_squared(actual, actual), 1);
  EXPECT_DOUBLE_EQ(r_squared(mean, actual), 0);
  EXPECT_THROW(r_squared(flat, flat), Error);
  EXPECT_THROW(r_squared(flat, actual), Error);
}

TEST(RankCorrelation, LooksAtTheOrderAlone) {
  const std::vector<double> a{1, 2, 3, 4, 5}, cubes{1, 8, 27, 64, 125}, falling{9, 7, 5, 3, 1}, ties{1, 1, 2, 2, 3};
  EXPECT_DOUBLE_EQ(rank_correlation(a, cubes), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(a, falling), -1);
  EXPECT_NEAR(rank_correlation(a, ties), 0.948683, 1e-6);  // scipy.stats.spearmanr
  const std::vector<double> mixed{2, 1, 4, 3, 5};
  EXPECT_NEAR(rank_correlation(a, mixed), 0.8, 1e-12);  // 1 - 6 Σ d² / (n (n² - 1))
}

}  // namespace
}  // namespace cpfm
