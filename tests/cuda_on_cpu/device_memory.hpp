// What a test may ask of, and do to, the memory of the device that kernels on the CPU believe in.
#pragma once

#include <cstddef>

namespace cuda_on_cpu {

inline constexpr std::size_t kMemory = std::size_t{4} << 30;  // unless a test says otherwise

// All the memory there is from now on; what would go beyond is refused. Begins to count anew what was held and refused.
void set_memory(std::size_t bytes);

// From now on the device takes no work, or takes it again.
void close_device(bool closed);

struct Use {
  std::size_t held = 0;     // bytes of device memory now
  std::size_t most = 0;     // since set_memory()
  std::size_t refused = 0;  // allocations, since then
  int others = 0;           // streams and pinned arrays now
};
Use use();

}  // namespace cuda_on_cpu
