// What the files that see RDKit share.
#pragma once

#include <GraphMol/RWMol.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "cpfm/chem.hpp"
#include "cpfm/error.hpp"
#include "cpfm/molecule.hpp"

namespace cpfm {

// What the public calls of these names come to.
namespace by_rdkit {
decltype(cpfm::kekulised) kekulised;
decltype(cpfm::canonical_smiles) canonical_smiles;
decltype(cpfm::morgan_fingerprints) morgan_fingerprints;
decltype(cpfm::molecule_descriptors) molecule_descriptors;
decltype(cpfm::composition) composition;
decltype(cpfm::read_molecules) read_molecules;
decltype(cpfm::molecule_sheet_png) molecule_sheet_png;
decltype(cpfm::molecule_sheet_svg) molecule_sheet_svg;
decltype(cpfm::write_sdf) write_sdf;
}  // namespace by_rdkit

// RDKit's time grows with the cube of a chain's length: half a second at this one.
inline constexpr std::size_t kLongestSmiles = 1'000;

// What is wrong is told by our errors, not by lines that RDKit prints between them.
void silence_rdkit();

// What `call` returns; what RDKit throws in it is an Error about `where`, and means that it `cannot` do it.
template <class Call>
auto ask_rdkit(const std::string& where, const char* cannot, const Call& call) {
  try {
    return call();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(where, std::string("RDKit cannot ") + cannot + ": " + printable(error.what(), 200));
  }
}

// What RDKit reads in a string of any length; an Error, whose subject is the string, where it cannot.
std::unique_ptr<RDKit::RWMol> parse_smiles(std::string_view smiles, bool remove_hydrogens);

// The molecule of a SMILES string, sanitized. An Error, whose subject is the string, where there is none: characters of
// no SMILES, no atoms, or what RDKit cannot read.
std::unique_ptr<RDKit::RWMol> read_molecule(std::string_view smiles);

// The one way RDKit writes a molecule. An Error where that is longer than what read_molecule() takes.
std::string write_smiles(const RDKit::ROMol& molecule);

// Sets the bits of its Morgan fingerprint.
void set_morgan_bits(const RDKit::ROMol& molecule, std::span<std::uint64_t, Fingerprints::kWords> words);

}  // namespace cpfm
