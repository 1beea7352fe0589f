// The kernels behind plan.cu: sums over stretches of the source, the walk that finds a draw, lists of the likeliest,
// safe sums of logarithms. For plan.cu alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/pair_runs.cuh"
#include "cuda/plan.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kNone = 0xFFFFFFFFu;
constexpr int kMostTop = static_cast<int>(DevicePlan::kMostTop);

// A pass over pairs: block (t, c) meets run t of the targets with stretch c of the source's parts. Stretches follow
// each other, so that sums over them cut the source's cumulative mass in its order.
struct Pairs {
  SideView source, target;
  int dim;
  unsigned stretches;
  bool truncate;
  double threshold;  // parts whose every exponent is below are left out
};

__device__ inline unsigned first_part(const Pairs& a, unsigned stretch) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a.source.runs) * kParts * stretch / a.stretches);
}

// Whether any pair of a run of targets and a part of the source may count.
__device__ inline bool may_count(const Pairs& a, unsigned run, unsigned part) {
  if (points_in(a.source, part) == 0) return false;
  if (!a.truncate) return true;
  for (unsigned t = run * kParts; t < (run + 1) * kParts; ++t) {
    if (!(largest_exponent(a.target, t, a.source, part, a.dim) < a.threshold)) return true;
  }
  return false;
}

// Calls visit(part, its points in shared memory) for every needed part of the block's stretch, in their order, until no
// thread wants more. All threads of the block are in every call.
template <class T, int D, int kThreads, class Visit>
__device__ void for_needed_parts(const Pairs& a, const Visit& visit) {
  static_assert(kThreads % 32 == 0 && kThreads >= kPart, "whole warps, and a part is loaded in one step");
  __shared__ Point<T, D> tile[kPart];
  __shared__ unsigned list[kThreads], warp_count[kThreads / 32];
  const unsigned thread = threadIdx.x, end = first_part(a, blockIdx.y + 1);
  for (unsigned first = first_part(a, blockIdx.y); first < end; first += kThreads) {
    // Which of the next parts are needed: one thread looks at each, and the list keeps their order.
    const unsigned mine = first + thread;
    const bool needed = mine < end && may_count(a, blockIdx.x, mine);
    const unsigned ballot = __ballot_sync(0xFFFFFFFFu, needed);
    if (thread % 32 == 0) warp_count[thread / 32] = __popc(ballot);
    __syncthreads();
    unsigned before = 0, count = 0;
    for (unsigned w = 0; w < kThreads / 32; ++w) {
      if (w < thread / 32) before += warp_count[w];
      count += warp_count[w];
    }
    if (needed) list[before + __popc(ballot & ((1u << thread % 32) - 1))] = mine;
    __syncthreads();
    for (unsigned item = 0; item < count; ++item) {
      const unsigned part = list[item];
      if (thread < kPart)
        tile[thread] =
            static_cast<const Point<T, D>*>(a.source.points)[static_cast<std::size_t>(part) * kPart + thread];
      __syncthreads();
      const bool more = visit(part, static_cast<const Point<T, D>*>(tile));
      // The tile, and at the end the list, are overwritten next.
      if (!__syncthreads_or(more)) return;
    }
  }
}

template <class T, int D>
__device__ Point<T, D> target_at(const Pairs& a, std::size_t at) {
  return static_cast<const Point<T, D>*>(a.target.points)[at];
}

template <class T, int D>
__device__ T exponent(const Point<T, D>& target, const Point<T, D>& source) {
  T e = target.v[D] + source.v[D];
#pragma unroll
  for (int k = 0; k < D; ++k) e = fma(target.v[k], source.v[k], e);
  return e;
}

// Of every target the sum of its terms over each stretch and, weighted by each, of V columns of values, which lie in
// the order of the source, padded: stretches × (1 + V) × padded targets. R targets to a thread.
template <class T, int D, int V, int R>
__global__ void __launch_bounds__(kRun / R) pair_totals(const Pairs a, const float* values, double* totals) {
  constexpr int kThreads = kRun / R;
  __shared__ float weights[V > 0 ? kPart * V : 1];
  const unsigned thread = threadIdx.x;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * kRun + thread;
  Point<T, D> target[R];
  double total[R][V + 1];
#pragma unroll
  for (int r = 0; r < R; ++r) {
    target[r] = target_at<T, D>(a, first + r * kThreads);
#pragma unroll
    for (int k = 0; k <= V; ++k) total[r][k] = 0;
  }
  for_needed_parts<T, D, kThreads>(a, [&](unsigned part, const Point<T, D>* tile) {
    if constexpr (V > 0) {
      const float* from = values + static_cast<std::size_t>(part) * kPart * V;
      for (unsigned at = thread; at < kPart * V; at += kThreads) weights[at] = from[at];
      __syncthreads();
    }
    T sum[R][V + 1];
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int k = 0; k <= V; ++k) sum[r][k] = 0;
    }
#pragma unroll 4
    for (int s = 0; s < kPart; ++s) {
      const Point<T, D> source = tile[s];
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const T term = exp2_of(exponent(target[r], source));
        sum[r][0] += term;
#pragma unroll
        for (int k = 0; k < V; ++k) sum[r][k + 1] = fma(term, static_cast<T>(weights[s * V + k]), sum[r][k + 1]);
      }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int k = 0; k <= V; ++k) total[r][k] += static_cast<double>(sum[r][k]);
    }
    return true;
  });
  const std::size_t stride = static_cast<std::size_t>(a.target.runs) * kRun;
#pragma unroll
  for (int r = 0; r < R; ++r) {
#pragma unroll
    for (int k = 0; k <= V; ++k)
      totals[(static_cast<std::size_t>(blockIdx.y) * (V + 1) + k) * stride + first + r * kThreads] = total[r][k];
  }
}

// In which stretch the draw of every target lies and how far into its mass; kNone for a target without its mass. What
// is drawn is kUndrawn for now.
__global__ void choose_stretch(SideView target, unsigned stretches, const double* totals, const double* uniforms,
                               std::uint32_t* stretch, double* left, std::uint32_t* drawn) {
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= target.count) return;
  const std::size_t stride = static_cast<std::size_t>(target.runs) * kRun;
  const std::uint32_t entry = target.order[at];
  double total = 0;
  for (unsigned c = 0; c < stretches; ++c) total += totals[c * stride + at];
  std::uint32_t chosen = kNone;
  double into = 0;
  if (has_its_mass(total, target.mass[entry])) {
    double rest = uniforms[entry] * total;
    for (unsigned c = 0; c < stretches; ++c) {
      const double mass = totals[c * stride + at];
      if (!(mass > 0)) continue;
      chosen = c;
      into = rest;
      if (rest < mass) break;
      rest -= mass;  // what rounding leaves behind the last goes to it
    }
  }
  stretch[at] = chosen;
  left[at] = into;
  drawn[entry] = DevicePlan::kUndrawn;
}

// The place in a part where its cumulative mass exceeds `left`. Rounding may leave a rest behind the last source; the
// likeliest of the part takes it.
template <class T, int D>
__device__ unsigned place_in_part(const Point<T, D>* part, unsigned count, const Point<T, D>& target, double left) {
  unsigned likeliest = 0;
  T largest = exponent(target, part[0]);
  for (unsigned s = 0; s < count; ++s) {
    const T e = exponent(target, part[s]);
    if (e > largest) {
      largest = e;
      likeliest = s;
    }
    left -= static_cast<double>(exp2_of(e));
    if (left < 0) return s;
  }
  return likeliest;
}

// Block (t, c) finishes the draws of run t that lie in stretch c: it walks the parts again, as pair_totals did, until
// each draw's part is found, and looks into that one.
template <class T, int D>
__global__ void __launch_bounds__(kRun)
    draw_entries(const Pairs a, const std::uint32_t* stretch, const double* left, std::uint32_t* drawn) {
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * kRun + threadIdx.x;
  const bool mine = at < a.target.count && stretch[at] == blockIdx.y;
  if (!__syncthreads_or(mine)) return;
  const Point<T, D> target = target_at<T, D>(a, at);
  bool looking = mine;
  double rest = mine ? left[at] : 0, into = 0;
  std::uint32_t last = kNone;   // the last part with any mass, and how far into it the draw would lie
  std::uint32_t found = kNone;  // place along the source's curve
  for_needed_parts<T, D, kRun>(a, [&](unsigned part, const Point<T, D>* tile) {
    if (looking) {
      T sum = 0;
#pragma unroll 4
      for (int s = 0; s < kPart; ++s) sum += exp2_of(exponent(target, tile[s]));
      const double mass = static_cast<double>(sum);
      if (mass > 0) {
        last = part;
        into = rest;
        if (rest < mass) {
          found = part * kPart + place_in_part(tile, points_in(a.source, part), target, rest);
          looking = false;
        } else {
          rest -= mass;
        }
      }
    }
    return looking;
  });
  if (looking && last != kNone) {
    const Point<T, D>* part = static_cast<const Point<T, D>*>(a.source.points) + static_cast<std::size_t>(last) * kPart;
    found = last * kPart + place_in_part(part, points_in(a.source, last), target, into);
  }
  if (found != kNone) drawn[a.target.order[at]] = a.source.order[found];
}

// Values (sources × width, in the order given) in the order along the curve, padded with zeros to whole runs and to V
// columns.
template <int V>
__global__ void arrange_values(SideView source, const float* values, int width, float* arranged) {
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const bool valid = at < source.count;
  const std::size_t from = valid ? static_cast<std::size_t>(source.order[at]) * width : 0;
  for (int k = 0; k < V; ++k) arranged[at * V + k] = valid && k < width ? values[from + k] : 0.0f;
}

// Means from the totals of the stretches: targets × width, in the order given.
__global__ void finish_means(SideView target, unsigned stretches, int sums, const double* totals, int width,
                             float* means, unsigned char* lost) {
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= target.count) return;
  const std::size_t stride = static_cast<std::size_t>(target.runs) * kRun;
  const std::uint32_t i = target.order[at];
  const auto sum_of = [&](int k) {
    double sum = 0;
    for (unsigned c = 0; c < stretches; ++c) sum += totals[(static_cast<std::size_t>(c) * sums + k) * stride + at];
    return sum;
  };
  const double total = sum_of(0);
  const bool whole = has_its_mass(total, target.mass[i]);
  lost[i] = whole ? 0 : 1;
  for (int k = 0; k < width; ++k)
    means[static_cast<std::size_t>(i) * width + k] = whole ? static_cast<float>(sum_of(k + 1) / total) : 0.0f;
}

// Σ 2^e as 2^largest · sum, one term after the other.
struct LogSum {
  double largest = -INFINITY, sum = 0;
  __device__ void add(double e) {
    constexpr double kNegligible = 100;  // terms so many bits below change no digit, however many there are
    if (e > largest) {
      sum = sum * exp2(largest - e) + 1;
      largest = e;
    } else if (e > largest - kNegligible) {
      sum += exp2(e - largest);
    }
  }
};

// A thread keeps the k best of its target in order.
template <int D>
__global__ void __launch_bounds__(kRun)
    likeliest_sources(const Pairs a, int k, std::uint32_t* index, double* probability) {
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * kRun + threadIdx.x;
  const bool valid = at < a.target.count;
  const Point<double, D> target = target_at<double, D>(a, at);
  double exponents[kMostTop];
  std::uint32_t sources[kMostTop];
  double least = -INFINITY;  // of the k, once they are that many
  int held = 0;
  LogSum total;
  for_needed_parts<double, D, kRun>(a, [&](unsigned part, const Point<double, D>* tile) {
    const unsigned count = valid ? points_in(a.source, part) : 0;
    for (unsigned s = 0; s < count; ++s) {
      const double e = exponent(target, tile[s]);
      total.add(e);
      if (e < least) continue;
      const std::uint32_t source = a.source.order[part * kPart + s];
      if (held == k && e == least && source > sources[k - 1]) continue;
      int r = held < k ? held++ : k - 1;
      for (; r > 0 && (e > exponents[r - 1] || (e == exponents[r - 1] && source < sources[r - 1])); --r) {
        exponents[r] = exponents[r - 1];
        sources[r] = sources[r - 1];
      }
      exponents[r] = e;
      sources[r] = source;
      if (held == k) least = exponents[k - 1];
    }
    return true;
  });
  if (!valid) return;
  const std::size_t to = static_cast<std::size_t>(a.target.order[at]) * k;
  for (int r = 0; r < held; ++r) {
    index[to + r] = sources[r];
    probability[to + r] = exp2(exponents[r] - total.largest) / total.sum;
  }
}

// Of every target the sum over each stretch: stretches × padded targets.
template <int D>
__global__ void __launch_bounds__(kRun) log_sums(const Pairs a, double* largest, double* sum) {
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * kRun + threadIdx.x;
  const Point<double, D> target = target_at<double, D>(a, at);
  LogSum total;
  for_needed_parts<double, D, kRun>(a, [&](unsigned part, const Point<double, D>* tile) {
    const unsigned count = points_in(a.source, part);
    for (unsigned s = 0; s < count; ++s) total.add(exponent(target, tile[s]));
    return true;
  });
  const std::size_t to = static_cast<std::size_t>(blockIdx.y) * a.target.runs * kRun + at;
  largest[to] = total.largest;
  sum[to] = total.sum;
}

__global__ void gather(const double* from, const std::uint32_t* which, std::size_t count, int width, double* to) {
  const std::size_t e = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (e >= count) return;
  for (int k = 0; k < width; ++k) to[e * width + k] = from[static_cast<std::size_t>(which[e]) * width + k];
}

}  // namespace
}  // namespace cpfm
