// What all fuzz targets do with an input and with what a parser made of it. A cpfm::Error is the expected answer to a
// bad file; any other exception, a sanitizer's report, or a result that contradicts itself is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cpfm/data.hpp"
#include "cpfm/error.hpp"
#include "data/byte_source.hpp"
#include "fuzz/memory_limit.hpp"

namespace cpfm::fuzz {

// Aborts with `what` when a parser's result breaks its promise.
void require(bool condition, const char* what);

// Keeps the compiler from leaving out the reading of values.
void touch(std::span<const float> values);

// The input as a parser gets it. An odd number of bytes comes in pieces of 1 to 13, as from a slow pipe: small inputs
// would never meet the end of a reader's buffer otherwise.
Reader reader_of(std::span<const std::byte> bytes, const char* name = "fuzz");

// Checks that a parsed dataset agrees with itself, then validate()s it and reads every value.
void exercise(const Dataset& data);

template <class Action>
int run(const std::uint8_t* data, std::size_t size, const Action& action) {
  const MemoryLimit limit(size);
  try {
    action(std::as_bytes(std::span(data, size)));
  } catch (const Error&) {
  }
  return 0;
}

}  // namespace cpfm::fuzz
