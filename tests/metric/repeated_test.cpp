#include <gtest/gtest.h>

#include <cmath>

#include "cpfm/metric.hpp"
#include "metric/point_clouds.hpp"

namespace cpfm {
namespace {

using namespace test;

TEST(Repeated, HasTheMeanAndTheSampleStandardDeviation) {
  const Repeated runs = repeated({2, 4, 9});
  EXPECT_DOUBLE_EQ(runs.mean, 5);
  ASSERT_TRUE(runs.sd.has_value());
  EXPECT_DOUBLE_EQ(*runs.sd, std::sqrt(26.0 / 2));
  EXPECT_EQ(runs.values, (std::vector<double>{2, 4, 9}));
}

TEST(Repeated, HasNoDeviationAfterOneRun) {
  EXPECT_EQ(repeated({7}).mean, 7);
  EXPECT_FALSE(repeated({7}).sd.has_value());
}

TEST(Repeated, RefusesWhatHasNoMean) {
  expect_error("values", {"at least one"}, [] { repeated({}); });
  expect_error("values", {"run 2", "nan"}, [] { repeated({1, std::nan("")}); });
}

}  // namespace
}  // namespace cpfm
