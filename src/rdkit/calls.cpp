// What this library hands out when it is loaded.
#include "chem/rdkit_calls.hpp"
#include "rdkit/rdkit.hpp"

const cpfm::RdkitCalls* cpfm_rdkit_calls() {
  namespace by_rdkit = cpfm::by_rdkit;
  static const cpfm::RdkitCalls calls{.version = CPFM_VERSION,
                                      .kekulised = by_rdkit::kekulised,
                                      .canonical_smiles = by_rdkit::canonical_smiles,
                                      .morgan_fingerprints = by_rdkit::morgan_fingerprints,
                                      .molecule_descriptors = by_rdkit::molecule_descriptors,
                                      .composition = by_rdkit::composition,
                                      .read_molecules = by_rdkit::read_molecules,
                                      .molecule_sheet_png = by_rdkit::molecule_sheet_png,
                                      .molecule_sheet_svg = by_rdkit::molecule_sheet_svg,
                                      .write_sdf = by_rdkit::write_sdf};
  return &calls;
}
