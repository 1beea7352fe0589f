// Large allocations are announced, so that a size that cannot fit ends in a sentence and not in the kernel's OOM
// killer.
#pragma once

#include <optional>
#include <string>

namespace cpfm {

// Bytes the system can still give (MemAvailable of /proc/meminfo); nothing where that is not known.
std::optional<double> available_memory();

// The most this process has held so far, in bytes.
double peak_memory();

// Throws cpfm::Error when `bytes` for `what` are more than available; `remedy` says what needs less.
void require_memory(double bytes, const std::string& where, const std::string& what, const std::string& remedy = {});

}  // namespace cpfm
