// What the targets of SELFIES and SMILES promise about a molecule that was translated there and back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "chem/molecule_graph.hpp"
#include "cpfm/chem.hpp"
#include "fuzz/exercise.hpp"

namespace cpfm::fuzz {

// Whether the second order of the same neighbours is an odd permutation of the first.
inline bool is_odd(const std::vector<chem::Bond>& first, const std::vector<chem::Bond>& second) {
  std::vector<std::ptrdiff_t> places;
  for (const chem::Bond& bond : first)
    places.push_back(
        std::find_if(second.begin(), second.end(), [&](const chem::Bond& other) { return other.to == bond.to; }) -
        second.begin());
  bool odd = false;
  for (std::size_t i = 0; i < places.size(); ++i)
    for (std::size_t j = i + 1; j < places.size(); ++j) odd ^= places[i] > places[j];
  return odd;
}

// The same atoms in the same order, the same bonds between them, and neighbours that turn the same way.
inline bool same_molecule(const chem::MoleculeGraph& a, const chem::MoleculeGraph& b) {
  const auto facts = [](const chem::Atom& atom) {
    return std::tie(atom.element, atom.isotope, atom.hydrogens, atom.charge);
  };
  const auto bonds = [](const chem::MoleculeGraph& molecule) {
    std::set<std::tuple<std::size_t, std::size_t, int>> all;
    for (std::size_t i = 0; i < molecule.bonds.size(); ++i)
      for (const chem::Bond& bond : molecule.bonds[i])
        all.emplace(std::min(i, bond.to), std::max(i, bond.to), bond.order);
    return all;
  };
  if (a.atoms.size() != b.atoms.size() || bonds(a) != bonds(b)) return false;
  for (std::size_t i = 0; i < a.atoms.size(); ++i) {
    const std::string &left = a.atoms[i].chirality, &right = b.atoms[i].chirality;
    if (facts(a.atoms[i]) != facts(b.atoms[i]) || left.empty() != right.empty()) return false;
    if (!left.empty() && (left != right) != is_odd(a.bonds[i], b.bonds[i])) return false;
  }
  return true;
}

// Runs `action`, which has no right to throw an Error.
template <class Action>
auto must(const char* what, const Action& action) {
  try {
    return action();
  } catch (const Error& error) {
    require(false, (std::string(what) + ": " + error.what()).c_str());
    throw;
  }
}

// `selfies` is ours and stands for `molecule`.
inline void check_encoding(const std::string& selfies, const chem::MoleculeGraph& molecule) {
  const std::string smiles = must("our SELFIES can be decoded", [&] { return selfies_to_smiles(selfies); });
  const chem::MoleculeGraph again = must("our SMILES can be read", [&] { return chem::read_smiles(smiles); });
  require(same_molecule(molecule, again), "a molecule comes back as it was");
}

}  // namespace cpfm::fuzz
