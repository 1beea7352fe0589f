#include "kernel/factor.hpp"

#include <fmt/format.h>

#include <numeric>

#include "cpfm/error.hpp"

namespace cpfm {

Centring::Centring(const Kernel& kernel, Progress* progress) {
  const double n = static_cast<double>(kernel.size());
  mean = kernel_times(kernel, std::vector<double>(kernel.size(), 1 / n), progress);
  all = std::accumulate(mean.begin(), mean.end(), 0.0) / n;
}

KernelFactor factor_kernel(const Kernel& kernel, const FactorOptions& options, Progress* progress) {
  if (!(options.explained > 0 && options.explained <= 1)) {
    throw Error("explained", fmt::format("{} is not a share to explain", options.explained),
                "it is above 0 and at most 1");
  }
  if (kernel.definiteness() == Definiteness::kPositive) return pivoted_cholesky(kernel, nullptr, options, progress);
  const Centring centring(kernel, progress);
  return kernel.definiteness() == Definiteness::kConditionallyPositive
             ? pivoted_cholesky(kernel, &centring, options, progress)
             : signed_factor(kernel, centring, options, progress);
}

}  // namespace cpfm
