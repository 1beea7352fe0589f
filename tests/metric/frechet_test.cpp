// Fréchet distances of sets whose means and covariances are known to the last digit.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cpfm/metric.hpp"
#include "metric/point_clouds.hpp"

namespace cpfm {
namespace {

using namespace test;

// 2d points mean ± s_k e_k · c: the sample covariance is diag(s²) where c² = (2d - 1) / 2.
FloatMatrix design(const std::vector<double>& mean, const std::vector<double>& s) {
  const std::size_t d = mean.size();
  const double c = std::sqrt((2.0 * static_cast<double>(d) - 1) / 2);
  FloatMatrix points(2 * d, d);
  for (std::size_t i = 0; i < 2 * d; ++i) {
    for (std::size_t k = 0; k < d; ++k) {
      const double sign = i % 2 == 0 ? 1 : -1;
      points(i, k) = static_cast<float>(mean[k] + (i / 2 == k ? sign * c * s[k] : 0));
    }
  }
  return points;
}

FloatMatrix repeated_rows(const FloatMatrix& points, std::size_t times) {
  FloatMatrix result(times * points.rows(), points.cols());
  for (std::size_t t = 0; t < times; ++t) {
    std::copy_n(points.data(), points.size(), result.data() + t * points.size());
  }
  return result;
}

TEST(FrechetDistance, OfASetToItselfIsZero) {
  for (const std::size_t n : {5u, 40u, 400u}) {  // fewer rows than columns, and more
    const FloatMatrix points = normal_points(n, 40, n);
    EXPECT_NEAR(frechet_distance(points.view(), points.view()), 0, 1e-10);
  }
}

TEST(FrechetDistance, OfMovedPointsIsTheSquareOfTheWay) {
  for (const std::size_t n : {6u, 100u}) {
    FloatMatrix points = normal_points(n, 10, 1), there(n, 10);
    for (std::size_t k = 0; k < points.size(); ++k) {
      points.data()[k] = std::round(points.data()[k] * 64) / 64;  // exact
      there.data()[k] = points.data()[k] + 3;
    }
    EXPECT_NEAR(frechet_distance(points.view(), there.view()), 90, 1e-10);
  }
}

TEST(FrechetDistance, OfDiagonalGaussiansIsKnown) {
  const std::vector<double> s{1, 2, 0.5, 3}, t{2, 2, 1.5, 0.25};
  const double known = 1 + 0 + 1 + 2.75 * 2.75;  // Σ (s - t)²
  const FloatMatrix a = design({0, 0, 0, 0}, s), b = design({0, 0, 0, 0}, t);
  EXPECT_NEAR(frechet_distance(a.view(), b.view()), known, 1e-5);
  EXPECT_NEAR(frechet_distance(b.view(), a.view()), known, 1e-5);
  const FloatMatrix moved = design({1, -2, 0, 2}, t);
  EXPECT_NEAR(frechet_distance(a.view(), moved.view()), known + 9, 1e-5);
}

// (Σ_a^½ Σ_b Σ_a^½)^½ of covariances that do not commute: in the plane the trace of the root of M is √(tr M + 2 √det
// M).
TEST(FrechetDistance, OfCovariancesThatDoNotCommuteIsKnown) {
  const FloatMatrix a = points_of(2, {2, 0, -2, 0, 0, 1, 0, -1}), b = points_of(2, {3, 3, -3, -3, 1, -1, -1, 1});
  // Covariances diag(8, 2) / 3 and ((20, 16), (16, 20)) / 3; tr(Σ_a Σ_b) = 200 / 9, det = 16 · 144 / 81.
  const double root = std::sqrt(200.0 / 9 + 2 * std::sqrt(16.0 * 144) / 9);
  EXPECT_NEAR(frechet_distance(a.view(), b.view()), 10.0 / 3 + 40.0 / 3 - 2 * root, 1e-12);
}

// Few rows take the way through the rows, many the way through the features; rows given five times have the same mean
// and, but for the n - 1, the same covariance.
TEST(FrechetDistance, IsTheSameThroughRowsAndThroughFeatures) {
  const FloatMatrix a = normal_points(8, 12, 3), b = normal_points(9, 12, 4);
  FloatMatrix c = repeated_rows(a, 5), d = repeated_rows(b, 5);
  double shift = 0;
  for (std::size_t k = 0; k < 12; ++k) {
    double difference = 0;
    for (std::size_t i = 0; i < 8; ++i) difference += a(i, k) / 8.0;
    for (std::size_t i = 0; i < 9; ++i) difference -= b(i, k) / 9.0;
    shift += difference * difference;
  }
  // Scales both covariances back: 5n - 1 instead of 5 (n - 1).
  const auto widen = [](FloatMatrix& points, double n) {
    const double scale = std::sqrt((5 * n - 1) / (5 * (n - 1)));
    for (std::size_t k = 0; k < points.cols(); ++k) {
      double mean = 0;
      for (std::size_t i = 0; i < points.rows(); ++i) mean += points(i, k) / static_cast<double>(points.rows());
      for (std::size_t i = 0; i < points.rows(); ++i) {
        points(i, k) = static_cast<float>(mean + scale * (points(i, k) - mean));
      }
    }
  };
  widen(c, 8);
  widen(d, 9);
  const double few = frechet_distance(a.view(), b.view());
  EXPECT_GT(few, shift);
  EXPECT_NEAR(frechet_distance(c.view(), d.view()), few, 1e-4);
  EXPECT_NEAR(frechet_distance(a.view(), d.view()), few, 1e-4);
}

// 2048 features, as Inception-V3 has, where that takes seconds.
TEST(FrechetDistance, OfUnitGaussiansOneApartInEveryFeatureIsTheNumberOfFeatures) {
#if defined(NDEBUG) && !CPFM_SANITIZED
  const std::size_t d = 2048;
#else
  const std::size_t d = 200;
#endif
  const FloatMatrix a = design(std::vector<double>(d, 0), std::vector<double>(d, 1));
  const FloatMatrix b = design(std::vector<double>(d, 1), std::vector<double>(d, 1));
  EXPECT_NEAR(frechet_distance(a.view(), b.view()), static_cast<double>(d), 1e-2);
}

TEST(FrechetDistance, RefusesWhatHasNoCovariance) {
  const FloatMatrix one = normal_points(1, 3, 5), two = normal_points(2, 3, 5), other = normal_points(2, 4, 5);
  expect_error("a", {"at least 2"}, [&] { frechet_distance(one.view(), two.view()); });
  expect_error("b", {"at least 2"}, [&] { frechet_distance(two.view(), one.view()); });
  expect_error("b", {"4 values", "3 values"}, [&] { frechet_distance(two.view(), other.view()); });
  const FloatMatrix broken = points_of(1, {1, std::numeric_limits<float>::infinity()});
  expect_error("a", {"inf"}, [&] { frechet_distance(broken.view(), broken.view()); });
}

}  // namespace
}  // namespace cpfm
