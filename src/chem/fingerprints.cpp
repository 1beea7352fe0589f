// Morgan fingerprints by RDKit, and the likeness of two by popcount.
#include <DataStructs/ExplicitBitVect.h>
#include <GraphMol/Fingerprints/MorganFingerprints.h>
#include <GraphMol/RWMol.h>
#include <GraphMol/SmilesParse/SmilesWrite.h>

#include <memory>

#include "chem/rdkit.hpp"
#include "cpfm/molecule.hpp"
#include "cpfm/parallel.hpp"

namespace cpfm {

bool has_rdkit() { return true; }

std::string canonical_smiles(std::string_view smiles) { return RDKit::MolToSmiles(*read_molecule(smiles)); }

Fingerprints morgan_fingerprints(std::span<const std::string> smiles) {
  constexpr unsigned kRadius = 2;
  constexpr std::size_t kAtOnce = 64;
  Fingerprints prints(smiles.size());
  parallel_for(smiles.size(), kAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::unique_ptr<RDKit::RWMol> molecule = read_molecule(smiles[i]);
      const std::unique_ptr<ExplicitBitVect> bits(
          RDKit::MorganFingerprints::getFingerprintAsBitVect(*molecule, kRadius, Fingerprints::kBits));
      IntVect on;
      bits->getOnBits(on);
      for (const int bit : on) prints.row(i)[static_cast<std::size_t>(bit) / 64] |= std::uint64_t{1} << (bit % 64);
    }
  });
  return prints;
}

}  // namespace cpfm
