// One block of targets of pair_sums over a list of source tiles, on the instruction set chosen at run time.
#pragma once

#include <span>

#include "coupling/pair_sums.hpp"

namespace cpfm {

// Adds to sums[t] and, when values is not null, to values[t·D + k], for begin ≤ t < end.
void simd_block_sums(const PairSide<float>& source, const PairSide<float>& targets,
                     std::span<const std::uint32_t> tiles, std::size_t begin, std::size_t end, double* sums,
                     double* values);
void simd_block_sums(const PairSide<double>& source, const PairSide<double>& targets,
                     std::span<const std::uint32_t> tiles, std::size_t begin, std::size_t end, double* sums,
                     double* values);

}  // namespace cpfm
