// Writing a tensor file. Tensors are laid out by falling element size behind a header padded to 8 bytes, so that every
// tensor is aligned for its own type in the mapped file; the same calls give the same bytes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/atomic_file.hpp"
#include "base/checked.hpp"
#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/model.hpp"
#include "model/tensor_header.hpp"

namespace cpfm {
namespace {

// `text` as a JSON string, quotes included.
std::string quoted(const std::string& text, const std::string& where) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::type_error&) {
    throw Error(where, fmt::format("'{}' is not valid UTF-8", printable(text)));
  }
}

std::string metadata_place(const std::string& key) { return fmt::format("metadata '{}'", printable(key)); }

}  // namespace

void TensorFileWriter::add(const std::string& name, DType dtype, std::vector<std::uint64_t> shape,
                           std::span<const std::byte> bytes) {
  const std::string where = tensor_place("", name);
  if (name.empty()) throw Error("tensor name", "is empty");
  if (name == kMetadataName) throw Error(where, "the name is reserved", "use set_metadata() or another name");
  (void)quoted(name, "tensor name");
  if (std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.name == name; })) {
    throw Error(where, "was added before", "names are unique");
  }
  if (const std::uint64_t wanted = tensor_bytes(dtype, shape, where); wanted != bytes.size()) {
    throw Error(where, fmt::format("{} bytes were given, but {} of shape [{}] has {}", bytes.size(), to_string(dtype),
                                   fmt::join(shape, ", "), wanted));
  }
  entries_.push_back({name, {dtype, std::move(shape), bytes}});
}

void TensorFileWriter::add(const std::string& name, std::vector<std::uint64_t> shape, std::span<const float> values) {
  add(name, DType::kF32, std::move(shape), std::as_bytes(values));
}

void TensorFileWriter::add(const std::string& name, std::vector<std::uint64_t> shape,
                           std::span<const std::int64_t> values) {
  add(name, DType::kI64, std::move(shape), std::as_bytes(values));
}

void TensorFileWriter::set_metadata(const std::string& key, const std::string& value) {
  (void)quoted(key, "metadata key");
  (void)quoted(value, metadata_place(key));
  metadata_[key] = value;
}

void TensorFileWriter::save(const std::filesystem::path& file) const {
  std::vector<const Entry*> order;
  for (const Entry& entry : entries_) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    return byte_size(a->tensor.dtype) > byte_size(b->tensor.dtype);
  });

  // Whatever version a copied set of metadata carries: this is the layout that we write.
  std::map<std::string, std::string, std::less<>> metadata(metadata_.begin(), metadata_.end());
  metadata[std::string(kFormatVersionKey)] = std::to_string(kFormatVersion);
  std::map<std::string, TensorView, std::less<>> tensors;
  for (const Entry& entry : entries_) tensors.emplace(entry.name, entry.tensor);
  metadata[std::string(kChecksumKey)] = checksum(metadata, tensors);
  std::string header = fmt::format("{{\"{}\":{{", kMetadataName);
  for (const auto& [key, value] : metadata) {
    if (header.back() != '{') header += ',';
    header += quoted(key, "metadata key") + ':' + quoted(value, metadata_place(key));
  }
  header += '}';
  std::uint64_t end = 0;
  for (const Entry* entry : order) {
    const TensorView& tensor = entry->tensor;
    const std::uint64_t begin = end;
    end = checked_add(begin, tensor.bytes.size(), file.string());
    header += fmt::format(",{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                          quoted(entry->name, "tensor name"), to_string(tensor.dtype), fmt::join(tensor.shape, ","),
                          begin, end);
  }
  header += '}';
  header.append((8 - (kLengthBytes + header.size()) % 8) % 8, ' ');
  if (header.size() > kMaxHeader) {
    throw Error(file.string(), fmt::format("the names, shapes and metadata take {} bytes", header.size()),
                fmt::format("at most {} fit into the header", kMaxHeader));
  }

  AtomicFile out(file);
  const std::uint64_t length = header.size();
  out.write_values(std::span(&length, 1));
  out.write(header);
  for (const Entry* entry : order) out.write(entry->tensor.bytes);
  out.commit();
}

}  // namespace cpfm
