// In a build without RDKit its calls say so.
#include "cpfm/chem.hpp"
#include "cpfm/error.hpp"
#include "cpfm/molecule.hpp"

namespace cpfm {
namespace {

constexpr const char* kRemedy =
    "install it (Debian: librdkit-dev, libboost-dev and libcairo2-dev) and build cpfm again";

[[noreturn]] void refuse(const char* what) { throw Error(what, "needs RDKit, and this build has none", kRemedy); }

}  // namespace

bool has_rdkit() { return false; }
void require_rdkit(const char* what) { refuse(what); }

std::string kekulised(std::string_view) { refuse("SMILES with aromatic atoms"); }
std::string canonical_smiles(std::string_view) { refuse("reading a molecule"); }
Fingerprints morgan_fingerprints(std::span<const std::string>) { refuse("a fingerprint"); }
FloatMatrix molecule_descriptors(std::span<const std::string>, Progress*) { refuse("descriptors of molecules"); }
MoleculesRead read_molecules(const std::string& source, const MoleculeReadOptions&) {
  throw Error(source, "reading molecules needs RDKit, and this build has none", kRemedy);
}
std::vector<std::byte> molecule_sheet_png(std::span<const std::string>, const MoleculeSheetOptions&) {
  refuse("drawing molecules");
}
std::string molecule_sheet_svg(std::span<const std::string>, const MoleculeSheetOptions&) {
  refuse("drawing molecules");
}
void write_molecule_sheet(const std::filesystem::path&, std::span<const std::string>, const MoleculeSheetOptions&) {
  refuse("drawing molecules");
}
void write_sdf(const std::filesystem::path&, std::span<const std::string>, std::span<const MoleculeColumn>) {
  refuse("writing SDF");
}
Composition composition(std::string_view) { refuse("counting atoms"); }

}  // namespace cpfm
