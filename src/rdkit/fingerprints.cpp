// What is counted in a molecule: the surroundings of its atoms (Morgan fingerprints), and the atoms themselves.
#include <DataStructs/ExplicitBitVect.h>
#include <GraphMol/Fingerprints/MorganFingerprints.h>
#include <GraphMol/RWMol.h>

#include <memory>

#include "cpfm/interrupt.hpp"
#include "cpfm/molecule.hpp"
#include "cpfm/parallel.hpp"
#include "rdkit/rdkit.hpp"

namespace cpfm {

std::string by_rdkit::canonical_smiles(std::string_view smiles) { return write_smiles(*read_molecule(smiles)); }

void set_morgan_bits(const RDKit::ROMol& molecule, std::span<std::uint64_t, Fingerprints::kWords> words) {
  constexpr unsigned kRadius = 2;
  const auto bits = ask_rdkit("molecule", "make its fingerprint", [&] {
    return std::unique_ptr<ExplicitBitVect>(
        RDKit::MorganFingerprints::getFingerprintAsBitVect(molecule, kRadius, Fingerprints::kBits));
  });
  IntVect on;
  bits->getOnBits(on);
  for (const int bit : on) words[static_cast<std::size_t>(bit) / 64] |= std::uint64_t{1} << (bit % 64);
}

Fingerprints by_rdkit::morgan_fingerprints(std::span<const std::string> smiles) {
  constexpr std::size_t kAtOnce = 64;
  Fingerprints prints(smiles.size());
  parallel_for(smiles.size(), kAtOnce, [&](std::size_t begin, std::size_t end) {
    check_interrupt();
    for (std::size_t i = begin; i < end; ++i) set_morgan_bits(*read_molecule(smiles[i]), prints.row(i));
  });
  return prints;
}

Composition by_rdkit::composition(std::string_view smiles) {
  const std::unique_ptr<RDKit::RWMol> molecule = read_molecule(smiles);
  Composition counts;
  for (const RDKit::Atom* atom : molecule->atoms()) {
    if (atom->getAtomicNum() > 1) ++counts[atom->getSymbol()];
  }
  return counts;
}

}  // namespace cpfm
