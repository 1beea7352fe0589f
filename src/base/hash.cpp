#include "base/hash.hpp"

#include <algorithm>
#include <cstring>

#include "cpfm/parallel.hpp"

namespace cpfm {
namespace {

// The finaliser of SplitMix64: every bit of the input moves every bit of the result.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t hash_bytes(std::uint64_t before, std::span<const std::byte> bytes) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  return parallel_reduce(
      bytes.size(), kChunk, mix(before ^ bytes.size()),
      [&](std::size_t begin, std::size_t end) {
        std::uint64_t part = 0;
        for (std::size_t at = begin; at < end; at += 8) {
          std::uint64_t word = 0;
          std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, end - at));
          part = mix(part ^ word);
        }
        return part;
      },
      [](std::uint64_t a, std::uint64_t b) { return mix(a ^ b); });
}

std::uint64_t hash_text(std::uint64_t before, std::string_view text) {
  return hash_bytes(before, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace cpfm
