// Figures as files: their size, that they are the same every time, and what is refused.
#include <limits>

#include "report/drawn.hpp"

#if CPFM_SANITIZED
// Cairo keeps the fonts it has found until the process ends, in memory that the leak checker cannot trace.
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig"; }
#endif

namespace cpfm {
namespace {

using test::drawn;
using test::error_of;

const std::vector<float> kPoints{0, 0, 1, 0, 0, 1};
const Scatter kScatter{.title = "three", .points = {kPoints.data(), 3, 2}};
const Lines kLines{.title = "two", .series = {{.name = "a", .x = {1, 2}, .y = {3, 4}}}};

TEST(Figure, HasTheSizeOfItsPanelsInPixels) {
  const Picture one = drawn({.panels = {kScatter}});
  EXPECT_EQ(one.width, 960);
  EXPECT_EQ(one.height, 800);
  const Picture row =
      drawn({.panels = {kScatter, kLines, kScatter}, .panel_width = 300, .panel_height = 200, .scale = 1.5});
  EXPECT_EQ(row.width, 3 * 450);
  EXPECT_EQ(row.height, 300);
  const Picture grid = drawn({.panels = {kScatter, kLines, kScatter, kScatter, kLines}, .scale = 1});
  EXPECT_EQ(grid.width, 3 * 480);
  EXPECT_EQ(grid.height, 2 * 400);
  const Picture column = drawn({.panels = {kScatter, kLines}, .columns = 1, .scale = 1});
  EXPECT_EQ(column.width, 480);
  EXPECT_EQ(column.height, 800);
  EXPECT_GT(drawn({.title = "with a title", .panels = {kLines}, .scale = 1}).height, 400);
}

TEST(Figure, HasTheSameBytesEveryTime) {
  std::vector<float> points;
  Labels labels{{}, {"a", "b"}};
  for (int i = 0; i < 500; ++i) {
    points.push_back(static_cast<float>(i % 37));
    labels.ids.push_back(i % 3 - 1);
  }
  const Figure figure{.title = "again",
                      .panels = {Scatter{.points = {points.data(), 500, 1}, .labels = &labels}, kLines}};
  EXPECT_EQ(png_bytes(figure), png_bytes(figure));
  EXPECT_NEAR(svg_bytes(figure).size(), svg_bytes(figure).size(), 2);  // one id counts the surfaces of the process
}

TEST(Figure, IsWrittenAsItsBytes) {
  const test::TempDir dir;
  write_png(dir / "a.png", {.panels = {kScatter}});
  write_svg(dir / "a.svg", {.panels = {kScatter}});
  const std::string png = test::read_bytes(dir / "a.png"), svg = test::read_bytes(dir / "a.svg");
  EXPECT_EQ(png.size(), png_bytes({.panels = {kScatter}}).size());
  EXPECT_TRUE(png.starts_with("\x89PNG"));
  EXPECT_CONTAINS(svg, "<svg");
  EXPECT_CONTAINS(svg, "</svg>");
  EXPECT_TRUE(can_draw());
}

TEST(Figure, LeavesTheOldFileWhenItIsRefused) {
  const test::TempDir dir;
  test::write_bytes(dir / "a.png", "old");
  error_of([&] { write_png(dir / "a.png", {}); });
  EXPECT_EQ(test::read_bytes(dir / "a.png"), "old");
}

TEST(Figure, RefusesToBeEmptyOrOfAnImpossibleSize) {
  EXPECT_CONTAINS(error_of([] { png_bytes({}); }), "figure panels: there are none");
  EXPECT_CONTAINS(error_of([] { svg_bytes({}); }), "figure panels");
  EXPECT_CONTAINS(error_of([] { png_bytes({.panels = {kLines}, .panel_width = 20}); }), "panel_width: 20; 160 to 4000");
  EXPECT_CONTAINS(error_of([] { png_bytes({.panels = {kLines}, .panel_height = 5000}); }), "panel_height");
  for (const double scale : {0.0, -1.0, 9.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_CONTAINS(error_of([&] { png_bytes({.panels = {kLines}, .scale = scale}); }), "figure scale");
  EXPECT_CONTAINS(error_of([] { png_bytes({.panels = std::vector<Panel>(500, kLines)}); }), "fewer panels");
}

TEST(Figure, RefusesPointsThatAreNoneOrNotFinite) {
  EXPECT_CONTAINS(error_of([] {
                    png_bytes({.panels = {kLines, Scatter{}}});
                  }),
                  "figure panel 2 points: there are none");
  EXPECT_CONTAINS(error_of([] {
                    png_bytes({.panels = {Scatter{.points = {kPoints.data(), 3, 0}}}});
                  }),
                  "no dimensions");
  std::vector<float> points = kPoints;
  points[3] = std::numeric_limits<float>::infinity();
  EXPECT_CONTAINS(error_of([&] {
                    png_bytes({.panels = {Scatter{.points = {points.data(), 3, 2}}}});
                  }),
                  "row 2, column 2 is inf");
}

TEST(Figure, RefusesLabelsAndPropertiesThatDoNotFitThePoints) {
  const auto labelled = [](Labels labels) {
    return error_of([&] { png_bytes({.panels = {Scatter{.points = kScatter.points, .labels = &labels}}}); });
  };
  EXPECT_CONTAINS(labelled({{0, 0}, {"a"}}), "labels: 2 entries for 3 points");
  EXPECT_CONTAINS(labelled({{0, 1, 0}, {"a"}}), "row 2 is of class 1, and there are 1");
  EXPECT_CONTAINS(labelled({{0, 0, -2}, {"a"}}), "row 3 is of class -2");
  const auto with = [](Property property) {
    return error_of([&] { png_bytes({.panels = {Scatter{.points = kScatter.points, .property = &property}}}); });
  };
  EXPECT_CONTAINS(with({"mass", {1}}), "property 'mass': 1 entries for 3 points");
  EXPECT_CONTAINS(with({"mass", {1, 2, std::nanf("")}}), "property 'mass': row 3 is nan");
  const Labels labels{{0, 0, 0}, {"a"}};
  const Property property{"mass", {1, 2, 3}};
  const Scatter both{.points = kScatter.points, .labels = &labels, .property = &property};
  EXPECT_CONTAINS(error_of([&] { png_bytes({.panels = {both}}); }), "one of the two");
}

TEST(Figure, RefusesLinesWithoutSeriesOrOfTwoLengths) {
  EXPECT_CONTAINS(error_of([] { png_bytes({.panels = {Lines{}}}); }), "figure panel 1 series: there are none");
  const Lines uneven{.series = {{.name = "loss", .x = {1, 2}, .y = {1}}}};
  EXPECT_CONTAINS(error_of([&] { png_bytes({.panels = {uneven}}); }), "series 1 'loss': 2 values of x and 1 of y");
}

}  // namespace
}  // namespace cpfm
