// An order of points in 1 to 8 dimensions in which neighbours in the list are neighbours in space (a Hilbert curve), so
// that a run of points has a small bounding box.
#pragma once

#include <cstdint>
#include <vector>

#include "cpfm/matrix.hpp"

namespace cpfm {

// Positions along the curve → rows of `points`. Ties keep the order of the rows. Values that are not finite go last.
std::vector<std::uint32_t> spatial_order(MatrixView<const double> points);

}  // namespace cpfm
