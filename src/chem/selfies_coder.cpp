// SELFIES symbols as numbers.
#include <set>
#include <string>

#include "base/text.hpp"
#include "chem/selfies_symbols.hpp"
#include "cpfm/chem.hpp"
#include "cpfm/error.hpp"

namespace cpfm {

std::vector<std::string> selfies_alphabet(std::span<const std::string> strings) {
  std::set<std::string> symbols;
  for (const std::string& selfies : strings)
    for (std::string& symbol : split_selfies(selfies)) symbols.insert(std::move(symbol));
  return {symbols.begin(), symbols.end()};
}

SelfiesCoder::SelfiesCoder(std::span<const std::string> alphabet) : symbols_{std::string(chem::kNop)} {
  index_[symbols_[0]] = 0;
  for (const std::string& symbol : alphabet) {
    if (symbol == chem::kNop) continue;
    if (!index_.emplace(symbol, static_cast<std::int32_t>(symbols_.size())).second)
      throw Error("SELFIES alphabet", "'" + printable(symbol) + "' is in it twice");
    symbols_.push_back(symbol);
  }
}

std::vector<std::int32_t> SelfiesCoder::encode(std::string_view selfies, std::size_t length) const {
  const auto symbols = split_selfies(selfies);
  if (symbols.size() > length)
    throw Error("SELFIES", std::to_string(symbols.size()) + " symbols", "at most " + std::to_string(length) + " fit");
  std::vector<std::int32_t> indices(length, 0);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const auto found = index_.find(symbols[i]);
    if (found == index_.end())
      throw Error("SELFIES, symbol " + std::to_string(i + 1), "'" + printable(symbols[i]) + "' is not one of the " +
                                                                  std::to_string(symbols_.size()) + " of the alphabet");
    indices[i] = found->second;
  }
  return indices;
}

std::string SelfiesCoder::decode(std::span<const std::int32_t> indices) const {
  std::string selfies;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || static_cast<std::size_t>(indices[i]) >= symbols_.size())
      throw Error("SELFIES, symbol " + std::to_string(i + 1), "number " + std::to_string(indices[i]),
                  "0 to " + std::to_string(symbols_.size() - 1) + " stand for symbols");
    if (indices[i] != 0) selfies += symbols_[static_cast<std::size_t>(indices[i])];
  }
  return selfies;
}

}  // namespace cpfm
