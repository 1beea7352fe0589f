// Sheets of molecules as files, and the order of molecules that sets pairs one above the other.
#include <fmt/format.h>

#include "base/atomic_file.hpp"
#include "base/checked.hpp"
#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/molecule.hpp"

namespace cpfm {

void write_molecule_sheet(const std::filesystem::path& file, std::span<const std::string> smiles,
                          const MoleculeSheetOptions& options) {
  const std::string extension = lower(file.extension().string());
  if (extension != ".png" && extension != ".svg")
    throw Error(printable(file.string(), 200), "does not end in .png or .svg", "the extension says what is written");
  const auto write = [&](const auto& drawing) {
    AtomicFile out(file);
    out.write(std::as_bytes(std::span(drawing)));
    out.commit();
  };
  if (extension == ".png")
    write(molecule_sheet_png(smiles, options));
  else
    write(molecule_sheet_svg(smiles, options));
}

std::vector<std::string> molecule_pairs(std::span<const std::string> originals,
                                        std::span<const std::string> reconstructions, std::size_t columns) {
  const std::string where = "pairs of molecules";
  if (originals.size() != reconstructions.size())
    throw Error(where, fmt::format("{} originals and {} reconstructions", originals.size(), reconstructions.size()),
                "as many of both");
  if (originals.empty()) throw Error(where, "there are none", "one or more");
  if (columns == 0) throw Error(where + ", columns", "0", "1 or more");
  const std::size_t lines = (originals.size() - 1) / columns + 1;  // of originals, and as many of reconstructions
  std::vector<std::string> pairs(checked_mul(checked_mul(lines, 2, where), columns, where));
  for (std::size_t i = 0; i < originals.size(); ++i) {
    const std::size_t above = i / columns * 2 * columns + i % columns;
    pairs[above] = originals[i];
    pairs[above + columns] = reconstructions[i];
  }
  return pairs;
}

}  // namespace cpfm
