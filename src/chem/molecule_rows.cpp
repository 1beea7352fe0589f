// Which reader a file of molecules takes, lists of SMILES, and labels and properties from other files.
#include "chem/molecule_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "chem/text_lines.hpp"
#include "cpfm/error.hpp"
#include "data/csv_scanner.hpp"
#include "data/table_columns.hpp"

namespace cpfm {
namespace fs = std::filesystem;
namespace {

// Labels and properties that are files of their own.
void attach_files(MoleculeRows& rows, const ReadOptions& options) {
  const bool limited = options.limit && rows.size() == *options.limit;
  const auto read = [&](const std::string& spec, const char* option) {
    if (!names_a_file(spec)) {
      throw Error(option, fmt::format("'{}' is no file, and {} has no columns", printable(spec), rows.file),
                  "give a file with one value per molecule");
    }
    return MoleculeRows::Field{fmt::format("file '{}'", printable(spec)),
                               read_column_file(spec, rows.size(), limited, options.header)};
  };
  if (!options.labels.empty() && (!rows.labels || rows.labels->shown.empty()))
    rows.labels = read(options.labels, "--labels");
  for (std::size_t k = 0; k < rows.properties.size(); ++k) {
    if (rows.properties[k].shown.empty()) rows.properties[k] = read(options.properties[k], "--property");
  }
}

}  // namespace

// SMILES, then blank space and a name, one molecule a line; '#' begins a comment.
MoleculeRows parse_smi(Reader& reader, const ReadOptions& options) {
  MoleculeRows rows;
  rows.properties.resize(options.properties.size());
  const auto full = [&] { return options.limit && rows.size() >= *options.limit; };
  Lines lines(reader);
  std::string line;
  bool header = options.header == Header::kYes;
  while (!full() && lines.next(line)) {
    const std::string_view text = trim(line);
    if (text.empty() || text.starts_with('#')) continue;
    if (header) {
      header = false;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    rows.texts.emplace_back(text.substr(0, end));
    rows.names.emplace_back(trim(text.substr(end)));
    rows.lines.push_back(lines.number());
  }
  if (options.header == Header::kAuto) rows.hint_at_first = "if the first line is a header: --header yes";
  return rows;
}

std::string BadRow::text() const { return fmt::format("row {} (line {}): {}", row, line, problem); }

bool holds_molecules(const std::string& source, const MoleculeReadOptions& options) {
  std::error_code ignored;
  if (source == "digits" || fs::is_directory(source, ignored)) return false;
  const std::string extension = content_extension(source);
  for (const char* array : {".npy", ".npz", ".h5", ".hdf5", ".h5ad", ".bin"}) {
    if (extension == array) return false;
  }
  if (!options.smiles.empty() || extension == ".smi" || extension == ".sdf") return true;
  // A table can be asked only where it can be read twice.
  const bool asks = (extension == ".csv" || extension == ".tsv") && options.read.header != Header::kNo;
  if (!asks || !fs::is_regular_file(source, ignored)) return false;
  try {
    Reader reader = open_reader(source);
    CsvScanner scanner(reader, extension == ".tsv" ? '\t' : 0);
    if (!scanner.next_row()) return false;
    const CsvRow first = scanner.row();
    if (!scanner.next_row()) return false;
    TableColumns columns;
    columns.count = first.size();
    for (std::size_t k = 0; k < first.size(); ++k) columns.names.emplace_back(trim(first[k]));
    const auto named = std::find_if(columns.names.begin(), columns.names.end(), is_called_smiles);
    if (named == columns.names.end()) return false;
    const auto k = static_cast<std::size_t>(named - columns.names.begin());
    if (k >= scanner.row().size() || is_like_number(scanner.row()[k])) return false;
    // Who uses the column for something else, or leaves it out, means the other columns.
    std::vector<std::string> others = options.read.ignore;
    others.insert(others.end(), options.read.properties.begin(), options.read.properties.end());
    if (!options.read.labels.empty()) others.push_back(options.read.labels);
    return std::none_of(others.begin(), others.end(),
                        [&](const std::string& spec) { return columns.find(spec, source) == k; });
  } catch (const Error&) {  // the reader of tables says what is wrong
    return false;
  }
}

MoleculeRows read_molecule_rows(const std::string& source, const MoleculeReadOptions& options) {
  Reader reader = open_reader(source, options.read.progress);
  if (reader.at_end()) throw Error(reader.name(), "is empty");
  const std::string extension = content_extension(source);
  MoleculeRows rows = extension == ".smi"   ? parse_smi(reader, options.read)
                      : extension == ".sdf" ? parse_sdf(reader, options.read)
                                            : parse_molecule_table(reader, options);
  if (!options.read.limit) (void)reader.at_end();
  if (options.read.progress != nullptr) options.read.progress->finish();
  rows.file = reader.name();
  if (rows.size() == 0) throw Error(rows.file, "holds no molecules");
  attach_files(rows, options.read);
  return rows;
}

}  // namespace cpfm
