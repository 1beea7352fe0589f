#include "report/legend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cpfm::report {
namespace {

constexpr Font kFont{10.5};
constexpr double kGap = 16;  // between plot and legend
constexpr double kRow = 17, kTightRow = 13.5;
constexpr double kDotWidth = 16, kLineWidth = 28;  // from the left end of a row to its name
constexpr double kBarWidth = 12, kBarToNumber = 8;
constexpr double kNameHeight = 20;  // above a bar

double swatch_width(const std::vector<LegendEntry>& entries) {
  const bool lines = std::any_of(entries.begin(), entries.end(), [](const LegendEntry& entry) { return entry.line; });
  return lines ? kLineWidth : kDotWidth;
}

void draw_swatch(const Canvas& canvas, const LegendEntry& entry, double x, double y) {
  const double middle = x + (entry.line ? 10 : 5);
  if (entry.line) {
    const std::vector<Point> points{{middle - 10, y}, {middle + 10, y}};
    const std::vector<char> breaks{0, 0};
    canvas.polyline(points, breaks, 1.8, entry.style.color, entry.dashed);
  }
  if (entry.marker) canvas.marker(entry.style.marker, {middle, y}, entry.line ? 3 : 4, entry.style.color, 1);
}

Ticks bar_ticks(const Range& range, double height) {
  return linear_ticks(range, std::clamp(static_cast<int>(height / 40), 2, 7));
}

}  // namespace

double Legend::width(const Canvas& canvas, double most) const {
  if (entries.empty()) return 0;
  double names = 0;
  for (const LegendEntry& entry : entries) {
    names = std::max(names, canvas.text_width(entry.name, kFont));
    if (names >= most) break;
  }
  if (entries.size() > kMostRows) names = std::max(names, canvas.text_width("… and 9999 more", kFont));
  return std::min(most, kGap + swatch_width(entries) + std::ceil(names) + 1);
}

void Legend::draw(const Canvas& canvas, const Rect& room) const {
  if (entries.empty()) return;
  const auto fitting = static_cast<std::size_t>(std::max(2.0, room.height / kTightRow));
  const std::size_t most = std::min(kMostRows, fitting);
  const std::size_t rows = std::min(entries.size(), most);
  const double height = std::min(kRow, room.height / static_cast<double>(rows));
  const double left = room.x + kGap, text_left = left + swatch_width(entries), text_width = room.right() - text_left;
  const bool all = entries.size() <= most;
  const std::size_t kept = keep_last && !all && rows > 2 ? 1 : 0;
  const std::size_t leading = all ? rows : rows - 1 - kept;
  double y = room.y + height / 2;
  const auto row = [&](const LegendEntry& entry) {
    draw_swatch(canvas, entry, left, y);
    canvas.text(text_left, y + 0.36 * kFont.size, canvas.fitted(entry.name, kFont, text_width), kFont, kInk);
    y += height;
  };
  for (std::size_t i = 0; i < leading; ++i) row(entries[i]);
  if (!all) {
    const std::string more = fmt::format("… and {} more", entries.size() - leading - kept);
    canvas.text(text_left, y + 0.36 * kFont.size, canvas.fitted(more, kFont, text_width), kFont, kSoftInk);
    y += height;
  }
  if (kept == 1) row(entries.back());
}

double ColorBar::width(const Canvas& canvas, double most) const {
  double numbers = 0;
  // The height is not known yet; more marks than will be drawn never need less room.
  for (const int count : {3, 5, 7}) {
    for (const std::string& label : linear_ticks(range, count).labels)
      numbers = std::max(numbers, canvas.text_width(label, kTickFont));
  }
  const double below = kBarWidth + kBarToNumber + numbers;
  return std::min(most, kGap + std::ceil(std::max(below, canvas.text_width(name, kFont))) + 1);
}

void ColorBar::draw(const Canvas& canvas, const Rect& room) const {
  const double left = room.x + kGap;
  canvas.text(left, room.y + 0.8 * kFont.size, canvas.fitted(name, kFont, room.right() - left), kFont, kInk);
  const Rect bar{left, room.y + kNameHeight, kBarWidth, room.height - kNameHeight};
  const double length = range.length();
  const int steps = length > 0 ? 200 : 1;
  for (int i = 0; i < steps; ++i) {
    const double step = bar.height / steps;
    // A little overlap, or the paper shines through between the steps.
    const double overlap = i == 0 ? 0 : std::min(step, 0.5);
    canvas.fill({bar.x, bar.bottom() - (i + 1) * step, bar.width, step + overlap},
                scale_color(steps > 1 ? (i + 0.5) / steps : 0.5));
  }
  const Ticks ticks = bar_ticks(range, bar.height);
  for (std::size_t i = 0; i < ticks.major.size(); ++i) {
    const double part = length > 0 ? (ticks.major[i] - range.low) / length : 0.5;
    const double y = bar.bottom() - part * bar.height;
    canvas.line({bar.right(), y}, {bar.right() + 4, y}, 0.75, kSpine);
    canvas.text(bar.right() + kBarToNumber, y + 0.36 * kTickFont.size,
                canvas.fitted(ticks.labels[i], kTickFont, room.right() - bar.right() - kBarToNumber), kTickFont,
                kSoftInk);
  }
}

}  // namespace cpfm::report
