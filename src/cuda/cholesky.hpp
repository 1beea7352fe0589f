// The heavy steps of the pivoted Cholesky factorisation (src/kernel/cholesky.cpp) on a device. Φ stays there and grows;
// each group has its own, as long as its samples and as wide as its rank. What pivots are chosen from, and how much
// every sample's residual falls, goes to the host, which decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda/kernel_matrix.hpp"
#include "cuda/memory.hpp"

namespace cpfm {

class DeviceCholesky {
 public:
  static constexpr std::size_t kLargestPanel = 64;

  // `groups`: the samples of each. `mean` and `all` are what double centring takes away, as in Centring; empty:
  // nothing.
  DeviceCholesky(std::shared_ptr<const DeviceKernel> kernel, const std::vector<std::vector<std::size_t>>& groups,
                 const std::vector<double>& mean, double all);
  ~DeviceCholesky();
  DeviceCholesky(const DeviceCholesky&) = delete;
  DeviceCholesky& operator=(const DeviceCholesky&) = delete;

  // Room for `wanted` columns of a group's Φ, or for the `needed` ones alone where memory is short; the first `rank`
  // are kept. Returns for how many.
  std::size_t make_room(std::size_t group, std::size_t rank, std::size_t needed, std::size_t wanted);

  // In: a group, its rank, and places in it. Out: block[r · count + c] = K(r, c) - ⟨Φ_r, Φ_c⟩ for each two of the
  // places.
  struct Residuals {
    std::size_t group = 0, rank = 0;
    std::vector<std::size_t> places;
    std::vector<float> block;
  };
  void residual_blocks(std::vector<Residuals>& wanted);

  // In: pivots (places), with the triangle R of their residual block and its inverse, p × p and lower; and all earlier
  // pivots of the group. Columns rank to rank + p - 1 of Φ become (K(·, pivots) - Φ Φ_pivotsᵀ) R⁻ᵀ; exactly R in the
  // rows of the pivots, and 0 in those of earlier ones. Out: for each sample the sum of squares of the new columns, for
  // each column that over the samples, both before the rows of pivots were set.
  struct Panel {
    std::size_t group = 0, rank = 0;
    std::vector<std::size_t> pivots, earlier;
    std::vector<float> triangle, inverse;
    std::vector<double> fall, gain;
  };
  void extend(std::vector<Panel>& panels);

  // One column of a group's Φ.
  std::vector<float> column(std::size_t group, std::size_t index) const;

  // n × columns, row-major: column k of group g becomes column_of[g][k], everything else is 0. Ends the object's use:
  // the groups' arrays are freed on the way.
  std::shared_ptr<DeviceArray<float>> merge(std::size_t n, std::size_t columns,
                                            const std::vector<std::vector<std::size_t>>& column_of);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cpfm
