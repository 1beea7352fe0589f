// The public calls that need RDKit, handed to libcpfm_rdkit.so; in a build without RDKit they say so.
#include "chem/rdkit_calls.hpp"

#include <string>
#include <string_view>

#include "base/load_library.hpp"
#include "cpfm/error.hpp"

namespace cpfm {
namespace {

[[noreturn]] void refuse(const std::string& where, const char* problem) {
  throw Error(where, problem, "install it (Debian: librdkit-dev, libboost-dev and libcairo2-dev) and build cpfm again");
}

constexpr const char* kLibrary = "libcpfm_rdkit.so";

// Where loading it was in vain, the next call tries again.
const RdkitCalls& loaded() {
  static const RdkitCalls* table = [] {
    const auto calls = reinterpret_cast<decltype(&cpfm_rdkit_calls)>(load_library(kLibrary, "cpfm_rdkit_calls"))();
    if (std::string_view(calls->version) != CPFM_VERSION)
      throw Error(kLibrary, std::string("is of cpfm ") + calls->version + ", and this is " CPFM_VERSION,
                  "install cpfm again");
    return calls;
  }();
  return *table;
}

const RdkitCalls& rdkit(const char* what) {
  if (!CPFM_HAS_RDKIT) refuse(what, "needs RDKit, and this build has none");
  return loaded();
}

}  // namespace

bool has_rdkit() {
  if (!CPFM_HAS_RDKIT) return false;
  try {
    loaded();
    return true;
  } catch (const Error&) {
    return false;
  }
}

void require_rdkit(const char* what) { rdkit(what); }

std::string kekulised(std::string_view smiles) { return rdkit("SMILES with aromatic atoms").kekulised(smiles); }
std::string canonical_smiles(std::string_view smiles) { return rdkit("reading a molecule").canonical_smiles(smiles); }
Fingerprints morgan_fingerprints(std::span<const std::string> smiles) {
  return rdkit("a fingerprint").morgan_fingerprints(smiles);
}
FloatMatrix molecule_descriptors(std::span<const std::string> smiles, Progress* progress) {
  return rdkit("descriptors of molecules").molecule_descriptors(smiles, progress);
}
Composition composition(std::string_view smiles) { return rdkit("counting atoms").composition(smiles); }
MoleculesRead read_molecules(const std::string& source, const MoleculeReadOptions& options) {
  if (!CPFM_HAS_RDKIT) refuse(source, "reading molecules needs RDKit, and this build has none");
  return rdkit("reading molecules").read_molecules(source, options);
}
std::vector<std::byte> molecule_sheet_png(std::span<const std::string> smiles, const MoleculeSheetOptions& options) {
  return rdkit("drawing molecules").molecule_sheet_png(smiles, options);
}
std::string molecule_sheet_svg(std::span<const std::string> smiles, const MoleculeSheetOptions& options) {
  return rdkit("drawing molecules").molecule_sheet_svg(smiles, options);
}
void write_sdf(const std::filesystem::path& file, std::span<const std::string> smiles,
               std::span<const MoleculeColumn> columns) {
  rdkit("writing SDF").write_sdf(file, smiles, columns);
}

}  // namespace cpfm
