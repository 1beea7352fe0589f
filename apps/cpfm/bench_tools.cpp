#include "bench_tools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "base/text.hpp"
#include "build_facts.hpp"
#include "coupling/pair_sums.hpp"
#include "cpfm/parallel.hpp"
#include "cuda/device.hpp"

namespace cpfm::app {
namespace {

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return printable(trim(line.substr(line.find(':') + 1)), 200);
  }
  return "unknown";
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

Json machine_facts(Device device) {
  Json facts{{"cpu", cpu_model()},     {"cores", std::thread::hardware_concurrency()},
             {"threads", threads()},   {"simd", simd_targets().front()},
             {"version", kVersion},    {"commit", kCommit},
             {"compiler", kCompiler},  {"build_type", kBuildType},
             {"device", device.name()}};
  if (!device.is_cuda()) return facts;
  const CudaFacts cuda = cuda_facts();
  for (const CudaDevice& found : cuda.devices) {
    if (found.ordinal == device.cuda) facts["gpu"] = found.name;
  }
  facts["toolkit"] = cuda.toolkit;
  return facts;
}

void print_line(const char* what, const std::string& text) { fmt::print("  {:<11} {}\n", what, text); }

void print_machine(const Json& machine) {
  print_line("machine", fmt::format("{}, {} threads, {}{}", machine["cpu"].get<std::string>(),
                                    machine["threads"].get<int>(), machine["simd"].get<std::string>(),
                                    machine.contains("gpu") ? ", on " + machine["gpu"].get<std::string>() : ""));
  print_line("build", fmt::format("cpfm {} ({}, {}, {})", kVersion, kCommit, kCompiler, kBuildType));
}

void add_device(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "auto, cpu, cuda or cuda:N")->type_name("DEVICE")->capture_default_str();
}

}  // namespace cpfm::app
