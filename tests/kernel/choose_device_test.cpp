// Which device --device means, on machines that are made up.
#include <gtest/gtest.h>

#include "cpfm/device.hpp"
#include "cuda/device.hpp"
#include "support/files.hpp"

namespace cpfm {
namespace {

using test::error_of;

// A build with CUDA for compute capability 7.5 and later.
CudaFacts machine_with(std::vector<CudaDevice> devices) {
  CudaFacts facts;
  facts.toolkit = "13.0";
  facts.least_major = 7;
  facts.least_minor = 5;
  facts.devices = std::move(devices);
  if (facts.devices.empty()) facts.why_none = "there is no NVIDIA driver";
  return facts;
}

constexpr std::size_t kMemory = std::size_t{16} << 30;
const CudaDevice kOld{0, "Tesla V100", kMemory, 7, 0}, kTuring{1, "Tesla T4", kMemory, 7, 5},
    kHopper{3, "NVIDIA H200", kMemory, 9, 0};

std::string chosen(const std::string& name, const CudaFacts& facts) {
  const DeviceChoice choice = choose_device(name, facts);
  EXPECT_EQ(choice.why_cpu, "");
  return choice.device.name();
}
std::string refusal(const std::string& name, const CudaFacts& facts) {
  return error_of([&] { choose_device(name, facts); });
}

TEST(ChooseDevice, TakesTheCpuWhereItIsAskedForOrThereIsNothingElse) {
  CudaFacts without;
  EXPECT_EQ(chosen("cpu", machine_with({kHopper})), "cpu");
  EXPECT_EQ(chosen("auto", machine_with({})), "cpu");
  EXPECT_EQ(chosen("auto", without), "cpu");
  EXPECT_EQ(choose_device("cpu").name(), "cpu");
}

TEST(ChooseDevice, TakesTheFirstThatRunsTheKernels) {
  EXPECT_EQ(chosen("auto", machine_with({kTuring, kHopper})), "cuda:1");
  EXPECT_EQ(chosen("cuda", machine_with({kTuring, kHopper})), "cuda:1");
  EXPECT_EQ(chosen("auto", machine_with({kOld, kHopper})), "cuda:3");
  EXPECT_EQ(chosen("cuda", machine_with({kOld, kHopper})), "cuda:3");
}

// Where a device in between cannot be asked, places in the list are no numbers of CUDA's.
TEST(ChooseDevice, NumbersAreThoseOfCuda) {
  const CudaFacts facts = machine_with({kTuring, kHopper});
  EXPECT_EQ(chosen("cuda:3", facts), "cuda:3");
  EXPECT_EQ(chosen("cuda:1", facts), "cuda:1");
  EXPECT_EQ(refusal("cuda:0", facts), "--device: there is no cuda:0; what is there: cuda:1, cuda:3");
  EXPECT_EQ(refusal("cuda:4", facts), "--device: there is no cuda:4; what is there: cuda:1, cuda:3");
  EXPECT_CONTAINS(refusal("cuda:01", facts), "there is no cuda:01");
  EXPECT_CONTAINS(refusal("cuda:", facts), "there is no cuda:");
}

TEST(ChooseDevice, LeavesAGpuThatIsTooOldAndSaysWhy) {
  const DeviceChoice choice = choose_device("auto", machine_with({kOld}));
  EXPECT_EQ(choice.device.name(), "cpu");
  EXPECT_EQ(choice.why_cpu, "cuda:0 (Tesla V100) has compute capability 7.0, and this build needs 7.5 or more");
  for (const char* name : {"cuda", "cuda:0"}) {
    EXPECT_EQ(refusal(name, machine_with({kOld})),
              std::string("--device: ") + name +
                  " is asked for, but cuda:0 (Tesla V100) has compute capability 7.0, and this build needs 7.5 or "
                  "more; use --device cpu, or auto");
  }
  EXPECT_CONTAINS(refusal("cuda:0", machine_with({kOld, kHopper})), "compute capability 7.0");
}

TEST(ChooseDevice, SaysWhetherTheBuildOrTheMachineLacksIt) {
  CudaFacts without;
  for (const char* name : {"cuda", "cuda:0"}) {
    EXPECT_EQ(refusal(name, without), std::string("--device: ") + name +
                                          " is asked for, and this build has no CUDA; build where nvcc is found, or "
                                          "use --device cpu");
    EXPECT_EQ(refusal(name, machine_with({})), std::string("--device: ") + name +
                                                   " is asked for, and there is no GPU here: there is no NVIDIA "
                                                   "driver; use --device cpu, or auto");
  }
}

TEST(ChooseDevice, RefusesWhatIsNoDevice) {
  EXPECT_EQ(refusal("gpu", machine_with({kHopper})), "--device: 'gpu' is not a device; auto, cpu, cuda or cuda:N");
  EXPECT_CONTAINS(refusal("", machine_with({})), "'' is not a device");
  EXPECT_CONTAINS(refusal("CUDA", machine_with({kHopper})), "'CUDA' is not a device");
}

}  // namespace
}  // namespace cpfm
