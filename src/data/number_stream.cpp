#include "data/number_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/checked.hpp"
#include "base/half.hpp"
#include "base/text.hpp"

namespace cpfm {
namespace {

template <class Bits>
Bits load(const std::byte* bytes, bool swap) {
  Bits value;
  std::memcpy(&value, bytes, sizeof(Bits));
  if (!swap) return value;
  if constexpr (sizeof(Bits) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(Bits) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(Bits) == 8) return __builtin_bswap64(value);
  return value;
}

template <class Stored, class Bits, class Out>
void convert_as(const std::byte* bytes, std::size_t count, bool swap, Out* out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<Out>(std::bit_cast<Stored>(load<Bits>(bytes + i * sizeof(Bits), swap)));
  }
}

template <class Out>
void convert_any(NumberType type, const std::byte* bytes, std::size_t count, Out* out) {
  const bool swap = type.order != std::endian::native;
  switch (type.kind) {
    case NumberKind::kBool:
      for (std::size_t i = 0; i < count; ++i) out[i] = bytes[i] == std::byte{0} ? Out(0) : Out(1);
      return;
    case NumberKind::kInt8:
      return convert_as<std::int8_t, std::uint8_t>(bytes, count, swap, out);
    case NumberKind::kUInt8:
      return convert_as<std::uint8_t, std::uint8_t>(bytes, count, swap, out);
    case NumberKind::kInt16:
      return convert_as<std::int16_t, std::uint16_t>(bytes, count, swap, out);
    case NumberKind::kUInt16:
      return convert_as<std::uint16_t, std::uint16_t>(bytes, count, swap, out);
    case NumberKind::kInt32:
      return convert_as<std::int32_t, std::uint32_t>(bytes, count, swap, out);
    case NumberKind::kUInt32:
      return convert_as<std::uint32_t, std::uint32_t>(bytes, count, swap, out);
    case NumberKind::kInt64:
      return convert_as<std::int64_t, std::uint64_t>(bytes, count, swap, out);
    case NumberKind::kUInt64:
      return convert_as<std::uint64_t, std::uint64_t>(bytes, count, swap, out);
    case NumberKind::kFloat16:
      for (std::size_t i = 0; i < count; ++i) out[i] = Out(float_from_half(load<std::uint16_t>(bytes + 2 * i, swap)));
      return;
    case NumberKind::kFloat32:
      return convert_as<float, std::uint32_t>(bytes, count, swap, out);
    case NumberKind::kFloat64:
      return convert_as<double, std::uint64_t>(bytes, count, swap, out);
  }
}

}  // namespace

std::size_t NumberType::size() const {
  switch (kind) {
    case NumberKind::kBool:
    case NumberKind::kInt8:
    case NumberKind::kUInt8:
      return 1;
    case NumberKind::kInt16:
    case NumberKind::kUInt16:
    case NumberKind::kFloat16:
      return 2;
    case NumberKind::kInt32:
    case NumberKind::kUInt32:
    case NumberKind::kFloat32:
      return 4;
    default:
      return 8;
  }
}

std::string_view NumberType::name() const {
  switch (kind) {
    case NumberKind::kBool:
      return "bool";
    case NumberKind::kInt8:
      return "int8";
    case NumberKind::kUInt8:
      return "uint8";
    case NumberKind::kInt16:
      return "int16";
    case NumberKind::kUInt16:
      return "uint16";
    case NumberKind::kInt32:
      return "int32";
    case NumberKind::kUInt32:
      return "uint32";
    case NumberKind::kInt64:
      return "int64";
    case NumberKind::kUInt64:
      return "uint64";
    case NumberKind::kFloat16:
      return "float16";
    case NumberKind::kFloat32:
      return "float32";
    case NumberKind::kFloat64:
      return "float64";
  }
  return "";
}

void convert(NumberType type, const std::byte* bytes, std::size_t count, float* out) {
  convert_any(type, bytes, count, out);
}
void convert(NumberType type, const std::byte* bytes, std::size_t count, double* out) {
  convert_any(type, bytes, count, out);
}

void check_declared_size(const Reader& reader, std::uint64_t declared_bytes, std::string_view what) {
  const auto left = reader.remaining();
  if (left && *left < declared_bytes) {
    throw Error(
        reader.name(),
        fmt::format("its header promises {} of {}, but {} follow", human_bytes(static_cast<double>(declared_bytes)),
                    what, human_bytes(static_cast<double>(*left))),
        "the file is truncated or damaged: fetch or make it again");
  }
}

FloatMatrix read_matrix(Reader& reader, NumberType type, std::size_t rows, std::size_t cols, std::string_view what) {
  const std::size_t count = checked_mul(rows, cols, reader.name());
  checked_mul(count, sizeof(double), reader.name());
  const std::size_t bytes = count * type.size();
  check_declared_size(reader, bytes, what);

  FloatMatrix matrix;
  // Where the length of the stream is known it was checked above; else room grows with what arrives.
  constexpr std::size_t kBlock = 1 << 16;
  if (reader.remaining()) matrix.reserve(count);
  const bool direct = type.kind == NumberKind::kFloat32 && type.order == std::endian::native;
  std::vector<std::byte> block(direct ? 0 : std::min(kBlock, count) * type.size());
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = std::min(direct && reader.remaining() ? count : kBlock, count - done);
    if (done + now > matrix.capacity()) matrix.reserve(std::min(count, std::max(2 * matrix.capacity(), done + now)));
    const std::string part = fmt::format("{} (from {} of {} numbers on)", what, done, count);
    if (direct) {
      reader.read_exact(std::as_writable_bytes(std::span(matrix.data() + done, now)), part);
    } else {
      reader.read_exact(std::span(block).first(now * type.size()), part);
      convert(type, block.data(), now, matrix.data() + done);
    }
    done += now;
  }
  matrix.reshape(rows, cols);
  return matrix;
}

}  // namespace cpfm
