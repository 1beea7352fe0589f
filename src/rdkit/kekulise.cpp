// Aromatic SMILES to single and double bonds, by RDKit. The only file of the SELFIES code that sees it.
#include <GraphMol/MolOps.h>
#include <GraphMol/RWMol.h>
#include <GraphMol/SmilesParse/SmilesWrite.h>

#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "cpfm/chem.hpp"
#include "cpfm/error.hpp"
#include "rdkit/rdkit.hpp"

namespace cpfm {

std::string by_rdkit::kekulised(std::string_view smiles) {
  const std::string where = "SMILES '" + printable(smiles) + "'";
  if (smiles.size() > kLongestSmiles)
    throw Error(where, std::to_string(smiles.size()) + " characters with aromatic atoms",
                "at most " + std::to_string(kLongestSmiles));
  RDKit::SmilesWriteParams writing;
  writing.doKekule = true;
  writing.canonical = false;  // the order of the atoms, but for branches that RDKit turns
  const std::unique_ptr<RDKit::RWMol> molecule = parse_smiles(smiles, false);
  return ask_rdkit(where, "read it", [&] {
    RDKit::MolOps::Kekulize(*molecule);
    return RDKit::MolToSmiles(*molecule, writing);
  });
}

}  // namespace cpfm
