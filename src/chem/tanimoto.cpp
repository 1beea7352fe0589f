// How alike two molecules are: by bits of their fingerprints, and by their atoms.
#include <algorithm>
#include <bit>

#include "cpfm/molecule.hpp"

namespace cpfm {

double tanimoto(std::span<const std::uint64_t, Fingerprints::kWords> a,
                std::span<const std::uint64_t, Fingerprints::kWords> b) {
  int both = 0, any = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    both += std::popcount(a[k] & b[k]);
    any += std::popcount(a[k] | b[k]);
  }
  return any == 0 ? 1 : static_cast<double>(both) / any;
}

double shared_atoms(const Composition& a, const Composition& b) {
  Composition all = a;
  for (const auto& [element, count] : b) all[element] = std::max(all[element], count);
  int both = 0, any = 0;
  for (const auto& [element, count] : all) {
    const auto in_a = a.find(element), in_b = b.find(element);
    if (in_a != a.end() && in_b != b.end()) both += std::min(in_a->second, in_b->second);
    any += count;
  }
  return any == 0 ? 1 : static_cast<double>(both) / any;
}

}  // namespace cpfm
