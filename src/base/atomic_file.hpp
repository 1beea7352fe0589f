// Everything we write goes through here: a temporary file in the same folder, fsync, rename, fsync of the folder. Until
// commit() returns, and after any failure or kill, the old file is what the name holds.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace cpfm {

class AtomicFile {
 public:
  // Opens the temporary file. A symbolic link is followed, also to where no file is yet; a device or pipe
  // (/dev/stdout) is written directly; a file without the right to write is refused.
  // Temporary files that a killed writer of the same target left behind are removed.
  explicit AtomicFile(const std::filesystem::path& target);
  ~AtomicFile();  // without commit(): the temporary file is removed, the target untouched
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  template <class T>
  void write_values(std::span<const T> values) {
    write(std::as_bytes(values));
  }
  void commit();

 private:
  [[noreturn]] void fail(const char* doing, int error) const;
  void remove_leftovers() const;

  std::filesystem::path target_, temporary_;
  int fd_ = -1;
  bool direct_ = false;
};

}  // namespace cpfm
