#include "data/csv_scanner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "cpfm/error.hpp"

namespace cpfm {
namespace {

constexpr int kEnd = -1;
constexpr std::size_t kLongestRow = std::size_t{1} << 30;
constexpr std::size_t kMostColumns = std::size_t{1} << 20;

// Whether commas stand only inside numbers between semicolons.
bool has_decimal_commas(std::string_view line) {
  bool found = false;
  while (!line.empty()) {
    const std::string_view cell = line.substr(0, line.find(';'));
    line.remove_prefix(std::min(line.size(), cell.size() + 1));
    if (cell.find(',') == std::string_view::npos) continue;
    if (!is_decimal_comma(cell)) return false;
    found = true;
  }
  return found;
}

// The delimiter seen most often outside quotes in the first line.
char guess_delimiter(std::string_view start) {
  constexpr std::array<char, 3> kCandidates{'\t', ';', ','};
  std::array<std::size_t, 3> counts{};
  bool quoted = false, space = false;
  const std::size_t content = start.find_first_not_of(" \r\n");
  start.remove_prefix(std::min(content, start.size()));
  std::size_t length = start.size();
  for (std::size_t i = 0; i < start.size(); ++i) {
    const char c = start[i];
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '\n' || c == '\r') {
      length = i;
      break;
    }
    space = space || c == ' ';
    for (std::size_t k = 0; k < kCandidates.size(); ++k) counts[k] += c == kCandidates[k] ? 1 : 0;
  }
  if (counts[1] > 0 && has_decimal_commas(start.substr(0, length))) return ';';
  const auto most = std::max_element(counts.begin(), counts.end());
  if (*most > 0) return kCandidates[static_cast<std::size_t>(most - counts.begin())];
  return space ? ' ' : ',';
}

}  // namespace

bool is_decimal_comma(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) return false;
  std::string pointed(text);
  pointed[comma] = '.';
  double ignored = 0;
  return parse_number(pointed, ignored);
}

CsvScanner::CsvScanner(Reader& reader, char delimiter) : reader_(reader), delimiter_(delimiter) {
  if (reader_.peek(3) == "\xEF\xBB\xBF") {
    reader_.buffered();
    reader_.consume(3);
  }
  if (delimiter_ == 0) delimiter_ = guess_delimiter(reader_.peek(4096));
}

int CsvScanner::peek_char() {
  if (at_ == window_.size()) {
    reader_.consume(at_);
    window_ = reader_.buffered();
    at_ = 0;
    if (window_.empty()) return kEnd;
  }
  return static_cast<unsigned char>(window_[at_]);
}

int CsvScanner::next_char() {
  const int c = peek_char();
  if (c != kEnd) ++at_;
  return c;
}

bool CsvScanner::next_row() {
  while (scan_row()) {
    const bool blank = row_.ends.size() == 1 && row_.text.empty();
    if (blank && columns_ != 1) continue;
    if (columns_ == 0) columns_ = row_.ends.size();
    return true;
  }
  return false;
}

bool CsvScanner::scan_row() {
  row_.text.clear();
  row_.ends.clear();
  row_line_ = line_;
  if (peek_char() == kEnd) return false;
  const auto fail = [&](const std::string& problem, const std::string& remedy) {
    throw Error(fmt::format("{}, line {}", reader_.name(), row_line_), problem, remedy);
  };
  const auto end_cell = [&] {
    if (row_.ends.size() == kMostColumns) fail("has more than 1048576 cells", "give wide data as npy or HDF5");
    row_.ends.push_back(static_cast<std::uint32_t>(row_.text.size()));
  };
  const bool spaces = delimiter_ == ' ';
  const auto skip_spaces = [&] {
    while (spaces && peek_char() == ' ') next_char();
  };
  skip_spaces();
  bool cell_start = true;
  for (;;) {
    const int c = next_char();
    if (c == kEnd || c == '\n' || c == '\r') {
      if (c == '\r' && peek_char() == '\n') next_char();
      ++line_;
      // A run of spaces before the line end is not an empty cell.
      if (!(spaces && cell_start && !row_.ends.empty())) end_cell();
      return true;
    }
    if (c == '\0')
      fail("holds a zero byte", "this is not text; give npy, npz, idx, HDF5, CIFAR or a folder of pictures");
    if (row_.text.size() >= kLongestRow) fail("is longer than 1 GiB", "this is not a table of text");
    if (c == static_cast<unsigned char>(delimiter_)) {
      end_cell();
      skip_spaces();
      cell_start = true;
    } else if (c == '"' && cell_start) {
      for (;;) {
        const int q = next_char();
        if (q == kEnd) fail("a quoted cell never ends", "close the quote or double the quotes inside it");
        if (q == '"') {
          if (peek_char() != '"') break;
          next_char();
        }
        if (q == '\n') ++line_;
        if (row_.text.size() >= kLongestRow) fail("a quoted cell is longer than 1 GiB", "close the quote");
        row_.text += static_cast<char>(q);
      }
      cell_start = false;
    } else {
      row_.text += static_cast<char>(c);
      cell_start = false;
    }
  }
}

}  // namespace cpfm
