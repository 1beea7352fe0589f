// The order of molecules that sets pairs one above the other. Needs no RDKit.
#include <fmt/format.h>

#include "base/checked.hpp"
#include "cpfm/error.hpp"
#include "cpfm/molecule.hpp"

namespace cpfm {

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
