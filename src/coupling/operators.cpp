// K M, the only way the solver sees the kernel: through a factor or exactly, on all rows or on some.
#include <algorithm>
#include <mutex>

#include "base/take_rows.hpp"
#include "cpfm/gwot.hpp"
#include "cpfm/parallel.hpp"
#include "cuda/factor_times.hpp"
#include "kernel/on_device.hpp"
#include "kernel/sample_kernel.hpp"

namespace cpfm {
namespace {

constexpr std::size_t kGrain = 512;

// out += Φ (Φᵀ m) · sign
void add_factor_times(const FloatMatrix& phi, MatrixView<const double> m, double sign, MatrixView<double> out) {
  const std::size_t rank = phi.cols(), d = m.cols;
  if (rank == 0) return;
  const std::vector<double> a = parallel_reduce(
      m.rows, kGrain, std::vector<double>(rank * d, 0.0),
      [&](std::size_t begin, std::size_t end) {
        std::vector<double> part(rank * d, 0.0);
        for (std::size_t i = begin; i < end; ++i) {
          const float* row = phi.row(i).data();
          for (std::size_t k = 0; k < d; ++k) {
            const double value = m(i, k);
            double* to = part.data() + k * rank;
            for (std::size_t r = 0; r < rank; ++r) to[r] += value * double(row[r]);
          }
        }
        return part;
      },
      [](std::vector<double> sum, const std::vector<double>& part) {
        for (std::size_t r = 0; r < sum.size(); ++r) sum[r] += part[r];
        return sum;
      });
  parallel_for(m.rows, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const float* row = phi.row(i).data();
      for (std::size_t k = 0; k < d; ++k) {
        const double* from = a.data() + k * rank;
        double sum = 0;
        for (std::size_t r = 0; r < rank; ++r) sum += double(row[r]) * from[r];
        out(i, k) += sign * sum;
      }
    }
  });
}

KernelTimes factor_times(std::shared_ptr<const KernelFactor> factor) {
  return [factor = std::move(factor)](MatrixView<const double> m, MatrixView<double> out) {
    std::fill_n(out.data, out.size(), 0.0);
    add_factor_times(factor->phi, m, 1, out);
    add_factor_times(factor->psi, m, -1, out);
  };
}

// The same on a device, where the factor stays. Starts may ask from several threads; they take turns.
KernelTimes factor_times_on(Device device, const KernelFactor& factor) {
  struct Shared {
    DeviceFactorTimes times;
    std::mutex turn;
  };
  const auto source = [](const FloatMatrix& matrix) { return FactorSource{matrix.data(), nullptr, matrix.cols()}; };
  FactorSource phi = source(factor.phi);
  phi.device = factor.device_phi;
  const auto shared =
      std::shared_ptr<Shared>(new Shared{DeviceFactorTimes(device, factor.phi.rows(), phi, source(factor.psi)), {}});
  return [shared](MatrixView<const double> m, MatrixView<double> out) {
    const std::lock_guard lock(shared->turn);
    shared->times(m.data, m.cols, out.data);
  };
}

// Exactly, with the kernel on a device where it is not null there.
KernelTimes kernel_operator(std::shared_ptr<const Kernel> kernel, std::shared_ptr<const DeviceKernel> on_device) {
  return [kernel = std::move(kernel), on_device = std::move(on_device)](MatrixView<const double> m,
                                                                        MatrixView<double> out) {
    const std::vector<double> product = kernel_times_on(*kernel, on_device.get(), m);
    std::copy(product.begin(), product.end(), out.data);
  };
}

}  // namespace

void use_factor(GwotProblem& problem, const KernelFactor& factor, Device device) {
  problem.times = device.is_cuda() ? factor_times_on(device, factor) : factor_times({std::shared_ptr<void>(), &factor});
  problem.times_on = [&factor, device](const std::vector<std::size_t>& rows) {
    auto part = std::make_shared<KernelFactor>();
    part->phi = take_rows(factor.phi.view(), rows);
    if (factor.psi.cols() > 0) part->psi = take_rows(factor.psi.view(), rows);
    return device.is_cuda() ? factor_times_on(device, *part) : factor_times(std::move(part));
  };
}

void use_kernel(GwotProblem& problem, const Kernel& kernel, Device device) {
  const std::shared_ptr<const DeviceKernel> whole = kernel_on_device(kernel, device);
  problem.times = kernel_operator({std::shared_ptr<void>(), &kernel}, whole);
  problem.times_on = [&kernel, whole](const std::vector<std::size_t>& rows) {
    const auto block = [&kernel, rows](std::span<const std::size_t> columns, std::size_t begin, std::size_t end,
                                       MatrixView<float> out) {
      std::vector<std::size_t> columns_there;
      for (const std::size_t c : columns) columns_there.push_back(rows[c]);
      evaluate_rows(kernel, columns_there, std::span(rows).subspan(begin, end - begin), out);
    };
    return kernel_operator(make_kernel(rows.size(), block, kernel.definiteness(), kernel.expression()),
                           whole == nullptr ? nullptr : std::make_shared<const DeviceKernel>(*whole, rows));
  };
}

}  // namespace cpfm
