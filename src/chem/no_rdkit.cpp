// In a build without RDKit aromatic SMILES cannot be read; this says so.
#include "cpfm/chem.hpp"
#include "cpfm/error.hpp"

namespace cpfm {

std::string kekulised(std::string_view) {
  throw Error("SMILES", "aromatic atoms need RDKit, and this build has none",
              "write single and double bonds, or install librdkit-dev and build again");
}

}  // namespace cpfm
