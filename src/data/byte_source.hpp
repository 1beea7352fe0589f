// Bytes from anywhere (file, stdin, memory, a gzip or deflate stream around those) behind one read call, so that every
// parser takes every transport and a fuzzer can feed it from memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpfm/progress.hpp"

namespace cpfm {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to out.size() bytes; 0 only at the end.
  virtual std::size_t read(std::span<std::byte> out) = 0;
  // Bytes not yet read, where that is known beforehand (plain files, memory).
  virtual std::optional<std::uint64_t> remaining() const { return std::nullopt; }
};

std::unique_ptr<ByteSource> memory_source(std::span<const std::byte> bytes);
// A whole plain file, or `length` bytes of it from `offset`.
std::unique_ptr<ByteSource> file_source(const std::filesystem::path& file);
std::unique_ptr<ByteSource> file_source(const std::filesystem::path& file, std::uint64_t offset, std::uint64_t length);
std::unique_ptr<ByteSource> stdin_source();
// Passes bytes through and tells how many of them were read; the caller finishes `progress`.
std::unique_ptr<ByteSource> watched_source(std::unique_ptr<ByteSource> source, Progress& progress);
enum class Deflate { kRaw, kGzip };
// `name` is for messages.
std::unique_ptr<ByteSource> inflate_source(std::unique_ptr<ByteSource> compressed, Deflate kind, std::string name);
// Passes bytes through and checks their CRC-32 once the end is read.
std::unique_ptr<ByteSource> crc_source(std::unique_ptr<ByteSource> source, std::uint32_t expected, std::string name);

enum class Gzip { kUnwrap, kKeep };

// A buffered reader with the calls parsers want; every shortfall is an Error that names the file.
class Reader {
 public:
  // kUnwrap: what begins like gzip is unpacked. kKeep: the bytes as they are, for parts of a larger file.
  Reader(std::unique_ptr<ByteSource> source, std::string name, Gzip gzip = Gzip::kUnwrap);

  const std::string& name() const { return name_; }
  bool unwrapped_gzip() const { return unwrapped_; }
  // Up to `count` (≤ 4096) coming bytes without consuming them; fewer only at the end.
  std::string_view peek(std::size_t count);
  // Also what makes a compressed stream check its end: a parser that has read all it wants asks this last.
  bool at_end() { return peek(1).empty(); }
  // Up to out.size() bytes; 0 only at the end.
  std::size_t read_some(std::span<std::byte> out);
  // Exactly out.size() bytes; `what` ("header", "row 12") names them when the file ends too early.
  void read_exact(std::span<std::byte> out, std::string_view what);
  // What is buffered now, refilled when empty; empty at the end. For scanners; consume() what was used.
  std::string_view buffered();
  void consume(std::size_t count);
  // Unread bytes, where known.
  std::optional<std::uint64_t> remaining() const;
  std::uint64_t position() const { return position_; }

 private:
  void fill();

  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t position_ = 0;
  bool unwrapped_ = false;
};

// The file at `path`, or stdin for "-". Throws cpfm::Error when it cannot be opened or is a folder. `progress` (may be
// null) is told about the bytes of the file, compressed or not; the caller finishes it.
Reader open_reader(const std::string& path, Progress* progress = nullptr);

// The size of a file that must be read from several places. Throws cpfm::Error for a pipe.
std::uint64_t plain_file_size(const std::filesystem::path& file);

// The extension in lower case, with its point; for a gzipped file ("a.csv.gz") the one before ".gz".
std::string content_extension(const std::string& name);

}  // namespace cpfm
