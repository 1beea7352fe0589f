#include "flow/device.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "cpfm/error.hpp"

namespace cpfm {

torch::Device find_device(const std::string& name) {
  const auto count = torch::cuda::is_available() ? static_cast<int>(torch::cuda::device_count()) : 0;
  if (name == "cpu" || (name == "auto" && count == 0)) return torch::Device(torch::kCPU);
  if (name == "auto" || name == "cuda") {
    if (count > 0) return torch::Device(torch::kCUDA, 0);
    throw Error("--device", "cuda is asked for, and libtorch finds no GPU here", "--device cpu");
  }
  if (name.starts_with("cuda:")) {
    for (int i = 0; i < count; ++i) {
      if (name == fmt::format("cuda:{}", i)) return torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(i));
    }
    throw Error("--device", fmt::format("there is no {}", printable(name)),
                count == 0 ? "libtorch finds no GPU here; --device cpu" : fmt::format("cuda:0 to cuda:{}", count - 1));
  }
  throw Error("--device", fmt::format("'{}' is not a device", printable(name)), "auto, cpu, cuda or cuda:N");
}

torch::ScalarType find_precision(const std::string& name, const torch::Device& device) {
  if (name == "float32") return torch::kFloat32;
  if (name == "bfloat16") return torch::kBFloat16;
  if (name == "auto") return device.is_cuda() ? torch::kBFloat16 : torch::kFloat32;
  throw Error("--precision", fmt::format("'{}' is not a precision", printable(name)), "auto, float32 or bfloat16");
}

std::string device_text(const torch::Device& device) {
  return device.is_cuda() ? fmt::format("cuda:{}", int(device.index())) : "cpu";
}

bool is_memory_error(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  return text.find("out of memory") != std::string::npos || text.find("can't allocate memory") != std::string::npos ||
         text.find("not enough memory") != std::string::npos;
}

void rethrow_memory_error(const c10::Error& error, const std::string& where, const std::string& remedy) {
  if (!is_memory_error(error)) throw error;
  const std::string text = error.what_without_backtrace();
  throw Error(where, "there is not enough memory: " + printable(text.substr(0, text.find('\n')), 200), remedy);
}

}  // namespace cpfm
