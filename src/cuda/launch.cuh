// CPFM_LAUNCH(kernel, grid, block, shared, stream)(arguments): the triple brackets, or where kernels are tested on the
// CPU (tests/cuda_on_cpu) their stand-in. Put a kernel with a comma in its name into parentheses.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#ifdef CPFM_CUDA_ON_CPU
#define CPFM_LAUNCH(kernel, ...) cuda_on_cpu::prepare(#kernel, kernel, __VA_ARGS__)
#else
#define CPFM_LAUNCH(kernel, ...) (kernel)<<<__VA_ARGS__>>>
#endif

namespace cpfm {

// A kernel launched early begins while the last blocks of the one ahead of it still run, and calls wait_for_previous()
// before it touches anything that one writes. Of kernels in a row that are all launched early and all call it, none
// begins before the one ahead of the one ahead of it has ended.
inline bool can_launch_early([[maybe_unused]] int device) {
#ifdef CPFM_CUDA_ON_CPU
  return false;
#else
  int generation = 0;
  return cudaDeviceGetAttribute(&generation, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         generation >= 9;
#endif
}

// Errors stay for check_launch.
template <class... Arguments>
void launch_early(void (*kernel)(Arguments...), dim3 grid, dim3 block, cudaStream_t stream, [[maybe_unused]] bool early,
                  const std::remove_const_t<Arguments>&... arguments) {
#ifndef CPFM_CUDA_ON_CPU
  if (early) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = block;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, kernel, arguments...);
    return;
  }
#endif
  CPFM_LAUNCH(kernel, grid, block, 0, stream)(arguments...);
}

__device__ inline void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

}  // namespace cpfm
