#include <cuda_runtime.h>

#include "cuda/device.hpp"

namespace cpfm {

CudaFacts cuda_facts() {
  constexpr int kArchitectures[] = {__CUDA_ARCH_LIST__};  // ascending: 750, 800, …
  CudaFacts facts;
  facts.least_major = kArchitectures[0] / 100;
  facts.least_minor = kArchitectures[0] % 100 / 10;
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
    if (const cudaError_t error = cudaGetDeviceProperties(&properties, i); error != cudaSuccess) {
      cudaGetLastError();
      facts.why_none = cudaGetErrorString(error);
      continue;
    }
    facts.devices.push_back({i, properties.name, properties.totalGlobalMem, properties.major, properties.minor});
  }
  if (!facts.devices.empty())
    facts.why_none.clear();
  else if (count == 0)
    facts.why_none = "no device";
  return facts;
}

}  // namespace cpfm
