// Rows of delimited text, one at a time: quotes with doubled quotes inside, line ends of any system, a byte-order mark,
// new lines inside quotes. Holds one row.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/byte_source.hpp"

namespace cpfm {

// The cells of one row, as one string and where each cell ends in it: little more than the bytes of the file.
struct CsvRow {
  std::string text;
  std::vector<std::uint32_t> ends;

  std::size_t size() const { return ends.size(); }
  std::string_view operator[](std::size_t k) const {
    const std::size_t begin = k == 0 ? 0 : ends[k - 1];
    return std::string_view(text).substr(begin, ends[k] - begin);
  }
};

// A number written with a comma where the point belongs ("1,5").
bool is_decimal_comma(std::string_view text);

class CsvScanner {
 public:
  // `delimiter` 0: found from the first line (tab, semicolon, comma, else runs of spaces).
  CsvScanner(Reader& reader, char delimiter);

  // False at the end. Lines with nothing in them are passed over, unless the table has one column, where they are an
  // empty cell.
  bool next_row();
  const CsvRow& row() const { return row_; }
  std::uint64_t line() const { return row_line_; }  // where the row begins, from 1
  char delimiter() const { return delimiter_; }

 private:
  bool scan_row();
  int next_char();
  int peek_char();

  Reader& reader_;
  char delimiter_;
  std::string_view window_;
  std::size_t at_ = 0;
  CsvRow row_;
  std::uint64_t line_ = 1, row_line_ = 1;
  std::size_t columns_ = 0;  // of the first row
};

}  // namespace cpfm
