#include "kernel/factor.hpp"

#include <fmt/format.h>

#include <numeric>

#include "cpfm/error.hpp"
#include "kernel/on_device.hpp"

namespace cpfm {

Centring::Centring(const Kernel& kernel, const DeviceKernel* on_device, Progress* progress) {
  const double n = static_cast<double>(kernel.size());
  const std::vector<double> masses(kernel.size(), 1 / n);
  mean = kernel_times_on(kernel, on_device, {masses.data(), masses.size(), 1}, progress);
  all = std::accumulate(mean.begin(), mean.end(), 0.0) / n;
}

KernelFactor factor_kernel(const Kernel& kernel, const FactorOptions& options, Progress* progress) {
  if (!(options.explained > 0 && options.explained <= 1)) {
    throw Error("explained", fmt::format("{} is not a share to explain", options.explained),
                "it is above 0 and at most 1");
  }
  const std::shared_ptr<const DeviceKernel> on_device = kernel_on_device(kernel, options.device);
  if (kernel.definiteness() == Definiteness::kPositive)
    return pivoted_cholesky(kernel, nullptr, on_device, options, progress);
  const Centring centring(kernel, on_device.get(), progress);
  return kernel.definiteness() == Definiteness::kConditionallyPositive
             ? pivoted_cholesky(kernel, &centring, on_device, options, progress)
             : signed_factor(kernel, centring, options, progress);
}

}  // namespace cpfm
