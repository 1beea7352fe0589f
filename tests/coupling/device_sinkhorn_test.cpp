// Sinkhorn and the whole solver on a CUDA device against the CPU, which is their specification. Float sums round
// differently, so potentials agree to about the rounding of an exponent and sums to 1e-4.
#include <gtest/gtest.h>

#include <cmath>

#include "coupling/sinkhorn.hpp"
#include "cpfm/coupling.hpp"
#include "cpfm/gwot.hpp"
#include "cpfm/kernel.hpp"
#include "cpfm/latent.hpp"
#include "cpfm/random.hpp"
#include "cuda/memory.hpp"
#include "support/device.hpp"
#include "support/files.hpp"

namespace cpfm {
namespace {

using test::any_cuda;
using test::kernels_are_slow;

struct Cost {
  FloatMatrix y;
  std::vector<double> w, p, row_mass, column_mass;

  Cost(std::size_t n, std::size_t m, int dim, bool uneven = false)
      : y(draw_latent("gaussian", m, {.dim = dim, .seed = 3})), w(n), row_mass(n), column_mass(m) {
    double rows = 0, columns = 0;
    for (std::size_t i = 0; i < n; ++i) {
      Rng rng(5, 1, i);
      w[i] = 0.5 + rng.uniform();
      row_mass[i] = uneven ? 0.2 + rng.uniform() : 1;
      rows += row_mass[i];
      for (int k = 0; k < dim; ++k) p.push_back(0.9 * w[i] * rng.normal());
    }
    for (std::size_t j = 0; j < m; ++j) {
      column_mass[j] = uneven ? 0.2 + Rng(5, 2, j).uniform() : 1;
      columns += column_mass[j];
    }
    for (double& mass : row_mass) mass /= rows;
    for (double& mass : column_mass) mass /= columns;
  }
  Sinkhorn solver(SinkhornOptions options) const { return {y.view(), row_mass, column_mass, options}; }
  void set(Sinkhorn& solver, double epsilon) const { solver.set_cost(w, {p.data(), w.size(), y.cols()}, epsilon); }
};

double largest_difference(std::span<const double> a, std::span<const double> b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// A few plain iterations and the moments after them, on both.
void expect_same(const Cost& cost, double epsilon, bool double_precision, double drop, double bound) {
  Sinkhorn cpu = cost.solver({double_precision, drop}), gpu = cost.solver({double_precision, drop, any_cuda()});
  PlanMoments here, there;
  for (const double e : {4 * epsilon, epsilon}) {
    cost.set(cpu, e);
    cost.set(gpu, e);
    for (int k = 0; k < 4; ++k) {
      const double error = cpu.update_columns();
      EXPECT_NEAR(gpu.update_columns(), error, 1e-3 * error + bound) << "iteration " << k;
      EXPECT_NEAR(gpu.duality_gap(), cpu.duality_gap(), 1e-3 * std::abs(cpu.duality_gap()) + bound);
      cpu.update_rows(k == 2 ? 1.5 : 1.0);
      gpu.update_rows(k == 2 ? 1.5 : 1.0);
    }
    cpu.update_rows(here);
    gpu.update_rows(there);
    EXPECT_LT(largest_difference(cpu.row_potential(), gpu.row_potential()), 100 * bound);
    EXPECT_LT(largest_difference(cpu.column_potential(), gpu.column_potential()), 100 * bound);
    const double n = static_cast<double>(cost.w.size());
    EXPECT_LT(largest_difference(here.mean, there.mean), 100 * bound / n);
    EXPECT_LT(largest_difference(here.second, there.second), 300 * bound / n);
    EXPECT_NEAR(gpu.entropy_term(there), cpu.entropy_term(here), 10 * bound * (1 + std::abs(cpu.entropy_term(here))));
  }
  EXPECT_EQ(gpu.half_iterations(), cpu.half_iterations());
  // Sums at the edge of the range may fall on either side of it.
  EXPECT_NEAR(static_cast<double>(gpu.rescued()), static_cast<double>(cpu.rescued()),
              2 + 0.01 * static_cast<double>(cpu.rescued()));
  EXPECT_LE(gpu.dropped(), drop);
}

TEST(DeviceSinkhorn, AgreesWithTheCpuInEveryDimension) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  for (int dim = 1; dim <= 8; ++dim) {
    SCOPED_TRACE(dim);
    const Cost cost(300, 1000, dim);
    expect_same(cost, 0.05, false, 0, 1e-5);
    if (!kernels_are_slow() || dim == 3) expect_same(cost, 0.05, true, 0, 1e-12);
  }
}

TEST(DeviceSinkhorn, AgreesWhereSizesAreNoWholeRuns) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{2, 2}, {1, 257}, {255, 3}, {256, 256}, {257, 511}}) {
    SCOPED_TRACE(n);
    expect_same(Cost(n, m, 2, true), 0.1, false, 0, 1e-5);
  }
}

TEST(DeviceSinkhorn, LeavesOutWhatIsNotThere) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  const Cost cost(kernels_are_slow() ? 2500 : 5000, kernels_are_slow() ? 2000 : 4000, 2, true);
  if (!kernels_are_slow()) expect_same(cost, 0.003, false, 1e-7, 1e-4);
  Sinkhorn gpu = cost.solver({false, 1e-7, any_cuda()});
  cost.set(gpu, 0.0005);
  gpu.solve(1e-2, kernels_are_slow() ? 8 : 50, true);
  const std::uint64_t before = gpu.pairs();
  gpu.update_rows();
  EXPECT_LT(gpu.pairs() - before, cost.w.size() * cost.y.rows() * 3 / 4) << "many pairs hold nothing at this ε";
  EXPECT_LE(gpu.dropped(), 1e-7);
}

// Every form of the kernel, by number of dimensions and type, also leaves out.
TEST(DeviceSinkhorn, AgreesWithTheCpuWhereItLeavesOut) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  for (const int dim : {1, 2, 3, 8}) {
    SCOPED_TRACE(dim);
    const Cost cost(kernels_are_slow() ? 600 : 2500, kernels_are_slow() ? 700 : 2000, dim, true);
    expect_same(cost, 0.02, false, 1e-7, 1e-4);
    expect_same(cost, 0.02, true, 1e-7, 1e-6);
  }
}

TEST(DeviceSinkhorn, WorksOnAfterMemoryWasRefused) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  const UseDevice use(any_cuda());
  const std::size_t held = device_held(), twice = 2 * device_memory().total;
  try {
    const DeviceArray<char> never(twice, "twice of all there is");
    ADD_FAILURE() << "nothing was refused";
  } catch (const OutOfDeviceMemory& error) {
    EXPECT_CONTAINS(error.problem(), "are needed for twice of all there is, and ");
    EXPECT_CONTAINS(error.problem(), " are free");
  }
  EXPECT_EQ(device_held(), held);
  expect_same(Cost(100, 120, 2), 0.1, false, 0, 1e-5);
}

TEST(DeviceSinkhorn, RowsWithoutACentreAreComputedWhole) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  Cost cost(kernels_are_slow() ? 2001 : 3000, kernels_are_slow() ? 2000 : 2500, 2);
  for (std::size_t i = 0; i < 700; ++i) cost.w[i] = i % 2 == 0 ? 0 : -0.3;
  expect_same(cost, 0.05, false, 1e-7, 1e-4);
}

TEST(DeviceSinkhorn, RescuesSumsThatLeaveTheRange) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  const Cost cost(300, 400, 2);
  Sinkhorn cpu = cost.solver({false, 0}), gpu = cost.solver({false, 0, any_cuda()});
  cost.set(cpu, 0.05);
  cost.set(gpu, 0.05);
  std::vector<double> row(300), column(400);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = i % 3 == 0 ? 400 : i % 3 == 1 ? -400 : -8;
  for (double& value : column) value = -8;
  cpu.set_potentials(row, column);
  gpu.set_potentials(row, column);
  PlanMoments here, there;
  cpu.update_rows(here);
  gpu.update_rows(there);
  EXPECT_GT(gpu.rescued(), 100u);
  EXPECT_EQ(gpu.rescued(), cpu.rescued());
  EXPECT_LT(largest_difference(cpu.row_potential(), gpu.row_potential()), 1e-3);
  EXPECT_LT(largest_difference(here.mean, there.mean), 1e-6);
}

TEST(DeviceSinkhorn, SolvesAsTheCpuDoesAndTheSameEveryTime) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  const Cost cost(kernels_are_slow() ? 600 : 3000, kernels_are_slow() ? 700 : 3100, 2);
  Sinkhorn cpu = cost.solver({false, 1e-7});
  cost.set(cpu, 0.02);
  const InnerControl wanted = cpu.solve(1e-3, 500, true);
  EXPECT_TRUE(wanted.reached);
  std::vector<double> first;
  for (int run = 0; run < 2; ++run) {
    Sinkhorn gpu = cost.solver({false, 1e-7, any_cuda()});
    cost.set(gpu, 0.02);
    const InnerControl got = gpu.solve(1e-3, 500, true);
    EXPECT_TRUE(got.reached);
    EXPECT_NEAR(got.iterations, wanted.iterations, 2);
    EXPECT_LE(gpu.update_columns(), 1.1e-3);
    const std::vector<double> potentials(gpu.row_potential().begin(), gpu.row_potential().end());
    if (run == 0)
      first = potentials;
    else
      EXPECT_EQ(potentials, first);
  }
  Sinkhorn gpu = cost.solver({false, 1e-7, any_cuda()});
  cost.set(gpu, 0.02);
  const InnerControl cut_short = gpu.solve(0, 3, true);
  EXPECT_FALSE(cut_short.reached);
  EXPECT_EQ(cut_short.iterations, 3);
  EXPECT_EQ(gpu.half_iterations(), 7u);
}

Dataset labelled_clusters(std::size_t points) {
  Dataset data;
  data.samples = FloatMatrix(points, 8);
  data.labels = Labels{std::vector<std::int32_t>(points), {"0", "1", "2", "3", "4"}};
  for (std::size_t i = 0; i < points; ++i) {
    Rng centre(1, 2, i % 5), noise(1, 3, i);
    for (std::size_t k = 0; k < 8; ++k) data.samples(i, k) = static_cast<float>(2 * centre.normal() + noise.normal());
    data.labels->ids[i] = static_cast<std::int32_t>(i % 5);
  }
  return data;
}

TEST(DeviceGwot, TheExactKernelIsThatOfTheCpuOnAllRowsAndOnSome) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  const Dataset data = labelled_clusters(300);
  const auto kernel = make_kernel("heat*label", data);
  GwotProblem cpu, gpu;
  use_kernel(cpu, *kernel);
  use_kernel(gpu, *kernel, any_cuda());
  std::vector<std::size_t> some;
  for (std::size_t i = 1; i < 300; i += 3) some.push_back(i);
  const auto expect_equal = [](const KernelTimes& here, const KernelTimes& there, std::size_t n) {
    std::vector<double> m(2 * n), a(2 * n), b(2 * n);
    for (std::size_t i = 0; i < m.size(); ++i) m[i] = Rng(7, 7, i).normal();
    here({m.data(), n, 2}, {a.data(), n, 2});
    there({m.data(), n, 2}, {b.data(), n, 2});
    EXPECT_LT(largest_difference(a, b), 1e-4);
  };
  expect_equal(cpu.times, gpu.times, 300);
  expect_equal(cpu.times_on(some), gpu.times_on(some), some.size());
}

GwotProblem clusters(const Kernel& kernel, const KernelFactor& factor, std::size_t n, Device device) {
  GwotProblem problem;
  problem.w = kernel_times(kernel, std::vector<double>(n, 1.0 / static_cast<double>(n)));
  use_factor(problem, factor, device);
  problem.y = draw_latent("gaussian", n, {.dim = 2, .seed = 1});
  return problem;
}

TEST(DeviceGwot, ReachesTheObjectiveOfTheCpu) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  const std::size_t points = kernels_are_slow() ? 300 : 3000;
  const Dataset data = labelled_clusters(points);
  const auto kernel = make_kernel("heat*label", data);
  const KernelFactor factor = factor_kernel(*kernel);
  GwotOptions options;
  options.starts = kernels_are_slow() ? 1 : 10;  // on a device more than run at once
  if (kernels_are_slow()) options.epsilon = 0.02;
  GwotSolver cpu(clusters(*kernel, factor, points, {}), options);
  cpu.run();
  options.device = any_cuda();
  std::vector<double> first;
  for (int run = 0; run < 2; ++run) {
    GwotSolver gpu(clusters(*kernel, factor, points, any_cuda()), options);
    gpu.run();
    EXPECT_EQ(gpu.state().status, GwotStatus::kConverged);
    ASSERT_EQ(gpu.state().starts.size(), cpu.state().starts.size());
    for (std::size_t s = 0; s < cpu.state().starts.size(); ++s)
      EXPECT_NEAR(gpu.state().starts[s], cpu.state().starts[s], 2e-3 * cpu.state().starts[s]);
    EXPECT_NEAR(gpu.state().reduced, cpu.state().reduced, 2e-4 * cpu.state().reduced);
    const std::vector<double> potentials(gpu.row_potential().begin(), gpu.row_potential().end());
    if (run == 0)
      first = potentials;
    else
      EXPECT_EQ(potentials, first) << "same seed, same bytes";
  }
}

TEST(DeviceCouple, GivesTheCouplingOfTheCpu) {
  CPFM_SKIP_WITHOUT_CUDA(any_cuda());
  const Dataset data = labelled_clusters(kernels_are_slow() ? 200 : 4000);
  CoupleOptions options;
  options.solver.starts = kernels_are_slow() ? 0 : 4;
  options.solver.epsilon = 0.02;
  const Coupling cpu = couple(data, options);
  options.device = any_cuda();
  Coupling gpu = couple(data, options);
  EXPECT_EQ(gpu.summary.device, any_cuda().name());
  EXPECT_EQ(gpu.summary.status, "converged");
  EXPECT_NEAR(gpu.summary.objective, cpu.summary.objective, 2e-4 * cpu.summary.objective);
  EXPECT_NEAR(gpu.summary.objective_random, cpu.summary.objective_random, 1e-5 * cpu.summary.objective_random);
  // A new sample is placed by the factor of either, on the device of its plan.
  const Plan here = cpu.place(data), there = gpu.place(data);
  const FloatMatrix a = cpu.barycentres(here), b = gpu.barycentres(there);
  double apart = 0;
  for (std::size_t k = 0; k < a.size(); ++k) apart += std::abs(a.data()[k] - b.data()[k]);
  EXPECT_LT(apart / static_cast<double>(a.size()), 0.02);
  EXPECT_EQ(there.device().name(), any_cuda().name());
  // The same coupling places alike on both.
  gpu.plan.use(Device{});
  const FloatMatrix c = gpu.barycentres(gpu.place(data));
  for (std::size_t k = 0; k < b.size(); ++k) ASSERT_NEAR(b.data()[k], c.data()[k], 1e-3);
}

}  // namespace
}  // namespace cpfm
