#include "kernel/memory.hpp"

#include <fmt/format.h>

#include <fstream>

#include "base/text.hpp"
#include "cpfm/error.hpp"

namespace cpfm {

std::optional<double> available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kName = "MemAvailable:";
    if (!line.starts_with(kName)) continue;
    double kib = 0;
    std::string_view rest = trim(std::string_view(line).substr(kName.size()));
    if (rest.ends_with("kB")) rest.remove_suffix(2);
    if (parse_number(rest, kib)) return kib * 1024;
  }
  return std::nullopt;
}

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
