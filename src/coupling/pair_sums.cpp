#include "coupling/pair_sums.hpp"

#include <cmath>

#include "coupling/pair_sums_simd.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"

namespace cpfm {

template <class T>
PairSide<T>::PairSide(std::size_t count, int dims)
    : count_(count), stride_((count + kTile - 1) / kTile * kTile), dims_(dims) {
  CPFM_ASSERT(dims >= 2 && dims <= kMaxPairDims, "pairs have d + 1 coordinates");
  coords_.assign(stride_ * static_cast<std::size_t>(dims), T(0));
  potential_.assign(stride_, T(0));
  for (std::size_t i = count; i < stride_; ++i) potential_[i] = T(-1e30);
}

template <class T>
void pair_sums(const PairSide<T>& source, const PairSide<T>& targets, const TileLists& lists, bool with_values,
               PairSums& out) {
  CPFM_ASSERT(source.dims() == targets.dims(), "both sides of a pair have the same coordinates");
  const auto dims = static_cast<std::size_t>(targets.dims());
  const std::size_t n = targets.count();
  out.sums.assign(n, 0.0);
  out.values.assign(with_values ? n * dims : 0, 0.0);
  const std::vector<std::uint32_t> every = [&] {
    std::vector<std::uint32_t> tiles(source.tiles());
    for (std::size_t t = 0; t < tiles.size(); ++t) tiles[t] = static_cast<std::uint32_t>(t);
    return tiles;
  }();
  parallel_for(n, TileLists::kTargets, [&](std::size_t begin, std::size_t end) {
    const auto& tiles = lists.all() ? every : lists.tiles[begin / TileLists::kTargets];
    simd_block_sums(source, targets, tiles, begin, end, out.sums.data(), with_values ? out.values.data() : nullptr);
  });
}

template <class T>
void pair_sums_reference(const PairSide<T>& source, const PairSide<T>& targets, bool with_values, PairSums& out) {
  const auto dims = static_cast<std::size_t>(targets.dims());
  out.sums.assign(targets.count(), 0.0);
  out.values.assign(with_values ? targets.count() * dims : 0, 0.0);
  for (std::size_t t = 0; t < targets.count(); ++t) {
    for (std::size_t s = 0; s < source.count(); ++s) {
      double exponent = double(targets.potential()[t]) + double(source.potential()[s]);
      for (int k = 0; k < source.dims(); ++k) exponent += double(targets.coord(k)[t]) * double(source.coord(k)[s]);
      const double term = std::exp2(exponent);
      out.sums[t] += term;
      for (std::size_t k = 0; with_values && k < dims; ++k) {
        out.values[t * dims + k] += term * double(source.coord(static_cast<int>(k))[s]);
      }
    }
  }
}

template <class T>
double safe_log2_sum(const PairSide<T>& source, const PairSide<T>& targets, std::size_t target) {
  const auto exponent = [&](std::size_t s) {
    double e = double(source.potential()[s]);
    for (int k = 0; k < source.dims(); ++k) e += double(targets.coord(k)[target]) * double(source.coord(k)[s]);
    return e;
  };
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t s = 0; s < source.count(); ++s) largest = std::max(largest, exponent(s));
  double sum = 0;
  for (std::size_t s = 0; s < source.count(); ++s) sum += std::exp2(exponent(s) - largest);
  return largest + std::log2(sum);
}

template class PairSide<float>;
template class PairSide<double>;
template void pair_sums(const PairSide<float>&, const PairSide<float>&, const TileLists&, bool, PairSums&);
template void pair_sums(const PairSide<double>&, const PairSide<double>&, const TileLists&, bool, PairSums&);
template void pair_sums_reference(const PairSide<float>&, const PairSide<float>&, bool, PairSums&);
template void pair_sums_reference(const PairSide<double>&, const PairSide<double>&, bool, PairSums&);
template double safe_log2_sum(const PairSide<float>&, const PairSide<float>&, std::size_t);
template double safe_log2_sum(const PairSide<double>&, const PairSide<double>&, std::size_t);

}  // namespace cpfm
