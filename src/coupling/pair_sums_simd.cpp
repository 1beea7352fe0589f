// Compiled once per instruction set by Highway. Four targets share every load of a source tile; a tile's 256 terms are
// added in the lanes of the type and then, tile by tile, in double, so that errors do not grow with n. 2^x is split by
// the rounding trick (adding 1.5·2^mantissa leaves the nearest integer in the low bits) into an exponent, added to the
// bits, and a polynomial on [-1/2, 1/2] of relative error 1e-7 (float) or 2e-15 (double).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coupling/pair_sums_simd.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/highway.h>

#include "coupling/pair_sums_simd.hpp"
#include "cpfm/error.hpp"

HWY_BEFORE_NAMESPACE();
namespace cpfm::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V>
HWY_INLINE V exp2_lanes(D d, V x) {
  using T = hn::TFromD<D>;
  const hn::RebindToSigned<D> di;
  constexpr bool kSingle = sizeof(T) == 4;
  const V magic = hn::Set(d, kSingle ? T(12582912.0) : T(6755399441055744.0));
  x = hn::Max(x, hn::Set(d, kSingle ? T(-126) : T(-1022)));
  x = hn::Min(x, hn::Set(d, kSingle ? T(127) : T(1023)));
  const V shifted = hn::Add(x, magic);
  const V f = hn::Sub(x, hn::Sub(shifted, magic));
  V p;
  if constexpr (kSingle) {
    p = hn::Set(d, T(0.0013390863365347876));
    p = hn::MulAdd(p, f, hn::Set(d, T(0.009676031918310485)));
    p = hn::MulAdd(p, f, hn::Set(d, T(0.05550357114216631)));
    p = hn::MulAdd(p, f, hn::Set(d, T(0.24022107485308747)));
    p = hn::MulAdd(p, f, hn::Set(d, T(0.6931471880262303)));
    p = hn::MulAdd(p, f, hn::Set(d, T(1.0000000754548972)));
    return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
  } else {
    p = hn::Set(d, T(0x1.e4645beb0d1b3p-28));
    p = hn::MulAdd(p, f, hn::Set(d, T(0x1.b6a167f5b69f7p-24)));
    p = hn::MulAdd(p, f, hn::Set(d, T(0x1.62c100a6d4c64p-20)));
    p = hn::MulAdd(p, f, hn::Set(d, T(0x1.ffcb201e2eb72p-17)));
    p = hn::MulAdd(p, f, hn::Set(d, T(0x1.4309126c9c2b1p-13)));
    p = hn::MulAdd(p, f, hn::Set(d, T(0x1.5d87feb2cddc9p-10)));
    p = hn::MulAdd(p, f, hn::Set(d, T(0x1.3b2ab6fbe4cc6p-7)));
    p = hn::MulAdd(p, f, hn::Set(d, T(0x1.c6b08d702f37cp-5)));
    p = hn::MulAdd(p, f, hn::Set(d, T(0x1.ebfbdff82c371p-3)));
    p = hn::MulAdd(p, f, hn::Set(d, T(0x1.62e42fefa3a66p-1)));
    p = hn::MulAdd(p, f, hn::Set(d, T(1)));
    return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<52>(hn::BitCast(di, shifted))));
  }
}

// kRows targets from t on, over one tile of the source.
template <class T, int kDims, int kRows, bool kValues>
HWY_INLINE void tile_sums(const PairSide<T>& source, const PairSide<T>& targets, std::size_t tile, std::size_t t,
                          double* sums, double* values) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t first = tile * PairSide<T>::kTile;
  V sum[kRows], value[kRows][kDims];
  for (int r = 0; r < kRows; ++r) {
    sum[r] = hn::Zero(d);
    for (int k = 0; k < kDims; ++k) value[r][k] = hn::Zero(d);
  }
  for (std::size_t s = first; s < first + PairSide<T>::kTile; s += hn::Lanes(d)) {
    V coord[kDims];
    for (int k = 0; k < kDims; ++k) coord[k] = hn::LoadU(d, source.coord(k) + s);
    const V potential = hn::LoadU(d, source.potential() + s);
    for (int r = 0; r < kRows; ++r) {
      V e = hn::Add(potential, hn::Set(d, targets.potential()[t + static_cast<std::size_t>(r)]));
      for (int k = 0; k < kDims; ++k)
        e = hn::MulAdd(coord[k], hn::Set(d, targets.coord(k)[t + static_cast<std::size_t>(r)]), e);
      e = exp2_lanes(d, e);
      sum[r] = hn::Add(sum[r], e);
      if constexpr (kValues) {
        for (int k = 0; k < kDims; ++k) value[r][k] = hn::MulAdd(e, coord[k], value[r][k]);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    const std::size_t at = t + static_cast<std::size_t>(r);
    sums[at] += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum[r])));
    if constexpr (kValues) {
      for (int k = 0; k < kDims; ++k) {
        values[at * kDims + static_cast<std::size_t>(k)] +=
            static_cast<double>(hn::GetLane(hn::SumOfLanes(d, value[r][k])));
      }
    }
  }
}

template <class T, int kDims, bool kValues>
void block_sums(const PairSide<T>& source, const PairSide<T>& targets, std::span<const std::uint32_t> tiles,
                std::size_t begin, std::size_t end, double* sums, double* values) {
  // With values and many coordinates the accumulators of four targets do not fit the registers.
  constexpr int kRows = kValues ? (kDims <= 4 ? 4 : 2) : 4;
  for (const std::uint32_t tile : tiles) {
    std::size_t t = begin;
    for (; t + kRows <= end; t += kRows) tile_sums<T, kDims, kRows, kValues>(source, targets, tile, t, sums, values);
    for (; t < end; ++t) tile_sums<T, kDims, 1, kValues>(source, targets, tile, t, sums, values);
  }
}

template <class T>
void block_sums_any(const PairSide<T>& source, const PairSide<T>& targets, std::span<const std::uint32_t> tiles,
                    std::size_t begin, std::size_t end, double* sums, double* values) {
  const auto with = [&]<int kDims>() {
    if (values != nullptr)
      block_sums<T, kDims, true>(source, targets, tiles, begin, end, sums, values);
    else
      block_sums<T, kDims, false>(source, targets, tiles, begin, end, sums, values);
  };
  switch (source.dims()) {
    case 2:
      return with.template operator()<2>();
    case 3:
      return with.template operator()<3>();
    case 4:
      return with.template operator()<4>();
    case 5:
      return with.template operator()<5>();
    case 6:
      return with.template operator()<6>();
    case 7:
      return with.template operator()<7>();
    case 8:
      return with.template operator()<8>();
    default:
      return with.template operator()<9>();
  }
}

void block_sums_float(const PairSide<float>& source, const PairSide<float>& targets,
                      std::span<const std::uint32_t> tiles, std::size_t begin, std::size_t end, double* sums,
                      double* values) {
  block_sums_any(source, targets, tiles, begin, end, sums, values);
}
void block_sums_double(const PairSide<double>& source, const PairSide<double>& targets,
                       std::span<const std::uint32_t> tiles, std::size_t begin, std::size_t end, double* sums,
                       double* values) {
  block_sums_any(source, targets, tiles, begin, end, sums, values);
}

}  // namespace cpfm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpfm {

HWY_EXPORT(block_sums_float);
HWY_EXPORT(block_sums_double);

void simd_block_sums(const PairSide<float>& source, const PairSide<float>& targets,
                     std::span<const std::uint32_t> tiles, std::size_t begin, std::size_t end, double* sums,
                     double* values) {
  HWY_DYNAMIC_DISPATCH(block_sums_float)(source, targets, tiles, begin, end, sums, values);
}
void simd_block_sums(const PairSide<double>& source, const PairSide<double>& targets,
                     std::span<const std::uint32_t> tiles, std::size_t begin, std::size_t end, double* sums,
                     double* values) {
  HWY_DYNAMIC_DISPATCH(block_sums_double)(source, targets, tiles, begin, end, sums, values);
}

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

void force_simd_target(const std::string& name) {
  hwy::SetSupportedTargetsForTest(0);
  if (!name.empty()) {
    std::int64_t wanted = 0;
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      if (name == hwy::TargetName(target)) wanted = target;
    }
    CPFM_ASSERT(wanted != 0, "force_simd_target: not one of simd_targets()");
    hwy::SetSupportedTargetsForTest(wanted);
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace cpfm
#endif
