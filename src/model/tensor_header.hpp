// What the reader and the writer of tensor files share: the limits of the layout, and the JSON header as it stands in
// the file, before anything in it is compared with the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cpfm/model.hpp"

namespace cpfm {

inline constexpr std::size_t kLengthBytes = 8;  // the header's length comes first, little-endian
inline constexpr std::size_t kMaxHeader = std::size_t{1} << 20;
inline constexpr std::string_view kMetadataName = "__metadata__";

// One entry of the header: well-formed, but not yet checked against the data.
struct HeaderTensor {
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  // data_offsets: half open, counted from the first byte behind the header
};

struct TensorHeader {
  std::map<std::string, HeaderTensor> tensors;
  std::map<std::string, std::string, std::less<>> metadata;
};

// Throws cpfm::Error for anything but an object of tensors and one object of texts. `file` is for messages. Memory
// stays proportional to `json`, however deep or odd it is.
TensorHeader parse_tensor_header(std::string_view json, const std::string& file);

// The format version that the metadata carry, found without minding anything else: what looks wrong in a newer file may
// be what is new. Nothing where there is none, or where the JSON ends before it.
std::optional<std::string> find_format_version(std::string_view json);

std::optional<DType> parse_dtype(std::string_view name);
std::string known_dtypes();  // "F64, F32, …"

// Bytes of a tensor; cpfm::Error when the sizes overflow. A zero among them does not excuse the others: no order of
// multiplication may overflow later.
std::uint64_t tensor_bytes(DType dtype, const std::vector<std::uint64_t>& shape, const std::string& where);

// What stands under kChecksumKey.
std::string checksum(const std::map<std::string, std::string, std::less<>>& metadata,
                     const std::map<std::string, TensorView, std::less<>>& tensors);

// "file, tensor 'name'", printable.
std::string tensor_place(const std::string& file, std::string_view name);

}  // namespace cpfm
