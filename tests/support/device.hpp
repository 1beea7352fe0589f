// For tests that need a CUDA device: the first one, or none, in which case the test says so and is skipped.
#pragma once

#include <gtest/gtest.h>

#include "cpfm/device.hpp"

namespace cpfm::test {

// Whether this program runs kernels on the CPU (tests/cuda_on_cpu): the same tests, at sizes that take no minutes.
#ifdef CPFM_KERNELS_ON_CPU
inline constexpr bool kKernelsOnCpu = true;
#else
inline constexpr bool kKernelsOnCpu = false;
#endif

inline Device any_cuda() { return choose_device("auto"); }

}  // namespace cpfm::test

#define CPFM_SKIP_WITHOUT_CUDA(device) \
  if (!(device).is_cuda()) GTEST_SKIP() << "there is no CUDA device here: kernels were compiled, not run"
