// Small files for tests, built byte by byte, and the text of the error something ends with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cpfm/error.hpp"

namespace cpfm::test {

inline void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream out(file, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(out.good()) << file;
}

inline std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// A tensor file whose checksum is not looked at, so that damage reaches those who read the tensors.
inline std::string without_checksum(std::string bytes) {
  const std::string key = "cpfm.checksum";
  const std::size_t at = bytes.find(key);
  if (at == std::string::npos) {
    ADD_FAILURE() << "there is no " << key;
  } else {
    bytes[at + key.size() - 1] = 'x';
  }
  return bytes;
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// The bytes of each value reversed.
template <class T>
std::string raw_big_endian(const std::vector<T>& values) {
  std::string bytes = raw(values);
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T))
    std::reverse(bytes.begin() + at, bytes.begin() + at + sizeof(T));
  return bytes;
}

// A version-1 npy file; `shape` as Python writes it: "(2, 3)".
inline std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                       bool fortran = false) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }\n";
  const auto length = static_cast<std::uint16_t>(header.size());
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes.append(reinterpret_cast<const char*>(&length), 2);
  return bytes + header + data;
}

// An idx file of unsigned bytes.
inline std::string idx(const std::vector<std::uint32_t>& dims, const std::string& data, char type = 0x08) {
  std::string bytes{0, 0, type, static_cast<char>(dims.size())};
  return bytes + raw_big_endian(dims) + data;
}

// What() of the cpfm::Error that `act` throws; a test failure when it throws none.
template <class Act>
std::string error_of(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

#define EXPECT_CONTAINS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << "in: " << (text)

}  // namespace cpfm::test
