// A molecule as SMILES, atoms in the order they have. No recursion: a chain may be as long as its input.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "chem/molecule_graph.hpp"

namespace cpfm::chem {
namespace {

constexpr int kPlainNumbers = 99;

// Ring numbers are not used twice as long as two digits suffice, as the reference library has it.
class RingNumbers {
 public:
  // Called at both ends of a ring bond; the second call closes it.
  int number(std::size_t a, std::size_t b) {
    const std::pair<std::size_t, std::size_t> key = std::minmax(a, b);
    const auto found = open_.find(key);
    if (found != open_.end()) {
      const int number = found->second;
      open_.erase(found);
      free_.insert(number);
      return number;
    }
    int number = used_ + 1;
    if (number > kPlainNumbers && !free_.empty()) {
      number = *free_.begin();
      free_.erase(free_.begin());
    } else {
      used_ = number;
    }
    open_.emplace(key, number);
    return number;
  }

 private:
  std::map<std::pair<std::size_t, std::size_t>, int> open_;
  std::set<int> free_;
  int used_ = 0;
};

std::string number_text(int number) {
  const std::string digits = std::to_string(number);
  if (number < 10) return digits;
  return number <= kPlainNumbers ? "%" + digits : "%(" + digits + ")";
}

void add_bond_text(const Bond& bond, std::string& text) {
  if (bond.order == 2) text += '=';
  if (bond.order == 3) text += '#';
  if (bond.order == 1 && bond.mark != 0) text += bond.mark;
}

void add_atom_text(const Atom& atom, std::string& text) {
  const std::string inner = atom_text(atom);
  text += atom.hydrogens < 0 ? inner : "[" + inner + "]";
}

}  // namespace

std::string write_smiles(const MoleculeGraph& molecule) {
  struct Place {
    std::size_t atom, next_bond;
    bool in_brackets;
  };
  std::string text;
  RingNumbers rings;
  std::vector<Place> path;
  for (const std::size_t root : molecule.roots) {
    if (!text.empty()) text += '.';
    add_atom_text(molecule.atoms[root], text);
    path.push_back({root, 0, false});
    while (!path.empty()) {
      Place& here = path.back();
      const std::vector<Bond>& bonds = molecule.bonds[here.atom];
      if (here.next_bond == bonds.size()) {
        if (here.in_brackets) text += ')';
        path.pop_back();
        continue;
      }
      const Bond& bond = bonds[here.next_bond++];
      if (bond.ring) {
        add_bond_text(bond, text);
        text += number_text(rings.number(here.atom, bond.to));
        continue;
      }
      const bool branch = here.next_bond < bonds.size();
      if (branch) text += '(';
      add_bond_text(bond, text);
      add_atom_text(molecule.atoms[bond.to], text);
      path.push_back({bond.to, 0, branch});
    }
  }
  return text;
}

}  // namespace cpfm::chem
