#include "base/memory.hpp"

#include <fmt/format.h>

#include <fstream>

#include "base/text.hpp"
#include "cpfm/error.hpp"

namespace cpfm {

namespace {

// The value of a line "name:   123 kB" of one of the kernel's files, in bytes.
std::optional<double> memory_line(const char* path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    double kib = 0;
    std::string_view rest = trim(std::string_view(line).substr(name.size()));
    if (rest.ends_with("kB")) rest.remove_suffix(2);
    if (parse_number(rest, kib)) return kib * 1024;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> available_memory() { return memory_line("/proc/meminfo", "MemAvailable:"); }

// Not getrusage: its maximum starts with what the parent held before exec.
double peak_memory() { return memory_line("/proc/self/status", "VmHWM:").value_or(0); }

void require_memory(double bytes, const std::string& where, const std::string& what, const std::string& remedy) {
  constexpr double kSmall = 16e6;  // not worth a look
  if (bytes <= kSmall) return;
  const std::optional<double> available = available_memory();
  if (available && bytes > *available) {
    throw Error(
        where,
        fmt::format("{} needs {}, and {} of memory are available", what, human_bytes(bytes), human_bytes(*available)),
        remedy);
  }
}

}  // namespace cpfm
