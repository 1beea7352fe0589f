#include "data/table_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "data/columns.hpp"

namespace cpfm {

std::string TableColumns::shown(std::size_t k) const {
  return k < names.size() && !names[k].empty() ? "'" + printable(names[k]) + "'" : std::to_string(k + 1);
}

std::string TableColumns::spec(std::size_t k) const {
  return k < names.size() && !names[k].empty() ? names[k] : std::to_string(k + 1);
}

std::optional<std::size_t> TableColumns::find(const std::string& spec, const std::string& file) const {
  const auto named = std::find(names.begin(), names.end(), spec);
  if (named != names.end()) {
    if (std::find(named + 1, names.end(), spec) != names.end()) {
      throw Error(file, fmt::format("has several columns named '{}'", printable(spec)), "give the column's number");
    }
    return static_cast<std::size_t>(named - names.begin());
  }
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(spec.data(), spec.data() + spec.size(), number);
  if (problem == std::errc{} && end == spec.data() + spec.size() && number >= 1 && number <= count) return number - 1;
  return std::nullopt;
}

void TableColumns::refuse(const std::string& spec, const char* option, const std::string& file) const {
  std::string others = names.empty() ? fmt::format("columns are numbered 1 to {}", count) : suggest(spec, names);
  if (names.empty() && starts_with_text) others += "; if the first row names them: --header yes";
  throw Error(file, fmt::format("has no column '{}' (option {})", printable(spec), option), others);
}

bool is_like_number(std::string_view text) {
  double value = 0;
  return parse_number(text, value) || is_decimal_comma(text);
}

bool looks_like_header(const CsvRow& first, const CsvRow& second) {
  for (std::size_t k = 0; k < std::min(first.size(), second.size()); ++k) {
    if (!trim(first[k]).empty() && !is_like_number(first[k]) && is_like_number(second[k])) return true;
  }
  return false;
}

bool all_text(const CsvRow& row) {
  for (std::size_t k = 0; k < row.size(); ++k) {
    if (is_missing(trim(row[k])) || is_like_number(row[k])) return false;
  }
  return true;
}

}  // namespace cpfm
