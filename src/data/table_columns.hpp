// The columns of a table: what its first row calls them, and how a user names one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/csv_scanner.hpp"

namespace cpfm {

struct TableColumns {
  std::size_t count = 0;
  std::vector<std::string> names;  // empty without a header
  bool starts_with_text = false;   // the first row holds nothing but text

  // For messages: the name in quotes, else the number from 1.
  std::string shown(std::size_t k) const;
  // As a user would name it again.
  std::string spec(std::size_t k) const;
  // The column that `spec` names: by name, else by number from 1. An Error where several have the name.
  std::optional<std::size_t> find(const std::string& spec, const std::string& file) const;
  // The Error for a column that is not there; `option` asked for it.
  [[noreturn]] void refuse(const std::string& spec, const char* option, const std::string& file) const;
};

// A number, or what was meant as one.
bool is_like_number(std::string_view text);
// A header holds text in a column whose next row is a number.
bool looks_like_header(const CsvRow& first, const CsvRow& second);
bool all_text(const CsvRow& row);

}  // namespace cpfm
