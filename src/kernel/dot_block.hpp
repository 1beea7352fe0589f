// The workhorse of every kernel on vectors: all inner products of two sets of rows. Rows are given by pointers, so that
// the members of a class or a set of pivots need not be gathered first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cpfm {

// out[i * stride + j] = ⟨a[i], b[j]⟩ over d floats. Sums run in float over at most 1024 elements and several lanes. The
// value of one pair depends on its two rows alone, not on the block it is in, and not on their order.
void dot_block(std::span<const float* const> a, std::span<const float* const> b, std::size_t d, float* out,
               std::size_t stride);

// values[j] = exp(-max(0, a2 + b2[j] - 2·values[j]) · rate): inner products to heat kernel values.
void heat_from_dots(std::span<float> values, float a2, std::span<const float> b2, float rate);

// The plain loops that define the two functions above.
void dot_block_reference(std::span<const float* const> a, std::span<const float* const> b, std::size_t d, float* out,
                         std::size_t stride);
void heat_from_dots_reference(std::span<float> values, float a2, std::span<const float> b2, float rate);

// Instruction sets the fast versions were built for and this machine has, as Highway's bits; empty without Highway.
std::vector<std::int64_t> dot_block_targets();

}  // namespace cpfm
