// The one loop stage 1 lives in: sums over all pairs of 2^(potential_s + potential_t + <a_s, b_t>), streamed, in O(n)
// memory. With the rank-(d+1) cost C_ij = w_i |y_j|² - 2 <p_i, y_j> written as a_i = (-w_i, 2 p_i) / (ε ln 2) and
// b_j = (|y_j|², y_j), the plan is π_ij = 2^(F_i + G_j + <a_i, b_j>), and a Sinkhorn half-iteration, the marginals, π Y
// and every term of the objective are such sums (docs/math.md).
//
// Using the present potential as the stabiliser makes a sum the present marginal itself, so no running maximum is
// needed; sums that leave the range of the type are for the caller to see and to redo with safe_log2_sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace cpfm {

inline constexpr int kMaxLatentDim = 8;
inline constexpr int kMaxPairDims = kMaxLatentDim + 1;  // D = d + 1

// One side of the pairs: `count` points of D coordinates and a potential. Coordinate-major and padded to whole tiles,
// the padding having a potential that makes its terms vanish.
template <class T>
class PairSide {
 public:
  static constexpr std::size_t kTile = 256;

  PairSide() = default;
  PairSide(std::size_t count, int dims);

  std::size_t count() const { return count_; }
  std::size_t stride() const { return stride_; }
  std::size_t tiles() const { return stride_ / kTile; }
  int dims() const { return dims_; }
  T* coord(int k) { return coords_.data() + static_cast<std::size_t>(k) * stride_; }
  const T* coord(int k) const { return coords_.data() + static_cast<std::size_t>(k) * stride_; }
  T* potential() { return potential_.data(); }
  const T* potential() const { return potential_.data(); }

 private:
  std::size_t count_ = 0, stride_ = 0;
  int dims_ = 0;
  std::vector<T> coords_, potential_;
};

// Which tiles of the source each block of targets needs; an empty list of lists means all.
struct TileLists {
  static constexpr std::size_t kTargets = 64;  // targets per block
  std::vector<std::vector<std::uint32_t>> tiles;
  bool all() const { return tiles.empty(); }
};

struct PairSums {
  std::vector<double> sums;  // per target
  std::vector<double>
      values;  // per target, D numbers: the sums weighted by the source's coordinates; empty if not asked
};

// For every target t: Σ_s 2^(e) and, if asked, Σ_s 2^(e) coord_k(s), with e = pot_t + pot_s + Σ_k coord_k(t)
// coord_k(s). Exponents below -126 (double: -1022) count as that. Parallel over fixed blocks of targets; the same bits
// for any number of threads. SIMD is chosen at run time.
template <class T>
void pair_sums(const PairSide<T>& source, const PairSide<T>& targets, const TileLists& lists, bool with_values,
               PairSums& out);

// The specification of the above: one term at a time, in double.
template <class T>
void pair_sums_reference(const PairSide<T>& source, const PairSide<T>& targets, bool with_values, PairSums& out);

// log2 Σ_s 2^(pot_s + Σ_k coord_k(t) coord_k(s)) for one target by the safe two-pass form, in double.
template <class T>
double safe_log2_sum(const PairSide<T>& source, const PairSide<T>& targets, std::size_t target);

// The instruction sets this machine and build can use, best first ("AVX3_DL", "AVX2", …; "portable" without Highway),
// for tests that run them one by one.
std::vector<std::string> simd_targets();
// Uses that one from now on; an empty name goes back to the best.
void force_simd_target(const std::string& name);

}  // namespace cpfm
