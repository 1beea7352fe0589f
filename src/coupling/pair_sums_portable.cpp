// pair_sums for builds without Highway: the same tiles and the same order of sums, one term at a time.
#include <algorithm>
#include <cmath>

#include "coupling/pair_sums_simd.hpp"
#include "cpfm/error.hpp"

namespace cpfm {
namespace {

template <class T>
void block_sums(const PairSide<T>& source, const PairSide<T>& targets, std::span<const std::uint32_t> tiles,
                std::size_t begin, std::size_t end, double* sums, double* values) {
  const auto dims = static_cast<std::size_t>(source.dims());
  const T lowest = sizeof(T) == 4 ? T(-126) : T(-1022), highest = sizeof(T) == 4 ? T(127) : T(1023);
  for (const std::uint32_t tile : tiles) {
    const std::size_t first = tile * PairSide<T>::kTile;
    for (std::size_t t = begin; t < end; ++t) {
      T sum = 0, value[kMaxPairDims] = {};
      for (std::size_t s = first; s < first + PairSide<T>::kTile; ++s) {
        T e = source.potential()[s] + targets.potential()[t];
        for (int k = 0; k < source.dims(); ++k) e += source.coord(k)[s] * targets.coord(k)[t];
        e = std::exp2(std::min(std::max(e, lowest), highest));
        sum += e;
        for (std::size_t k = 0; values != nullptr && k < dims; ++k)
          value[k] += e * source.coord(static_cast<int>(k))[s];
      }
      sums[t] += double(sum);
      for (std::size_t k = 0; values != nullptr && k < dims; ++k) values[t * dims + k] += double(value[k]);
    }
  }
}

}  // namespace

void simd_block_sums(const PairSide<float>& source, const PairSide<float>& targets,
                     std::span<const std::uint32_t> tiles, std::size_t begin, std::size_t end, double* sums,
                     double* values) {
  block_sums(source, targets, tiles, begin, end, sums, values);
}
void simd_block_sums(const PairSide<double>& source, const PairSide<double>& targets,
                     std::span<const std::uint32_t> tiles, std::size_t begin, std::size_t end, double* sums,
                     double* values) {
  block_sums(source, targets, tiles, begin, end, sums, values);
}

std::vector<std::string> simd_targets() { return {"portable"}; }

void force_simd_target(const std::string& name) {
  CPFM_ASSERT(name.empty() || name == "portable", "force_simd_target: not one of simd_targets()");
}

}  // namespace cpfm
