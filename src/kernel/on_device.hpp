// From a kernel to its description for a device, and from there to the device.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cpfm/device.hpp"
#include "cpfm/kernel.hpp"
#include "cuda/kernel_matrix.hpp"

namespace cpfm {

// Each gives the place in the description; what is there already is not added again. `values` must outlive it.
std::size_t add_table(DeviceDescription& description, const float* values, std::size_t dim);
std::size_t add_scalars(DeviceDescription& description, std::vector<float> scalars);
std::size_t add_labels(DeviceDescription& description, std::span<const std::int64_t> labels);

// Nothing for kernels that a device cannot compute: knn, gram, functions of the caller's, and very long expressions.
std::optional<DeviceDescription> describe_kernel(const Kernel& kernel);

// The kernel on `device`; null where that is the CPU, or where the kernel has no description. Then the log says once
// that the CPU computes it.
std::shared_ptr<const DeviceKernel> kernel_on_device(const Kernel& kernel, Device device);

// kernel_times() with a kernel that is on a device already (null: on the CPU).
std::vector<double> kernel_times_on(const Kernel& kernel, const DeviceKernel* on_device, MatrixView<const double> m,
                                    Progress* progress = nullptr);

}  // namespace cpfm
