// One panel of a figure in its cell: title and remark above, axes, what they hold, and the legend to the right.
#pragma once

#include <string>

#include "cpfm/report.hpp"
#include "report/canvas.hpp"

namespace cpfm::report {

// The figure has been checked.
void draw_panel(const Canvas& canvas, const Scatter& scatter, const Rect& cell);
void draw_panel(const Canvas& canvas, const Lines& lines, const Rect& cell);

// How a cell is divided. The legend takes no more than a third.
inline constexpr double kLegendShare = 0.34;
struct Margins {
  double left = 12, top = 10, right = 18, bottom = 10;
};
inline constexpr Margins kMargins;

// The cell without its margins, and without the heading's room at the top.
Rect room_below_heading(const Rect& cell, const std::string& title, const std::string& remark);
// Above a plot whose left end is `left`.
void draw_heading(const Canvas& canvas, const Rect& cell, double left, const std::string& title,
                  const std::string& remark);

}  // namespace cpfm::report
