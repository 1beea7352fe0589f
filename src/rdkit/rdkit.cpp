// SMILES to RDKit's molecules.
#include "rdkit/rdkit.hpp"

#include <GraphMol/SmilesParse/SmilesParse.h>
#include <RDGeneral/RDLog.h>

#include <algorithm>
#include <exception>
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
  try {
    std::unique_ptr<RDKit::RWMol> molecule(RDKit::SmilesToMol(std::string(smiles), reading));
    if (molecule) return molecule;
  } catch (const std::exception& error) {
    throw Error(where, "RDKit cannot read it: " + printable(error.what(), 200));
  }
  throw Error(where, "RDKit cannot read it");
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

}  // namespace cpfm
