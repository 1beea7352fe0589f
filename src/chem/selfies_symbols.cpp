// The symbols of SELFIES version 2. Atoms are [bond isotope element chirality hydrogens charge], the bond one of
// = # / \ or none; branches and rings end in the count of index symbols that follow.
#include "chem/selfies_symbols.hpp"

#include <algorithm>
#include <array>

namespace cpfm::chem {
namespace {

constexpr std::array<std::string_view, 16> kDigits = {
    "[C]",        "[Ring1]", "[Ring2]", "[Branch1]", "[=Branch1]", "[#Branch1]", "[Branch2]", "[=Branch2]",
    "[#Branch2]", "[O]",     "[N]",     "[=N]",      "[=C]",       "[#C]",       "[S]",       "[P]"};

constexpr std::size_t kMostIsotopeDigits = 3, kMostChargeDigits = 2;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_mark(char c) { return c == '/' || c == '\\'; }

// Takes the digits at the front of `text`.
std::string take_digits(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  std::string digits(text.substr(0, length));
  text.remove_prefix(length);
  return digits;
}

std::optional<Symbol> read_branch_or_ring(std::string_view text) {
  const int digits = text.empty() ? 0 : text.back() - '0';
  if (digits < 1 || digits > 3) return {};
  text.remove_suffix(1);
  Symbol symbol{.kind = Symbol::Kind::kRing, .digits = digits};
  if (text.ends_with("Branch")) {
    symbol.kind = Symbol::Kind::kBranch;
    text.remove_suffix(6);
  } else if (text.ends_with("Ring")) {
    text.remove_suffix(4);
  } else {
    return {};
  }
  if (text.empty()) return symbol;
  if (text == "=" || text == "#") {
    symbol.order = text == "=" ? 2 : 3;
    return symbol;
  }
  const auto side = [](char c) { return c == '-' || is_mark(c); };
  if (symbol.kind == Symbol::Kind::kBranch || text.size() != 2 || !side(text[0]) || !side(text[1]) || text == "--")
    return {};
  symbol.first_mark = text[0] == '-' ? 0 : text[0];
  symbol.mark = text[1] == '-' ? 0 : text[1];
  return symbol;
}

std::optional<Symbol> read_atom(std::string_view text) {
  Symbol symbol{.kind = Symbol::Kind::kAtom};
  if (!text.empty() && (text[0] == '=' || text[0] == '#' || is_mark(text[0]))) {
    if (text[0] == '=') symbol.order = 2;
    if (text[0] == '#') symbol.order = 3;
    if (is_mark(text[0])) symbol.mark = text[0];
    text.remove_prefix(1);
  }
  Atom& atom = symbol.atom;
  if (in_organic_subset(text)) {
    atom.element = text;
    return symbol;
  }
  atom.hydrogens = 0;
  atom.isotope = take_digits(text);
  if (atom.isotope.size() > kMostIsotopeDigits) return {};
  const std::size_t letters = text.size() > 1 && text[1] >= 'a' && text[1] <= 'z' ? 2 : 1;
  atom.element = text.substr(0, letters);
  if (!is_element(atom.element)) return {};
  text.remove_prefix(letters);
  while (text.starts_with('@') && atom.chirality.size() < 2) {
    atom.chirality += '@';
    text.remove_prefix(1);
  }
  if (text.size() >= 2 && text[0] == 'H' && is_digit(text[1])) {
    atom.hydrogens = text[1] - '0';
    text.remove_prefix(2);
  }
  if (text.size() >= 2 && (text[0] == '+' || text[0] == '-')) {
    const bool negative = text[0] == '-';
    text.remove_prefix(1);
    const std::string digits = take_digits(text);
    if (digits.empty() || digits[0] == '0' || digits.size() > kMostChargeDigits) return {};
    atom.charge = negative ? -std::stoi(digits) : std::stoi(digits);
  }
  if (!text.empty() || atom.capacity() < 0) return {};
  return symbol;
}

}  // namespace

std::optional<Symbol> read_symbol(std::string_view symbol) {
  if (symbol.size() < 3 || symbol.front() != '[' || symbol.back() != ']') return {};
  const std::string_view text = symbol.substr(1, symbol.size() - 2);
  if (text == "epsilon") return Symbol{.kind = Symbol::Kind::kEpsilon};
  if (const auto found = read_branch_or_ring(text)) return found;
  return read_atom(text);
}

int index_digit(std::string_view symbol) {
  const auto found = std::find(kDigits.begin(), kDigits.end(), symbol);
  return found == kDigits.end() ? 0 : static_cast<int>(found - kDigits.begin());
}

std::vector<std::string> index_symbols(std::size_t number) {
  std::vector<std::string> symbols;
  do {
    symbols.emplace_back(kDigits[number % kDigits.size()]);
    number /= kDigits.size();
  } while (number > 0);
  std::reverse(symbols.begin(), symbols.end());
  return symbols;
}

}  // namespace cpfm::chem
