// SMILES to SELFIES: the atoms in their order; at each the rings it closes and its branches, with their lengths, the
// last bond going on as the chain.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chem/molecule_graph.hpp"
#include "chem/selfies_symbols.hpp"
#include "cpfm/chem.hpp"
#include "cpfm/error.hpp"

namespace cpfm {
namespace {

using chem::Bond;
using chem::MoleculeGraph;

constexpr std::size_t kMostDigits = 3;
constexpr std::size_t kLongest = 16 * 16 * 16;

std::string order_text(int order) { return order == 2 ? "=" : order == 3 ? "#" : ""; }

std::string atom_symbol(const MoleculeGraph& molecule, std::size_t atom, const Bond* bond) {
  std::string prefix;
  if (bond != nullptr) {
    prefix = order_text(bond->order);
    if (bond->order == 1 && bond->mark != 0) prefix = bond->mark;
  }
  return "[" + prefix + chem::atom_text(molecule.atoms[atom]) + "]";
}

// `prefix` with Branch or Ring and a length of at least 1, as many index symbols as it takes.
void add_counted(const std::string& prefix, const char* name, std::size_t length, std::vector<std::string>& symbols) {
  const auto digits = chem::index_symbols(length - 1);
  if (digits.size() > kMostDigits)
    throw Error("SMILES", std::string("a ") + (name[0] == 'R' ? "ring" : "branch") + " of more than " +
                              std::to_string(kLongest) + " symbols, the most SELFIES can count");
  symbols.push_back("[" + prefix + name + std::to_string(digits.size()) + "]");
  symbols.insert(symbols.end(), digits.begin(), digits.end());
}

// A ring is told at its later atom.
void add_ring(MoleculeGraph& molecule, std::size_t atom, const Bond& bond, std::vector<std::string>& symbols) {
  const Bond& other = *molecule.find_bond(bond.to, atom);
  std::string prefix = order_text(bond.order);
  if (bond.order == 1 && (bond.mark != 0 || other.mark != 0))
    prefix = {other.mark == 0 ? '-' : other.mark, bond.mark == 0 ? '-' : bond.mark};
  add_counted(prefix, "Ring", atom - bond.to, symbols);
}

// For each ring, by its atoms, its place among all rings in the order they are told.
std::map<std::pair<std::size_t, std::size_t>, std::size_t> ring_order(const MoleculeGraph& molecule) {
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> order;
  std::vector<std::pair<std::size_t, std::size_t>> path;  // atoms, and their next bond
  for (const std::size_t root : molecule.roots) {
    path.emplace_back(root, 0);
    while (!path.empty()) {
      const auto [atom, next] = path.back();
      if (next == molecule.bonds[atom].size()) {
        path.pop_back();
        continue;
      }
      ++path.back().second;
      const Bond& bond = molecule.bonds[atom][next];
      if (!bond.ring)
        path.emplace_back(bond.to, 0);
      else if (bond.to < atom)
        order.emplace(std::pair(bond.to, atom), order.size());
    }
  }
  return order;
}

// The decoder writes at every atom first its rings, in the order they are told, then the rest. Where that is an odd
// permutation of the order here, '@' and '@@' change places.
void turn_chirality(MoleculeGraph& molecule) {
  const auto rings = ring_order(molecule);
  for (std::size_t atom = 0; atom < molecule.atoms.size(); ++atom) {
    std::string& chirality = molecule.atoms[atom].chirality;
    if (chirality.empty()) continue;
    std::vector<std::size_t> places;
    for (const Bond& bond : molecule.bonds[atom])
      places.push_back(bond.ring ? rings.at(std::minmax(atom, bond.to)) : rings.size());
    bool odd = false;
    for (std::size_t i = 0; i < places.size(); ++i)
      for (std::size_t j = i + 1; j < places.size(); ++j) odd ^= places[i] > places[j];
    if (odd) chirality = chirality == "@" ? "@@" : "@";
  }
}

std::vector<std::string> part_symbols(MoleculeGraph& molecule, std::size_t root) {
  struct Chain {
    std::size_t atom, next_bond;
    int order;  // of the bond that begins the branch
    std::vector<std::string> symbols;
  };
  std::vector<Chain> chains;
  chains.push_back({root, 0, 0, {atom_symbol(molecule, root, nullptr)}});
  while (true) {
    Chain& chain = chains.back();
    const std::vector<Bond>& bonds = molecule.bonds[chain.atom];
    if (chain.next_bond == bonds.size()) {
      if (chains.size() == 1) return std::move(chain.symbols);
      Chain branch = std::move(chain);
      chains.pop_back();
      std::vector<std::string>& symbols = chains.back().symbols;
      add_counted(order_text(branch.order), "Branch", branch.symbols.size(), symbols);
      std::move(branch.symbols.begin(), branch.symbols.end(), std::back_inserter(symbols));
      continue;
    }
    const std::size_t atom = chain.atom;
    const Bond& bond = bonds[chain.next_bond++];
    if (bond.ring) {
      if (bond.to < atom) add_ring(molecule, atom, bond, chain.symbols);
    } else if (chain.next_bond == bonds.size()) {
      chain.symbols.push_back(atom_symbol(molecule, bond.to, &bond));
      chain.atom = bond.to;
      chain.next_bond = 0;
    } else {
      chains.push_back({bond.to, 0, bond.order, {atom_symbol(molecule, bond.to, &bond)}});
    }
  }
}

}  // namespace

std::string smiles_to_selfies(std::string_view smiles) {
  MoleculeGraph molecule = chem::read_smiles(chem::is_aromatic(smiles) ? kekulised(smiles) : std::string(smiles));
  turn_chirality(molecule);
  std::string selfies;
  for (const std::size_t root : molecule.roots) {
    if (!selfies.empty()) selfies += '.';
    for (const std::string& symbol : part_symbols(molecule, root)) selfies += symbol;
  }
  return selfies;
}

}  // namespace cpfm
