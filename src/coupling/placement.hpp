// Where new points belong: kernel values with a set of reference points, and coefficients learned from the coupling.
#pragma once

#include <span>

#include "cpfm/coupling.hpp"

namespace cpfm {

// Whether new points are placed by the pivots of the factor.
inline bool by_pivots(const KernelFactor& factor) { return !factor.pivots.empty() && !factor.centred; }

// `mean` is M = π Y, `km` is K M with the kernel itself, `p` what the plan was made with. The factor is empty when
// there is none.
Placement make_placement(const Dataset& data, const Kernel& kernel, const KernelFactor& factor,
                         std::span<const double> row_mass, MatrixView<const double> mean, std::span<const double> km,
                         std::span<const double> p);

}  // namespace cpfm
