// SMILES without aromatic atoms into a molecule: what SELFIES can say, so no '*', no '$', chirality as @ or @@ only.
// Atoms with too many bonds are refused as they are met, which also bounds the bonds of an atom.
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "chem/molecule_graph.hpp"
#include "cpfm/error.hpp"

namespace cpfm::chem {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr int kMostCharge = 99;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

class Reader {
 public:
  explicit Reader(std::string_view smiles) : text_(smiles) {}
  MoleculeGraph read();

 private:
  struct OpenRing {
    std::size_t atom, bond, at;  // the atom, the place in its bonds, and where in the text
    char symbol;
  };

  [[noreturn]] void fail(std::size_t at, const std::string& problem, const std::string& remedy = {}) const {
    throw Error("SMILES '" + printable(text_) + "', character " + std::to_string(at + 1), problem, remedy);
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  std::string take_digits(std::size_t most, const char* what);

  Atom plain_atom();
  Atom bracket_atom();
  void add_atom();
  void ring_number();
  void open_ring(int number);
  void close_ring(int number);
  void check_bonds(std::size_t atom, std::size_t at) const;
  static int order_of(char symbol) { return symbol == '=' ? 2 : symbol == '#' ? 3 : 1; }
  static char mark_of(char symbol) { return symbol == '/' || symbol == '\\' ? symbol : '\0'; }

  std::string_view text_;
  std::size_t at_ = 0;
  MoleculeGraph molecule_;
  std::size_t last_ = kNone;           // the atom that the next one is bonded to
  char bond_ = 0;                      // a bond symbol that waits for its atom or ring number
  bool branch_start_ = false;          // right after '('
  std::vector<std::size_t> branches_;  // the atoms at which the open branches began
  std::map<int, OpenRing> rings_;
};

std::string Reader::take_digits(std::size_t most, const char* what) {
  const std::size_t begin = at_;
  while (is_digit(peek())) ++at_;
  if (at_ - begin > most) fail(begin, std::string(what) + " has too many digits");
  return std::string(text_.substr(begin, at_ - begin));
}

Atom Reader::plain_atom() {
  for (const std::size_t letters : {2, 1}) {
    const std::string_view name = text_.substr(at_, letters);
    if (name.size() != letters || !in_organic_subset(name)) continue;
    at_ += letters;
    Atom atom;
    atom.element = name;
    return atom;
  }
  const char c = peek();
  if (c == 'b' || c == 'c' || c == 'n' || c == 'o' || c == 'p' || c == 's')
    fail(at_, "an aromatic atom", "write single and double bonds");
  fail(at_, "'" + printable(text_.substr(at_, 1)) + "' is no atom",
       "atoms without brackets are B, C, N, O, P, S, F, Cl, Br and I");
}

Atom Reader::bracket_atom() {
  const std::size_t begin = at_++;
  Atom atom;
  atom.hydrogens = 0;
  atom.isotope = take_digits(3, "an isotope");
  const std::size_t first = std::min(atom.isotope.find_first_not_of('0'), atom.isotope.size());
  atom.isotope.erase(0, first);
  for (const std::size_t letters : {2, 1}) {
    const std::string_view name = text_.substr(at_, letters);
    if (name.size() != letters || !is_element(name)) continue;
    atom.element = name;
    at_ += letters;
    break;
  }
  if (atom.element.empty()) {
    if (is_lower(peek())) fail(at_, "an aromatic atom", "write single and double bonds");
    fail(at_, "'" + printable(text_.substr(at_, 2)) + "' is no element");
  }
  while (atom.chirality.size() < 2 && take('@')) atom.chirality += '@';
  if (!atom.chirality.empty() && (peek() == '@' || peek() == 'T' || peek() == 'A' || peek() == 'S' || peek() == 'O'))
    fail(at_, "a chirality class", "@ and @@ can be translated");
  if (take('H')) {
    atom.hydrogens = is_digit(peek()) ? text_[at_++] - '0' : 1;
  }
  if (peek() == '+' || peek() == '-') {
    const char sign = peek();
    const std::size_t sign_at = at_;
    while (take(sign)) ++atom.charge;
    if (is_digit(peek())) {
      if (atom.charge > 1) fail(at_, "a charge both in signs and in digits");
      atom.charge = std::stoi("0" + take_digits(2, "a charge"));
    }
    if (atom.charge > kMostCharge) fail(sign_at, "a charge beyond " + std::to_string(kMostCharge));
    if (sign == '-') atom.charge = -atom.charge;
  }
  if (take(':')) take_digits(text_.size(), "an atom class");
  if (!take(']')) fail(begin, "a '[' whose atom cannot be read up to its ']'", "as in [13C@@H2+1]");
  if (atom.capacity() < 0) fail(begin, "more hydrogens than '" + atom.element + "' can hold in SELFIES");
  return atom;
}

void Reader::check_bonds(std::size_t atom, std::size_t at) const {
  const int most = molecule_.atoms[atom].capacity();
  if (molecule_.order_sum[atom] > most)
    fail(at,
         "atom " + std::to_string(atom + 1) + " (" + atom_text(molecule_.atoms[atom]) + ") has more than the " +
             std::to_string(most) + " bonds SELFIES allows it",
         "leave the molecule out");
}

void Reader::add_atom() {
  const std::size_t begin = at_;
  const std::size_t atom = molecule_.add_atom(peek() == '[' ? bracket_atom() : plain_atom());
  if (last_ == kNone) {
    if (bond_ != 0) fail(begin, "a bond with no atom before it");
    molecule_.roots.push_back(atom);
  } else {
    molecule_.add_chain_bond(last_, atom, order_of(bond_), mark_of(bond_));
    check_bonds(last_, begin);
    check_bonds(atom, begin);
  }
  last_ = atom;
  bond_ = 0;
  branch_start_ = false;
}

void Reader::ring_number() {
  if (last_ == kNone || branch_start_) fail(at_, "a ring number with no atom before it");
  std::string digits;
  if (take('%')) {
    const bool bracket = take('(');
    const std::size_t begin = at_;
    while (is_digit(peek()) && at_ - begin < (bracket ? 5u : 2u)) ++at_;
    digits = text_.substr(begin, at_ - begin);
    if (digits.empty() || (!bracket && digits.size() != 2) || (bracket && !take(')')))
      fail(begin, "a ring number that cannot be read", "as in %12 or %(123)");
  } else {
    digits = text_.substr(at_++, 1);
  }
  const int number = std::stoi(digits);
  if (rings_.count(number) == 0) {
    open_ring(number);
  } else {
    close_ring(number);
  }
  bond_ = 0;
}

// The bond's place among those of the atom is kept for when the other end is known.
void Reader::open_ring(int number) {
  auto& bonds = molecule_.bonds[last_];
  rings_[number] = {last_, bonds.size(), at_ - 1, bond_};
  bonds.push_back({kNone, 1, '\0', true});
  ++molecule_.order_sum[last_];
  check_bonds(last_, at_ - 1);
}

void Reader::close_ring(int number) {
  const OpenRing open = rings_.at(number);
  rings_.erase(number);
  const auto kind = [](char symbol) { return mark_of(symbol) != 0 ? '-' : symbol; };
  if (open.symbol != 0 && bond_ != 0 && kind(open.symbol) != kind(bond_))
    fail(at_ - 1, "ring " + std::to_string(number) + " is opened and closed with different bonds");
  if (open.atom == last_) fail(at_ - 1, "a ring from an atom to itself");
  if (molecule_.find_bond(open.atom, last_) || molecule_.find_bond(last_, open.atom))
    fail(at_ - 1, "a ring between two atoms that are bonded already");
  const int order = std::max(order_of(open.symbol), order_of(bond_));
  molecule_.bonds[open.atom][open.bond] = {last_, order, mark_of(open.symbol), true};
  molecule_.bonds[last_].push_back({open.atom, order, mark_of(bond_), true});
  molecule_.order_sum[open.atom] += order - 1;
  molecule_.order_sum[last_] += order;
  check_bonds(open.atom, at_ - 1);
  check_bonds(last_, at_ - 1);
}

MoleculeGraph Reader::read() {
  if (text_.empty()) throw Error("SMILES", "nothing there", "a molecule has at least one atom");
  while (at_ < text_.size()) {
    const char c = peek();
    const bool is_bond = std::string_view("-=#/\\:$~").find(c) != std::string_view::npos;
    if (bond_ != 0 && (is_bond || c == '(' || c == ')' || c == '.')) fail(at_ - 1, "a bond with no atom after it");
    if (is_bond) {
      if (c == '$' || c == '~' || c == ':') fail(at_, std::string("a bond '") + c + "' SELFIES cannot express");
      bond_ = c;
      ++at_;
    } else if (is_digit(c) || c == '%') {
      ring_number();
    } else if (c == '(') {
      if (last_ == kNone || branch_start_) fail(at_, "a branch with no atom before it");
      branches_.push_back(last_);
      branch_start_ = true;
      ++at_;
    } else if (c == ')') {
      if (branches_.empty()) fail(at_, "a ')' that no '(' opens");
      if (branch_start_) fail(at_, "a branch without atoms");
      last_ = branches_.back();
      branches_.pop_back();
      ++at_;
    } else if (c == '.') {
      if (last_ == kNone || !branches_.empty()) fail(at_, "a '.' that does not stand between molecules");
      last_ = kNone;
      ++at_;
    } else {
      add_atom();
    }
  }
  if (bond_ != 0) fail(text_.size() - 1, "a bond with no atom after it");
  if (!branches_.empty()) fail(text_.size() - 1, "the end, with a '(' still open");
  if (last_ == kNone) fail(text_.size() - 1, "a '.' with no molecule after it");
  if (!rings_.empty())
    fail(rings_.begin()->second.at, "ring " + std::to_string(rings_.begin()->first) + " is never closed");
  return std::move(molecule_);
}

}  // namespace

MoleculeGraph read_smiles(std::string_view smiles) { return Reader(smiles).read(); }

bool is_aromatic(std::string_view smiles) {
  bool in_brackets = false, element_seen = false;
  for (std::size_t i = 0; i < smiles.size(); ++i) {
    const char c = smiles[i];
    if (c == '[' || c == ']') {
      in_brackets = c == '[';
      element_seen = false;
    } else if (in_brackets) {
      if (!element_seen && is_lower(c)) return true;
      element_seen = element_seen || !is_digit(c);
    } else if (c == ':' || (is_lower(c) && !(i > 0 && in_organic_subset(smiles.substr(i - 1, 2))))) {
      return true;
    }
  }
  return false;
}

}  // namespace cpfm::chem
