#include "base/text.hpp"
#include "cpfm/device.hpp"
#include "cpfm/error.hpp"
#include "cuda/device.hpp"

namespace cpfm {

std::string Device::name() const { return is_cuda() ? "cuda:" + std::to_string(cuda) : "cpu"; }

Device choose_device(const std::string& name) {
  if (name == "cpu") return {};
  const bool numbered = name.starts_with("cuda:");
  if (name != "auto" && name != "cuda" && !numbered)
    throw Error("--device", "'" + printable(name) + "' is not a device", "auto, cpu, cuda or cuda:N");
  const CudaFacts facts = cuda_facts();
  const int count = static_cast<int>(facts.devices.size());
  for (int i = 0; i < count; ++i) {
    if (!numbered || name == Device{i}.name()) return {i};
  }
  if (name == "auto") return {};
  if (facts.toolkit.empty())
    throw Error("--device", printable(name) + " is asked for, and this build has no CUDA",
                "build where nvcc is found, or use --device cpu");
  if (count == 0)
    throw Error("--device", printable(name) + " is asked for, and there is no GPU here: " + facts.why_none,
                "use --device cpu, or auto");
  throw Error("--device", "there is no " + printable(name), "cuda:0 to " + Device{count - 1}.name());
}

}  // namespace cpfm
