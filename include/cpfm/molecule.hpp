// Molecules through RDKit: reading them as a Dataset, fingerprints and how much they share, drawing, SDF. Without RDKit
// every call here throws an Error that says how to get it (has_rdkit() asks).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpfm/data.hpp"
#include "cpfm/matrix.hpp"
#include "cpfm/progress.hpp"

namespace cpfm {

// Loads it, too.
bool has_rdkit();
// Before long work that will need it: that Error about `what`, as in "drawing molecules", where there is none.
void require_rdkit(const char* what);

// The one way RDKit writes this molecule: equal for equal molecules. An Error where RDKit cannot read it.
std::string canonical_smiles(std::string_view smiles);

// Reading molecules: a row that holds none, or lacks a number that was asked for, ends the reading or is left out.
enum class OnBadRow { kError, kSkip };

struct MoleculeReadOptions {
  // Labels, properties, limit, fewest, header and progress, with the meaning they have there; properties and labels are
  // columns of a table, data fields of an SDF, or files with one value per row. The limit counts rows, bad ones too.
  // The rest means nothing for molecules.
  ReadOptions read;
  // The column of SMILES of a table, by name or by number from 1. Empty: the one called smiles in any case, else
  // canonical_smiles.
  std::string smiles;
  OnBadRow on_bad_row = OnBadRow::kError;
  bool as_selfies = false;  // a molecule that SELFIES cannot write is a bad row too
};

struct BadRow {
  std::size_t row = 0, line = 0;  // among the molecules of the file and in its text, both from 1
  std::string problem;

  // "row 16 (line 17): the SMILES is empty"
  std::string text() const;
};

struct MoleculesRead {
  Dataset data;
  std::size_t rows = 0;  // of the file, those left out too
  std::vector<BadRow> skipped;
};

// Reads molecules from a table with a column of SMILES (any name, "-" for stdin), from .smi (SMILES and an optional
// name a line) or from .sdf, gzipped or not. The samples are the Morgan fingerprints as 0 and 1, n × 2048;
// Dataset::molecules holds the SMILES as the file has them (RDKit's of an SDF) and sample_names the names of .smi and
// .sdf where every molecule has one.
MoleculesRead read_molecules(const std::string& source, const MoleculeReadOptions& options = {});

// Whether `source` is to be read by read_molecules() and not by read_dataset(): it ends in .smi or .sdf, a column of
// SMILES is named for what may be a table, or it is a .csv or .tsv file with a column called smiles (in any case) that
// holds text and is used for nothing else by the options.
bool holds_molecules(const std::string& source, const MoleculeReadOptions& options = {});

// Morgan fingerprints: which surroundings of radius 2 a molecule's atoms have, hashed to 2048 bits, 64 a word.
class Fingerprints {
 public:
  static constexpr std::size_t kBits = 2048, kWords = kBits / 64;

  Fingerprints() = default;
  explicit Fingerprints(std::size_t count) : words_(count * kWords) {}
  std::size_t size() const { return words_.size() / kWords; }
  std::span<std::uint64_t, kWords> row(std::size_t i) {
    return std::span<std::uint64_t, kWords>(&words_[i * kWords], kWords);
  }
  std::span<const std::uint64_t, kWords> row(std::size_t i) const {
    return std::span<const std::uint64_t, kWords>(&words_[i * kWords], kWords);
  }

 private:
  std::vector<std::uint64_t> words_;
};
// On all threads; an Error names the first molecule that cannot be read.
Fingerprints morgan_fingerprints(std::span<const std::string> smiles);
// Shared bits over all bits; two empty fingerprints are alike: 1.
double tanimoto(std::span<const std::uint64_t, Fingerprints::kWords> a,
                std::span<const std::uint64_t, Fingerprints::kWords> b);

// Numbers that properties of a molecule depend on, a row per molecule: atoms, bonds and rings that it has, how charge,
// size and polarity lie on its surface, and the dipole moments of five shapes it may have. About 40 ms a molecule of
// nine heavy atoms and core. What RDKit cannot compute for a molecule is 0.
FloatMatrix molecule_descriptors(std::span<const std::string> smiles, Progress* progress = nullptr);

// How many atoms of each element, hydrogen left out.
using Composition = std::map<std::string, int>;
Composition composition(std::string_view smiles);
// Atoms that both have over atoms that either has, element by element; 1 where neither has any.
double shared_atoms(const Composition& a, const Composition& b);

// A sheet of molecules side by side, row by row, on white.
struct MoleculeSheetOptions {
  std::size_t columns = 0;            // 0: as square as possible
  int cell_width = 200;               // pixels, 40 to 2,000
  int cell_height = 160;              // the same
  std::vector<std::string> captions;  // none, or one for each molecule; an empty one is not drawn
};
inline constexpr std::size_t kMostDrawnMolecules = 2'500;
// An empty SMILES leaves its cell empty. At most kMostDrawnMolecules and 16,000 pixels a side; an Error names the
// molecule that cannot be read.
std::vector<std::byte> molecule_sheet_png(std::span<const std::string> smiles,
                                          const MoleculeSheetOptions& options = {});
std::string molecule_sheet_svg(std::span<const std::string> smiles, const MoleculeSheetOptions& options = {});
// As PNG or SVG, whichever the file's name ends in.
void write_molecule_sheet(const std::filesystem::path& file, std::span<const std::string> smiles,
                          const MoleculeSheetOptions& options = {});
// Originals above what became of them, for a sheet of that many `columns`, as interleave_pairs() has pictures; what is
// missing in the last two rows is empty. Also for captions.
std::vector<std::string> molecule_pairs(std::span<const std::string> originals,
                                        std::span<const std::string> reconstructions, std::size_t columns);

// A value for each molecule, as text.
struct MoleculeColumn {
  std::string name;
  std::vector<std::string> values;
};
// Molecules with coordinates in the plane, and a data field for each column whose value is not empty. The title of a
// molecule is its value in the column "name", where there is one, else its SMILES.
void write_sdf(const std::filesystem::path& file, std::span<const std::string> smiles,
               std::span<const MoleculeColumn> columns = {});

}  // namespace cpfm
