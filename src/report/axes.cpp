#include "report/axes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cpfm::report {
namespace {

constexpr double kTickLength = 4, kTickGap = 4;  // the mark, and from its end to the number
constexpr double kMostLeft = 0.6;                // of the width; numbers that need more are cut off by the edge
constexpr double kOverhang = 15;                 // of numbers beyond the right end
constexpr double kLabelHeight = 17;              // the room of an axis label
constexpr double kNumberHeight = 12;
constexpr double kPixelsPerX = 55, kPixelsPerY = 40, kPixelsPerSquare = 44;  // at least between numbers

double fraction(const Axis& axis, double value) {
  const Range& range = axis.range;
  if (axis.log) return std::log(value / range.low) / std::log(range.high / range.low);
  return (value - range.low) / range.length();
}

Ticks ticks_of(const Axis& axis, double length, double spacing) {
  if (!axis.numbered) return {};
  const int most = std::clamp(static_cast<int>(length / spacing), 2, 8);
  return axis.log ? log_ticks(axis.range, most) : linear_ticks(axis.range, most);
}

double widest(const Canvas& canvas, const Ticks& ticks) {
  double width = 0;
  for (const std::string& label : ticks.labels) width = std::max(width, canvas.text_width(label, kTickFont));
  return width;
}

void widen(Range& range, double length) {
  const double middle = range.low + range.length() / 2;
  range = {middle - length / 2, middle + length / 2};
}

}  // namespace

Axes::Axes(const Canvas& canvas, const Rect& room, Axis x, Axis y, bool equal)
    : plot_(room), x_(std::move(x)), y_(std::move(y)) {
  const double bottom =
      (x_.numbered ? kTickLength + kTickGap + kNumberHeight : kTickGap) + (x_.label.empty() ? 0 : kLabelHeight);
  plot_.height = room.height - bottom;
  const Range x_asked = x_.range, y_asked = y_.range;
  // The numbers beside y set the left margin, and through the scale the margin sets the numbers. Twice is enough.
  for (int pass = 0; pass < 2; ++pass) {
    const double numbers = y_.numbered ? widest(canvas, y_ticks_) + kTickLength + kTickGap : 0;
    const double left = std::min(numbers + (y_.label.empty() ? 0 : kLabelHeight), kMostLeft * room.width);
    plot_.x = room.x + left;
    plot_.width = room.width - left;
    x_.range = x_asked;
    y_.range = y_asked;
    if (equal) {
      const double unit = std::max(x_.range.length() / plot_.width, y_.range.length() / plot_.height);
      widen(x_.range, unit * plot_.width);
      widen(y_.range, unit * plot_.height);
    }
    choose_ticks(canvas, equal);
  }
}

void Axes::choose_ticks(const Canvas& canvas, bool equal) {
  double spacing = equal ? kPixelsPerSquare : kPixelsPerX;
  const auto choose = [&] {
    // Axes of one scale have one step, so that the grid is of squares.
    if (equal) {
      const double step = x_.range.length() / plot_.width * std::min(spacing, plot_.height / 2);
      x_ticks_ = step_ticks(x_.range, step);
      y_ticks_ = step_ticks(y_.range, step);
    } else {
      x_ticks_ = ticks_of(x_, plot_.width, spacing);
      y_ticks_ = ticks_of(y_, plot_.height, kPixelsPerY);
    }
  };
  choose();
  // Long numbers, fewer of them.
  while (spacing < plot_.width / 2 && widest(canvas, x_ticks_) + 12 > spacing) {
    spacing *= 1.3;
    choose();
  }
}

Point Axes::place(double x, double y) const {
  return {plot_.x + fraction(x_, x) * plot_.width, plot_.bottom() - fraction(y_, y) * plot_.height};
}

void Axes::draw(const Canvas& canvas) const {
  const double base = plot_.bottom();
  for (std::size_t i = 0; i < x_ticks_.major.size(); ++i) {
    const double x = place(x_ticks_.major[i], y_.range.low).x;
    canvas.line({x, plot_.y}, {x, base}, 0.75, kGrid);
    canvas.line({x, base}, {x, base + kTickLength}, 0.75, kSpine);
    // The last number may be wider than the margin beside it.
    const double middle = std::min(x, plot_.right() + kOverhang - canvas.text_width(x_ticks_.labels[i], kTickFont) / 2);
    canvas.text(middle, base + kTickLength + kTickGap + 0.75 * kTickFont.size, x_ticks_.labels[i], kTickFont, kSoftInk,
                Align::kCenter);
  }
  for (std::size_t i = 0; i < y_ticks_.major.size(); ++i) {
    const double y = place(x_.range.low, y_ticks_.major[i]).y;
    canvas.line({plot_.x, y}, {plot_.right(), y}, 0.75, kGrid);
    canvas.line({plot_.x - kTickLength, y}, {plot_.x, y}, 0.75, kSpine);
    canvas.text(plot_.x - kTickLength - kTickGap, y + 0.36 * kTickFont.size, y_ticks_.labels[i], kTickFont, kSoftInk,
                Align::kRight);
  }
  for (const double value : x_ticks_.minor) {
    const double x = place(value, y_.range.low).x;
    canvas.line({x, base}, {x, base + kTickLength / 2}, 0.75, kSpine);
  }
  for (const double value : y_ticks_.minor) {
    const double y = place(x_.range.low, value).y;
    canvas.line({plot_.x - kTickLength / 2, y}, {plot_.x, y}, 0.75, kSpine);
  }
  canvas.line({plot_.x, base}, {plot_.right(), base}, 0.75, kSpine);
  if (y_.numbered) canvas.line({plot_.x, plot_.y}, {plot_.x, base}, 0.75, kSpine);
  if (!x_.label.empty()) {
    const double below = x_.numbered ? kTickLength + kTickGap + kNumberHeight : kTickGap;
    canvas.text(plot_.x + plot_.width / 2, base + below + kLabelHeight - 4,
                canvas.fitted(x_.label, kLabelFont, plot_.width), kLabelFont, kInk, Align::kCenter);
  }
  if (!y_.label.empty()) {
    const double numbers = y_.numbered ? widest(canvas, y_ticks_) + kTickLength + kTickGap : 0;
    canvas.upward_text(plot_.x - numbers - 6, plot_.y + plot_.height / 2,
                       canvas.fitted(y_.label, kLabelFont, plot_.height), kLabelFont, kInk);
  }
}

}  // namespace cpfm::report
