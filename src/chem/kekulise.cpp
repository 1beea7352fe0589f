// Aromatic SMILES to single and double bonds, by RDKit. The only file of the SELFIES code that sees it.
#include <GraphMol/MolOps.h>
#include <GraphMol/RWMol.h>
#include <GraphMol/SmilesParse/SmilesParse.h>
#include <GraphMol/SmilesParse/SmilesWrite.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "cpfm/chem.hpp"
#include "cpfm/error.hpp"

namespace cpfm {
namespace {

// RDKit's time grows with the cube of a chain's length: half a second at this one.
constexpr std::size_t kLongest = 1'000;

}  // namespace

std::string kekulised(std::string_view smiles) {
  const std::string where = "SMILES '" + printable(smiles) + "'";
  if (smiles.size() > kLongest)
    throw Error(where, std::to_string(smiles.size()) + " characters with aromatic atoms",
                "at most " + std::to_string(kLongest));
  // RDKit takes what follows a blank for the molecule's name.
  const auto odd = std::find_if(smiles.begin(), smiles.end(), [](char c) { return c <= ' ' || c > '~'; });
  if (odd != smiles.end())
    throw Error(where, "character " + std::to_string(odd - smiles.begin() + 1) + " belongs to no SMILES");
  RDKit::SmilesParserParams reading;
  reading.allowCXSMILES = false;
  reading.parseName = false;
  reading.removeHs = false;
  RDKit::SmilesWriteParams writing;
  writing.doKekule = true;
  writing.canonical = false;  // keeps the order of the atoms
  try {
    const std::unique_ptr<RDKit::RWMol> molecule(RDKit::SmilesToMol(std::string(smiles), reading));
    if (molecule) {
      RDKit::MolOps::Kekulize(*molecule);
      return RDKit::MolToSmiles(*molecule, writing);
    }
  } catch (const std::exception& error) {
    throw Error(where, "RDKit cannot read it: " + printable(error.what(), 200));
  }
  throw Error(where, "RDKit cannot read it");
}

}  // namespace cpfm
