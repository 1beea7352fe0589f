// What a figure has to be before anything is drawn. Errors name the panel and the field.
#pragma once

#include "cpfm/report.hpp"

namespace cpfm::report {

// Throws cpfm::Error for a figure without panels, a size that is not allowed, points without rows or with values that
// are not finite, and counts that disagree.
void check(const Figure& figure);

// The room of the title above all panels, in a figure's units.
inline constexpr double kHeadHeight = 32;

// Panels side by side, and rows of them. The figure has been checked.
struct Grid {
  std::size_t columns = 0, rows = 0;
};
Grid grid_of(const Figure& figure);

}  // namespace cpfm::report
