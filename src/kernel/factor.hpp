// The two ways to factor a kernel; factor_kernel() chooses and has checked the options.
#pragma once

#include <memory>
#include <vector>

#include "cpfm/kernel.hpp"
#include "cuda/kernel_matrix.hpp"

namespace cpfm {

// What double centring takes away: (JKJ)_ij = K_ij - mean_i - mean_j + all, in double.
struct Centring {
  std::vector<double> mean;
  double all = 0;

  // `on_device` is the kernel on a device, or null: the CPU sums it up.
  Centring(const Kernel& kernel, const DeviceKernel* on_device, Progress* progress);
  double operator()(double value, std::size_t i, std::size_t j) const { return value - mean[i] - mean[j] + all; }
};

// Positive (`centring` null) and conditionally positive kernels; on the device where `on_device` is not null.
KernelFactor pivoted_cholesky(const Kernel& kernel, const Centring* centring,
                              std::shared_ptr<const DeviceKernel> on_device, const FactorOptions& options,
                              Progress* progress);

// Kernels of unknown sign.
KernelFactor signed_factor(const Kernel& kernel, const Centring& centring, const FactorOptions& options,
                           Progress* progress);

}  // namespace cpfm
