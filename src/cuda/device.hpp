// What CUDA devices this machine has. No CUDA headers, so that any code may ask.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cpfm/device.hpp"

namespace cpfm {

struct CudaDevice {
  int ordinal = 0;  // CUDA's number for it
  std::string name;
  std::size_t memory = 0;    // bytes
  int major = 0, minor = 0;  // compute capability
};

struct CudaFacts {
  std::string toolkit;                   // version the kernels were compiled with, "13.0"; empty: built without CUDA
  int least_major = 0, least_minor = 0;  // compute capability that the kernels need
  std::vector<CudaDevice> devices;       // ascending; one that cannot be asked is missing
  std::string why_none;                  // the driver's word when there is no device
};

CudaFacts cuda_facts();

struct DeviceChoice {
  Device device;
  std::string why_cpu;  // why `auto` takes the CPU although there is a GPU; else empty
};

// choose_device() on a machine of which these are the facts.
DeviceChoice choose_device(const std::string& name, const CudaFacts& facts);

}  // namespace cpfm
