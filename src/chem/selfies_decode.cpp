// SELFIES to SMILES. Symbols are read from left to right with a state, the bonds the last atom has left; a branch is
// read with a state of its own. Rings are closed at the end, in the order they were met, with what both atoms have
// left.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "chem/molecule_graph.hpp"
#include "chem/selfies_symbols.hpp"
#include "cpfm/chem.hpp"
#include "cpfm/error.hpp"

namespace cpfm {
namespace {

using chem::Bond;
using chem::MoleculeGraph;
using chem::Symbol;

constexpr int kStrongest = 3;

struct Token {
  std::string_view text;
  Symbol meaning;
};

struct Ring {
  std::size_t first, last;
  int order;
  char first_mark, last_mark;
};

// Calls `each(symbol, number)` for the symbols in turn, numbered from 1; a dot is a symbol too.
template <typename Each>
void for_each_symbol(std::string_view selfies, Each each) {
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < selfies.size();) {
    std::size_t end = begin + 1;
    if (selfies[begin] == '[') {
      end = selfies.find_first_of("[]", begin + 1);
      if (end == std::string_view::npos || selfies[end] != ']')
        throw Error("SELFIES, character " + std::to_string(begin + 1), "a '[' that no ']' closes",
                    "a symbol looks like [C]");
      ++end;
    } else if (selfies[begin] != '.') {
      throw Error("SELFIES, character " + std::to_string(begin + 1),
                  "'" + printable(selfies.substr(begin, 12)) + "' stands outside of brackets",
                  "a symbol looks like [C]");
    }
    each(selfies.substr(begin, end - begin), ++number);
    begin = end;
  }
}

// The known symbols of each part between dots, without padding.
std::vector<std::vector<Token>> read_parts(std::string_view selfies) {
  std::vector<std::vector<Token>> parts(1);
  for_each_symbol(selfies, [&](std::string_view text, std::size_t number) {
    if (text == chem::kNop) return;
    if (text == ".") {
      parts.emplace_back();
      return;
    }
    auto meaning = chem::read_symbol(text);
    if (!meaning)
      throw Error("SELFIES, symbol " + std::to_string(number), "'" + printable(text) + "' is not known",
                  "symbols are atoms such as [C], [=N+1] or [C@@H1], [Branch1] to [#Branch3], [Ring1] to [#Ring3], "
                  "[epsilon] and [nop]");
    parts.back().push_back({text, std::move(*meaning)});
  });
  return parts;
}

class Derivation {
 public:
  void add_part(const std::vector<Token>& tokens);
  void close_rings();
  const MoleculeGraph& molecule() const { return molecule_; }

 private:
  // A chain being read: what its last atom has left, and where its symbols end.
  struct Chain {
    int state;
    std::size_t last_atom, end;
    bool done = false;
  };

  void add_atom(const Symbol& symbol, Chain& chain);

  MoleculeGraph molecule_;
  std::vector<Ring> rings_;
};

void Derivation::add_atom(const Symbol& symbol, Chain& chain) {
  const int capacity = symbol.atom.capacity();
  const int order = std::min({symbol.order, chain.state, capacity});
  if (chain.state == 0) {
    chain.last_atom = molecule_.add_atom(symbol.atom);
    molecule_.roots.push_back(chain.last_atom);
  } else if (order > 0) {
    const std::size_t atom = molecule_.add_atom(symbol.atom);
    molecule_.add_chain_bond(chain.last_atom, atom, order, symbol.mark);
    chain.last_atom = atom;
  }
  chain.state = capacity - order;
  chain.done = chain.state == 0;
}

void Derivation::add_part(const std::vector<Token>& tokens) {
  std::size_t at = 0;
  // May run past the end of the branch that it stands in, as in the reference library.
  const auto read_index = [&](int digits) {
    std::size_t index = 0;
    for (int i = 0; i < digits; ++i, ++at)
      index = index * 16 + (at < tokens.size() ? static_cast<std::size_t>(chem::index_digit(tokens[at].text)) : 0);
    at = std::min(at, tokens.size());
    return index;
  };

  std::vector<Chain> chains{{0, 0, tokens.size()}};
  while (!chains.empty()) {
    Chain& chain = chains.back();
    if (chain.done || at >= chain.end) {
      at = std::max(at, chain.end);
      chains.pop_back();
      continue;
    }
    const Symbol& symbol = tokens[at++].meaning;
    switch (symbol.kind) {
      case Symbol::Kind::kAtom:
        add_atom(symbol, chain);
        break;
      case Symbol::Kind::kEpsilon:
        chain.done = chain.state > 0;
        break;
      case Symbol::Kind::kBranch: {
        if (chain.state <= 1) break;
        const int state = std::min(chain.state - 1, symbol.order);
        chain.state -= state;
        const std::size_t length = read_index(symbol.digits) + 1;
        chains.push_back({state, chain.last_atom, std::min(at + length, tokens.size())});
        break;
      }
      case Symbol::Kind::kRing: {
        if (chain.state == 0) break;
        const int order = std::min(symbol.order, chain.state);
        chain.state -= order;
        chain.done = chain.state == 0;
        const std::size_t back = read_index(symbol.digits) + 1;
        const std::size_t first = chain.last_atom - std::min(back, chain.last_atom);
        rings_.push_back({first, chain.last_atom, order, symbol.first_mark, symbol.mark});
        break;
      }
    }
  }
}

void Derivation::close_rings() {
  std::vector<std::ptrdiff_t> made(molecule_.atoms.size(),
                                   0);  // rings at each atom; they are written before its chains
  for (const Ring& ring : rings_) {
    const auto left = [&](std::size_t atom) { return molecule_.atoms[atom].capacity() - molecule_.order_sum[atom]; };
    const int order = std::min({ring.order, left(ring.first), left(ring.last)});
    if (ring.first == ring.last || order <= 0) continue;
    if (const Bond* bond = molecule_.find_bond(ring.first, ring.last)) {
      molecule_.strengthen(ring.first, ring.last, std::min(order, kStrongest - bond->order));
      continue;
    }
    const auto add = [&](std::size_t from, std::size_t to, char mark) {
      auto& bonds = molecule_.bonds[from];
      bonds.insert(bonds.begin() + made[from]++, Bond{to, order, mark, true});
      molecule_.order_sum[from] += order;
    };
    add(ring.first, ring.last, ring.first_mark);
    add(ring.last, ring.first, ring.last_mark);
  }
}

}  // namespace

std::vector<std::string> split_selfies(std::string_view selfies) {
  std::vector<std::string> symbols;
  for_each_symbol(selfies, [&](std::string_view text, std::size_t) { symbols.emplace_back(text); });
  return symbols;
}

std::string selfies_to_smiles(std::string_view selfies) {
  Derivation derivation;
  for (const auto& part : read_parts(selfies)) derivation.add_part(part);
  derivation.close_rings();
  return chem::write_smiles(derivation.molecule());
}

}  // namespace cpfm
