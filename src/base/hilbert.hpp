// Hilbert's curve by Skilling's transpose algorithm ("Programming the Hilbert curve", 2004): coordinates of `bits` bits
// are turned, in place, into the bits of the position, which are then interleaved into one 64-bit key.
#pragma once

#include <cstdint>

#include "base/host_device.hpp"

namespace cpfm {

// Bits per coordinate that fit a key.
CPFM_HD inline int hilbert_bits(int dim) { return 64 / dim < 16 ? 64 / dim : 16; }

// The position of the cell x (dim coordinates, overwritten) along the curve.
CPFM_HD inline std::uint64_t hilbert_key(std::uint32_t* x, int dim, int bits) {
  const std::uint32_t top = 1u << (bits - 1);
  for (std::uint32_t q = top; q > 1; q >>= 1) {  // undo excess work
    const std::uint32_t below = q - 1;
    for (int i = 0; i < dim; ++i) {
      if (x[i] & q) {
        x[0] ^= below;
      } else {
        const std::uint32_t swapped = (x[0] ^ x[i]) & below;
        x[0] ^= swapped;
        x[i] ^= swapped;
      }
    }
  }
  for (int i = 1; i < dim; ++i) x[i] ^= x[i - 1];  // Gray encode
  std::uint32_t flips = 0;
  for (std::uint32_t q = top; q > 1; q >>= 1) {
    if (x[dim - 1] & q) flips ^= q - 1;
  }
  for (int i = 0; i < dim; ++i) x[i] ^= flips;
  std::uint64_t key = 0;
  for (int bit = bits - 1; bit >= 0; --bit) {
    for (int i = 0; i < dim; ++i) key = key << 1 | (x[i] >> bit & 1u);
  }
  return key;
}

}  // namespace cpfm
