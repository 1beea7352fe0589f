// L(π) = Σ π_ij π_i'j' K_ii' |y_j - y_j'|² as it is reported: with the kernel itself, whatever stood in for it while
// solving.
#pragma once

#include <span>

#include "cpfm/gwot.hpp"
#include "cpfm/matrix.hpp"

namespace cpfm {

// Of the solver's plan; `w` is K times the rows' masses, `km` is K times solver.mean().
double objective(std::span<const double> w, std::span<const double> km, const GwotSolver& solver);

// Of the independent plan, in which every sample is everywhere.
double objective_random(std::span<const double> w, std::span<const double> row_mass, MatrixView<const float> y,
                        std::span<const double> column_mass);

}  // namespace cpfm
