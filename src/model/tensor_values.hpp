// Arrays of numbers in and out of tensor files, in the very type they have in memory.
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

#include "cpfm/error.hpp"
#include "cpfm/model.hpp"

namespace cpfm {

template <class T>
inline constexpr DType kDTypeOf = DType::kU8;
template <>
inline constexpr DType kDTypeOf<double> = DType::kF64;
template <>
inline constexpr DType kDTypeOf<float> = DType::kF32;
template <>
inline constexpr DType kDTypeOf<std::int64_t> = DType::kI64;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::kI32;

// `values` must stay alive until the file is saved.
template <class T>
void add_values(TensorFileWriter& file, const std::string& name, std::vector<std::uint64_t> shape,
                const std::vector<T>& values) {
  file.add(name, kDTypeOf<T>, std::move(shape), std::as_bytes(std::span(values)));
}

template <class T>
std::vector<T> read_values(const TensorFile& file, const std::string& name) {
  const TensorView& tensor = file.tensor(name);
  if (tensor.dtype != kDTypeOf<T>) {
    throw Error(fmt::format("tensor '{}'", name),
                fmt::format("is {} instead of {}", to_string(tensor.dtype), to_string(kDTypeOf<T>)),
                "the file is damaged or of another version");
  }
  std::vector<T> values(tensor.count());
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

}  // namespace cpfm
