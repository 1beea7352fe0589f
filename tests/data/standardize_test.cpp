#include <gtest/gtest.h>

#include <cmath>

#include "cpfm/data.hpp"
#include "support/files.hpp"

namespace cpfm {
namespace {

using namespace test;

// Columns: 0..4, a constant, and large values that cancel.
Dataset table() {
  Dataset data;
  data.source = "table";
  data.samples = FloatMatrix(5, 3);
  for (std::size_t i = 0; i < 5; ++i) {
    data.samples(i, 0) = static_cast<float>(i);
    data.samples(i, 1) = 7;
    data.samples(i, 2) = 1e6f + static_cast<float>(i);
  }
  return data;
}

TEST(Standardize, UnitBringsEachFeatureToZeroOne) {
  Dataset data = table();
  Standardizer::fit(data, Standardize::kUnit).apply(data.samples.view());
  EXPECT_EQ(data.samples(0, 0), 0);
  EXPECT_EQ(data.samples(2, 0), 0.5f);
  EXPECT_EQ(data.samples(4, 2), 1);
  EXPECT_EQ(data.samples(3, 1), 0);  // a constant becomes 0, not NaN
}

TEST(Standardize, ZscoreGivesMeanZeroAndDeviationOne) {
  Dataset data = table();
  Standardizer::fit(data, Standardize::kZscore).apply(data.samples.view());
  for (const std::size_t j : {0u, 2u}) {
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      mean += data.samples(i, j) / 5;
      squares += data.samples(i, j) * data.samples(i, j) / 5;
    }
    EXPECT_NEAR(mean, 0, 1e-5);
    EXPECT_NEAR(squares, 1, 1e-5);
  }
  EXPECT_EQ(data.samples(0, 1), 0);
}

TEST(Standardize, ImageBringsBlackToMinusOneAndWhiteToOne) {
  Dataset digits = read_dataset("digits");
  const Standardizer scale = Standardizer::fit(digits, Standardize::kImage);
  FloatMatrix values(1, 3);
  values(0, 0) = 0;
  values(0, 1) = 8;
  values(0, 2) = 16;
  scale.apply(values.view());
  EXPECT_EQ(values(0, 0), -1);
  EXPECT_EQ(values(0, 1), 0);
  EXPECT_EQ(values(0, 2), 1);
  EXPECT_CONTAINS(error_of([] { Standardizer::fit(table(), Standardize::kImage); }), "does not hold pictures");
}

TEST(Standardize, CanBeUndone) {
  for (const auto mode : {Standardize::kNone, Standardize::kUnit, Standardize::kZscore}) {
    Dataset data = table();
    const Standardizer scale = Standardizer::fit(data, mode);
    scale.apply(data.samples.view());
    scale.invert(data.samples.view());
    const Dataset before = table();
    for (std::size_t k = 0; k < before.samples.size(); ++k) {
      EXPECT_NEAR(data.samples.data()[k], before.samples.data()[k], 1e-6 * std::abs(before.samples.data()[k]) + 1e-6);
    }
  }
}

TEST(Standardize, KeepsTheLargestAndSmallestNumbersFinite) {
  for (const auto mode : {Standardize::kUnit, Standardize::kZscore, Standardize::kImage}) {
    Dataset data;
    data.samples = FloatMatrix(2, 2);
    data.image = ImageShape{1, 1, 2};
    data.samples(0, 0) = -3e38f;
    data.samples(1, 0) = 3e38f;
    data.samples(0, 1) = 3e38f;
    data.samples(1, 1) = 2e38f;
    const Standardizer scale = Standardizer::fit(data, mode);
    scale.apply(data.samples.view());
    for (const float value : data.samples.values()) EXPECT_LE(std::abs(value), 2) << to_string(mode);
    scale.invert(data.samples.view());
    EXPECT_NEAR(data.samples(1, 0), 3e38, 1e32) << to_string(mode);
  }
  Dataset tiny;
  tiny.samples = FloatMatrix(4, 1);
  for (std::size_t i = 0; i < 4; ++i) tiny.samples(i, 0) = i == 0 ? 1e-45f : 0;  // a deviation that no float holds
  Standardizer::fit(tiny, Standardize::kZscore).apply(tiny.samples.view());
  for (const float value : tiny.samples.values()) EXPECT_TRUE(std::isfinite(value));
}

TEST(Standardize, RefusesShiftsAndScalesThatDoNotFit) {
  FloatMatrix values(2, 3);
  std::fill_n(values.data(), 6, 1.0f);
  Standardizer one{Standardize::kUnit, {0}, {1}};  // shared by all features only for pictures
  EXPECT_CONTAINS(error_of([&] { one.apply(values.view()); }), "3 features where the standardization knows 1");
  Standardizer few{Standardize::kZscore, {0, 0, 0}, {1, 1}};
  EXPECT_CONTAINS(error_of([&] { few.invert(values.view()); }), "has 3 shifts and 2 scales");
  Standardizer picture{Standardize::kImage, {0, 0, 0}, {1, 1, 1}};
  EXPECT_CONTAINS(error_of([&] { picture.apply(values.view()); }), "one of each for pictures");
}

TEST(Standardize, RefusesOtherShapesAndNames) {
  const Standardizer scale = Standardizer::fit(table(), Standardize::kUnit);
  FloatMatrix other(2, 4);
  EXPECT_CONTAINS(error_of([&] { scale.apply(other.view()); }), "4 features where the standardization knows 3");
  EXPECT_CONTAINS(error_of([] { parse_standardize("zcore"); }), "did you mean 'zscore'?");
  for (const char* name : {"none", "unit", "zscore", "image"}) EXPECT_EQ(to_string(parse_standardize(name)), name);
}

}  // namespace
}  // namespace cpfm
