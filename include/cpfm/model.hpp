// The file layer of models and couplings: named tensors and text metadata in the safetensors layout (8-byte
// little-endian header length, JSON header, raw little-endian tensors), readable by any safetensors reader and never
// executing anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpfm/error.hpp"

namespace cpfm {

enum class DType { kF64, kF32, kF16, kBF16, kI64, kI32, kU8, kBool };
std::size_t byte_size(DType dtype);
std::string_view to_string(DType dtype);  // safetensors' names: "F64", "F32", …, "BOOL"

// Newest layout of cpfm's own files that this build understands, kept in the metadata under kFormatVersionKey.
inline constexpr int kFormatVersion = 1;
inline constexpr std::string_view kFormatVersionKey = "cpfm.format_version";
// Metadata of what we write: a hash of the rest of them and of all tensors, as 16 hexadecimal digits. Whoever changes a
// tensor with another program leaves this key out; a file without it is not compared with what was written.
inline constexpr std::string_view kChecksumKey = "cpfm.checksum";

struct TensorView {
  DType dtype = DType::kF32;
  std::vector<std::uint64_t> shape;  // empty: a scalar
  std::span<const std::byte> bytes;  // little-endian, C order

  std::uint64_t count() const;           // number of elements
  std::vector<float> to_floats() const;  // converted from any dtype
};

// Collects tensors and writes them atomically. Views must stay alive until save().
class TensorFileWriter {
 public:
  // A name given twice, an empty name, the reserved "__metadata__", or bytes that do not fit dtype × shape:
  // cpfm::Error.
  void add(const std::string& name, DType dtype, std::vector<std::uint64_t> shape, std::span<const std::byte> bytes);
  void add(const std::string& name, std::vector<std::uint64_t> shape, std::span<const float> values);
  void add(const std::string& name, std::vector<std::uint64_t> shape, std::span<const std::int64_t> values);
  void set_metadata(const std::string& key, const std::string& value);
  // Adds the format version and the checksum, writes to a temporary file, syncs and renames. The header may not exceed
  // 1 MiB.
  void save(const std::filesystem::path& file) const;

 private:
  struct Entry {
    std::string name;
    TensorView tensor;
  };
  std::vector<Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

// Of a file whose bytes are not those of a tensor file, or not all of them, or not those that were written.
class DamagedFile : public Error {
 public:
  explicit DamagedFile(const Error& error) : Error(error) {}
};

// A memory-mapped file, fully checked on opening: header ≤ 1 MiB, known dtypes, shapes that multiply without overflow,
// offsets contiguous from 0 to the end of the file, and where there is a checksum, the bytes that were written. Views
// live as long as the TensorFile. (As with any mapped file, another program that truncates it in place meanwhile kills
// the reader; we only ever replace files whole.)
class TensorFile {
 public:
  // Throws DamagedFile that says what is wrong with its bytes; Error where it cannot be read at all, or its format
  // version is newer than kFormatVersion.
  static TensorFile open(const std::filesystem::path& file);
  // The same checks on bytes in memory, which must outlive the result. `name` is for messages.
  static TensorFile parse(std::span<const std::byte> bytes, const std::string& name);

  const std::map<std::string, TensorView, std::less<>>& tensors() const { return tensors_; }
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }
  // Throws cpfm::Error with the nearest name when there is none.
  const TensorView& tensor(std::string_view name) const;
  const std::string& metadata(std::string_view key) const;
  int format_version() const { return format_version_; }  // 0: not one of ours
  std::uint64_t file_size() const { return file_size_; }

 private:
  void check(std::span<const std::byte> bytes);

  std::string name_;
  std::shared_ptr<const void> mapping_;
  std::map<std::string, TensorView, std::less<>> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
  int format_version_ = 0;
  std::uint64_t file_size_ = 0;
};

}  // namespace cpfm
