// The rows of a file of molecules as text, before anyone has looked at a molecule: what read_molecules() reads, without
// RDKit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cpfm/molecule.hpp"
#include "data/columns.hpp"

namespace cpfm {

struct MoleculeRows {
  struct Field {
    std::string shown;  // for messages: "column 'mu'", "data field 'mu'", "file 'mu.txt'"; empty: in a file of its own
    Column values;

    static Field of_texts(std::string shown, std::string name) {
      return {std::move(shown), {std::move(name), std::vector<std::string>{}}};
    }
    std::vector<std::string>& texts() { return std::get<std::vector<std::string>>(values.values); }
  };

  std::string file;         // for messages
  bool are_blocks = false;  // texts are the records of an SDF up to their "M  END", else one SMILES each
  std::vector<std::string> texts;
  std::vector<std::uint64_t> lines;  // where the row begins, from 1
  std::vector<std::string> names;    // of an SDF or .smi: one per row, empty where there is none
  std::optional<Field> labels;
  std::vector<Field> properties;  // in the order asked for
  std::string hint_at_first;      // what may be wrong where the first row holds no molecule, or empty

  std::size_t size() const { return texts.size(); }
};

// All rows up to the limit, with the labels and properties asked for from the file itself or from others.
MoleculeRows read_molecule_rows(const std::string& source, const MoleculeReadOptions& options);

// One parser per kind of file. Labels and properties that are not in it are left for files of their own.
MoleculeRows parse_molecule_table(Reader& reader, const MoleculeReadOptions& options);
MoleculeRows parse_smi(Reader& reader, const ReadOptions& options);
MoleculeRows parse_sdf(Reader& reader, const ReadOptions& options);

// "smiles" in any case: no molecule is written so.
bool is_called_smiles(std::string_view cell);

}  // namespace cpfm
