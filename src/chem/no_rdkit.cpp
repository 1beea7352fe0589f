// In a build without RDKit its calls say so.
#include "cpfm/chem.hpp"
#include "cpfm/error.hpp"
#include "cpfm/molecule.hpp"

namespace cpfm {
namespace {

[[noreturn]] void refuse(const char* what) {
  throw Error(what, "needs RDKit, and this build has none",
              "install it (Debian: librdkit-dev and libboost-dev) and build cpfm again");
}

}  // namespace

bool has_rdkit() { return false; }

std::string kekulised(std::string_view) { refuse("SMILES with aromatic atoms"); }
std::string canonical_smiles(std::string_view) { refuse("reading a molecule"); }
Fingerprints morgan_fingerprints(std::span<const std::string>) { refuse("a fingerprint"); }

}  // namespace cpfm
