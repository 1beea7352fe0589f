// The idx format of MNIST: two zero bytes, a type, the number of dimensions, the dimensions and the values, big-endian.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/checked.hpp"
#include "data/array_shape.hpp"
#include "data/number_stream.hpp"
#include "data/readers.hpp"

namespace cpfm {
namespace {

NumberType idx_type(int code, const std::string& file) {
  switch (code) {
    case 0x08:
      return {NumberKind::kUInt8, std::endian::big};
    case 0x09:
      return {NumberKind::kInt8, std::endian::big};
    case 0x0B:
      return {NumberKind::kInt16, std::endian::big};
    case 0x0C:
      return {NumberKind::kInt32, std::endian::big};
    case 0x0D:
      return {NumberKind::kFloat32, std::endian::big};
    case 0x0E:
      return {NumberKind::kFloat64, std::endian::big};
    default:
      throw Error(file, fmt::format("has the idx type {:#04x}", code), "0x08, 0x09 and 0x0B to 0x0E are known");
  }
}

}  // namespace

Dataset parse_idx(Reader& reader, const ReadOptions& options) {
  std::array<std::byte, 4> magic;
  reader.read_exact(magic, "idx header");
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0}) {
    throw Error(reader.name(), "is not an idx file: it does not begin with two zero bytes");
  }
  const NumberType type = idx_type(std::to_integer<int>(magic[2]), reader.name());
  std::vector<std::uint64_t> dims(std::to_integer<std::size_t>(magic[3]));
  for (std::uint64_t& dim : dims) {
    std::array<std::byte, 4> bytes;
    reader.read_exact(bytes, "idx header");
    dim = 0;
    for (const std::byte b : bytes) dim = dim << 8 | std::to_integer<std::uint64_t>(b);
  }
  ArrayShape shape = interpret_shape(dims, reader.name());
  const std::size_t bytes = checked_mul(checked_mul(shape.rows, shape.cols, reader.name()), type.size(), reader.name());
  check_declared_size(reader, bytes, "samples");
  if (reader.remaining() && *reader.remaining() > bytes) {
    throw Error(reader.name(), fmt::format("has {} bytes more than its header says", *reader.remaining() - bytes),
                "the file is damaged: fetch or make it again");
  }
  if (options.limit) shape.rows = std::min(shape.rows, *options.limit);
  Dataset data;
  data.format = "idx";
  data.dtype = type.name();
  data.image = shape.image;
  data.samples = read_matrix(reader, type, shape.rows, shape.cols, "samples");
  if (shape.channels_last) move_channels_first(data.samples, *shape.image);
  if (shape.image && type.kind == NumberKind::kUInt8) data.value_range = {0, 255};
  return data;
}

std::string idx_sibling_labels(const std::string& images) {
  const std::filesystem::path path(images);
  std::string name = path.filename().string();
  const auto replace = [&](const std::string& from, const std::string& to) {
    const std::size_t at = name.find(from);
    if (at == std::string::npos) return false;
    name.replace(at, from.size(), to);
    return true;
  };
  if (!replace("images", "labels")) return {};
  (void)(replace("idx3", "idx1") || replace("idx4", "idx1"));
  std::vector<std::string> candidates{name};
  candidates.push_back(name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name + ".gz");
  for (const std::string& candidate : candidates) {
    const std::filesystem::path sibling = path.parent_path() / candidate;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(sibling, ignored)) return sibling.string();
  }
  return {};
}

}  // namespace cpfm
