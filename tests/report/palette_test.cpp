// Colours have to be told apart: those of classes from each other, those of the scale by their order.
#include "report/palette.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace cpfm::report {
namespace {

double distance(Rgb a, Rgb b) { return std::hypot(a.r - b.r, a.g - b.g, a.b - b.b); }
double luma(Rgb c) { return 0.2126 * c.r + 0.7152 * c.g + 0.0722 * c.b; }

TEST(Palette, TellsUpToTenClassesApartByColourAlone) {
  for (std::size_t a = 0; a < 10; ++a) {
    EXPECT_EQ(class_style(a, 10).marker, Marker::kCircle);
    EXPECT_GT(distance(class_style(a, 10).color, {1, 1, 1}), 0.4);
    for (std::size_t b = 0; b < a; ++b)
      EXPECT_GT(distance(class_style(a, 10).color, class_style(b, 10).color), 0.25) << a << b;
  }
}

TEST(Palette, KeepsTheColourOfAClassWhenThereAreFewMore) {
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(class_style(i, 3).color, class_style(i, 10).color);
}

TEST(Palette, TellsManyClassesApartByShapeToo) {
  for (const std::size_t count : {11U, 24U, 100U}) {
    for (std::size_t a = 1; a < count; ++a) {
      const ClassStyle here = class_style(a, count), before = class_style(a - 1, count);
      EXPECT_NE(here.marker, before.marker);
      EXPECT_GT(distance(here.color, before.color), 0.1) << a << " of " << count;
    }
  }
}

TEST(ColourScale, GetsLighterAllTheWay) {
  double last = -1;
  for (int i = 0; i <= 100; ++i) {
    const Rgb color = scale_color(i / 100.0);
    EXPECT_GT(luma(color), last) << i;
    last = luma(color);
    for (const double part : {color.r, color.g, color.b}) {
      EXPECT_GE(part, 0);
      EXPECT_LE(part, 1);
    }
  }
  EXPECT_LT(luma(scale_color(0)), 0.15);
  EXPECT_GT(luma(scale_color(1)), 0.8);
  EXPECT_EQ(scale_color(-3), scale_color(0));
  EXPECT_EQ(scale_color(7), scale_color(1));
}

TEST(ColourScale, NeverJumps) {
  for (int i = 0; i < 500; ++i) EXPECT_LT(distance(scale_color(i / 500.0), scale_color((i + 1) / 500.0)), 0.012) << i;
}

TEST(Colours, OfZeroChromaAreGrey) {
  const Rgb grey = lch_color(53.4, 0, 0);
  EXPECT_NEAR(grey.r, 0.5, 0.01);
  EXPECT_NEAR(grey.g, grey.r, 0.002);
  EXPECT_NEAR(grey.b, grey.r, 0.002);
}

}  // namespace
}  // namespace cpfm::report
