// For tests that need a CUDA device: the first one, or none, in which case the test says so and is skipped.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "cpfm/device.hpp"

namespace cpfm::test {

// Whether kernels are slow here, so that tests run at sizes that take no minutes: on the CPU (tests/cuda_on_cpu), or
// where CPFM_TEST_SLOW_KERNELS is set because a tool watches them (scripts/sanitize-kernels).
inline bool kernels_are_slow() {
#ifdef CPFM_KERNELS_ON_CPU
  return true;
#else
  return std::getenv("CPFM_TEST_SLOW_KERNELS") != nullptr;
#endif
}

inline Device any_cuda() { return choose_device("auto"); }

}  // namespace cpfm::test

#define CPFM_SKIP_WITHOUT_CUDA(device) \
  if (!(device).is_cuda()) GTEST_SKIP() << "there is no CUDA device here: kernels were compiled, not run"
