#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "cpfm/device.hpp"
#include "cpfm/error.hpp"
#include "cuda/device.hpp"

namespace cpfm {
namespace {

std::string version(int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); }

bool runs_kernels(const CudaDevice& device, const CudaFacts& facts) {
  return std::pair(device.major, device.minor) >= std::pair(facts.least_major, facts.least_minor);
}

}  // namespace

std::string Device::name() const { return is_cuda() ? "cuda:" + std::to_string(cuda) : "cpu"; }

DeviceChoice choose_device(const std::string& name, const CudaFacts& facts) {
  if (name == "cpu") return {};
  const bool numbered = name.starts_with("cuda:");
  if (name != "auto" && name != "cuda" && !numbered)
    throw Error("--device", "'" + printable(name) + "' is not a device", "auto, cpu, cuda or cuda:N");
  std::string all, too_old;
  for (const CudaDevice& device : facts.devices) {
    const Device found{device.ordinal};
    all += (all.empty() ? "" : ", ") + found.name();
    if (numbered && name != found.name()) continue;
    if (runs_kernels(device, facts)) return {found, {}};
    if (too_old.empty())
      too_old = found.name() + " (" + printable(device.name) + ") has compute capability " +
                version(device.major, device.minor) + ", and this build needs " +
                version(facts.least_major, facts.least_minor) + " or more";
  }
  if (name == "auto") return {{}, too_old};
  if (facts.toolkit.empty())
    throw Error("--device", printable(name) + " is asked for, and this build has no CUDA",
                "build where nvcc is found, or use --device cpu");
  if (facts.devices.empty())
    throw Error("--device", printable(name) + " is asked for, and there is no GPU here: " + facts.why_none,
                "use --device cpu, or auto");
  if (!too_old.empty())
    throw Error("--device", printable(name) + " is asked for, but " + too_old, "use --device cpu, or auto");
  throw Error("--device", "there is no " + printable(name), "what is there: " + all);
}

Device choose_device(const std::string& name) {
  if (name == "cpu") return {};  // without a word to the driver, which takes its time
  const DeviceChoice choice = choose_device(name, cuda_facts());
  if (!choice.why_cpu.empty()) log().info("the CPU is used: {}", choice.why_cpu);
  return choice.device;
}

}  // namespace cpfm
