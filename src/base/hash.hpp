// A 64-bit hash of bytes, to notice that they have changed. No protection against malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cpfm {

// Of what was hashed before and of these bytes, on all threads; the same for any number of them.
std::uint64_t hash_bytes(std::uint64_t before, std::span<const std::byte> bytes);
std::uint64_t hash_text(std::uint64_t before, std::string_view text);

}  // namespace cpfm
