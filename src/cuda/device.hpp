// What CUDA devices this machine has. No CUDA headers, so that any code may ask.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cpfm {

struct CudaDevice {
  std::string name;
  std::size_t memory = 0;    // bytes
  int major = 0, minor = 0;  // compute capability
};

struct CudaFacts {
  std::string toolkit;  // version the kernels were compiled with, "13.0"; empty: built without CUDA
  std::vector<CudaDevice> devices;
  std::string why_none;  // the driver's word when there is no device
};

CudaFacts cuda_facts();

}  // namespace cpfm
