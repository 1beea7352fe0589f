// What kernels over pairs of points share: points in runs of 256 along a space-filling curve, bounds on what two runs
// can hold, and the passes that bring a side into that form. For .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>
#include <type_traits>
#include <vector>

#include "base/hilbert.hpp"
#include "cuda/check.cuh"
#include "cuda/launch.cuh"
#include "cuda/memory.hpp"

namespace cpfm {
namespace {

constexpr int kRun = 256;             // points of a run: what a block of threads has as targets
constexpr int kPart = 64;             // points of a part of a run, which has bounds of its own
constexpr int kParts = kRun / kPart;  // of a run
constexpr int kMaxDim = 8;            // of latent points
constexpr double kVanishing = -1e30;  // potential of padding

// A point as the kernels read it: dim + 1 coordinates, then the potential, padded to whole 16-byte words.
template <class T>
CPFM_HD constexpr int slots(int dims) {
  constexpr int word = 16 / static_cast<int>(sizeof(T));
  return (dims + 1 + word - 1) / word * word;
}
template <class T, int D>
struct alignas(16) Point {
  T v[slots<T>(D)];
};

// Of every part: a box around its points, the largest shifted potential, the smallest sharpness (rows alone have one).
struct Bounds {
  double *low, *high;  // parts × dim
  double *potential, *sharpness;
  bool sharp;  // whether this side has a sharpness: whether it is the rows
};

struct SideView {
  void* points;          // Point<T, D>, in the order along the curve, padded to whole runs
  double* potential;     // in the order given
  const double* mass;    // likewise
  std::uint32_t* order;  // place along the curve → row or column
  double* shift;         // by place: s |c|², what a row's potential is raised by in the bound
  Bounds bounds;
  std::uint32_t count, runs;
};

__device__ inline float exp2_of(float x) {
#ifdef CPFM_CUDA_ON_CPU
  return exp2f(x);
#else
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#endif
}
__device__ inline double exp2_of(double x) { return exp2(x); }

template <class V>
__device__ std::enable_if_t<std::is_arithmetic_v<V>, V> shuffled(V value, int by) {
  return __shfl_xor_sync(0xFFFFFFFFu, value, by);
}
// Reductions in a fixed order, so that the result is the same every time; every thread gets it.
template <class V, class Combine>
__device__ V warp_reduce(V value, const Combine& combine) {
  for (int by = 16; by > 0; by /= 2) value = combine(value, shuffled(value, by));
  return value;
}
// Over a block of whole warps; scratch has a place for each of them.
template <class V, class Combine>
__device__ V block_reduce(V value, V* scratch, const Combine& combine) {
  value = warp_reduce(value, combine);
  __syncthreads();  // scratch may still be read
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  V result = scratch[0];
  for (unsigned w = 1; w < blockDim.x / 32; ++w) result = combine(result, scratch[w]);
  return result;
}
struct Plus {
  template <class V>
  __device__ V operator()(V a, V b) const {
    return a + b;
  }
};
struct Larger {
  __device__ double operator()(double a, double b) const { return a > b ? a : b; }
};

// The largest over every kPart threads, for each of them its own part's.
__device__ inline double part_largest(double value, double* scratch) {
  value = warp_reduce(value, Larger());
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  const unsigned first = threadIdx.x / kPart * (kPart / 32);
  for (unsigned w = first; w < first + kPart / 32; ++w) value = Larger()(value, scratch[w]);
  return value;
}

__device__ inline unsigned points_in(const SideView& side, unsigned part) {
  const unsigned begin = part * kPart;
  return begin >= side.count ? 0 : side.count - begin < kPart ? side.count - begin : kPart;
}

// The largest exponent that a point of this part of the targets and one of that part of the source can have.
__device__ inline double largest_exponent(const SideView& targets, unsigned target, const SideView& sources,
                                          unsigned source, int dim) {
  const Bounds &t = targets.bounds, &s = sources.bounds;
  const double sharpness = t.sharp ? t.sharpness[target] : s.sharpness[source];
  if (!(sharpness > 0)) return INFINITY;
  double distance = 0;
  for (int k = 0; k < dim; ++k) {
    const double above = t.low[target * dim + k] - s.high[source * dim + k];
    const double below = s.low[source * dim + k] - t.high[target * dim + k];
    const double gap = above > below ? above : below;
    if (gap > 0) distance += gap * gap;
  }
  return t.potential[target] + s.potential[source] - sharpness * distance;
}

struct CostView {
  const double *w, *p;  // of rows, in the order given
  const double* y;      // of columns
  double unit;          // 1 / (ε ln 2)
  int dim;
};

// Coordinates and potentials in the order along the curve; padding vanishes.
template <class T>
__global__ void fill_points(SideView side, CostView cost) {
  const std::uint32_t at = blockIdx.x * blockDim.x + threadIdx.x;
  const int dims = cost.dim + 1, width = slots<T>(dims);
  T* const point = static_cast<T*>(side.points) + static_cast<std::size_t>(at) * width;
  for (int k = 0; k < width; ++k) point[k] = T(0);
  if (at >= side.count) {
    point[dims] = static_cast<T>(kVanishing);
    return;
  }
  const std::uint32_t i = side.order[at];
  if (side.bounds.sharp) {
    point[0] = static_cast<T>(-cost.w[i] * cost.unit);
    for (int k = 0; k < cost.dim; ++k)
      point[k + 1] = static_cast<T>(2.0 * cost.p[static_cast<std::size_t>(i) * cost.dim + k] * cost.unit);
  } else {
    double square = 0;
    for (int k = 0; k < cost.dim; ++k) {
      const double v = cost.y[static_cast<std::size_t>(i) * cost.dim + k];
      point[k + 1] = static_cast<T>(v);
      square += v * v;
    }
    point[0] = static_cast<T>(square);
  }
  point[dims] = static_cast<T>(side.potential[i]);
}

// The position of a row or column in latent space; false for a row that is no blob.
__device__ inline bool position_of(const SideView& side, const CostView& cost, std::uint32_t i, double* position) {
  for (int k = 0; k < cost.dim; ++k) {
    const std::size_t at = static_cast<std::size_t>(i) * cost.dim + k;
    position[k] = side.bounds.sharp ? (cost.w[i] > 0 ? cost.p[at] / cost.w[i] : 0.0) : cost.y[at];
  }
  bool finite = true;
  for (int k = 0; k < cost.dim; ++k) finite = finite && isfinite(position[k]);
  return finite && (!side.bounds.sharp || cost.w[i] > 0);
}

// One block per run: boxes, sharpness, shifts and the largest potential of its parts.
__global__ void __launch_bounds__(kRun) bound_runs(SideView side, CostView cost) {
  __shared__ double scratch[kRun / 32];
  const std::uint32_t at = blockIdx.x * kRun + threadIdx.x;
  const unsigned part = blockIdx.x * kParts + threadIdx.x / kPart;
  const bool valid = at < side.count, tells = threadIdx.x % kPart == 0;
  const std::uint32_t i = valid ? side.order[at] : 0;
  double position[kMaxDim] = {};
  const bool blob = valid && position_of(side, cost, i, position);
  double shift = 0, sharpness = INFINITY;
  if (valid && side.bounds.sharp) {
    sharpness = blob ? cost.w[i] * cost.unit : 0;
    double square = 0;
    for (int k = 0; k < cost.dim; ++k) square += position[k] * position[k];
    shift = blob ? sharpness * square : 0;
  }
  if (valid) side.shift[at] = shift;
  for (int k = 0; k < cost.dim; ++k) {
    const double high = part_largest(blob ? position[k] : -INFINITY, scratch);
    const double low = -part_largest(blob ? -position[k] : -INFINITY, scratch);
    if (tells) {
      side.bounds.low[part * cost.dim + k] = low;
      side.bounds.high[part * cost.dim + k] = high;
    }
  }
  const double least = -part_largest(-sharpness, scratch);
  const double largest = part_largest(valid ? side.potential[i] + shift : -INFINITY, scratch);
  if (tells) {
    side.bounds.sharpness[part] = side.bounds.sharp ? least : 0;
    side.bounds.potential[part] = largest;
  }
}

// The extent of all positions, for the cells of the curve: one block.
__global__ void extent(SideView side, CostView cost, double* low, double* high) {
  __shared__ double scratch[kRun / 32];
  for (int k = 0; k < cost.dim; ++k) {
    double least = INFINITY, most = -INFINITY;
    for (std::uint32_t i = threadIdx.x; i < side.count; i += blockDim.x) {
      double position[kMaxDim];
      if (!position_of(side, cost, i, position)) continue;
      least = fmin(least, position[k]);
      most = fmax(most, position[k]);
    }
    most = block_reduce(most, scratch, Larger());
    least = -block_reduce(-least, scratch, Larger());
    if (threadIdx.x == 0) {
      low[k] = least;
      high[k] = most;
    }
  }
}

// The same keys as coupling/spatial_order.cpp; rows that are no blob go last.
__global__ void curve_keys(SideView side, CostView cost, const double* low, const double* high, std::uint64_t* keys,
                           std::uint32_t* places) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= side.count) return;
  places[i] = i;
  double position[kMaxDim];
  if (!position_of(side, cost, i, position)) {
    keys[i] = ~0ull;
    return;
  }
  const int bits = hilbert_bits(cost.dim);
  const double cells = static_cast<double>((1u << bits) - 1);
  std::uint32_t cell[kMaxDim];
  for (int k = 0; k < cost.dim; ++k) {
    const double width = high[k] - low[k];
    cell[k] = width > 0 ? static_cast<std::uint32_t>((position[k] - low[k]) / width * cells) : 0;
  }
  keys[i] = hilbert_key(cell, cost.dim, bits);
}

unsigned blocks_for(std::size_t count) { return static_cast<unsigned>((count + kRun - 1) / kRun); }

// call(integral_constant D) for D = dims, of dim + 1 coordinates.
template <class Call>
void with_dims(int dims, const Call& call) {
  switch (dims) {
    case 2:
      return call(std::integral_constant<int, 2>());
    case 3:
      return call(std::integral_constant<int, 3>());
    case 4:
      return call(std::integral_constant<int, 4>());
    case 5:
      return call(std::integral_constant<int, 5>());
    case 6:
      return call(std::integral_constant<int, 6>());
    case 7:
      return call(std::integral_constant<int, 7>());
    case 8:
      return call(std::integral_constant<int, 8>());
    default:
      return call(std::integral_constant<int, 9>());
  }
}

// Memory of one side.
struct Side {
  DeviceArray<unsigned char> points;
  DeviceArray<double> potential, mass, shift, low, high, part_potential, sharpness;
  DeviceArray<std::uint32_t> order;
  SideView view;

  Side() = default;
  Side(std::size_t count, int dim, bool rows, const double* masses) {
    const std::size_t runs = blocks_for(count), d = static_cast<std::size_t>(dim);
    const char* const what = "the potentials";
    points = DeviceArray<unsigned char>(runs * kRun * static_cast<std::size_t>(slots<double>(dim + 1)) * sizeof(double),
                                        what);
    potential = DeviceArray<double>(count, what);
    mass = DeviceArray<double>(count, what);
    mass.upload(masses, count);
    shift = DeviceArray<double>(runs * kRun, what);
    low = DeviceArray<double>(runs * kParts * d, what);
    high = DeviceArray<double>(runs * kParts * d, what);
    part_potential = DeviceArray<double>(runs * kParts, what);
    sharpness = DeviceArray<double>(runs * kParts, what);
    order = DeviceArray<std::uint32_t>(count, what);
    std::vector<double> logs(count);
    std::vector<std::uint32_t> identity(count);
    for (std::size_t i = 0; i < count; ++i) {
      logs[i] = std::log2(masses[i]);
      identity[i] = static_cast<std::uint32_t>(i);
    }
    potential.upload(logs.data(), count);
    order.upload(identity.data(), count);
    shift.zero();
    view = {points.data(),
            potential.data(),
            mass.data(),
            order.data(),
            shift.data(),
            {low.data(), high.data(), part_potential.data(), sharpness.data(), rows},
            static_cast<std::uint32_t>(count),
            static_cast<std::uint32_t>(runs)};
  }
};

// Puts a side into the order along the curve.
class CurveOrder {
 public:
  CurveOrder() = default;
  CurveOrder(std::size_t most, int dim)
      : low_(static_cast<std::size_t>(dim), "the curve"),
        high_(static_cast<std::size_t>(dim), "the curve"),
        keys_(most, "the curve"),
        sorted_(most, "the curve"),
        places_(most, "the curve") {
    std::size_t space = 0;
    check_cuda(cub::DeviceRadixSort::SortPairs(nullptr, space, keys_.data(), sorted_.data(), places_.data(),
                                               places_.data(), most),
               "sorting");
    space_ = DeviceArray<unsigned char>(space, "sorting along the curve");
  }

  void sort(Side& side, const CostView& cost, cudaStream_t stream) {
    CPFM_LAUNCH(extent, 1, kRun, 0, stream)(side.view, cost, low_.data(), high_.data());
    check_launch("the extent of the points");
    CPFM_LAUNCH(curve_keys, side.view.runs, kRun, 0, stream)
    (side.view, cost, low_.data(), high_.data(), keys_.data(), places_.data());
    check_launch("positions along the curve");
    std::size_t space = space_.size();
    check_cuda(cub::DeviceRadixSort::SortPairs(space_.data(), space, keys_.data(), sorted_.data(), places_.data(),
                                               side.order.data(), side.view.count, 0, 64, stream),
               "sorting along the curve");
  }

 private:
  DeviceArray<double> low_, high_;
  DeviceArray<std::uint64_t> keys_, sorted_;
  DeviceArray<std::uint32_t> places_;
  DeviceArray<unsigned char> space_;
};

}  // namespace
}  // namespace cpfm
