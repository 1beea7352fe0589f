// SELFIES from bytes: after an even first byte the rest is the text, after an odd one each byte is a symbol of the
// table below, so that long strings of known symbols come up too. make_corpus.py knows the table.
#include <array>
#include <string>

#include "fuzz/molecules.hpp"

namespace {

constexpr std::array<const char*, 64> kSymbols = {
    "[C]",       "[=C]",       "[#C]",       "[N]",        "[=N]",       "[#N]",       "[O]",       "[=O]",
    "[S]",       "[=S]",       "[P]",        "[=P]",       "[F]",        "[Cl]",       "[Br]",      "[B]",
    "[H]",       "[N+1]",      "[=N+1]",     "[O-1]",      "[NH1]",      "[C@]",       "[C@@]",     "[C@H1]",
    "[C@@H1]",   "[/C]",       "[\\C]",      "[/N]",       "[\\F]",      "[13C]",      "[CH2]",     "[CH0]",
    "[Fe]",      "[Na+1]",     "[=Se]",      "[S+1]",      "[P-1]",      "[B-1]",      "[C-1]",     "[CH4]",
    "[Branch1]", "[=Branch1]", "[#Branch1]", "[Branch2]",  "[=Branch2]", "[#Branch2]", "[Branch3]", "[=Branch3]",
    "[Ring1]",   "[=Ring1]",   "[#Ring1]",   "[Ring2]",    "[=Ring2]",   "[#Ring2]",   "[Ring3]",   "[=Ring3]",
    "[-/Ring1]", "[\\-Ring1]", "[//Ring1]",  "[/\\Ring2]", "[epsilon]",  "[nop]",      ".",         "[#Ring3]"};

// So few atoms have no branch and no ring that is too long to be counted.
constexpr std::size_t kAlwaysEncoded = 100;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cpfm;
  if (size == 0) return 0;
  const bool by_symbol = data[0] % 2 == 1;
  return fuzz::run(data + 1, size - 1, [&](std::span<const std::byte> bytes) {
    std::string selfies;
    for (const std::byte byte : bytes) {
      if (by_symbol)
        selfies += kSymbols[static_cast<std::size_t>(byte) % kSymbols.size()];
      else
        selfies += static_cast<char>(byte);
    }
    const std::string smiles =
        by_symbol ? fuzz::must("known symbols are a molecule", [&] { return selfies_to_smiles(selfies); })
                  : selfies_to_smiles(selfies);
    if (smiles.empty()) return;
    const chem::MoleculeGraph molecule =
        fuzz::must("a decoded molecule can be read", [&] { return chem::read_smiles(smiles); });
    const auto encode = [&] { return smiles_to_selfies(smiles); };
    fuzz::check_encoding(
        molecule.atoms.size() <= kAlwaysEncoded ? fuzz::must("a decoded molecule can be encoded", encode) : encode(),
        molecule);
  });
}
