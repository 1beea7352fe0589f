// A 64-bit hash of what a dataset holds, to notice that a file goes with other data. No protection against malice.
#include <cstring>
#include <string_view>

#include "cpfm/data.hpp"
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

std::uint64_t hash_bytes(std::uint64_t hash, std::span<const std::byte> bytes) {
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  return parallel_reduce(
      bytes.size(), kChunk, mix(hash ^ bytes.size()),
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

std::uint64_t hash_text(std::uint64_t hash, std::string_view text) {
  return hash_bytes(hash, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace

std::uint64_t fingerprint(std::span<const std::byte> bytes) { return hash_bytes(0, bytes); }

std::uint64_t fingerprint(const Dataset& data) {
  std::uint64_t hash = mix(data.dim());
  hash = hash_bytes(hash, std::as_bytes(data.samples.values()));
  if (data.labels) {
    hash = hash_bytes(hash, std::as_bytes(std::span(data.labels->ids)));
    for (const std::string& name : data.labels->names) hash = hash_text(hash, name);
  }
  for (const Property& property : data.properties) {
    hash = hash_text(hash, property.name);
    hash = hash_bytes(hash, std::as_bytes(std::span(property.values)));
  }
  for (const std::string& smiles : data.molecules) hash = hash_text(hash, smiles);
  return hash;
}

}  // namespace cpfm
