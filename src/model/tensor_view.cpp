// Element types of tensors and their conversion to float. Foreign files may put a tensor at any byte, so values are
// copied out of the bytes, never read in place.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/checked.hpp"
#include "base/half.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "cpfm/model.hpp"
#include "model/tensor_header.hpp"

namespace cpfm {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors are little-endian in the file and used as they are");

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<DTypeInfo, 8> kDTypes{{{DType::kF64, "F64", 8},
                                            {DType::kF32, "F32", 4},
                                            {DType::kF16, "F16", 2},
                                            {DType::kBF16, "BF16", 2},
                                            {DType::kI64, "I64", 8},
                                            {DType::kI32, "I32", 4},
                                            {DType::kU8, "U8", 1},
                                            {DType::kBool, "BOOL", 1}}};

const DTypeInfo& info(DType dtype) {
  const auto found = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeInfo& i) { return i.dtype == dtype; });
  CPFM_ASSERT(found != kDTypes.end(), "every DType is in the table");
  return *found;
}

// Product of the sizes, 0 when one is 0, an Error when the product of the others does not fit.
std::uint64_t element_count(const std::vector<std::uint64_t>& shape, const std::string& where) {
  std::uint64_t product = 1;
  bool empty = false;
  for (const std::uint64_t size : shape) {
    if (size == 0) {
      empty = true;
    } else {
      product = checked_mul(product, size, where);
    }
  }
  return empty ? 0 : product;
}

template <class T, class Convert>
void convert(std::span<const std::byte> bytes, std::vector<float>& out, Convert to_float) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = to_float(value);
  }
}

}  // namespace

std::size_t byte_size(DType dtype) { return info(dtype).bytes; }

std::string_view to_string(DType dtype) { return info(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  const auto found = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeInfo& i) { return i.name == name; });
  if (found == kDTypes.end()) return std::nullopt;
  return found->dtype;
}

std::string known_dtypes() {
  std::string list;
  for (const DTypeInfo& i : kDTypes) list += fmt::format("{}{}", list.empty() ? "" : ", ", i.name);
  return list;
}

std::uint64_t tensor_bytes(DType dtype, const std::vector<std::uint64_t>& shape, const std::string& where) {
  return checked_mul(element_count(shape, where), byte_size(dtype), where);
}

std::string checksum(const std::map<std::string, std::string, std::less<>>& metadata,
                     const std::map<std::string, TensorView, std::less<>>& tensors) {
  std::uint64_t hash = 0;
  for (const auto& [key, value] : metadata) {
    if (key != kChecksumKey) hash = hash_text(hash_text(hash, key), value);
  }
  for (const auto& [name, tensor] : tensors) {
    hash = hash_text(hash_text(hash, name), to_string(tensor.dtype));
    hash = hash_bytes(hash, std::as_bytes(std::span(tensor.shape)));
    hash = hash_bytes(hash, tensor.bytes);
  }
  return fmt::format("{:016x}", hash);
}

std::string tensor_place(const std::string& file, std::string_view name) {
  return fmt::format("{}{}tensor '{}'", file, file.empty() ? "" : ", ", printable(name));
}

std::uint64_t TensorView::count() const { return element_count(shape, "tensor shape"); }

std::vector<float> TensorView::to_floats() const {
  if (tensor_bytes(dtype, shape, "tensor shape") != bytes.size()) {
    throw Error("tensor",
                fmt::format("{} bytes do not fit its shape, {} × {}", bytes.size(), count(), to_string(dtype)));
  }
  std::vector<float> out(count());
  const auto plain = [](auto value) { return static_cast<float>(value); };
  switch (dtype) {
    case DType::kF64:
      convert<double>(bytes, out, plain);
      break;
    case DType::kF32:
      convert<float>(bytes, out, plain);
      break;
    case DType::kF16:
      convert<std::uint16_t>(bytes, out, float_from_half);
      break;
    case DType::kBF16:
      convert<std::uint16_t>(bytes, out, float_from_bfloat16);
      break;
    case DType::kI64:
      convert<std::int64_t>(bytes, out, plain);
      break;
    case DType::kI32:
      convert<std::int32_t>(bytes, out, plain);
      break;
    case DType::kU8:
      convert<std::uint8_t>(bytes, out, plain);
      break;
    case DType::kBool:
      convert<std::uint8_t>(bytes, out, [](std::uint8_t b) { return b == 0 ? 0.0f : 1.0f; });
      break;
  }
  return out;
}

}  // namespace cpfm
