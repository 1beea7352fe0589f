// What a SELFIES symbol says: an atom with the bond before it, a branch, a ring, or nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chem/molecule_graph.hpp"

namespace cpfm::chem {

inline constexpr std::string_view kNop = "[nop]";

struct Symbol {
  enum class Kind { kAtom, kBranch, kRing, kEpsilon };
  Kind kind;
  int order = 1;                  // of the bond into the atom, the branch or across the ring
  char mark = 0, first_mark = 0;  // of that bond; a ring has one at its earlier atom too
  int digits = 0;                 // how many index symbols follow a branch or a ring
  Atom atom = {};
};

// Nothing where the symbol has no meaning.
std::optional<Symbol> read_symbol(std::string_view symbol);

// Numbers are written in base 16 with symbols that have another meaning elsewhere; all others count as 0.
int index_digit(std::string_view symbol);
std::vector<std::string> index_symbols(std::size_t number);

}  // namespace cpfm::chem
