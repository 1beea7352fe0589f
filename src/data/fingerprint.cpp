// A 64-bit hash of what a dataset holds, to notice that a file goes with other data. No protection against malice.
#include "base/hash.hpp"
#include "cpfm/data.hpp"

namespace cpfm {

std::uint64_t fingerprint(std::span<const std::byte> bytes) { return hash_bytes(0, bytes); }

std::uint64_t fingerprint(const Dataset& data) {
  std::uint64_t hash = hash_bytes(data.dim(), {});
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
