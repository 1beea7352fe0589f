#include <cuda_runtime.h>

#include "cuda/device.hpp"

namespace cpfm {

CudaFacts cuda_facts() {
  CudaFacts facts;
  facts.toolkit = std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    facts.why_none = cudaGetErrorString(error);
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
