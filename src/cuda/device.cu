#include <cuda_runtime.h>

#include "cuda/device.hpp"

namespace cpfm {

CudaFacts cuda_facts() {
  CudaFacts facts;
  facts.toolkit = std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    // What CUDA says of a machine without any driver is that it is too old.
    facts.why_none = error == cudaErrorInsufficientDriver
                         ? "there is no NVIDIA driver, or it is older than this build's CUDA needs"
                         : cudaGetErrorString(error);
    return facts;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) continue;
    facts.devices.push_back({properties.name, properties.totalGlobalMem, properties.major, properties.minor});
  }
  if (facts.devices.empty()) facts.why_none = "no device";
  return facts;
}

}  // namespace cpfm
