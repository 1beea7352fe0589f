// Size arithmetic for numbers that come from outside (file headers, options): it throws cpfm::Error instead of
// wrapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>

#include "cpfm/error.hpp"

namespace cpfm {

// `where` names the file or option the sizes come from.
inline std::size_t checked_mul(std::size_t a, std::size_t b, const std::string& where) {
  std::size_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    throw Error(where, "a size of " + std::to_string(a) + " × " + std::to_string(b) + " overflows");
  }
  return product;
}

inline std::size_t checked_add(std::size_t a, std::size_t b, const std::string& where) {
  std::size_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    throw Error(where, "a size of " + std::to_string(a) + " + " + std::to_string(b) + " overflows");
  }
  return sum;
}

template <class Range>
std::size_t checked_product(const Range& factors, const std::string& where) {
  std::size_t product = 1;
  for (const auto factor : factors) product = checked_mul(product, static_cast<std::size_t>(factor), where);
  return product;
}

// Narrows to int, for interfaces that count in int (image sides, class numbers).
inline int checked_int(std::uint64_t value, const std::string& where) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    throw Error(where, "a size of " + std::to_string(value) + " is too large", "at most 2147483647");
  }
  return static_cast<int>(value);
}

}  // namespace cpfm
