// Atoms, what they can hold, and how they are written.
#include "chem/molecule_graph.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cpfm::chem {
namespace {

constexpr std::string_view kElements[] = {
    "H",  "He", "Li", "Be", "B",  "C",  "N",  "O",  "F",  "Ne", "Na", "Mg", "Al", "Si", "P",  "S",  "Cl",
    "Ar", "K",  "Ca", "Sc", "Ti", "V",  "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se",
    "Br", "Kr", "Rb", "Sr", "Y",  "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb",
    "Te", "I",  "Xe", "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er",
    "Tm", "Yb", "Lu", "Hf", "Ta", "W",  "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At",
    "Rn", "Fr", "Ra", "Ac", "Th", "Pa", "U",  "Np", "Pu", "Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md", "No",
    "Lr", "Rf", "Db", "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc", "Lv", "Ts", "Og"};

struct Constraint {
  std::string_view element;
  int neutral, plus, minus;  // most bonds at charge 0, +1, -1
};
constexpr int kAnyOther = 8;
constexpr Constraint kConstraints[] = {{"H", 1, kAnyOther, kAnyOther},
                                       {"F", 1, kAnyOther, kAnyOther},
                                       {"Cl", 1, kAnyOther, kAnyOther},
                                       {"Br", 1, kAnyOther, kAnyOther},
                                       {"I", 1, kAnyOther, kAnyOther},
                                       {"B", 3, 2, 4},
                                       {"O", 2, 3, 1},
                                       {"N", 3, 4, 2},
                                       {"C", 4, 3, 3},
                                       {"P", 5, 4, 6},
                                       {"S", 6, 5, 5}};

}  // namespace

int Atom::capacity() const {
  int most = kAnyOther;
  for (const Constraint& constraint : kConstraints) {
    if (constraint.element != element) continue;
    if (charge == 0) most = constraint.neutral;
    if (charge == 1) most = constraint.plus;
    if (charge == -1) most = constraint.minus;
  }
  return most - std::max(hydrogens, 0);
}

std::size_t MoleculeGraph::add_atom(Atom atom) {
  atoms.push_back(std::move(atom));
  bonds.emplace_back();
  order_sum.push_back(0);
  return atoms.size() - 1;
}

void MoleculeGraph::add_chain_bond(std::size_t from, std::size_t to, int order, char mark) {
  bonds[from].push_back({to, order, mark, false});
  order_sum[from] += order;
  order_sum[to] += order;
}

Bond* MoleculeGraph::find_bond(std::size_t from, std::size_t to) {
  for (Bond& bond : bonds[from])
    if (bond.to == to) return &bond;
  return nullptr;
}

void MoleculeGraph::strengthen(std::size_t a, std::size_t b, int by) {
  if (Bond* bond = find_bond(a, b)) bond->order += by;
  if (Bond* bond = find_bond(b, a)) bond->order += by;
  order_sum[a] += by;
  order_sum[b] += by;
}

bool is_element(std::string_view name) {
  return std::find(std::begin(kElements), std::end(kElements), name) != std::end(kElements);
}

bool in_organic_subset(std::string_view element) {
  constexpr std::string_view kOrganic[] = {"B", "C", "N", "O", "P", "S", "F", "Cl", "Br", "I"};
  return std::find(std::begin(kOrganic), std::end(kOrganic), element) != std::end(kOrganic);
}

std::string atom_text(const Atom& atom) {
  std::string text = atom.isotope + atom.element + atom.chirality;
  const bool bare = atom.isotope.empty() && atom.chirality.empty() && atom.charge == 0;
  // Brackets alone mean "no hydrogens"; SELFIES has no brackets to say so, hence H0.
  if (atom.hydrogens > 0 || (atom.hydrogens == 0 && bare && in_organic_subset(atom.element)))
    text += "H" + std::to_string(atom.hydrogens);
  if (atom.charge != 0) text += (atom.charge > 0 ? "+" : "") + std::to_string(atom.charge);
  return text;
}

}  // namespace cpfm::chem
