// Certified truncation. Where w_i > 0, row i of the plan is a Gaussian blob around c_i = p_i / w_i, and at small ε
// almost every pair is nothing: with s_i = w_i / (ε ln 2) the exponent is
//   F_i + G_j + <a_i, b_j> = (F_i + s_i |c_i|²) + G_j - s_i |y_j - c_i|².
// Boxes around runs of points bound it from above; tiles whose bound is too small are left out, and what they could
// hold at most is added up and reported.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coupling/pair_sums.hpp"

namespace cpfm {

// Bounds over one run of points: a box of positions, the largest shifted potential, the smallest s (rows only).
struct RunBounds {
  double low[kMaxLatentDim], high[kMaxLatentDim];
  double potential = 0, sharpness = 0;
  std::size_t count = 0;
};

// One run per `length` points, in list order. `position` is count × dim. For columns `sharpness` is empty. A row with
// s ≤ 0 is no blob: its run gets sharpness 0, which bounds nothing away.
std::vector<RunBounds> bound_runs(std::span<const double> position, int dim, std::span<const double> potential,
                                  std::span<const double> sharpness, std::size_t length);

// Sides of fewer points need no truncation.
inline constexpr std::size_t kWorthTruncating = 2000;

struct Truncated {
  TileLists lists;
  double dropped = 0;  // at most so much mass is in the tiles left out
  double kept = 1;     // share of the tiles that are computed
};

// Which source tiles every block of targets needs, so that what is left out has at most mass `drop` in all.
// `rows_are_targets` says which of the two runs carries the sharpness.
Truncated truncate(const std::vector<RunBounds>& targets, const std::vector<RunBounds>& source, int dim,
                   bool rows_are_targets, double drop);

// One side of the plan, in list order: rows at their centres c with s (≤ 0: no blob), columns at y with no sharpness.
struct PlanPoints {
  std::vector<double> position, potential, sharpness;
};

// The two above on runs of the lengths that pair_sums works in. Sides of few points need no lists: all tiles.
Truncated choose_tiles(const PlanPoints& rows, const PlanPoints& columns, int dim, bool rows_are_targets, double drop);

}  // namespace cpfm
