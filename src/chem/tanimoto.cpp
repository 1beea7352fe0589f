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

}  // namespace cpfm
