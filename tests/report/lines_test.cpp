// Curves: gaps stay gaps, logarithmic axes take what they can, and nothing is too short or too long to draw.
#include <chrono>
#include <limits>

#include "report/drawn.hpp"

namespace cpfm {
namespace {

using test::drawn;
using test::find_color;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

report::Rgb color_of(std::size_t i, std::size_t count = 1) { return report::class_style(i, count).color; }

test::Found ink(const Lines& lines) { return find_color(drawn({.panels = {lines}}), color_of(0), 1, 1); }

TEST(Lines, RiseToTheRight) {
  const Lines up{.series = {{.x = {0, 1, 2, 3}, .y = {0, 1, 1, 1}}}},
      down{.series = {{.x = {0, 1, 2, 3}, .y = {1, 0, 0, 0}}}};
  EXPECT_GT(ink(up).count, 1000U);
  EXPECT_LT(ink(up).y, ink(down).y - 0.3);
}

TEST(Lines, HaveGapsWhereValuesAreMissing) {
  const Lines whole{.series = {{.x = {0, 1, 2, 3}, .y = {1, 1, 1, 1}}}};
  for (const double missing : {kNan, kInf, -kInf}) {
    const Lines gap{.series = {{.x = {0, 1, 2, 3, 4}, .y = {1, 1, missing, 1, 1}}}};
    EXPECT_NEAR(static_cast<double>(ink(gap).count) / static_cast<double>(ink(whole).count), 0.5, 0.1);
  }
}

TEST(Lines, ShowSingleValues) {
  EXPECT_GT(ink({.series = {{.x = {3}, .y = {5}}}}).count, 40U);
  EXPECT_GT(ink({.series = {{.x = {1, 2, 3}, .y = {kNan, 5, kNan}}}}).count, 40U);
  EXPECT_GT(ink({.log_x = true, .log_y = true, .series = {{.x = {3}, .y = {5}}}}).count, 40U);
}

TEST(Lines, ShowValuesThatAreAllEqual) {
  for (const double value : {0.0, 1e-7, -4e12})
    EXPECT_GT(ink({.series = {{.x = {1, 2}, .y = {value, value}}}}).count, 1000U);
}

TEST(Lines, LeaveOutWhatALogarithmicAxisCannotShow) {
  const Lines lines{.log_y = true, .series = {{.x = {1, 2, 3, 4}, .y = {0, -1, 10, 1000}}}};
  const Lines kept{.log_y = true, .series = {{.x = {3, 4}, .y = {10, 1000}}}};
  EXPECT_NEAR(static_cast<double>(ink(lines).count), static_cast<double>(ink(kept).count),
              0.1 * static_cast<double>(ink(kept).count));
}

TEST(Lines, AreStraightOnLogarithmicAxesWhenTheyArePowers) {
  // x² from 1 to 10⁴: the middle of the ink is the middle of the plot, which it is not on linear axes.
  Series series;
  for (double x = 1; x <= 1.001e4; x *= 1.1) {
    series.x.push_back(x);
    series.y.push_back(x * x);
  }
  const double log = ink({.log_x = true, .log_y = true, .series = {series}}).y, linear = ink({.series = {series}}).y;
  EXPECT_NEAR(log, 0.48, 0.04);
  EXPECT_GT(linear, log + 0.05);
}

TEST(Lines, WithNothingToShowAreDrawnEmpty) {
  EXPECT_EQ(ink({.log_y = true, .series = {{.x = {1, 2}, .y = {0, -5}}}}).count, 0U);
  EXPECT_EQ(ink({.series = {{.x = {}, .y = {}}}}).count, 0U);
  EXPECT_EQ(ink({.series = {{.x = {kNan}, .y = {1}}}}).count, 0U);
}

TEST(Lines, DashedHaveLessInkAndMarkersMore) {
  Series series{.x = {0, 1, 2, 3}, .y = {0, 1, 0, 1}};
  const auto plain = ink({.series = {series}}).count;
  series.markers = true;
  EXPECT_GT(ink({.series = {series}}).count, plain + 100);
  series.markers = false;
  series.dashed = true;
  EXPECT_LT(ink({.series = {series}}).count, plain * 4 / 5);
}

TEST(Lines, OfEverySizeOfNumberAreDrawn) {
  for (const double size : {5e-324, 1e-300, 1e300, 1e308}) {
    for (const bool log : {false, true})
      EXPECT_NO_THROW(ink({.log_x = log, .log_y = log, .series = {{.x = {size, 1}, .y = {1, size}}}})) << size;
    EXPECT_NO_THROW(ink({.series = {{.x = {-size, size}, .y = {size, -size}}}})) << size;
  }
  EXPECT_NO_THROW(ink({.log_y = true, .series = {{.x = {1, 2}, .y = {1e-300, 1e300}}}}));
}

TEST(Lines, KeepManyLongNamesInsideTheirPanel) {
  Lines lines{.title = std::string(300, 'M'), .x_label = std::string(300, 'x'), .y_label = std::string(300, 'y')};
  for (int i = 0; i < 40; ++i)
    lines.series.push_back({.name = std::string(100, 'n'), .x = {1e6, 2e6}, .y = {1.0 * i, 2.0 * i}});
  EXPECT_TRUE(test::has_white_border(drawn({.panels = {lines}}), 6));
}

TEST(Lines, OfAMillionValuesAreDrawnQuicklyAndKeepTheirPeaks) {
  Lines lines{.series = {{}}};
  for (int i = 0; i < 1'000'000; ++i) {
    lines.series[0].x.push_back(i);
    lines.series[0].y.push_back(i == 500'000 ? 100 : i % 2);
  }
  const auto start = std::chrono::steady_clock::now();
  const Picture picture = drawn({.panels = {lines}});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), CPFM_SANITIZED ? 60 : 5);
  Picture top = picture;
  top.height /= 2;
  EXPECT_GT(find_color(top, color_of(0), 1, 1).count, 300U);
}

}  // namespace
}  // namespace cpfm
