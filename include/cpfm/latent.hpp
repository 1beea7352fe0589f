// What shape the map should have: a latent law, and points drawn from it.
//
// Bounded laws live in or on the unit ball or the cube [-1, 1]^d; d is 1 to 8. All but grid, points, image, moved laws
// and mixtures have mean 0 and the covariance c·I given here.
//   gaussian        N(0, I); c = 1
//   square          uniform in [-1, 1]^d; c = 1/3
//   disk            uniform in the unit ball; |y|^d is uniform; c = 1/(d + 2)
//   circle          uniform on |y| = 1 in the plane; d = 2 only; c = 1/2
//   sphere          uniform on |y| = 1, d ≥ 2, 3 by default; c = 1/d
//   ring(a, b)      uniform in a ≤ |y| ≤ b, 0 ≤ a < b, d ≥ 2; c = (b^(d+2) - a^(d+2)) / ((d + 2)(b^d - a^d))
//   torus(R, r)     uniform by area on the tube of radius r around the circle of radius R in the x-y plane,
//                   0 < r < R; d = 3 only; variances R²/2 + 3r²/4 along x and y, r²/2 along z; torus alone is
//                   torus(1, 0.4)
//   grid            centres of equal boxes that fill [-1, 1]^d, whatever the count: about count^(1/d) slabs along the
//                   first axis, each as thick as its share of the points, cut likewise along the next. count = k^d
//                   gives the regular lattice. No randomness; mean 0; rows follow the axes, so a prefix is no sample
//   points(FILE)    rows of a file read_dataset() reads: in order when count is their number, fewer by sampling without
//                   replacement, more as whole copies and then a sample
//   image(FILE)     where a PNG or JPEG is dark: a pixel has a chance proportional to 255 - grey (transparent is white)
//                   and points are uniform inside it; the longer side spans [-1, 1], y points up; d = 2 only
//   at(LAW, x, …)   LAW moved by (x, …), one number per dimension
//   scale(LAW, s)   LAW times s > 0
//   mixture(LAW, …) points of several laws; w*LAW gives a weight, 1 by default, and weights need not sum to 1. After
//                   any number of rows each law has less than one point more or less than its exact share
// as in mixture(0.3*at(gaussian, -2, 0), 0.7*at(scale(disk, 0.5), 2, 0)). A file name with , ( ) or = goes in quotes.
#pragma once

#include <cstdint>
#include <string>

#include "cpfm/matrix.hpp"

namespace cpfm {

struct LatentOptions {
  // 1 to 8. 0: the only one the expression has (circle, image, torus, points, the coordinates of at), else 3 where
  // there is a sphere, else 2.
  int dim = 0;
  std::uint64_t seed = 1;
  // Spreads the points evenly (scrambled Sobol' points through the law's inverse distribution function) instead of
  // drawing them independently. Each point alone still follows the law. grid is even already; points(FILE) refuses.
  bool low_discrepancy = false;
};

// `count` ≥ 1 points of the law. Point i depends on (law, options, i) alone, so fewer points are the first of more,
// except for grid and points(FILE), which depend on their number too. Throws cpfm::Error for a law that is not known,
// arguments out of range, a file that cannot be used, or a dimension the law does not have.
FloatMatrix draw_latent(const std::string& law, std::size_t count, const LatentOptions& options = {});

}  // namespace cpfm
