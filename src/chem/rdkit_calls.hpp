// What RDKit does for us. Its libraries take longer to load than all the rest of the program, so the files that see it
// are a library of their own, libcpfm_rdkit.so, which comes in with the first molecule and hands out its functions
// here.
#pragma once

#include "cpfm/chem.hpp"
#include "cpfm/molecule.hpp"

namespace cpfm {

struct RdkitCalls {
  const char* version;  // of cpfm: what was built with another is not called
  decltype(cpfm::kekulised)* kekulised;
  decltype(cpfm::canonical_smiles)* canonical_smiles;
  decltype(cpfm::morgan_fingerprints)* morgan_fingerprints;
  decltype(cpfm::molecule_descriptors)* molecule_descriptors;
  decltype(cpfm::composition)* composition;
  decltype(cpfm::read_molecules)* read_molecules;
  decltype(cpfm::molecule_sheet_png)* molecule_sheet_png;
  decltype(cpfm::molecule_sheet_svg)* molecule_sheet_svg;
  decltype(cpfm::write_sdf)* write_sdf;
};

}  // namespace cpfm

extern "C" const cpfm::RdkitCalls* cpfm_rdkit_calls();
