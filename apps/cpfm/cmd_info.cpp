// cpfm info [FILE]: what a tensor file holds, or how this build was made and what it finds on this machine.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"
#include "build_facts.hpp"
#include "cli.hpp"
#include "cpfm/error.hpp"
#include "cpfm/model.hpp"
#include "cpfm/parallel.hpp"
#include "flow_library.hpp"
#if CPFM_HAS_CUDA
#include "cuda/device.hpp"
#endif

namespace cpfm::app {
namespace {

Json describe_file(const std::string& path) {
  const TensorFile file = TensorFile::open(path);
  Json out{{"file", path},
           {"bytes", file.file_size()},
           {"format_version", file.format_version()},
           {"metadata", Json::object()},
           {"tensors", Json::array()}};
  for (const auto& [key, value] : file.metadata()) out["metadata"][printable(key, 200)] = value;
  for (const auto& [name, tensor] : file.tensors()) {
    out["tensors"].push_back({{"name", printable(name, 200)},
                              {"dtype", std::string(to_string(tensor.dtype))},
                              {"shape", tensor.shape},
                              {"bytes", tensor.bytes.size()}});
  }
  return out;
}

// What a value says, a line for each thing: JSON inside a text is looked into. What is nested deeper than any file of
// ours is not, since a file may be anyone's.
void print_value(const std::string& name, const Json& value, int depth = 0) {
  constexpr std::size_t kMostEntries = 16;
  constexpr int kDeepest = 6;
  if (depth > kDeepest) {
    fmt::print("  {:<28} …\n", name);
  } else if (value.is_string()) {
    const std::string text = value.get<std::string>();
    const Json inner = text.starts_with('{') ? Json::parse(text, nullptr, false) : Json();
    if (inner.is_object()) return print_value(name, inner, depth + 1);
    fmt::print("  {:<28} {}\n", name, printable(text, 100));
  } else if (value.is_object()) {
    for (const auto& [key, entry] : value.items()) print_value(name + "." + printable(key, 100), entry, depth + 1);
  } else if (value.is_array() &&
             (value.size() > kMostEntries ||
              std::any_of(value.begin(), value.end(), [](const Json& entry) { return entry.is_structured(); }))) {
    fmt::print("  {:<28} {} entries\n", name, value.size());
  } else {
    fmt::print("  {:<28} {}\n", name, printable(value.dump(-1, ' ', false, Json::error_handler_t::replace), 100));
  }
}

void print_file(const Json& file, bool all) {
  const int version = file["format_version"].get<int>();
  fmt::print("{}: {}, {}\n", printable(file["file"].get<std::string>(), 200), human_bytes(file["bytes"].get<double>()),
             version > 0 ? fmt::format("cpfm format version {}", version) : "a safetensors file not made by cpfm");
  for (const auto& [key, value] : file["metadata"].items()) print_value(key, value);
  constexpr std::size_t kMostTensors = 20;
  const Json& tensors = file["tensors"];
  if (!all && tensors.size() > kMostTensors) {
    double numbers = 0;
    for (const Json& tensor : tensors) {
      double count = 1;
      for (const Json& size : tensor["shape"]) count *= size.get<double>();
      numbers += count;
    }
    fmt::print("  {} tensors of {:.0f} numbers (--verbose lists them)\n", tensors.size(), numbers);
    return;
  }
  for (const Json& tensor : tensors) {
    fmt::print("  {:<28} {:<5} [{}]\n", tensor["name"].get<std::string>(), tensor["dtype"].get<std::string>(),
               fmt::join(tensor["shape"].get<std::vector<std::uint64_t>>(), ", "));
  }
}

Json describe_build() {
  Json components = Json::object();
  for (const auto& [name, present] : kComponents) components[name] = present;
  Json out{{"version", kVersion},      {"commit", kCommit},        {"compiler", kCompiler},
           {"build_type", kBuildType}, {"components", components}, {"threads", threads()}};
#if CPFM_HAS_CUDA
  const CudaFacts cuda = cuda_facts();
  Json devices = Json::array();
  for (const CudaDevice& device : cuda.devices) {
    devices.push_back({{"name", device.name},
                       {"memory_bytes", device.memory},
                       {"compute_capability", fmt::format("{}.{}", device.major, device.minor)}});
  }
  out["cuda"] = {{"toolkit", cuda.toolkit}, {"devices", devices}};
  if (!cuda.why_none.empty()) out["cuda"]["why_none"] = cuda.why_none;
#endif
#if CPFM_HAS_TORCH
  try {
    const FlowEntry& flow = flow_library();
    out["torch"] = {{"version", flow.torch_version()}, {"devices", flow.devices()}};
  } catch (const Error& error) {  // what else there is to tell must not depend on it
    out["torch"] = {{"error", error.what()}};
  }
#endif
  return out;
}

void print_build(const Json& build) {
  const auto line = [](const char* what, const std::string& text) { fmt::print("  {:<11} {}\n", what, text); };
  fmt::print("{}\n", version_text());
  line("threads", std::to_string(build["threads"].get<int>()));
  if (build.contains("torch") && build["torch"].contains("error")) {
    line("torch", "not loadable: " + printable_message(build["torch"]["error"].get<std::string>()));
  } else if (build.contains("torch")) {
    line("torch", fmt::format("{} on {}", build["torch"]["version"].get<std::string>(),
                              fmt::join(build["torch"]["devices"].get<std::vector<std::string>>(), ", ")));
  }
  if (build.contains("cuda")) {
    const Json& cuda = build["cuda"];
    line("cuda", fmt::format("toolkit {}{}", cuda["toolkit"].get<std::string>(),
                             cuda.contains("why_none") ? ", no device: " + cuda["why_none"].get<std::string>() : ""));
    for (const Json& device : cuda["devices"]) {
      line("device", fmt::format("{}, {}, compute capability {}", device["name"].get<std::string>(),
                                 human_bytes(device["memory_bytes"].get<double>()),
                                 device["compute_capability"].get<std::string>()));
    }
  }
}

}  // namespace

std::string version_text() {
  std::string with, without;
  for (const auto& [name, present] : kComponents) {
    std::string& list = present ? with : without;
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  std::string text = fmt::format("cpfm {} ({}, {}, {})\n  components  {}", kVersion, kCommit, kCompiler, kBuildType,
                                 with.empty() ? "none" : with);
  if (!without.empty()) text += fmt::format("\n  left out    {}", without);
  return text;
}

void add_info_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("info", "What a model or coupling file holds, or how this build was made");
  command->footer("Examples:\n  cpfm info\n  cpfm info model.cpfm --json");
  const auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "A model, a coupling, or any safetensors file");
  command->callback([=, &context] {
    const Json info = file->empty() ? describe_build() : describe_file(*file);
    if (context.json)
      context.print(info);
    else if (file->empty())
      print_build(info);
    else
      print_file(info, context.verbose);
  });
}

}  // namespace cpfm::app
