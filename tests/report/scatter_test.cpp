// Scatter plots as a reader sees them: every class in its colour at its place.
#include <array>
#include <chrono>
#include <cmath>

#include "cpfm/random.hpp"
#include "report/drawn.hpp"

namespace cpfm {
namespace {

using test::drawn;
using test::find_color;

constexpr double kAlpha = 0.9;  // of few points

// `count` groups of `each` points on a circle, group 0 at the right, then counterclockwise; d columns.
struct Groups {
  FloatMatrix points;
  Labels labels;
};
Groups groups(std::size_t count, std::size_t each, std::size_t d = 2) {
  Groups made{FloatMatrix(count * each, d), {}};
  for (std::size_t g = 0; g < count; ++g) made.labels.names.push_back(std::to_string(g));
  for (std::size_t i = 0; i < count * each; ++i) {
    Rng rng(1, 77, i);
    const std::size_t g = i / each;
    const double angle = 6.283185 * static_cast<double>(g) / static_cast<double>(count);
    for (std::size_t j = 0; j < d; ++j) {
      const double middle = j == 0 ? std::cos(angle) : j == 1 ? std::sin(angle) : 0;
      made.points(i, j) = static_cast<float>(4 * middle + 0.3 * rng.normal());
    }
    made.labels.ids.push_back(static_cast<std::int32_t>(g));
  }
  return made;
}

TEST(Scatter, ShowsEveryClassInItsColourWhereItsPointsAre) {
  const Groups g = groups(4, 30);
  const Picture picture = drawn({.panels = {Scatter{.points = g.points.view(), .labels = &g.labels}}});
  std::array<test::Found, 4> found;
  for (std::size_t c = 0; c < 4; ++c) {
    found[c] = find_color(picture, report::class_style(c, 4).color, kAlpha);
    EXPECT_GT(found[c].count, 500U) << c;
  }
  EXPECT_GT(found[0].x, found[1].x + 0.15);  // right of the middle
  EXPECT_LT(found[2].x, found[1].x - 0.15);
  EXPECT_LT(found[1].y, found[0].y - 0.15);  // above: pixels count downwards
  EXPECT_GT(found[3].y, found[0].y + 0.15);
}

TEST(Scatter, HasOneScaleOnBothAxes) {
  const Groups g = groups(4, 30);
  const Figure wide{.panels = {Scatter{.points = g.points.view(), .labels = &g.labels}}, .panel_width = 900};
  const Picture picture = drawn(wide);
  const auto at = [&](std::size_t c) { return find_color(picture, report::class_style(c, 4).color, kAlpha, 0.9); };
  const double across = (at(0).x - at(2).x) * picture.width, up = (at(3).y - at(1).y) * picture.height;
  EXPECT_NEAR(across / up, 1, 0.05);
}

TEST(Scatter, PutsUnlabelledPointsInGreyAndBelow) {
  const std::vector<float> points{0, 0, 0, 0, 1, 1, -1, -1};
  const Labels labels{{0, -1, -1, -1}, {"only"}};
  const Picture picture = drawn({.panels = {Scatter{.points = {points.data(), 4, 2}, .labels = &labels}}});
  EXPECT_GT(find_color(picture, report::kUnlabelled, kAlpha).count, 150U);
  EXPECT_GT(find_color(picture, report::class_style(0, 1).color, kAlpha).count, 50U);  // one of the grey is beneath
}

TEST(Scatter, ShowsAPropertyFromDarkToLight) {
  const std::vector<float> points{-1, 0, 0, 0, 1, 0};
  const Property property{"mass", {10, 20, 30}};
  const Picture picture = drawn({.panels = {Scatter{.points = {points.data(), 3, 2}, .property = &property}}});
  const auto low = find_color(picture, report::scale_color(0), kAlpha, 0.85),
             high = find_color(picture, report::scale_color(1), kAlpha, 0.85);
  EXPECT_GT(low.count, 50U);
  EXPECT_GT(high.count, 50U);
  EXPECT_LT(low.x, high.x - 0.2);
}

TEST(Scatter, AFewFarValuesDoNotTakeTheColoursOfAllOthers) {
  std::vector<float> points;
  Property property{"dipole", {}};
  for (int i = 0; i < 200; ++i) {
    points.insert(points.end(), {static_cast<float>(i), static_cast<float>(i % 40)});
    property.values.push_back(i < 100 ? 0.0F : 1.0F);
  }
  const Picture even = drawn({.panels = {Scatter{.points = {points.data(), 200, 2}, .property = &property}}});
  property.values[199] = 1000;
  const Picture far = drawn({.panels = {Scatter{.points = {points.data(), 200, 2}, .property = &property}}});
  for (const Picture* picture : {&even, &far}) {
    const auto light = find_color(*picture, report::scale_color(1), kAlpha),
               dark = find_color(*picture, report::scale_color(0), kAlpha);
    EXPECT_GT(light.count, 100u);
    EXPECT_GT(light.x, dark.x);
  }
}

TEST(Scatter, OfOneValueOfAPropertyIsOneColour) {
  const std::vector<float> points{-1, 0, 1, 0};
  const Property property{"constant", {5, 5}};
  const Picture picture = drawn({.panels = {Scatter{.points = {points.data(), 2, 2}, .property = &property}}});
  EXPECT_GT(find_color(picture, report::scale_color(0.5), kAlpha).count, 100U);
}

TEST(Scatter, DrawsOneDimensionAsAStripAndTheFirstTwoOfMany) {
  for (const std::size_t d : {1U, 3U, 10U}) {
    const Groups g = groups(2, 100, d);
    const Picture picture = drawn({.panels = {Scatter{.points = g.points.view(), .labels = &g.labels}}});
    const auto right = find_color(picture, report::class_style(0, 2).color, kAlpha, 0.88),
               left = find_color(picture, report::class_style(1, 2).color, kAlpha, 0.88);
    EXPECT_GT(right.count, 500U) << d;
    EXPECT_GT(right.x, left.x + 0.2) << d;
  }
}

TEST(Scatter, NoClassHidesAnother) {
  // Two classes on the same places, one after the other in the file.
  Groups g = groups(1, 40'000);
  g.labels.names = {"first", "second"};
  for (std::size_t i = 20'000; i < 40'000; ++i) g.labels.ids[i] = 1;
  const Picture picture = drawn({.panels = {Scatter{.points = g.points.view(), .labels = &g.labels}}});
  // In the crowd a pixel is near the colour drawn last.
  std::array<std::size_t, 2> won{};
  for (std::size_t at = 0; at < picture.pixels.size(); at += 3) {
    const int red = picture.pixels[at], blue = picture.pixels[at + 2];
    if (red < 100 && blue > 130) ++won[0];
    if (red > 170 && blue < 90) ++won[1];
  }
  EXPECT_GT(won[0], won[1] / 3);
  EXPECT_GT(won[1], won[0] / 3);
}

TEST(Scatter, DrawsOnePointAndPointsThatAreAllTheSame) {
  const std::vector<float> points{1e30f, -4, 1e30f, -4};
  for (const std::size_t n : {1U, 2U}) {
    const Picture picture = drawn({.panels = {Scatter{.points = {points.data(), n, 2}}}});
    EXPECT_GT(find_color(picture, report::kOneColor, kAlpha).count, 20U);
  }
}

TEST(Scatter, ShowsPointsOnALineAlongAnAxisApart) {
  const std::vector<float> points{100, 0, 100, 1};
  const Labels labels{{0, 1}, {"a", "b"}};
  const Picture picture = drawn({.panels = {Scatter{.points = {points.data(), 2, 2}, .labels = &labels}}});
  EXPECT_GT(find_color(picture, report::class_style(0, 2).color, kAlpha).y,
            find_color(picture, report::class_style(1, 2).color, kAlpha).y + 0.4);
}

TEST(Scatter, KeepsLongNamesAndHundredsOfClassesInsideItsPanel) {
  Groups g = groups(300, 4);
  g.labels.names[0] = std::string(2000, 'W');
  g.labels.names[1] = "bad \xff\xfe bytes \x01";
  g.labels.names[2] = "";
  const Figure figure{
      .title = std::string(500, 'M'),
      .panels = {Scatter{.title = std::string(500, 'M'), .points = g.points.view(), .labels = &g.labels}}};
  EXPECT_TRUE(test::has_white_border(drawn(figure), 8));
}

TEST(Scatter, KeepsLongNumbersInsideTheSmallestPanel) {
  const std::vector<float> points{1e9f, 1e9f, 1.0000001e9f, 1.0000002e9f};
  const Property property{"a property with a long name", {1e9f, 1.0000001e9f}};
  const Figure figure{.panels = {Scatter{.title = "t", .points = {points.data(), 2, 2}, .property = &property}},
                      .panel_width = 160,
                      .panel_height = 160};
  const Picture picture = drawn(figure);
  EXPECT_EQ(picture.width, 320);
}

TEST(Scatter, DrawsSixtyThousandPointsQuickly) {
  const Groups g = groups(10, 6000);
  const auto start = std::chrono::steady_clock::now();
  png_bytes({.panels = {Scatter{.points = g.points.view(), .labels = &g.labels}}});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), CPFM_SANITIZED ? 60 : 5);
}

}  // namespace
}  // namespace cpfm
