// Small files read and written whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.hpp"

namespace cpfm::app {

// Empty where there is none.
inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return in ? std::string(std::istreambuf_iterator<char>(in), {}) : std::string();
}
inline std::vector<std::byte> bytes_of(const std::filesystem::path& file) {
  const std::string content = content_of(file);
  const auto* const data = reinterpret_cast<const std::byte*>(content.data());
  return {data, data + content.size()};
}

inline void write_whole(const std::filesystem::path& file, const std::string& text) {
  AtomicFile out(file);
  out.write(text);
  out.commit();
}
inline void write_whole(const std::filesystem::path& file, const std::vector<std::byte>& bytes) {
  AtomicFile out(file);
  out.write(std::span<const std::byte>(bytes));
  out.commit();
}

}  // namespace cpfm::app
