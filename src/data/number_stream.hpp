// Binary numbers of any type and byte order from a Reader into floats (or doubles), block by block: a matrix is not
// held twice, and where the length of the stream is not known, memory grows only as bytes really arrive.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cpfm/matrix.hpp"
#include "data/byte_source.hpp"

namespace cpfm {

enum class NumberKind {
  kBool,
  kInt8,
  kUInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kFloat16,
  kFloat32,
  kFloat64
};

struct NumberType {
  NumberKind kind = NumberKind::kFloat32;
  std::endian order = std::endian::little;

  std::size_t size() const;
  std::string_view name() const;  // numpy's
};

// Converts `count` numbers at `bytes` (no alignment needed).
void convert(NumberType type, const std::byte* bytes, std::size_t count, float* out);
void convert(NumberType type, const std::byte* bytes, std::size_t count, double* out);

// Reads rows × cols numbers into a matrix of that shape. The declared size is checked against what the file can hold
// before anything is allocated; `what` names the data in messages.
FloatMatrix read_matrix(Reader& reader, NumberType type, std::size_t rows, std::size_t cols, std::string_view what);

// Refuses a declared size that the rest of a plain file cannot hold.
void check_declared_size(const Reader& reader, std::uint64_t declared_bytes, std::string_view what);

}  // namespace cpfm
