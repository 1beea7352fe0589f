// Points in the plane. What makes a cloud readable: dots that shrink and pale as they become many, and an order that
// has nothing to do with classes, so that the last class of the file does not cover the others.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "cpfm/interrupt.hpp"
#include "cpfm/random.hpp"
#include "report/axes.hpp"
#include "report/legend.hpp"
#include "report/panels.hpp"

namespace cpfm::report {
namespace {

constexpr std::uint32_t kOrderStream = 0x70646f74, kJitterStream = 0x706a6974;  // "pdot", "pjit"
constexpr double kMargin = 0.04;                                                // around the points, of their extent
constexpr std::size_t kInterruptEvery = 4096;

double radius_for(std::size_t n, const Rect& plot) {
  const double size = std::sqrt(plot.width * plot.height) / 340;  // of the plot, against that of a usual panel
  return std::clamp(12 / std::pow(static_cast<double>(n), 0.25), 0.65, 3.4) * size;
}

double alpha_for(std::size_t n) { return std::clamp(0.9 - 0.15 * std::log10(static_cast<double>(n) / 300), 0.4, 0.9); }

Range column_range(MatrixView<const float> points, std::size_t column) {
  Range range{points(0, column), points(0, column)};
  for (std::size_t i = 1; i < points.rows; ++i) {
    range.low = std::min<double>(range.low, points(i, column));
    range.high = std::max<double>(range.high, points(i, column));
  }
  return range;
}

Range around(double middle, double length) { return {middle - length / 2, middle + length / 2}; }

// Second coordinates for points on a line, random and at most as far from 0 as the density there (1 at its peak).
std::vector<double> strip_heights(MatrixView<const float> points, const Range& range) {
  constexpr std::size_t kBins = 80;
  const auto position = [&](std::size_t i) {
    return (points(i, 0) - range.low) / range.length() * static_cast<double>(kBins - 1);
  };
  std::array<double, kBins> density{};
  for (std::size_t i = 0; i < points.rows; ++i) ++density[static_cast<std::size_t>(std::lround(position(i)))];
  for (int pass = 0; pass < 4; ++pass) {
    const std::array<double, kBins> rough = density;
    for (std::size_t b = 0; b < kBins; ++b) {
      density[b] = (rough[b > 0 ? b - 1 : b] + 2 * rough[b] + rough[std::min(b + 1, kBins - 1)]) / 4;
    }
  }
  const double peak = *std::max_element(density.begin(), density.end());
  std::vector<double> heights(points.rows);
  for (std::size_t i = 0; i < points.rows; ++i) {
    const double at = position(i);
    const auto bin = std::min(static_cast<std::size_t>(at), kBins - 2);
    const double here = std::lerp(density[bin], density[bin + 1], at - static_cast<double>(bin)) / peak;
    heights[i] = here * (2 * Rng(0, kJitterStream, i).uniform() - 1);
  }
  return heights;
}

Legend legend_of(const Labels& labels) {
  Legend legend;
  for (std::size_t i = 0; i < labels.names.size(); ++i)
    legend.entries.push_back({labels.names[i], class_style(i, labels.names.size())});
  if (std::find(labels.ids.begin(), labels.ids.end(), -1) != labels.ids.end()) {
    legend.entries.push_back({"unlabelled", {kUnlabelled, Marker::kCircle}});
    legend.keep_last = true;
  }
  return legend;
}

// From the least value to the largest; where a few lie so far from all others that most colours would be theirs,
// without them. A million normal values have none.
Range color_range(std::vector<float> values) {
  constexpr double kFew = 0.005, kFar = 2;
  const auto few = static_cast<std::size_t>(kFew * static_cast<double>(values.size()));
  std::sort(values.begin(), values.end());
  const Range all{values.front(), values.back()}, most{values[few], values[values.size() - 1 - few]};
  return all.length() > kFar * most.length() && most.length() > 0 ? most : all;
}

// The style of every point.
class Styles {
 public:
  Styles(const Scatter& scatter, const Range& values) : scatter_(scatter), values_(values) {
    if (scatter.labels == nullptr) return;
    for (std::size_t i = 0; i < scatter.labels->names.size(); ++i)
      classes_.push_back(class_style(i, scatter.labels->names.size()));
  }
  bool unlabelled(std::size_t i) const { return scatter_.labels != nullptr && scatter_.labels->ids[i] < 0; }
  ClassStyle operator()(std::size_t i) const {
    if (scatter_.labels != nullptr)
      return unlabelled(i) ? ClassStyle{kUnlabelled} : classes_[static_cast<std::size_t>(scatter_.labels->ids[i])];
    if (scatter_.property == nullptr) return {kOneColor};
    if (!(values_.length() > 0)) return {scale_color(0.5)};
    return {scale_color((scatter_.property->values[i] - values_.low) / values_.length())};
  }

 private:
  const Scatter& scatter_;
  Range values_;
  std::vector<ClassStyle> classes_;
};

}  // namespace

void draw_panel(const Canvas& canvas, const Scatter& scatter, const Rect& cell) {
  const MatrixView<const float> points = scatter.points;
  std::string remark;
  if (points.cols == 1) remark = "one dimension; the thickness shows the density";
  if (points.cols > 2) remark = fmt::format("first 2 of {} dimensions", points.cols);

  Legend legend;
  ColorBar bar;
  if (scatter.labels != nullptr) legend = legend_of(*scatter.labels);
  if (scatter.property != nullptr) {
    bar = {scatter.property->name, color_range(scatter.property->values)};
    const auto beyond = std::count_if(scatter.property->values.begin(), scatter.property->values.end(),
                                      [&](double v) { return v < bar.range.low || v > bar.range.high; });
    if (beyond > 0) remark += fmt::format("{}{} beyond the ends of the colours", remark.empty() ? "" : "; ", beyond);
  }
  Rect room = room_below_heading(cell, scatter.title, remark);
  const double most = kLegendShare * cell.width;
  const double beside = scatter.property != nullptr ? bar.width(canvas, most) : legend.width(canvas, most);
  room.width -= beside;

  const bool strip = points.cols == 1;
  Range x_extent = column_range(points, 0), y_extent = strip ? Range{} : column_range(points, 1);
  // Points on a line along one axis are shown to the scale of that axis.
  if (x_extent.length() == 0) x_extent = around(x_extent.low, y_extent.length());
  if (y_extent.length() == 0) y_extent = around(y_extent.low, x_extent.length());
  const Range x_range = padded(x_extent, kMargin, false);
  const std::vector<double> heights = strip ? strip_heights(points, x_range) : std::vector<double>{};
  const Range y_range = strip ? Range{-1.2, 1.2} : padded(y_extent, kMargin, false);
  const Axes axes(canvas, room, {"y1", x_range}, {strip ? "" : "y2", y_range, false, !strip}, !strip);
  axes.draw(canvas);
  draw_heading(canvas, cell, axes.plot().x, scatter.title, remark);

  const double radius = radius_for(points.rows, axes.plot()), alpha = alpha_for(points.rows);
  const Styles styles(scatter, bar.range);
  const std::vector<std::size_t> order = permutation(points.rows, 0, kOrderStream);
  const auto draw = [&](bool unlabelled) {
    std::size_t done = 0;
    for (const std::size_t i : order) {
      if (++done % kInterruptEvery == 0) check_interrupt();
      if (styles.unlabelled(i) != unlabelled) continue;
      const ClassStyle style = styles(i);
      const Point at = axes.place(points(i, 0), strip ? heights[i] : points(i, 1));
      canvas.marker(style.marker, at, radius, style.color, alpha);
    }
  };
  draw(true);
  draw(false);

  const Rect side{room.right(), axes.plot().y, beside, axes.plot().height};
  if (scatter.property != nullptr)
    bar.draw(canvas, side);
  else
    legend.draw(canvas, side);
}

}  // namespace cpfm::report
