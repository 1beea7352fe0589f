// Who does the heavy steps of the pivoted Cholesky factorisation (cholesky.cpp) and keeps Φ: the CPU or a device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "cpfm/kernel.hpp"
#include "cuda/kernel_matrix.hpp"
#include "kernel/factor.hpp"

namespace cpfm {

inline constexpr std::size_t kLargestPanel = 64;

// Pivots whose columns are computed together.
struct CholeskyPanel {
  std::vector<std::size_t> pivots;       // places in CholeskyGroup::members
  std::vector<double> residuals;         // of each pivot when it was chosen
  std::vector<float> triangle, inverse;  // p × p, lower; of the residual block of the pivots
  std::size_t size() const { return pivots.size(); }
};

// Samples with a factor of their own; `rank` columns of it are filled.
struct CholeskyGroup {
  std::size_t index = 0;             // among the groups
  std::vector<std::size_t> members;  // samples, ascending
  std::size_t rank = 0;
  std::vector<double> residual;              // of each member
  double largest = 0, left = 0;              // residual: maximum and sum
  std::vector<std::size_t> pivots;           // places in members
  std::vector<double> pivot_residual, gain;  // of each column; gain is the sum of its squares
  CholeskyPanel panel;
  std::vector<std::size_t> candidates;  // places, ascending
  double bound = 0;                     // the largest residual among the others
  std::vector<float> block;             // residuals of each two candidates, row-major

  std::size_t panel_size() const { return std::clamp<std::size_t>(members.size() / 48, 4, kLargestPanel); }
};

class CholeskyBackend {
 public:
  virtual ~CholeskyBackend() = default;
  // Columns for one more panel.
  virtual void make_room(const CholeskyGroup& group) = 0;
  // Fills `block` of each group: K(r, c) - ⟨Φ_r, Φ_c⟩, centred, for each two of its candidates.
  virtual void residual_blocks(const std::vector<CholeskyGroup*>& active) = 0;
  // The panels' columns for all members, behind the others: C = residual columns, Φ_new = C · R⁻ᵀ; the rows of pivots
  // are known exactly, the triangle, and nothing in columns after their own. Takes the squares of the new columns from
  // `residual`, and appends their sums to `gain`; the group's other members stay.
  virtual void extend(const std::vector<CholeskyGroup*>& active) = 0;
  // Column `index` of a group's Φ.
  virtual std::vector<float> column(const CholeskyGroup& group, std::size_t index) = 0;
  // All columns, of which column_of[g][k] is where column k of group g goes, to factor.phi (and factor.device_phi).
  // Ends the use of the backend.
  virtual void merge(const std::vector<std::vector<std::size_t>>& column_of, std::size_t columns,
                     KernelFactor& factor) = 0;

 protected:
  // How many columns to make room for when `old` are too few for `wanted`.
  static std::size_t grown(std::size_t wanted, std::size_t old, std::size_t rows) {
    return std::min(std::max(wanted, old + old / 2), std::max(wanted, rows + kLargestPanel));
  }
};

// `groups` outlives it and keeps its size.
std::unique_ptr<CholeskyBackend> make_cpu_backend(const Kernel& kernel, const Centring* centring,
                                                  const std::vector<CholeskyGroup>& groups);
std::unique_ptr<CholeskyBackend> make_cuda_backend(const Kernel& kernel, std::shared_ptr<const DeviceKernel> on_device,
                                                   const Centring* centring, const std::vector<CholeskyGroup>& groups);

}  // namespace cpfm
