// One block for each sample and slice of its channels, a whole number of groups. A thread has `V` neighbouring channels
// and every R-th place; what it adds up meets the others' sums in shared memory, in a fixed order, so that results are
// the same every time. Two passes over the slice: sums, then values; the second finds it in the cache.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "cuda/group_norm.hpp"

namespace cpfm {
namespace {

constexpr int kThreads = 256, kSlice = 64;  // channels of a slice, at most, unless one piece of groups is larger

__device__ float to_float(float v) { return v; }
__device__ float to_float(__nv_bfloat16 v) { return __bfloat162float(v); }
template <class T>
__device__ T from_float(float v);
template <>
__device__ float from_float<float>(float v) {
  return v;
}
template <>
__device__ __nv_bfloat16 from_float<__nv_bfloat16>(float v) {
  return __float2bfloat16(v);
}

template <class T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

template <class T, int V>
__device__ void load(const T* from, float (&to)[V]) {
  const Pack<T, V> pack = *reinterpret_cast<const Pack<T, V>*>(from);
#pragma unroll
  for (int v = 0; v < V; ++v) to[v] = to_float(pack.values[v]);
}

template <class T, int V>
__device__ void store(T* to, const float (&from)[V]) {
  Pack<T, V> pack;
#pragma unroll
  for (int v = 0; v < V; ++v) pack.values[v] = from_float<T>(from[v]);
  *reinterpret_cast<Pack<T, V>*>(to) = pack;
}

// How the work is cut, the same for both directions.
struct Cut {
  int slice;    // channels of a block
  int columns;  // threads side by side, V channels each
  int rows;     // places at a time
};

// The norm as the kernels see it.
template <class T>
struct View {
  std::int64_t places;
  int channels, group;  // channels of a group
  float epsilon;
  bool silu;
  const T *x, *weight, *bias, *before, *scale, *shift;
  std::int64_t scale_stride, shift_stride;
  Cut cut;

  __device__ float before_of(int c) const { return before == nullptr ? 0.0f : to_float(before[c]); }
  __device__ float scale_of(std::int64_t n, int c) const {
    return scale == nullptr ? 1.0f : to_float(scale[n * scale_stride + c]);
  }
  __device__ float shift_of(std::int64_t n, int c) const {
    return shift == nullptr ? 0.0f : to_float(shift[n * shift_stride + c]);
  }
};

__device__ float sigmoid(float v) { return 1.0f / (1.0f + __expf(-v)); }

// Adds up two numbers per channel over the rows of threads: shared[0 … slice) and shared[slice … 2 slice) hold them
// afterwards. `shared` has 2 · slice · rows entries.
template <int V>
__device__ void add_rows(const Cut& cut, int column, int row, const float (&first)[V], const float (&second)[V],
                         float* shared) {
#pragma unroll
  for (int v = 0; v < V; ++v) {
    shared[row * 2 * cut.slice + column * V + v] = first[v];
    shared[row * 2 * cut.slice + cut.slice + column * V + v] = second[v];
  }
  __syncthreads();
  for (int at = threadIdx.x; at < 2 * cut.slice; at += blockDim.x) {
    float sum = 0;
    for (int r = 0; r < cut.rows; ++r) sum += shared[r * 2 * cut.slice + at];
    shared[at] = sum;  // row 0 of this column, which nobody else reads
  }
  __syncthreads();
}

template <class T, int V>
__global__ void forward(View<T> norm, T* out, float* mean, float* rstd, float* channel_mean) {
  extern __shared__ float shared[];
  const Cut cut = norm.cut;
  const std::int64_t n = blockIdx.x;
  const int first_channel = blockIdx.y * cut.slice;
  const int column = threadIdx.x % cut.columns, row = threadIdx.x / cut.columns;
  const int c = first_channel + column * V;
  const T* x = norm.x + n * norm.places * norm.channels;

  // Sums about the first place, so that a large mean costs no digits.
  float pivot[V], sum[V] = {}, square[V] = {};
  load<T, V>(x + c, pivot);
  for (std::int64_t p = row; p < norm.places; p += cut.rows) {
    float values[V];
    load<T, V>(x + p * norm.channels + c, values);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const float d = values[v] - pivot[v];
      sum[v] += d;
      square[v] += d * d;
    }
  }
  add_rows<V>(cut, column, row, sum, square, shared);

  // A channel's mean and squares about it, in place of its sums; then the groups'.
  const float places = static_cast<float>(norm.places);
  for (int k = threadIdx.x; k < cut.slice; k += blockDim.x) {
    const int channel = first_channel + k;
    const float total = shared[k], about = shared[cut.slice + k] - total * total / places;
    const float m = to_float(x[channel]) + total / places + norm.before_of(channel);
    shared[k] = m;
    shared[cut.slice + k] = fmaxf(about, 0.0f);
    channel_mean[n * norm.channels + channel] = m;
  }
  __syncthreads();
  float* group_mean = shared + 2 * cut.slice;
  float* group_rstd = group_mean + cut.slice;
  const int groups = norm.channels / norm.group, slice_groups = cut.slice / norm.group;
  for (int g = threadIdx.x; g < slice_groups; g += blockDim.x) {
    float m = 0, about = 0;
    for (int k = g * norm.group; k < (g + 1) * norm.group; ++k) m += shared[k];
    m /= norm.group;
    for (int k = g * norm.group; k < (g + 1) * norm.group; ++k) {
      const float d = shared[k] - m;
      about += shared[cut.slice + k] + places * d * d;
    }
    const float r = rsqrtf(about / (places * norm.group) + norm.epsilon);
    group_mean[g] = m;
    group_rstd[g] = r;
    const std::int64_t at = n * groups + first_channel / norm.group + g;
    mean[at] = m;
    rstd[at] = r;
  }
  __syncthreads();

  float slope[V], offset[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int channel = c + v, g = (column * V + v) / norm.group;
    const float scale = norm.scale_of(n, channel), by = group_rstd[g] * to_float(norm.weight[channel]);
    slope[v] = by * scale;
    offset[v] = ((norm.before_of(channel) - group_mean[g]) * by + to_float(norm.bias[channel])) * scale +
                norm.shift_of(n, channel);
  }
  T* to = out + n * norm.places * norm.channels;
  for (std::int64_t p = row; p < norm.places; p += cut.rows) {
    float values[V];
    load<T, V>(x + p * norm.channels + c, values);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const float u = values[v] * slope[v] + offset[v];
      values[v] = norm.silu ? u * sigmoid(u) : u;
    }
    store<T, V>(to + p * norm.channels + c, values);
  }
}

template <class T, int V>
__global__ void backward(View<T> norm, const T* out_gradient, const float* mean, const float* rstd,
                         const float* channel_mean, T* x_gradient, float* sums, std::int64_t samples) {
  extern __shared__ float shared[];
  const Cut cut = norm.cut;
  const std::int64_t n = blockIdx.x;
  const int first_channel = blockIdx.y * cut.slice;
  const int column = threadIdx.x % cut.columns, row = threadIdx.x / cut.columns;
  const int c = first_channel + column * V;
  const int groups = norm.channels / norm.group;
  const std::int64_t base = n * norm.places * norm.channels;
  const T* x = norm.x + base;
  const T* given = out_gradient + base;

  // x̂ = x · hat_slope + hat_offset, u = x̂ · u_slope + u_offset.
  float hat_slope[V], hat_offset[V], u_slope[V], u_offset[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    const int channel = c + v;
    const std::int64_t g = n * groups + channel / norm.group;
    const float scale = norm.scale_of(n, channel);
    hat_slope[v] = rstd[g];
    hat_offset[v] = (norm.before_of(channel) - mean[g]) * rstd[g];
    u_slope[v] = to_float(norm.weight[channel]) * scale;
    u_offset[v] = to_float(norm.bias[channel]) * scale + norm.shift_of(n, channel);
  }
  // The gradient of u from that of out.
  const auto through = [&](float gradient, float hat, int v) {
    if (!norm.silu) return gradient;
    const float u = hat * u_slope[v] + u_offset[v], s = sigmoid(u);
    return gradient * s * (1.0f + u * (1.0f - s));
  };

  float sum[V] = {}, hat_sum[V] = {};  // of the gradient of u, and of that times x̂
  for (std::int64_t p = row; p < norm.places; p += cut.rows) {
    float values[V], gradients[V];
    load<T, V>(x + p * norm.channels + c, values);
    load<T, V>(given + p * norm.channels + c, gradients);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const float hat = values[v] * hat_slope[v] + hat_offset[v], d = through(gradients[v], hat, v);
      sum[v] += d;
      hat_sum[v] += d * hat;
    }
  }
  add_rows<V>(cut, column, row, sum, hat_sum, shared);

  // Means over a group of the gradient of x̂, and of that times x̂.
  float* group_mean = shared + 2 * cut.slice;
  float* group_hat = group_mean + cut.slice;
  const float places = static_cast<float>(norm.places);
  const int slice_groups = cut.slice / norm.group;
  for (int g = threadIdx.x; g < slice_groups; g += blockDim.x) {
    float m = 0, h = 0;
    for (int k = g * norm.group; k < (g + 1) * norm.group; ++k) {
      const float by = to_float(norm.weight[first_channel + k]) * norm.scale_of(n, first_channel + k);
      m += by * shared[k];
      h += by * shared[cut.slice + k];
    }
    group_mean[g] = m / (places * norm.group);
    group_hat[g] = h / (places * norm.group);
  }
  __syncthreads();
  for (int k = threadIdx.x; k < cut.slice; k += blockDim.x) {
    const int channel = first_channel + k;
    const std::int64_t g = n * groups + channel / norm.group, at = n * norm.channels + channel;
    const std::int64_t plane = samples * norm.channels;
    const float weight = to_float(norm.weight[channel]), scale = norm.scale_of(n, channel);
    const float a = shared[k], b = shared[cut.slice + k];
    sums[at] = a;
    sums[plane + at] = weight * b + to_float(norm.bias[channel]) * a;
    sums[2 * plane + at] = scale * b;
    sums[3 * plane + at] = scale * a;
    // The gradients of x, added up: x̂ of a channel adds up to places · (its mean - the group's) · rstd.
    const float hats = places * (channel_mean[at] - mean[g]) * rstd[g];
    sums[4 * plane + at] =
        rstd[g] * (weight * scale * a - places * group_mean[k / norm.group] - group_hat[k / norm.group] * hats);
  }

  float centre[V], tilt[V];
#pragma unroll
  for (int v = 0; v < V; ++v) {
    centre[v] = group_mean[(column * V + v) / norm.group];
    tilt[v] = group_hat[(column * V + v) / norm.group];
  }
  T* to = x_gradient + base;
  for (std::int64_t p = row; p < norm.places; p += cut.rows) {
    float values[V], gradients[V];
    load<T, V>(x + p * norm.channels + c, values);
    load<T, V>(given + p * norm.channels + c, gradients);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const float hat = values[v] * hat_slope[v] + hat_offset[v], d = through(gradients[v], hat, v);
      values[v] = hat_slope[v] * (d * u_slope[v] - centre[v] - hat * tilt[v]);
    }
    store<T, V>(to + p * norm.channels + c, values);
  }
}

// Channels that are loaded in one piece: the most that divide them, up to 16 bytes.
int pack_of(const GroupNorm& norm) {
  int pack = norm.real == CudaReal::kBFloat16 ? 8 : 4;
  while (norm.channels % pack != 0) pack /= 2;
  return pack;
}

Cut cut_of(const GroupNorm& norm, int pack) {
  const int group = norm.channels / norm.groups, piece = std::lcm(pack, group);
  int slice = piece;
  for (int wider = piece; wider <= kSlice; wider += piece) {
    if (norm.channels % wider == 0) slice = wider;
  }
  Cut cut{slice, slice / pack, 1};
  if (cut.columns <= kThreads) cut.rows = kThreads / cut.columns;
  return cut;
}

std::size_t shared_bytes(const Cut& cut) {
  // The sums of all rows of threads; two numbers per group are kept behind the first row's.
  const std::size_t sums = 2 * static_cast<std::size_t>(cut.slice) * static_cast<std::size_t>(cut.rows);
  return sizeof(float) * (sums + 2 * static_cast<std::size_t>(cut.slice));
}

template <class T>
View<T> view_of(const GroupNorm& norm, const Cut& cut) {
  const auto typed = [](const void* pointer) { return static_cast<const T*>(pointer); };
  return {norm.places,
          norm.channels,
          norm.channels / norm.groups,
          norm.epsilon,
          norm.silu,
          typed(norm.x),
          typed(norm.weight),
          typed(norm.bias),
          typed(norm.before),
          typed(norm.scale),
          typed(norm.shift),
          norm.scale_stride,
          norm.shift_stride,
          cut};
}

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(std::string("CUDA error: ") + cudaGetErrorString(error));
}

// Makes a device the current one, and the one before it again.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    check(cudaGetDevice(&before_));
    if (device != before_) check(cudaSetDevice(device));
  }
  ~OnDevice() { cudaSetDevice(before_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
};

// Whether these kernels were compiled for the device; asked once for each.
bool runs_on(int device) {
  constexpr int kMost = 64;
  static std::atomic<int> known[kMost];  // 0: not asked yet, 1: yes, 2: no
  if (device < 0 || device >= kMost) return false;
  if (known[device] == 0) {
    const OnDevice here(device);
    cudaFuncAttributes ignored;
    known[device] = cudaFuncGetAttributes(&ignored, forward<float, 1>) == cudaSuccess ? 1 : 2;
    cudaGetLastError();  // forgets it
  }
  return known[device] == 1;
}

// Calls launch with the type and the size of a piece as compile-time constants.
template <class Launch>
void dispatch(const GroupNorm& norm, const Launch& launch) {
  const auto by_pack = [&](auto zero) {
    switch (pack_of(norm)) {
      case 8:
        return launch(zero, std::integral_constant<int, 8>{});
      case 4:
        return launch(zero, std::integral_constant<int, 4>{});
      case 2:
        return launch(zero, std::integral_constant<int, 2>{});
      default:
        return launch(zero, std::integral_constant<int, 1>{});
    }
  };
  const OnDevice here(norm.device);
  if (norm.real == CudaReal::kBFloat16) {
    by_pack(__nv_bfloat16{});
  } else {
    by_pack(0.0f);
  }
  check(cudaGetLastError());
}

}  // namespace

bool can_group_norm(const GroupNorm& norm) {
  if (norm.samples < 1 || norm.places < 1 || norm.channels < 1 || norm.groups < 1) return false;
  if (norm.channels % norm.groups != 0 || norm.samples > 0x7fffffff) return false;
  const Cut cut = cut_of(norm, pack_of(norm));
  constexpr std::size_t kShared = 48 << 10;  // every GPU has that much without being asked for more
  return cut.columns <= kThreads && shared_bytes(cut) <= kShared && norm.channels / cut.slice <= 65535 &&
         runs_on(norm.device);
}

void group_norm_forward(const GroupNorm& norm, void* out, float* mean, float* rstd, float* channel_mean) {
  dispatch(norm, [&](auto zero, auto pack) {
    using T = decltype(zero);
    constexpr int kPack = decltype(pack)::value;
    const Cut cut = cut_of(norm, kPack);
    const dim3 grid(static_cast<unsigned>(norm.samples), static_cast<unsigned>(norm.channels / cut.slice));
    forward<T, kPack><<<grid, static_cast<unsigned>(cut.columns * cut.rows), shared_bytes(cut)>>>(
        view_of<T>(norm, cut), static_cast<T*>(out), mean, rstd, channel_mean);
  });
}

void group_norm_backward(const GroupNorm& norm, const void* out_gradient, const float* mean, const float* rstd,
                         const float* channel_mean, void* x_gradient, float* sums) {
  dispatch(norm, [&](auto zero, auto pack) {
    using T = decltype(zero);
    constexpr int kPack = decltype(pack)::value;
    const Cut cut = cut_of(norm, kPack);
    const dim3 grid(static_cast<unsigned>(norm.samples), static_cast<unsigned>(norm.channels / cut.slice));
    backward<T, kPack><<<grid, static_cast<unsigned>(cut.columns * cut.rows), shared_bytes(cut)>>>(
        view_of<T>(norm, cut), static_cast<const T*>(out_gradient), mean, rstd, channel_mean,
        static_cast<T*>(x_gradient), sums, norm.samples);
  });
}

}  // namespace cpfm
