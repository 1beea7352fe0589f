// What the files that see RDKit share.
#pragma once

#include <GraphMol/RWMol.h>

#include <memory>
#include <string_view>

namespace cpfm {

// The molecule of a SMILES string, sanitized. An Error, whose subject is the string, where there is none: characters of
// no SMILES, no atoms, or what RDKit cannot read.
std::unique_ptr<RDKit::RWMol> read_molecule(std::string_view smiles);

}  // namespace cpfm
