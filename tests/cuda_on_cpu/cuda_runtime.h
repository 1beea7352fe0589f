// A stand-in for the CUDA runtime that runs kernels on the CPU, thread by thread, so that their logic is tested where there
// is no device: indices, barriers, the order of sums. The kernels' own source is compiled, as C++, with this header in
// place of NVIDIA's. It says nothing about speed, races or the hardware's arithmetic.
//
// The threads of a block are fibers that run until they meet a barrier; blocks come one after another. A barrier that some
// threads of the block do not reach ends the program with the name of the kernel. Memory "of the device" is filled with
// bytes that make no sense when it is allocated.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <tuple>
#include <vector>

#define CPFM_CUDA_ON_CPU
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __shared__ static  // blocks come one after another
#define __launch_bounds__(...)

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct uint3 {
  unsigned x, y, z;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }

extern dim3 gridDim, blockDim;
extern uint3 blockIdx, threadIdx;

namespace cuda_on_cpu {

void run(const char* kernel, dim3 grid, dim3 block, const std::function<void()>& thread);
// Runs it, or notes it down where the stream is being captured.
void launch(const char* kernel, dim3 grid, dim3 block, std::function<void()> thread);
// Waits for the other threads of the block, or of the warp.
void wait_for_block();
void wait_for_warp();
unsigned this_thread();  // in the block
// What a thread of this block last put here.
std::uint64_t& mailbox(unsigned thread);
unsigned threads_of_block();
void* dynamic_shared();  // of a block; 256 kB

template <class Kernel>
struct Launch {
  const char* name;
  Kernel kernel;
  dim3 grid, block;
  template <class... Arguments>
  void operator()(const Arguments&... arguments) const {
    launch(name, grid, block, [kernel = kernel, given = std::make_tuple(arguments...)] { std::apply(kernel, given); });
  }
};
template <class Kernel>
Launch<Kernel> prepare(const char* name, Kernel kernel, dim3 grid, dim3 block, std::size_t = 0, void* = nullptr) {
  return {name, kernel, grid, block};
}

template <class T>
T exchanged(T value, unsigned from) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  std::memcpy(&mailbox(this_thread()), &value, sizeof(T));
  wait_for_warp();
  const unsigned source = this_thread() / 32 * 32 + from;
  T result;
  std::memcpy(&result, &mailbox(source < threads_of_block() ? source : this_thread()), sizeof(T));
  wait_for_warp();
  return result;
}

}  // namespace cuda_on_cpu

inline void __syncthreads() { cuda_on_cpu::wait_for_block(); }
inline void __syncwarp(unsigned = ~0u) { cuda_on_cpu::wait_for_warp(); }
inline int __syncthreads_count(int vote) {
  cuda_on_cpu::mailbox(cuda_on_cpu::this_thread()) = vote != 0;
  cuda_on_cpu::wait_for_block();
  int count = 0;
  for (unsigned t = 0; t < cuda_on_cpu::threads_of_block(); ++t) count += static_cast<int>(cuda_on_cpu::mailbox(t));
  cuda_on_cpu::wait_for_block();
  return count;
}
inline int __syncthreads_or(int vote) { return __syncthreads_count(vote) > 0; }
inline unsigned __ballot_sync(unsigned, int vote) {
  using namespace cuda_on_cpu;
  mailbox(this_thread()) = vote != 0;
  wait_for_warp();
  unsigned result = 0;
  const unsigned first = this_thread() / 32 * 32;
  for (unsigned lane = 0; lane < 32 && first + lane < threads_of_block(); ++lane)
    result |= static_cast<unsigned>(mailbox(first + lane)) << lane;
  wait_for_warp();
  return result;
}
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return cuda_on_cpu::exchanged(value, static_cast<unsigned>(lane) % 32);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return cuda_on_cpu::exchanged(value, cuda_on_cpu::this_thread() % 32 ^ static_cast<unsigned>(mask));
}
template <class T>
T __shfl_down_sync(unsigned, T value, int by) {
  const unsigned lane = cuda_on_cpu::this_thread() % 32, from = lane + static_cast<unsigned>(by);
  return cuda_on_cpu::exchanged(value, from < 32 ? from : lane);
}
inline void __threadfence() {}
inline int __popc(unsigned value) { return __builtin_popcount(value); }
template <class T, class U>
T atomicAdd(T* at, U value) {
  const T before = *at;
  *at = static_cast<T>(before + value);
  return before;
}
template <class T>
T __ldg(const T* at) {
  return *at;
}
inline float __expf(float x) { return std::exp(x); }

#define CPFM_FOR_EACH_NUMBER(define) define(int) define(unsigned) define(std::size_t) define(float) define(double)
#define CPFM_MIN_MAX(T)                              \
  inline T min(T a, T b) { return b < a ? b : a; } \
  inline T max(T a, T b) { return a < b ? b : a; }
CPFM_FOR_EACH_NUMBER(CPFM_MIN_MAX)
using std::fma;
using std::fmax;
using std::fmin;
using std::isfinite;

// The host's side: one device, on which everything is done when it is asked for.
enum cudaError { cudaSuccess, cudaErrorMemoryAllocation, cudaErrorDevicesUnavailable };
typedef cudaError cudaError_t;
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum { cudaDevAttrMultiProcessorCount, cudaStreamNonBlocking, cudaStreamCaptureModeThreadLocal };
struct CapturedGraph {
  std::vector<std::function<void()>> kernels;
};
typedef CapturedGraph* cudaGraph_t;
typedef CapturedGraph* cudaGraphExec_t;

inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline const char* cudaGetErrorString(cudaError_t) { return "on the CPU"; }
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMallocHost(void** memory, std::size_t bytes);
template <class T>
cudaError_t cudaMallocHost(T** memory, std::size_t bytes) {
  return cudaMallocHost(reinterpret_cast<void**>(memory), bytes);
}
cudaError_t cudaFreeHost(void* memory);
inline cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memmove(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, bytes, kind);
}
inline cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                                std::size_t width, std::size_t height, cudaMemcpyKind) {
  for (std::size_t row = 0; row < height; ++row)
    std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void* to, int byte, std::size_t bytes) {
  std::memset(to, byte, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* to, int byte, std::size_t bytes, cudaStream_t = nullptr) {
  return cudaMemset(to, byte, bytes);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel, int, std::size_t) {
  *blocks = 2;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int* value, int, int) {
  *value = 4;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, int);
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t graph, int) {
  *ready = new CapturedGraph(*graph);
  return cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) { return cudaGraphDestroy(graph); }
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  for (const auto& kernel : graph->kernels) kernel();
  return cudaSuccess;
}
