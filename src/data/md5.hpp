// MD5 (RFC 1321), because it is what the publishers of MNIST and CIFAR-10 list. One side of the comparison is a
// constant of ours, so known collisions do not help anyone to pass other bytes for the dataset: that takes a second
// preimage.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace cpfm {

// 32 lower-case hexadecimal digits.
std::string md5_hex(std::span<const std::byte> bytes);
// Of a file's bytes; throws cpfm::Error when it cannot be read.
std::string md5_of_file(const std::filesystem::path& file);

}  // namespace cpfm
