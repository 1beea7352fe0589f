#include "cpfm/error.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/checked.hpp"
#include "base/half.hpp"

namespace cpfm {
namespace {

TEST(Error, SaysWhereWhatAndWhatWouldWork) {
  const Error error("a.csv, row 3", "'x' is not a number", "use --labels");
  EXPECT_STREQ(error.what(), "a.csv, row 3: 'x' is not a number; use --labels");
  EXPECT_EQ(error.where(), "a.csv, row 3");
  EXPECT_EQ(error.problem(), "'x' is not a number");
  EXPECT_EQ(error.remedy(), "use --labels");
  EXPECT_STREQ(Error("a.csv", "is empty").what(), "a.csv: is empty");
}

TEST(Error, OfOursIsAnotherKind) {
  try {
    CPFM_ASSERT(1 == 2, "arithmetic holds");
    FAIL();
  } catch (const Error&) {
    FAIL() << "an internal error must not look like the caller's";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("arithmetic holds (1 == 2)"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("error_test.cpp"), std::string::npos);
  }
}

TEST(CheckedSizes, RefuseToWrap) {
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(checked_mul(6, 7, "f"), 42u);
  EXPECT_EQ(checked_add(6, 7, "f"), 13u);
  EXPECT_EQ(checked_mul(kMax, 1, "f"), kMax);
  EXPECT_THROW(checked_mul(kMax / 2 + 1, 2, "f"), Error);
  EXPECT_THROW(checked_add(kMax, 1, "f"), Error);
  EXPECT_EQ(checked_product(std::vector<std::uint64_t>{2, 3, 4}, "f"), 24u);
  EXPECT_EQ(checked_product(std::vector<std::uint64_t>{}, "f"), 1u);
  EXPECT_THROW(checked_product(std::vector<std::uint64_t>{1ull << 32, 1ull << 32}, "f"), Error);
  EXPECT_EQ(checked_int(2147483647, "f"), 2147483647);
  EXPECT_THROW(checked_int(2147483648u, "f"), Error);
}

TEST(HalfPrecision, ConvertsExactly) {
  EXPECT_EQ(float_from_half(0x3C00), 1.0f);
  EXPECT_EQ(float_from_half(0xC000), -2.0f);
  EXPECT_EQ(float_from_half(0x7BFF), 65504.0f);
  EXPECT_EQ(float_from_half(0x0001), 0x1.0p-24f);
  EXPECT_EQ(float_from_half(0x8000), 0.0f);
  EXPECT_TRUE(std::signbit(float_from_half(0x8000)));
  EXPECT_EQ(float_from_half(0x7C00), INFINITY);
  EXPECT_TRUE(std::isnan(float_from_half(0x7E00)));
  EXPECT_EQ(float_from_bfloat16(0x3F80), 1.0f);
  EXPECT_EQ(float_from_bfloat16(0xC040), -3.0f);
}

}  // namespace
}  // namespace cpfm
