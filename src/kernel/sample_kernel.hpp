// What all kernels that an expression can name have beyond the public interface: any rows against any columns, which is
// what products with groups and the factorisation need, and what is known of the negated kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "cpfm/kernel.hpp"
#include "cuda/kernel_matrix.hpp"

namespace cpfm {

class SampleKernel : public Kernel {
 public:
  // out(c, r) = K(rows[r], columns[c]). Called from several threads at once; `out` may hold garbage.
  virtual void evaluate(std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                        MatrixView<float> out) const = 0;
  // The definiteness of -K.
  virtual Definiteness negated() const { return Definiteness::kUnknown; }
  // Whether K is 1 inside a group and 0 outside.
  virtual bool is_indicator() const { return false; }
  // Appends terms that add up to K to `terms`, and what they read to the other members of `description`. False, with
  // both in any state, where K is no sum of products of the functions that a device knows.
  virtual bool describe(DeviceDescription& /*description*/, std::vector<DeviceTerm>& /*terms*/) const { return false; }

  void block(std::span<const std::size_t> columns, std::size_t begin, std::size_t end,
             MatrixView<float> out) const final;
};

using SampleKernelPtr = std::unique_ptr<SampleKernel>;

// evaluate() for any kernel; one that is no SampleKernel is asked for the contiguous blocks that hold `rows`
// (ascending).
void evaluate_rows(const Kernel& kernel, std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                   MatrixView<float> out);

// The samples of each group in ascending order, groups ordered by their first sample; one group of all without
// structure.
std::vector<std::vector<std::size_t>> group_members(const Kernel& kernel);

}  // namespace cpfm
