#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cpfm/metric.hpp"
#include "metric/point_clouds.hpp"

namespace cpfm {
namespace {

using namespace test;

// n places of N(0, 1) judged by a law N(0, sd²), with K draws from it.
std::vector<double> of_normals(double sd, std::span<const double> levels) {
  const std::size_t n = 20000, count = 99;
  const auto log_density = [&](double y) { return -0.5 * y * y / (sd * sd) - std::log(sd); };
  std::vector<double> places(n), draws(n * count);
  Rng rng(1, 2);
  for (double& place : places) place = log_density(rng.normal());
  for (double& draw : draws) draw = log_density(sd * rng.normal());
  return coverage(places, {draws.data(), n, count}, levels);
}

TEST(Coverage, OfTheRightLawIsTheLevel) {
  const std::vector<double> levels{0.1, 0.5, 0.9}, found = of_normals(1, levels);
  for (std::size_t l = 0; l < levels.size(); ++l) EXPECT_NEAR(found[l], levels[l], 0.01);
}

// The region of level L is |y| < sd z with z the quantile of (1 + L) / 2, which holds erf(sd z / √2) of N(0, 1).
TEST(Coverage, OfALawThatIsTooSureIsLess) {
  const std::vector<double> levels{0.5, 0.9};
  const std::vector<double> sure = of_normals(0.5, levels), unsure = of_normals(2, levels);
  const double z[] = {0.674490, 1.644854};
  for (std::size_t l = 0; l < 2; ++l) {
    EXPECT_NEAR(sure[l], std::erf(0.5 * z[l] / std::sqrt(2.0)), 0.015);
    EXPECT_NEAR(unsure[l], std::erf(2 * z[l] / std::sqrt(2.0)), 0.015);
  }
}

TEST(Coverage, CountsDrawsThatAreDenser) {
  // 0, 2 and 4 of four draws are denser; equal ones are not.
  const std::vector<double> places{5, 2, -std::numeric_limits<double>::infinity()};
  const std::vector<double> draws{1, 2, 3, 5, 1, 2, 3, 4, 1, 2, 3, 4}, levels{0.2, 0.35, 0.5, 0.79};
  const std::vector<double> found = coverage(places, {draws.data(), 3, 4}, levels);
  EXPECT_EQ(found, (std::vector<double>{1.0 / 3, 1.0 / 3, 2.0 / 3, 2.0 / 3}));
}

TEST(Coverage, RefusesWhatIsNoDensity) {
  const std::vector<double> places{1, 2}, draws{1, 2, 3, 4}, levels{0.5}, nan{1, std::nan("")};
  expect_error("places", {"none"}, [&] { coverage({}, {draws.data(), 0, 2}, levels); });
  expect_error("places", {"2"}, [&] { coverage(nan, {draws.data(), 2, 2}, levels); });
  expect_error("draws", {"1 rows", "2 places"}, [&] { coverage(places, {draws.data(), 1, 4}, levels); });
  expect_error("draws", {"at least one"}, [&] { coverage(places, {draws.data(), 2, 0}, levels); });
  expect_error("draws", {"row 2"}, [&] { coverage(places, {nan.data(), 2, 1}, levels); });
  for (const double level : {0.0, 1.0, -1.0, std::nan("")}) {
    expect_error("levels", {"between 0 and 1"}, [&] {
      coverage(places, {draws.data(), 2, 2}, std::vector<double>{level});
    });
  }
}

}  // namespace
}  // namespace cpfm
