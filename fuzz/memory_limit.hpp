// A bound on the memory that one input may cost: what it holds in bytes, and 64 MB. A header that claims a terabyte
// must be refused before it is believed, and libFuzzer's own limit on the whole process is too coarse to see that.
#pragma once

#include <cstddef>

namespace cpfm::fuzz {

// Counts the heap from here to the end of the scope; past the bound it prints the stack of that allocation and aborts,
// which libFuzzer keeps as a finding.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::size_t input_size);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
};

}  // namespace cpfm::fuzz
