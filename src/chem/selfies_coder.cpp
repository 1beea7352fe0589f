// SELFIES symbols as numbers.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "base/checked.hpp"
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

namespace {

// The number at place i, which must be below `symbols`.
std::size_t checked_index(std::span<const std::int32_t> indices, std::size_t i, std::size_t symbols) {
  if (indices[i] < 0 || static_cast<std::size_t>(indices[i]) >= symbols)
    throw Error("SELFIES, symbol " + std::to_string(i + 1), "number " + std::to_string(indices[i]),
                "0 to " + std::to_string(symbols - 1) + " stand for symbols");
  return static_cast<std::size_t>(indices[i]);
}

}  // namespace

std::string SelfiesCoder::decode(std::span<const std::int32_t> indices) const {
  std::string selfies;
  for (std::size_t i = 0; i < indices.size(); ++i)
    if (const std::size_t index = checked_index(indices, i, symbols_.size()); index != 0) selfies += symbols_[index];
  return selfies;
}

std::vector<float> SelfiesCoder::one_hot(std::span<const std::int32_t> indices) const {
  std::vector<float> rows(checked_mul(indices.size(), symbols_.size(), "SELFIES"), 0.0f);
  for (std::size_t i = 0; i < indices.size(); ++i)
    rows[i * symbols_.size() + checked_index(indices, i, symbols_.size())] = 1;
  return rows;
}

std::vector<std::int32_t> SelfiesCoder::largest(std::span<const float> scores) const {
  if (scores.size() % symbols_.size() != 0)
    throw Error("SELFIES", std::to_string(scores.size()) + " scores are no whole number of rows",
                "a row has one for each of the " + std::to_string(symbols_.size()) + " symbols");
  std::vector<std::int32_t> indices(scores.size() / symbols_.size());
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto row = scores.subspan(i * symbols_.size(), symbols_.size());
    if (std::any_of(row.begin(), row.end(), [](float score) { return std::isnan(score); }))
      throw Error("SELFIES, symbol " + std::to_string(i + 1), "a score is not a number (NaN)");
    indices[i] = static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
  }
  return indices;
}

}  // namespace cpfm
