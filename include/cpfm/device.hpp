// Where stage 1 computes: on the CPU, or on one CUDA device.
#pragma once

#include <string>

namespace cpfm {

struct Device {
  int cuda = -1;  // number of the CUDA device; -1: the CPU

  bool is_cuda() const { return cuda >= 0; }
  std::string name() const;  // "cpu", "cuda:0"
};

// "auto" (the first CUDA device that this build can use, else the CPU), "cpu", "cuda", "cuda:N". Throws cpfm::Error
// where there is no such device, and says whether the build or the machine lacks it.
Device choose_device(const std::string& name);

}  // namespace cpfm
