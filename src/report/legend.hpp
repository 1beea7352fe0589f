// What colours mean, to the right of a plot: names with their marker or line, or a bar of the scale with its numbers.
#pragma once

#include <string>
#include <vector>

#include "report/canvas.hpp"
#include "report/ticks.hpp"

namespace cpfm::report {

struct LegendEntry {
  std::string name;
  ClassStyle style;
  bool line = false, dashed = false;
  bool marker = true;
};

struct Legend {
  std::vector<LegendEntry> entries;
  bool keep_last = false;  // the last entry stays when others have to go

  // At most this many rows; where there are more names, the last but one says how many are left out.
  static constexpr std::size_t kMostRows = 24;

  // What it takes of a panel's width, the gap to the plot included; 0 without entries. Never more than `most`.
  double width(const Canvas& canvas, double most) const;
  // At the top of `room`.
  void draw(const Canvas& canvas, const Rect& room) const;
};

struct ColorBar {
  std::string name;
  Range range;  // low = high where all values are the same

  double width(const Canvas& canvas, double most) const;
  void draw(const Canvas& canvas, const Rect& room) const;
};

}  // namespace cpfm::report
