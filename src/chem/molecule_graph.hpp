// A molecule as SMILES and SELFIES both write it: atoms in order, and at each atom the bonds to what is written after
// it. That order is part of the molecule here, since chirality marks refer to it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cpfm::chem {

struct Atom {
  std::string element;
  std::string isotope;    // digits, or empty
  std::string chirality;  // "", "@" or "@@"
  int hydrogens = -1;     // attached; -1: not written in brackets, as many as the valence asks for
  int charge = 0;

  // How many bonds it may have under the default constraints of SELFIES 2.2; negative: too many hydrogens.
  int capacity() const;
};

struct Bond {
  std::size_t to;
  int order;          // 1, 2, 3
  char mark = 0;      // '/' or '\\' where it tells the side of a double bond
  bool ring = false;  // closes a ring: listed at both atoms; any other only at the one written first
};

struct MoleculeGraph {
  std::vector<Atom> atoms;
  std::vector<std::vector<Bond>> bonds;  // by atom, in the order they are written
  std::vector<int> order_sum;            // by atom, over all its bonds
  std::vector<std::size_t> roots;        // the first atom of each part

  std::size_t add_atom(Atom atom);
  void add_chain_bond(std::size_t from, std::size_t to, int order, char mark);
  // The bond between two atoms as listed at `from`, or null.
  Bond* find_bond(std::size_t from, std::size_t to);
  // Adds to the order of a bond that exists.
  void strengthen(std::size_t a, std::size_t b, int by);
};

bool is_element(std::string_view name);

// B, C, N, O, P, S, F, Cl, Br, I: SMILES writes them without brackets when nothing else is to be said.
bool in_organic_subset(std::string_view element);

// Isotope, element, chirality, hydrogens and charge as both languages write them, "13CH1+1" or "C".
std::string atom_text(const Atom& atom);

// Rings are numbered in the order they are met; the numbers of closed ones are used again only past 99.
std::string write_smiles(const MoleculeGraph& molecule);

// Reads SMILES without aromatic atoms. Errors name the character (from 1).
MoleculeGraph read_smiles(std::string_view smiles);

// Whether there are lower-case atoms or ':' bonds.
bool is_aromatic(std::string_view smiles);

}  // namespace cpfm::chem
