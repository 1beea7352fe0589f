// SMILES to RDKit's molecules and back.
#include "rdkit/rdkit.hpp"

#include <GraphMol/SmilesParse/SmilesParse.h>
#include <GraphMol/SmilesParse/SmilesWrite.h>
#include <RDGeneral/RDLog.h>

#include <algorithm>
#include <mutex>
#include <string>

#include "base/text.hpp"
#include "cpfm/error.hpp"

namespace cpfm {

void silence_rdkit() {
  static std::once_flag silenced;
  std::call_once(silenced, [] { boost::logging::disable_logs("rdApp.*"); });
}

std::unique_ptr<RDKit::RWMol> parse_smiles(std::string_view smiles, bool remove_hydrogens) {
  silence_rdkit();
  const std::string where = "SMILES '" + printable(smiles) + "'";
  // RDKit takes what follows a blank for the molecule's name.
  const auto odd = std::find_if(smiles.begin(), smiles.end(), [](char c) { return c <= ' ' || c > '~'; });
  if (odd != smiles.end())
    throw Error(where, "character " + std::to_string(odd - smiles.begin() + 1) + " belongs to no SMILES");
  RDKit::SmilesParserParams reading;
  reading.allowCXSMILES = false;
  reading.parseName = false;
  reading.removeHs = remove_hydrogens;
  auto molecule = ask_rdkit(where, "read it", [&] {
    return std::unique_ptr<RDKit::RWMol>(RDKit::SmilesToMol(std::string(smiles), reading));
  });
  if (!molecule) throw Error(where, "RDKit cannot read it");
  return molecule;
}

std::unique_ptr<RDKit::RWMol> read_molecule(std::string_view smiles) {
  const std::string where = "SMILES '" + printable(smiles) + "'";
  if (smiles.empty()) throw Error("SMILES", "is empty", "one molecule, as in CCO");
  if (smiles.size() > kLongestSmiles)
    throw Error(where, std::to_string(smiles.size()) + " characters", "at most " + std::to_string(kLongestSmiles));
  std::unique_ptr<RDKit::RWMol> molecule = parse_smiles(smiles, true);
  if (molecule->getNumAtoms() == 0) throw Error(where, "RDKit cannot read it");
  return molecule;
}

std::string write_smiles(const RDKit::ROMol& molecule) {
  std::string smiles = ask_rdkit("molecule", "write it", [&] { return RDKit::MolToSmiles(molecule); });
  if (smiles.size() > kLongestSmiles)
    throw Error("molecule", "its SMILES has " + std::to_string(smiles.size()) + " characters, more than " +
                                std::to_string(kLongestSmiles));
  return smiles;
}

}  // namespace cpfm
