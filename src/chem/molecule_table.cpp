// A table with a column of SMILES. The columns nobody asked for are passed over: tables of molecules have many.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "chem/molecule_rows.hpp"
#include "cpfm/error.hpp"
#include "data/csv_scanner.hpp"
#include "data/table_columns.hpp"

namespace cpfm {
namespace {

bool is_called_canonical(std::string_view cell) { return lower(trim(cell)) == "canonical_smiles"; }

class MoleculeTable {
 public:
  MoleculeTable(Reader& reader, const MoleculeReadOptions& options)
      : file_(reader.name()),
        options_(options),
        scanner_(reader, content_extension(reader.name()) == ".tsv" ? '\t' : 0) {}

  MoleculeRows read() {
    if (!scanner_.next_row()) throw Error(file_, "is empty");
    const CsvRow first = scanner_.row();
    const std::uint64_t first_line = scanner_.line();
    const bool more = scanner_.next_row();
    columns_.count = first.size();
    columns_.starts_with_text = all_text(first);
    const bool header = options_.read.header == Header::kYes ||
                        (options_.read.header == Header::kAuto &&
                         (names_the_smiles(first) || (more && looks_like_header(first, scanner_.row()))));
    for (std::size_t k = 0; header && k < first.size(); ++k) columns_.names.emplace_back(trim(first[k]));
    if (!header && options_.read.header == Header::kAuto)
      rows_.hint_at_first = "if the first row names the columns: --header yes";
    assign();
    if (!header) add(first, first_line);
    for (bool row = more; row && !full(); row = scanner_.next_row()) add(scanner_.row(), scanner_.line());
    return std::move(rows_);
  }

 private:
  bool full() const { return options_.read.limit && rows_.size() >= *options_.read.limit; }

  // No molecule is written "smiles", so a row that holds it is a header whatever follows.
  bool names_the_smiles(const CsvRow& row) const {
    for (std::size_t k = 0; k < row.size(); ++k) {
      const std::string_view cell = trim(row[k]);
      if (is_called_smiles(cell) || is_called_canonical(cell)) return true;
      if (!options_.smiles.empty() && cell == options_.smiles && !is_like_number(cell)) return true;
    }
    return false;
  }

  std::size_t find_smiles() const {
    if (!options_.smiles.empty()) {
      const auto column = columns_.find(options_.smiles, file_);
      if (!column) columns_.refuse(options_.smiles, "--smiles", file_);
      return *column;
    }
    for (const auto& is_called : {is_called_smiles, is_called_canonical}) {
      const auto first = std::find_if(columns_.names.begin(), columns_.names.end(), is_called);
      if (first == columns_.names.end()) continue;
      if (std::find_if(first + 1, columns_.names.end(), is_called) != columns_.names.end())
        throw Error(file_, fmt::format("has several columns called {}", lower(*first)), "choose one with --smiles");
      return static_cast<std::size_t>(first - columns_.names.begin());
    }
    if (columns_.names.empty())
      throw Error(file_, "has no header that names a column 'smiles'", "give the number of the column: --smiles 1");
    throw Error(file_, "has no column 'smiles'",
                fmt::format("name the column of SMILES with --smiles; {}", suggest("smiles", columns_.names)));
  }

  void assign() {
    smiles_ = find_smiles();
    std::vector<std::size_t> taken{smiles_};
    const auto place = [&](const std::string& spec, const char* option) -> std::optional<std::size_t> {
      const auto column = columns_.find(spec, file_);
      if (!column) {
        if (!names_a_file(spec)) columns_.refuse(spec, option, file_);
        return std::nullopt;
      }
      if (std::find(taken.begin(), taken.end(), *column) != taken.end()) {
        throw Error(file_, fmt::format("column {} is asked for twice", columns_.shown(*column)),
                    "a column is the SMILES, labels or a property");
      }
      taken.push_back(*column);
      return column;
    };
    const auto field = [&](std::size_t k) {
      return MoleculeRows::Field::of_texts(fmt::format("column {}", columns_.shown(k)), columns_.spec(k));
    };
    const ReadOptions& read = options_.read;
    if (!read.labels.empty()) {
      labels_ = place(read.labels, "--labels");
      if (labels_) rows_.labels = field(*labels_);
    }
    for (const std::string& spec : read.properties) {
      properties_.push_back(place(spec, "--property"));
      rows_.properties.push_back(properties_.back() ? field(*properties_.back()) : MoleculeRows::Field{});
    }
  }

  void add(const CsvRow& row, std::uint64_t line) {
    if (full()) return;
    if (columns_.count == 1 && row[0].empty()) {  // at the end of the file it is no row
      blank_lines_.push_back(line);
      return;
    }
    for (const std::uint64_t blank : blank_lines_) {
      rows_.texts.emplace_back();
      rows_.lines.push_back(blank);
      if (full()) return;
    }
    blank_lines_.clear();
    if (row.size() != columns_.count) {
      throw Error(fmt::format("{}, row {} (line {})", file_, rows_.size() + 1, line),
                  fmt::format("has {} cells where the first row has {}", row.size(), columns_.count),
                  "every row needs as many");
    }
    rows_.texts.emplace_back(trim(row[smiles_]));
    rows_.lines.push_back(line);
    if (labels_) rows_.labels->texts().emplace_back(trim(row[*labels_]));
    for (std::size_t k = 0; k < properties_.size(); ++k) {
      if (properties_[k]) rows_.properties[k].texts().emplace_back(trim(row[*properties_[k]]));
    }
  }

  std::string file_;
  const MoleculeReadOptions& options_;
  CsvScanner scanner_;
  TableColumns columns_;
  std::size_t smiles_ = 0;
  std::optional<std::size_t> labels_;
  std::vector<std::optional<std::size_t>> properties_;
  std::vector<std::uint64_t> blank_lines_;  // since the last row, in a table of one column
  MoleculeRows rows_;
};

}  // namespace

bool is_called_smiles(std::string_view cell) { return lower(trim(cell)) == "smiles"; }

MoleculeRows parse_molecule_table(Reader& reader, const MoleculeReadOptions& options) {
  return MoleculeTable(reader, options).read();
}

}  // namespace cpfm
