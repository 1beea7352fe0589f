// The pairs of point sets behind a distance to the standard normal law. All distances take theirs from here, so that
// numbers for the same (y, n, seed) are about the same points.
#pragma once

#include <cstdint>

#include "cpfm/matrix.hpp"

namespace cpfm {

struct GaussianPair {
  FloatMatrix a, b;  // n × d each
};

// Pair 0: n random rows of `y`, without repetition (n ≤ rows), and n points of N(0, I); it gives the value. Pairs from
// 1 on: two independent samples of N(0, I); they give the floor.
GaussianPair gaussian_pair(MatrixView<const float> y, std::size_t n, std::uint64_t seed, std::uint64_t pair);

}  // namespace cpfm
