// SDF: the coordinates by RDKit's depiction, the rest is text.
#include <GraphMol/Depictor/RDDepictor.h>
#include <GraphMol/FileParsers/FileParsers.h>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/molecule.hpp"
#include "rdkit/rdkit.hpp"

namespace cpfm {
namespace {

constexpr std::size_t kLongestTitle = 80;    // characters of the title line
constexpr std::string_view kTitle = "name";  // the column it comes from

// One line, and none that a reader could take for the end of a molecule or the next field.
std::string value_line(std::string_view value) {
  std::string line = printable(value, 10'000);
  if (line.starts_with("$$$$") || line.starts_with('>')) line.insert(0, " ");
  return line;
}

std::string field_name(std::string_view name) {
  std::string text = printable(name, 200);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '<' || c == '>'; }, '_');
  return text;
}

}  // namespace

void by_rdkit::write_sdf(const std::filesystem::path& file, std::span<const std::string> smiles,
                         std::span<const MoleculeColumn> columns) {
  const std::string where = printable(file.string(), 200);
  const MoleculeColumn* titles = nullptr;
  for (const MoleculeColumn& column : columns) {
    if (column.name.empty()) throw Error(where, "a column without a name", "name each column");
    if (column.values.size() != smiles.size())
      throw Error(where + ", column '" + printable(column.name) + "'",
                  fmt::format("{} values for {} molecules", column.values.size(), smiles.size()), "one for each");
    if (column.name == kTitle) titles = &column;
  }
  AtomicFile out(file);
  for (std::size_t i = 0; i < smiles.size(); ++i) {
    check_interrupt();
    std::string text;
    try {
      const std::unique_ptr<RDKit::RWMol> molecule = read_molecule(smiles[i]);
      text = ask_rdkit(fmt::format("SMILES '{}'", printable(smiles[i])), "write it", [&] {
        RDDepict::compute2DCoords(*molecule);
        molecule->setProp("_Name", printable(titles != nullptr ? titles->values[i] : smiles[i], kLongestTitle));
        return RDKit::MolToMolBlock(*molecule);
      });
    } catch (const Error& error) {
      throw Error(fmt::format("molecule {}, {}", i + 1, error.where()), error.problem(), error.remedy());
    }
    for (const MoleculeColumn& column : columns)
      if (!column.values[i].empty())
        text += fmt::format(">  <{}>\n{}\n\n", field_name(column.name), value_line(column.values[i]));
    out.write(text + "$$$$\n");
  }
  out.commit();
}

}  // namespace cpfm
