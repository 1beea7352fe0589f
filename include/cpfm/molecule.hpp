// Molecules through RDKit: reading them as a Dataset, fingerprints and how much they share, drawing, SDF. Without RDKit
// every call here throws an Error that says how to get it (has_rdkit() asks).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpfm/data.hpp"

namespace cpfm {

bool has_rdkit();

// The one way RDKit writes this molecule: equal for equal molecules. An Error where RDKit cannot read it.
std::string canonical_smiles(std::string_view smiles);

// Morgan fingerprints: which surroundings of radius 2 a molecule's atoms have, hashed to 2048 bits, 64 a word.
class Fingerprints {
 public:
  static constexpr std::size_t kBits = 2048, kWords = kBits / 64;

  Fingerprints() = default;
  explicit Fingerprints(std::size_t count) : words_(count * kWords) {}
  std::size_t size() const { return words_.size() / kWords; }
  std::span<std::uint64_t, kWords> row(std::size_t i) {
    return std::span<std::uint64_t, kWords>(&words_[i * kWords], kWords);
  }
  std::span<const std::uint64_t, kWords> row(std::size_t i) const {
    return std::span<const std::uint64_t, kWords>(&words_[i * kWords], kWords);
  }

 private:
  std::vector<std::uint64_t> words_;
};
// On all threads; an Error names the first molecule that cannot be read.
Fingerprints morgan_fingerprints(std::span<const std::string> smiles);
// Shared bits over all bits; two empty fingerprints are alike: 1.
double tanimoto(std::span<const std::uint64_t, Fingerprints::kWords> a,
                std::span<const std::uint64_t, Fingerprints::kWords> b);

}  // namespace cpfm
