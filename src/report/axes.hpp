// The frame of a panel: from ranges of values and a rectangle of room to a place on the paper for every pair of values,
// with margins as wide as the numbers beside the axes need.
#pragma once

#include <string>

#include "report/canvas.hpp"
#include "report/ticks.hpp"

namespace cpfm::report {

struct Axis {
  std::string label;  // empty: none
  Range range;        // with its margin, see padded(); positive for `log`
  bool log = false;
  bool numbered = true;  // has marks
};

class Axes {
 public:
  // `equal`: both axes to one scale; the range that has room left grows around its middle. For linear axes only.
  Axes(const Canvas& canvas, const Rect& room, Axis x, Axis y, bool equal);

  const Rect& plot() const { return plot_; }
  Point place(double x, double y) const;
  void draw(const Canvas& canvas) const;

 private:
  void choose_ticks(const Canvas& canvas, bool equal);

  Rect plot_;
  Axis x_, y_;
  Ticks x_ticks_, y_ticks_;
};

}  // namespace cpfm::report
