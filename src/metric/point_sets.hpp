// What the metrics share: what they ask of a set of points before they look at it, and the distance of two points.
#pragma once

#include <span>

#include "cpfm/matrix.hpp"

namespace cpfm {

// Throws cpfm::Error, naming `field`, unless there is at least one row and one column and every value is finite.
void check_points(MatrixView<const float> points, const char* field);

// Throws cpfm::Error, naming `field`, unless `points` has as many columns as `other`, which is called `other_field`.
void check_same_columns(MatrixView<const float> points, const char* field, MatrixView<const float> other,
                        const char* other_field);

// |a - b|² in double, for rows of the same length.
double squared_distance(std::span<const float> a, std::span<const float> b);

}  // namespace cpfm
