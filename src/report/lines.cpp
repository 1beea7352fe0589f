// Curves over a common x: losses, timings. A training run may have a million values, and Cairo's time for a line that
// crosses itself that often has no bound worth the name, so a long curve is first thinned to what pixels can show.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "report/axes.hpp"
#include "report/legend.hpp"
#include "report/panels.hpp"

namespace cpfm::report {
namespace {

constexpr double kMargin = 0.04;
constexpr double kLargest = 1e300;  // beyond, differences of values overflow
constexpr double kLineWidth = 1.7, kMarkerRadius = 2.8;

bool usable(double value, bool log) { return std::abs(value) <= kLargest && (!log || value >= 1 / kLargest); }

// A curve on the paper. breaks[i] says that nothing leads to point i.
struct Trace {
  std::vector<Point> points;
  std::vector<char> breaks;

  void add(Point point, bool after_gap) {
    points.push_back(point);
    breaks.push_back(after_gap ? 1 : 0);
  }
  bool lonely(std::size_t i) const { return breaks[i] != 0 && (i + 1 == points.size() || breaks[i + 1] != 0); }
};

Trace trace_of(const Series& series, const Lines& lines, const Axes& axes) {
  Trace trace;
  bool gap = true;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const bool here = usable(series.x[i], lines.log_x) && usable(series.y[i], lines.log_y);
    if (here) trace.add(axes.place(series.x[i], series.y[i]), gap);
    gap = !here;
  }
  return trace;
}

// Of consecutive points within a quarter of a unit of x, only the first, the lowest, the highest and the last: what is
// left covers the same pixels.
Trace thinned(const Trace& trace) {
  constexpr double kColumn = 0.25;
  Trace thin;
  for (std::size_t begin = 0; begin < trace.points.size();) {
    std::size_t end = begin + 1, low = begin, high = begin;
    while (end < trace.points.size() && trace.breaks[end] == 0 &&
           std::floor(trace.points[end].x / kColumn) == std::floor(trace.points[begin].x / kColumn)) {
      if (trace.points[end].y < trace.points[low].y) low = end;
      if (trace.points[end].y > trace.points[high].y) high = end;
      ++end;
    }
    std::vector<std::size_t> kept{begin, low, high, end - 1};
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    for (const std::size_t i : kept) thin.add(trace.points[i], trace.breaks[i] != 0);
    begin = end;
  }
  return thin;
}

struct Extent {
  std::optional<Range> x, y;
  std::size_t not_positive = 0;
};

void include(std::optional<Range>& range, double value) {
  if (!range) range = Range{value, value};
  range->low = std::min(range->low, value);
  range->high = std::max(range->high, value);
}

Extent extent_of(const Lines& lines) {
  Extent extent;
  for (const Series& series : lines.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      const double x = series.x[i], y = series.y[i];
      if (!usable(x, false) || !usable(y, false)) continue;
      if (!usable(x, lines.log_x) || !usable(y, lines.log_y)) {
        ++extent.not_positive;
        continue;
      }
      include(extent.x, x);
      include(extent.y, y);
    }
  }
  return extent;
}

}  // namespace

void draw_panel(const Canvas& canvas, const Lines& lines, const Rect& cell) {
  const Extent extent = extent_of(lines);
  std::string remark;
  if (extent.not_positive > 0) {
    remark = fmt::format("{} {} not above 0, left out on the logarithmic axis", extent.not_positive,
                         extent.not_positive == 1 ? "point" : "points");
  }
  Legend legend;
  for (std::size_t i = 0; i < lines.series.size(); ++i) {
    const Series& series = lines.series[i];
    if (series.name.empty()) continue;
    legend.entries.push_back({series.name, class_style(i, lines.series.size()), true, series.dashed, series.markers});
  }
  Rect room = room_below_heading(cell, lines.title, remark);
  const double beside = legend.width(canvas, kLegendShare * cell.width);
  room.width -= beside;

  const Axis x{lines.x_label, padded(extent.x.value_or(Range{1, 1}), kMargin, lines.log_x), lines.log_x,
               extent.x.has_value()};
  const Axis y{lines.y_label, padded(extent.y.value_or(Range{1, 1}), kMargin, lines.log_y), lines.log_y,
               extent.y.has_value()};
  const Axes axes(canvas, room, x, y, false);
  axes.draw(canvas);
  draw_heading(canvas, cell, axes.plot().x, lines.title, remark);
  legend.draw(canvas, {room.right(), axes.plot().y, beside, axes.plot().height});
  if (!extent.x) {
    const Rect& plot = axes.plot();
    canvas.text(plot.x + plot.width / 2, plot.y + plot.height / 2, "no values to draw", kLabelFont, kSoftInk,
                Align::kCenter);
    return;
  }

  for (std::size_t i = 0; i < lines.series.size(); ++i) {
    const Series& series = lines.series[i];
    const ClassStyle style = class_style(i, lines.series.size());
    const Trace trace = thinned(trace_of(series, lines, axes));
    canvas.polyline(trace.points, trace.breaks, kLineWidth, style.color, series.dashed);
    for (std::size_t j = 0; j < trace.points.size(); ++j) {
      if (series.markers || trace.lonely(j))
        canvas.marker(style.marker, trace.points[j], kMarkerRadius, style.color, 1);
    }
  }
}

}  // namespace cpfm::report
