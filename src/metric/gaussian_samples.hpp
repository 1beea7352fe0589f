// The pairs of point sets behind a distance to the standard normal law. All distances take theirs from here, so that
// numbers for the same (y, n, seed) are about the same points.
#pragma once

#include <cstdint>

#include "cpfm/matrix.hpp"

namespace cpfm {

struct GaussianPair {
  FloatMatrix a, b;  // n × d each
};

// n random rows of `y`, without repetition (n ≤ rows), and n points of N(0, I): they give the value.
GaussianPair gaussian_pair(MatrixView<const float> y, std::size_t n, std::uint64_t seed);
// Two independent samples of n points of N(0, I): pairs 0, 1, … give the floor.
GaussianPair gaussian_floor_pair(std::size_t n, std::size_t d, std::uint64_t seed, std::uint64_t pair);

}  // namespace cpfm
