// What happens where a device has too little memory, on one whose memory a test can set: the message has the figures,
// nothing stays behind, and whoever can do with less does.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.hpp"
#include "coupling/sinkhorn.hpp"
#include "cpfm/coupling.hpp"
#include "cpfm/gwot.hpp"
#include "cpfm/kernel.hpp"
#include "cpfm/latent.hpp"
#include "cpfm/random.hpp"
#include "cuda/cholesky.hpp"
#include "cuda/memory.hpp"
#include "cuda_on_cpu/device_memory.hpp"
#include "kernel/on_device.hpp"
#include "support/device.hpp"
#include "support/files.hpp"

namespace cpfm {
namespace {

using test::any_cuda;
using test::error_of;

class OutOfMemory : public testing::Test {
 protected:
  void TearDown() override { cuda_on_cpu::set_memory(cuda_on_cpu::kMemory); }

  // Only so much beside what is held already.
  static void leave(std::size_t bytes) { cuda_on_cpu::set_memory(cuda_on_cpu::use().held + bytes); }

  // The most that `act` holds at once, beside what was held before.
  template <class Act>
  static std::size_t need_of(const Act& act) {
    cuda_on_cpu::set_memory(cuda_on_cpu::kMemory);
    const std::size_t before = cuda_on_cpu::use().held;
    act();
    return cuda_on_cpu::use().most - before;
  }

  // `act` is refused with figures, and leaves everything as it was.
  template <class Act>
  static void expect_refused(const Act& act) {
    const cuda_on_cpu::Use before = cuda_on_cpu::use();
    const std::size_t held = device_held();
    try {
      act();
      ADD_FAILURE() << "nothing was refused";
    } catch (const OutOfDeviceMemory& error) {
      EXPECT_EQ(error.where(), "GPU memory");
      EXPECT_CONTAINS(error.problem(), " are needed for ");
      EXPECT_CONTAINS(error.problem(), " are free (cpfm holds ");
      EXPECT_CONTAINS(error.remedy(), "--device cpu");
    }
    EXPECT_EQ(device_held(), held);
    EXPECT_EQ(cuda_on_cpu::use().held, before.held);
    EXPECT_EQ(cuda_on_cpu::use().others, before.others) << "streams and pinned memory";
  }
};

Dataset clusters(std::size_t points) {
  Dataset data;
  data.samples = FloatMatrix(points, 6);
  data.labels = Labels{std::vector<std::int32_t>(points), {"0", "1", "2"}};
  for (std::size_t i = 0; i < points; ++i) {
    Rng centre(1, 2, i % 3), noise(1, 3, i);
    for (std::size_t k = 0; k < 6; ++k) data.samples(i, k) = static_cast<float>(2 * centre.normal() + noise.normal());
    data.labels->ids[i] = static_cast<std::int32_t>(i % 3);
  }
  return data;
}

TEST_F(OutOfMemory, TheMessageTellsWhatIsNeededAndFree) {
  leave(10'000'000);
  const DeviceArray<char> first(1'000'000, "an array");
  const std::string free = " and 9.0 MB of " + human_bytes(static_cast<double>(cuda_on_cpu::use().held + 9'000'000)) +
                           " are free (cpfm holds " + human_bytes(static_cast<double>(device_held())) + ")";
  expect_refused([] { DeviceArray<char>(20'000'000, "the cost"); });
  const std::string allocated = error_of([] { DeviceArray<char>(20'000'000, "the cost"); });
  EXPECT_CONTAINS(allocated, "GPU memory: 20.0 MB are needed for the cost," + free);
  const std::string announced = error_of([] { require_device_memory(5e9, "the kernel's factor"); });
  EXPECT_CONTAINS(announced, "GPU memory: 5.0 GB are needed for the kernel's factor," + free);
}

TEST_F(OutOfMemory, ADeviceThatTakesNoWorkIsNoBug) {
  cuda_on_cpu::close_device(true);
  const std::string told = error_of([] { UseDevice use(any_cuda()); });
  cuda_on_cpu::close_device(false);
  EXPECT_CONTAINS(told, "--device: the GPU takes no work");
  EXPECT_CONTAINS(told, "--device cpu");
}

TEST_F(OutOfMemory, ASolverThatDoesNotFitLeavesNothingBehind) {
  constexpr std::size_t kPoints = 500;
  const FloatMatrix y = draw_latent("gaussian", kPoints, {.dim = 2, .seed = 3});
  const std::vector<double> mass(kPoints, 1.0 / kPoints);
  const auto make = [&] { Sinkhorn(y.view(), mass, mass, {false, 0, any_cuda()}); };
  const std::size_t need = need_of(make);
  ASSERT_GT(need, 0u);
  for (std::size_t part = 0; part < 40; ++part) {  // ends in each of its arrays
    SCOPED_TRACE(part);
    leave(need * part / 40);
    expect_refused(make);
  }
  leave(need - 1);
  expect_refused(make);
  leave(need);
  EXPECT_NO_THROW(make());
}

TEST_F(OutOfMemory, ACouplingIsRefusedAndASmallerOneWorks) {
  CoupleOptions options;
  options.solver.starts = 0;
  options.solver.epsilon = 0.04;
  options.device = any_cuda();
  const Dataset small = clusters(90), large = clusters(1500);
  const std::size_t need = need_of([&] { couple(small, options); });
  for (const std::size_t part : {0u, 1u, 4u}) {  // of ten: while the kernel is copied, factored, and later
    SCOPED_TRACE(part);
    leave(need * part / 10);
    expect_refused([&] { couple(small, options); });
  }
  leave(2 * need);
  expect_refused([&] { couple(large, options); });
  EXPECT_EQ(couple(small, options).summary.status, "converged");
}

TEST_F(OutOfMemory, AFactorGrowsToWhatIsNeededWhereThereIsNoRoomToSpare) {
  constexpr std::size_t kRows = 1000;
  const Dataset data = clusters(kRows);
  const auto kernel = make_kernel("heat", data);
  const auto on_device = std::make_shared<const DeviceKernel>(any_cuda(), *describe_kernel(*kernel));
  std::vector<std::size_t> everyone(kRows);
  for (std::size_t i = 0; i < kRows; ++i) everyone[i] = i;
  DeviceCholesky work(on_device, {everyone}, {}, 0);
  const auto bytes = [](std::size_t columns) { return columns * kRows * sizeof(float); };
  EXPECT_EQ(work.make_room(0, 0, 64, 96), 96u);
  leave(bytes(144));
  EXPECT_EQ(work.make_room(0, 0, 128, 144), 144u);
  leave(bytes(216) - 1);
  EXPECT_EQ(work.make_room(0, 0, 200, 216), 200u);
  leave(bytes(264) - 1);
  expect_refused([&] { work.make_room(0, 0, 264, 300); });
  EXPECT_CONTAINS(error_of([&] { work.make_room(0, 0, 264, 300); }), "1.1 MB are needed for the kernel's factor");
  EXPECT_EQ(work.make_room(0, 0, 200, 200), 200u) << "what was there still is";
}

// With less and less memory it is the same factor, or none.
TEST_F(OutOfMemory, AFactorDoesNotDependOnTheMemoryThereIs) {
  const Dataset data = clusters(300);
  const auto kernel = make_kernel("heat(1)", data);
  const FactorOptions options{.explained = 0.9, .device = any_cuda()};
  KernelFactor wanted;
  const std::size_t need = need_of([&] { wanted = factor_kernel(*kernel, options); });
  for (const std::size_t part : {95u, 90u, 85u, 80u, 70u, 40u}) {
    SCOPED_TRACE(part);
    leave(need * part / 100);
    const std::size_t held = device_held();
    try {
      const KernelFactor factor = factor_kernel(*kernel, options);
      EXPECT_TRUE(std::ranges::equal(factor.phi.values(), wanted.phi.values()));
    } catch (const OutOfDeviceMemory& error) {
      EXPECT_CONTAINS(error.problem(), " are needed for ");
    }
    EXPECT_EQ(device_held(), held);
  }
}

// What is asked of a plan is answered by the CPU where the device is full.
TEST_F(OutOfMemory, APlanWithoutRoomIsUsedOnTheCpu) {
  const Dataset data = clusters(60);
  CoupleOptions options;
  options.solver.starts = 0;
  options.solver.epsilon = 0.05;
  Coupling coupling = couple(data, options);
  const std::vector<std::uint32_t> drawn = coupling.plan.draw(1, 2);
  const FloatMatrix means = coupling.barycentres(coupling.plan);
  const Plan::Top top = coupling.plan.top(3);
  const FloatMatrix placed = coupling.barycentres(coupling.place(data));
  coupling.plan.use(any_cuda());
  leave(64);
  const std::size_t held = device_held();
  EXPECT_EQ(coupling.plan.draw(1, 2), drawn);
  EXPECT_TRUE(std::ranges::equal(coupling.barycentres(coupling.plan).values(), means.values()));
  EXPECT_EQ(coupling.plan.top(3).index, top.index);
  EXPECT_TRUE(std::ranges::equal(coupling.barycentres(coupling.place(data)).values(), placed.values()));
  EXPECT_EQ(device_held(), held);
}

TEST_F(OutOfMemory, StartsThatDoNotFitTogetherRunOneByOne) {
  constexpr std::size_t kPoints = 150, kStarts = 3;
  const Dataset data = clusters(kPoints);
  const auto kernel = make_kernel("heat*label", data);
  const KernelFactor factor = factor_kernel(*kernel);
  const std::vector<double> mass(kPoints, 1.0 / kPoints);
  GwotOptions options;
  options.starts = static_cast<int>(kStarts);
  options.device = any_cuda();
  const auto solver = [&] {
    GwotProblem problem;
    problem.w = kernel_times(*kernel, mass);
    use_factor(problem, factor, any_cuda());
    problem.y = draw_latent("gaussian", kPoints, {.dim = 2, .seed = 1});
    return GwotSolver(std::move(problem), options);
  };
  const auto run_starts = [](GwotSolver& running) {
    while (running.state().starts.size() < kStarts + 1) running.step();
    return running.state().starts;
  };
  GwotSolver roomy = solver();
  const std::vector<double> wanted = run_starts(roomy);

  const FloatMatrix y = draw_latent("gaussian", kPoints, {.dim = 2, .seed = 1});
  const std::size_t one = need_of([&] { Sinkhorn(y.view(), mass, mass, {false, 0, any_cuda()}); });
  GwotSolver tight = solver();
  leave(one + one * 3 / 4);  // some of it for K M
  EXPECT_EQ(run_starts(tight), wanted);
  EXPECT_GT(cuda_on_cpu::use().refused, 0u);

  GwotSolver hopeless = solver();
  leave(one / 2);
  expect_refused([&] { run_starts(hopeless); });
  cuda_on_cpu::set_memory(cuda_on_cpu::kMemory);
  EXPECT_EQ(run_starts(hopeless), wanted) << "it goes on once there is room";
}

}  // namespace
}  // namespace cpfm
