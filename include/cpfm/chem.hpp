// Molecules as text: SMILES, what chemists write, and SELFIES (version 2 of the grammar, default bond constraints), in
// which every string of known symbols is a molecule; that is what makes it fit to be learned and sampled from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cpfm {

// "[C][=O].[Na+1]" → "[C]", "[=O]", ".", "[Na+1]". Says where a bracket is missing; does not ask what the symbols mean.
std::vector<std::string> split_selfies(std::string_view selfies);

// The molecule of a SELFIES string. Bonds that do not fit are made weaker or left out; only a symbol that has no
// meaning is an Error, which names it and its place, wherever it stands. No symbols, or none that makes an atom, give
// "".
std::string selfies_to_smiles(std::string_view selfies);

// The SELFIES of a molecule, its atoms in the order they are written in. Aromatic SMILES go through kekulised() first,
// and their atoms come in its order. An Error where the SMILES cannot be read or an atom has more bonds than SELFIES
// can give it.
std::string smiles_to_selfies(std::string_view smiles);

// The same molecule with alternating single and double bonds in place of aromatic ones; its atoms may come in another
// order. Needs RDKit; without it an Error that says how to get it.
std::string kekulised(std::string_view smiles);

// Every symbol that occurs in the strings, each once, in byte order.
std::vector<std::string> selfies_alphabet(std::span<const std::string> strings);

// SELFIES as rows of numbers, all of one length: 0 is the padding symbol [nop], the alphabet follows in its order.
class SelfiesCoder {
 public:
  // The symbols must differ; [nop] among them is taken for the padding.
  explicit SelfiesCoder(std::span<const std::string> alphabet);

  const std::vector<std::string>& symbols() const { return symbols_; }

  // Padded to `length`. An Error for a string that is longer or has a symbol outside the alphabet.
  std::vector<std::int32_t> encode(std::string_view selfies, std::size_t length) const;

  // The string without its padding. An Error for a number that stands for no symbol.
  std::string decode(std::span<const std::int32_t> indices) const;

  // length × symbols, row by row: 1 where the symbol of that place stands, else 0.
  std::vector<float> one_hot(std::span<const std::int32_t> indices) const;

  // Back from rows of scores for each symbol, of any scale: the largest of each row, the first where there are several.
  // An Error where the scores are no whole number of rows, or one is not a number.
  std::vector<std::int32_t> largest(std::span<const float> scores) const;

 private:
  std::vector<std::string> symbols_;
  std::map<std::string, std::int32_t, std::less<>> index_;
};

}  // namespace cpfm
