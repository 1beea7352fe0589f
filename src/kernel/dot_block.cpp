// dot_block with Highway, compiled once per instruction set and chosen at run time. A tile of kRows × kCols sums stays
// in registers while both sets of rows stream by: kRows + kCols loads feed kRows·kCols multiply-adds. Lanes run along
// d, so nothing is packed or transposed beforehand; lanes are added up at the end of a tile, four sums at a time. Every
// tile, also those at the edges, adds in the same order, so that the value of a pair does not depend on the block
// around it.
#if CPFM_HAS_HWY

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/dot_block.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <vector>

#include "kernel/dot_block.hpp"

HWY_BEFORE_NAMESPACE();
namespace cpfm::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Floats>;

// Registers: 32 from AVX-512 on and on Arm, else 16.
#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2
constexpr std::size_t kRows = 3, kCols = 4;
#else
constexpr std::size_t kRows = 6, kCols = 4;
#endif
constexpr std::size_t kChunk = 1024;    // elements of d per tile: a tile's rows stay in the first-level cache
constexpr std::size_t kPanelRows = 64;  // rows of b that stay in the second-level cache

// The sums of all lanes of four vectors, stored to out[0..3].
HWY_INLINE void store_sums(Vec v0, Vec v1, Vec v2, Vec v3, float* HWY_RESTRICT out) {
  const Floats d;
#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE
  out[0] = hn::GetLane(hn::SumOfLanes(d, v0));
  out[1] = hn::GetLane(hn::SumOfLanes(d, v1));
  out[2] = hn::GetLane(hn::SumOfLanes(d, v2));
  out[3] = hn::GetLane(hn::SumOfLanes(d, v3));
#else
  // In each block of four lanes: v0 and v1 interleaved and halved, v2 and v3 likewise, then both together.
  const hn::RepartitionToWide<Floats> wide;
  const auto v01 = hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, v0, v1), hn::InterleaveUpper(d, v0, v1)));
  const auto v23 = hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, v2, v3), hn::InterleaveUpper(d, v2, v3)));
  Vec sum =
      hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, v01, v23)), hn::BitCast(d, hn::InterleaveUpper(wide, v01, v23)));
  const hn::FixedTag<float, 4> four;
#if HWY_MAX_BYTES >= 64
  const hn::Half<Floats> half;
  const hn::Half<decltype(half)> quarter;
  const auto in_half = hn::Add(hn::LowerHalf(half, sum), hn::UpperHalf(half, sum));
  hn::StoreU(hn::Add(hn::LowerHalf(quarter, in_half), hn::UpperHalf(quarter, in_half)), four, out);
#elif HWY_MAX_BYTES >= 32
  const hn::Half<Floats> half;
  hn::StoreU(hn::Add(hn::LowerHalf(half, sum), hn::UpperHalf(half, sum)), four, out);
#else
  hn::StoreU(sum, four, out);
#endif
#endif
}

// One tile over `steps` whole vectors and, where `tail` is set, one more from the zero-padded ends of the rows.
template <std::size_t R, std::size_t C>
HWY_INLINE void tile(const float* const* a, const float* const* b, std::size_t from, std::size_t steps,
                     const float* a_tail, const float* b_tail, bool add, float* HWY_RESTRICT out, std::size_t stride) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  Vec sum[R][C];
  for (std::size_t i = 0; i < R; ++i) {
    for (std::size_t j = 0; j < C; ++j) sum[i][j] = hn::Zero(d);
  }
  const float* ap[R];
  const float* bp[C];
  for (std::size_t i = 0; i < R; ++i) ap[i] = a[i] + from;
  for (std::size_t j = 0; j < C; ++j) bp[j] = b[j] + from;
  for (std::size_t k = 0; k < steps * lanes; k += lanes) {
    Vec bv[C];
    for (std::size_t j = 0; j < C; ++j) bv[j] = hn::LoadU(d, bp[j] + k);
    for (std::size_t i = 0; i < R; ++i) {
      const Vec av = hn::LoadU(d, ap[i] + k);
      for (std::size_t j = 0; j < C; ++j) sum[i][j] = hn::MulAdd(av, bv[j], sum[i][j]);
    }
  }
  if (a_tail != nullptr) {
    for (std::size_t i = 0; i < R; ++i) {
      const Vec av = hn::LoadU(d, a_tail + i * lanes);
      for (std::size_t j = 0; j < C; ++j) sum[i][j] = hn::MulAdd(av, hn::LoadU(d, b_tail + j * lanes), sum[i][j]);
    }
  }
  for (std::size_t i = 0; i < R; ++i) {
    float sums[4];
    const Vec zero = hn::Zero(d);
    store_sums(sum[i][0], C > 1 ? sum[i][C > 1 ? 1 : 0] : zero, C > 2 ? sum[i][C > 2 ? 2 : 0] : zero,
               C > 3 ? sum[i][C > 3 ? 3 : 0] : zero, sums);
    for (std::size_t j = 0; j < C; ++j) out[i * stride + j] = add ? out[i * stride + j] + sums[j] : sums[j];
  }
}

// The ends of rows that do not fill a vector, padded with zeros.
void copy_tails(std::span<const float* const> rows, std::size_t from, std::size_t d, std::size_t lanes,
                std::vector<float>& tails) {
  tails.assign(rows.size() * lanes, 0.0f);
  for (std::size_t i = 0; i < rows.size(); ++i) std::copy(rows[i] + from, rows[i] + d, tails.begin() + i * lanes);
}

template <std::size_t R>
HWY_INLINE void row_of_tiles(const float* const* a, const float* a_tail, std::span<const float* const> b,
                             const float* b_tail, std::size_t lanes, std::size_t from, std::size_t steps, bool add,
                             float* out, std::size_t stride) {
  std::size_t j = 0;
  const auto tail = [&] { return a_tail == nullptr ? nullptr : b_tail + j * lanes; };
  for (; j + kCols <= b.size(); j += kCols) tile<R, kCols>(a, &b[j], from, steps, a_tail, tail(), add, out + j, stride);
  switch (b.size() - j) {
    case 3:
      tile<R, 3>(a, &b[j], from, steps, a_tail, tail(), add, out + j, stride);
      break;
    case 2:
      tile<R, 2>(a, &b[j], from, steps, a_tail, tail(), add, out + j, stride);
      break;
    case 1:
      tile<R, 1>(a, &b[j], from, steps, a_tail, tail(), add, out + j, stride);
      break;
    default:
      break;
  }
}

void DotBlock(std::span<const float* const> a, std::span<const float* const> b, std::size_t d, float* out,
              std::size_t stride) {
  const std::size_t lanes = hn::Lanes(Floats());
  const std::size_t whole = d / lanes * lanes;
  static thread_local std::vector<float> a_tails, b_tails;
  if (whole < d) {
    copy_tails(a, whole, d, lanes, a_tails);
    copy_tails(b, whole, d, lanes, b_tails);
  }
  for (std::size_t first = 0; first < b.size(); first += kPanelRows) {
    const auto panel = b.subspan(first, std::min(kPanelRows, b.size() - first));
    for (std::size_t from = 0; from < std::max<std::size_t>(whole, 1); from += kChunk) {
      const std::size_t steps = std::min(kChunk, whole - std::min(whole, from)) / lanes;
      const bool tail = whole < d && from + kChunk >= whole, add = from > 0;
      const float* b_tail = tail ? b_tails.data() + first * lanes : nullptr;
      std::size_t i = 0;
      const auto a_tail = [&] { return tail ? a_tails.data() + i * lanes : nullptr; };
      for (; i + kRows <= a.size(); i += kRows) {
        row_of_tiles<kRows>(&a[i], a_tail(), panel, b_tail, lanes, from, steps, add, out + i * stride + first, stride);
      }
      for (; i + 2 <= a.size(); i += 2) {
        row_of_tiles<2>(&a[i], a_tail(), panel, b_tail, lanes, from, steps, add, out + i * stride + first, stride);
      }
      if (i < a.size()) {
        row_of_tiles<1>(&a[i], a_tail(), panel, b_tail, lanes, from, steps, add, out + i * stride + first, stride);
      }
    }
  }
}

void HeatFromDots(std::span<float> values, float a2, std::span<const float> b2, float rate) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const Vec zero = hn::Zero(d), two = hn::Set(d, 2.0f), norm = hn::Set(d, a2), minus_rate = hn::Set(d, -rate);
  const auto heat = [&](Vec dot, Vec other) HWY_ATTR {
    return hn::Exp(d, hn::Mul(hn::Max(zero, hn::NegMulAdd(two, dot, hn::Add(norm, other))), minus_rate));
  };
  std::size_t j = 0;
  for (; j + lanes <= values.size(); j += lanes) {
    hn::StoreU(heat(hn::LoadU(d, values.data() + j), hn::LoadU(d, b2.data() + j)), d, values.data() + j);
  }
  if (j < values.size()) {
    float dots[16] = {}, norms[16] = {};
    std::copy(values.begin() + j, values.end(), dots);
    std::copy(b2.begin() + j, b2.begin() + values.size(), norms);
    hn::StoreU(heat(hn::LoadU(d, dots), hn::LoadU(d, norms)), d, dots);
    std::copy(dots, dots + (values.size() - j), values.begin() + j);
  }
}

}  // namespace cpfm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cpfm {

HWY_EXPORT(DotBlock);
HWY_EXPORT(HeatFromDots);

void dot_block(std::span<const float* const> a, std::span<const float* const> b, std::size_t d, float* out,
               std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(DotBlock)(a, b, d, out, stride);
}

void heat_from_dots(std::span<float> values, float a2, std::span<const float> b2, float rate) {
  HWY_DYNAMIC_DISPATCH(HeatFromDots)(values, a2, b2, rate);
}

std::vector<std::int64_t> dot_block_targets() { return hwy::SupportedAndGeneratedTargets(); }

}  // namespace cpfm
#endif  // HWY_ONCE
#endif  // CPFM_HAS_HWY
