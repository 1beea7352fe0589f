#include <algorithm>

#include "cuda/check.cuh"
#include "cuda/memory.hpp"
#include "cuda/throughput.hpp"

namespace cpfm {
namespace {

constexpr int kThreads = 256, kChains = 8, kSteps = 4096;

// Chains that do not wait for each other. 2^x of what is between -1 and 1 stays there after a subtraction, which the
// other units do on the side.
__global__ void exponentials(float* out) {
  float x[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) x[c] = -0.001f * static_cast<float>(threadIdx.x + c);
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) {
      asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[c]));
      x[c] -= 1.0f;
    }
  }
  float sum = 0;
#pragma unroll
  for (int c = 0; c < kChains; ++c) sum += x[c];
  if (sum == 12345.0f) out[blockIdx.x] = sum;  // never, but the compiler cannot know
}

}  // namespace

double exponentials_per_second(Device device) {
  const UseDevice use(device);
  int processors = 1;
  check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device.cuda), "the device");
  const int blocks = 8 * 16 * processors;
  DeviceArray<float> out(static_cast<std::size_t>(blocks));
  cudaEvent_t begin = nullptr, end = nullptr;
  check_cuda(cudaEventCreate(&begin), "an event");
  check_cuda(cudaEventCreate(&end), "an event");
  double best = 0;
  for (int run = 0; run < 5; ++run) {
    check_cuda(cudaEventRecord(begin), "an event");
    exponentials<<<blocks, kThreads>>>(out.data());
    check_launch("exponentials");
    check_cuda(cudaEventRecord(end), "an event");
    check_cuda(cudaEventSynchronize(end), "exponentials");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin, end), "an event");
    best = std::max(best, 1e3 * blocks * double(kThreads) * kChains * kSteps / milliseconds);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return best;
}

}  // namespace cpfm
