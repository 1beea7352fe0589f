// Marks of an axis: round, inside, few, and labelled with no more digits than they need.
#include "report/ticks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace cpfm::report {
namespace {

using Values = std::vector<double>;
using Texts = std::vector<std::string>;

TEST(LinearTicks, AreRoundNumbersInsideTheRange) {
  EXPECT_EQ(linear_ticks({-2.6, 3.4}, 7).major, (Values{-2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(linear_ticks({0, 100}, 6).major, (Values{0, 20, 40, 60, 80, 100}));
  EXPECT_EQ(linear_ticks({0.12, 0.48}, 5).labels, (Texts{"0.2", "0.3", "0.4"}));
}

TEST(LinearTicks, AreNeverMoreThanAskedAndNeverWithout) {
  for (const double length : {1e-280, 1e-12, 0.3, 1.0, 7.0, 999.0, 1.0001e4, 3e38, 1e300}) {
    for (const double offset : {0.0, -0.37, 5.1}) {
      const Range range{offset * length, (offset + 1) * length};
      for (int most = 3; most <= 9; ++most) {
        const Ticks ticks = linear_ticks(range, most);
        EXPECT_LE(ticks.major.size(), static_cast<std::size_t>(most)) << length << " " << offset;
        EXPECT_GE(ticks.major.size(), 1U) << length << " " << offset;
        EXPECT_EQ(ticks.labels.size(), ticks.major.size());
        EXPECT_EQ(std::set<std::string>(ticks.labels.begin(), ticks.labels.end()).size(), ticks.labels.size());
        for (const double tick : ticks.major) {
          EXPECT_GE(tick, range.low - 1e-6 * length);
          EXPECT_LE(tick, range.high + 1e-6 * length);
        }
      }
    }
  }
}

TEST(LinearTicks, HaveDigitsForTheirStepAndNoMore) {
  EXPECT_EQ(linear_ticks({0, 1}, 6).labels, (Texts{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}));
  EXPECT_EQ(linear_ticks({-0.1, 0.1}, 5).labels, (Texts{"−0.10", "−0.05", "0.00", "0.05", "0.10"}));
}

TEST(LinearTicks, GroupLargeNumbersAndWriteVeryLargeAndSmallOnesAsPowersOfTen) {
  EXPECT_EQ(linear_ticks({0, 60'000}, 4).labels, (Texts{"0", "20,000", "40,000", "60,000"}));
  EXPECT_EQ(linear_ticks({0, 2'000}, 3).labels, (Texts{"0", "1000", "2000"}));
  EXPECT_EQ(linear_ticks({-2e6, 2e6}, 3).labels, (Texts{"−2,000,000", "0", "2,000,000"}));
  EXPECT_EQ(linear_ticks({0, 2e9}, 3).labels, (Texts{"0", "1×10⁹", "2×10⁹"}));
  EXPECT_EQ(linear_ticks({0, 2e-12}, 3).labels, (Texts{"0", "1×10⁻¹²", "2×10⁻¹²"}));
}

TEST(LinearTicks, OfOneValueAreThatValue) {
  EXPECT_EQ(linear_ticks({4.5, 4.5}, 5).major, Values{4.5});
  EXPECT_EQ(linear_ticks({4.5, 4.5}, 5).labels, Texts{"4.5"});
}

TEST(StepTicks, AreMultiplesOfTheNextRoundStep) {
  EXPECT_EQ(step_ticks({0, 10}, 1.3).major, (Values{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(step_ticks({0, 10}, 2).major, (Values{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(step_ticks({0, 10}, 2.1).major, (Values{0, 5, 10}));
}

TEST(LogTicks, ArePowersOfTenWithMinorMarksBetween) {
  const Ticks ticks = log_ticks({0.9, 1100}, 6);
  EXPECT_EQ(ticks.major, (Values{1, 10, 100, 1000}));
  EXPECT_EQ(ticks.labels, (Texts{"1", "10", "100", "1000"}));
  EXPECT_EQ(ticks.minor.size(), 3U * 8U + 1U);  // and 0.9
  EXPECT_EQ(log_ticks({1e-4, 1e6}, 20).labels.front(), "10⁻⁴");
}

TEST(LogTicks, SkipPowersWhereThereAreMany) {
  const Ticks ticks = log_ticks({1e-12, 1e12}, 6);
  EXPECT_LE(ticks.major.size(), 6U);
  EXPECT_GE(ticks.major.size(), 3U);
  EXPECT_LE(log_ticks({1e-300, 1e300}, 6).major.size(), 7U);
}

TEST(LogTicks, AreFinerWhereTheRangeIsShort) {
  EXPECT_EQ(log_ticks({1.5, 12}, 6).major, (Values{2, 5, 10}));
  EXPECT_EQ(log_ticks({3e4, 4.1e5}, 6).labels, (Texts{"5×10⁴", "1×10⁵", "2×10⁵"}));
  EXPECT_EQ(log_ticks({2.1, 2.9}, 5).major, linear_ticks({2.1, 2.9}, 5).major);
}

TEST(Padding, WidensWhatHasNoLength) {
  for (const double value : {0.0, 3.0, -2e30, 1e-320}) {
    const Range range = padded({value, value}, 0.05, false);
    EXPECT_LT(range.low, value);
    EXPECT_GT(range.high, value);
    EXPECT_GE(linear_ticks(range, 5).major.size(), 2U);
  }
  const Range log = padded({10, 10}, 0.05, true);
  EXPECT_DOUBLE_EQ(log.low, 5);
  EXPECT_DOUBLE_EQ(log.high, 20);
}

TEST(Padding, IsAFractionOfTheLengthAndOfTheLogarithm) {
  const Range linear = padded({0, 10}, 0.1, false);
  EXPECT_DOUBLE_EQ(linear.low, -1);
  EXPECT_DOUBLE_EQ(linear.high, 11);
  const Range log = padded({1, 100}, 0.5, true);
  EXPECT_NEAR(log.low, 0.1, 1e-12);
  EXPECT_NEAR(log.high, 1000, 1e-9);
}

}  // namespace
}  // namespace cpfm::report
