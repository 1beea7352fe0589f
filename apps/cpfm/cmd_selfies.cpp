// cpfm selfies encode | decode: a column of molecules from SMILES to SELFIES and back, row by row. A row that cannot be
// translated keeps its place, with an empty cell.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "base/atomic_file.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checks.hpp"
#include "chem/text_lines.hpp"
#include "cli.hpp"
#include "cpfm/chem.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "data/csv_scanner.hpp"

namespace cpfm::app {
namespace {

struct Direction {
  const char *name, *from, *to;
  std::string (*translate)(std::string_view);
};
constexpr Direction kEncode{"encode", "smiles", "selfies", smiles_to_selfies};
constexpr Direction kDecode{"decode", "selfies", "smiles", selfies_to_smiles};

struct SelfiesArguments {
  std::string file, column, output = "-";
};

constexpr std::size_t kRowsAtOnce = 8192, kRowsAThread = 64, kMessages = 20;

// "12,345"
std::string grouped(std::size_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",;\t\"\r\n") == std::string::npos && !text.starts_with(' ') && !text.ends_with(' '))
    return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

// Molecules one after another; nothing at the end.
class Rows {
 public:
  virtual ~Rows() = default;
  virtual std::optional<std::string> next() = 0;
};

// The first word of each line; blank lines and comments are no rows.
class Words : public Rows {
 public:
  explicit Words(Reader& reader) : reader_(reader), lines_(reader) {}

  std::optional<std::string> next() override {
    while (lines_.next(line_)) {
      const std::string_view text = trim(line_);
      if (text.empty() || text.starts_with('#')) continue;
      any_ = true;
      return std::string(text.substr(0, text.find_first_of(" \t")));
    }
    if (!any_) throw Error(reader_.name(), "holds no molecules", "one at the start of each line");
    return {};
  }

 private:
  Reader& reader_;
  Lines lines_;
  bool any_ = false;
  std::string line_;
};

// The cells of one column of a table. A row that is too short has an empty cell.
class Cells : public Rows {
 public:
  Cells(Reader& reader, const std::string& column, const char* usual)
      : scanner_(reader, content_extension(reader.name()) == ".tsv" ? '\t' : 0) {
    if (!scanner_.next_row()) throw Error(reader.name(), "is empty", "a table with a header line");
    std::vector<std::string> names;
    for (std::size_t k = 0; k < scanner_.row().size(); ++k) names.emplace_back(trim(scanner_.row()[k]));
    const std::string wanted = column.empty() ? usual : column;
    const auto found = std::find(names.begin(), names.end(), wanted);
    if (found == names.end())
      throw Error(reader.name(), fmt::format("has no column '{}'", printable(wanted)),
                  "--column names another: " + suggest(wanted, names));
    column_ = static_cast<std::size_t>(found - names.begin());
  }

  std::optional<std::string> next() override {
    if (blanks_ == 0 && !held_) {
      while (scanner_.next_row()) {
        const CsvRow& row = scanner_.row();
        held_ = column_ < row.size() ? std::string(trim(row[column_])) : std::string();
        if (row.size() > 1 || !held_->empty()) break;
        held_.reset();  // blank lines of a table with one column are cells, but for those at its end
        ++blanks_;
      }
      if (!held_) {
        blanks_ = 0;
        return {};
      }
    }
    if (blanks_ > 0) {
      --blanks_;
      return std::string();
    }
    return std::exchange(held_, std::nullopt);
  }

 private:
  CsvScanner scanner_;
  std::size_t column_ = 0, blanks_ = 0;
  std::optional<std::string> held_;
};

// A .smi or .txt file has no header; other files, and those whose column is named, are tables.
std::unique_ptr<Rows> open_rows(Reader& reader, const std::string& column, const char* usual) {
  const std::string extension = content_extension(reader.name());
  if (column.empty() && (extension == ".smi" || extension == ".txt")) return std::make_unique<Words>(reader);
  return std::make_unique<Cells>(reader, column, usual);
}

// A CSV file, or standard output; nothing is written before the first molecule was translated.
class Output {
 public:
  explicit Output(const std::string& file) {
    if (file != "-") file_.emplace(file);
  }
  void add(const std::string& text) { text_ += text; }
  void flush() {
    if (file_)
      file_->write(text_);
    else if (std::fwrite(text_.data(), 1, text_.size(), stdout) != text_.size())
      throw Error("standard output", "cannot be written", "is the disk full?");
    text_.clear();
  }
  void finish() {
    flush();
    if (file_) file_->commit();
  }

 private:
  std::optional<AtomicFile> file_;
  std::string text_;
};

void translate(const Direction& direction, const SelfiesArguments& arguments, const Context& context) {
  const bool to_stdout = arguments.output == "-";
  if (to_stdout && context.json)
    throw Error("--json", "the table goes to standard output already", "name a file for it with --output");
  if (!to_stdout) {
    check_extension("--output", arguments.output, {".csv"});
    check_writable("--output", arguments.output);
    check_different({{"FILE", arguments.file == "-" ? "" : arguments.file}, {"--output", arguments.output}});
  }
  Reader reader = open_reader(arguments.file);
  const std::unique_ptr<Rows> molecules = open_rows(reader, arguments.column, direction.from);
  Output output(arguments.output);
  output.add(fmt::format("{},{}\n", direction.from, direction.to));

  std::size_t rows = 0, failed = 0;
  std::string first_problem;
  struct Row {
    std::string from, to, problem;
  };
  for (std::vector<Row> batch;; batch.clear()) {
    while (batch.size() < kRowsAtOnce) {
      std::optional<std::string> cell = molecules->next();
      if (!cell) break;
      batch.push_back({std::move(*cell), {}, {}});
    }
    if (batch.empty()) break;
    parallel_for(batch.size(), kRowsAThread, [&](std::size_t begin, std::size_t end) {
      check_interrupt();
      for (std::size_t i = begin; i < end; ++i) {
        Row& row = batch[i];
        try {
          if (row.from.empty())
            row.problem = "the cell is empty";
          else
            row.to = direction.translate(row.from);
        } catch (const Error& error) {
          row.problem = error.what();
        }
      }
    });
    for (const Row& row : batch) {
      ++rows;
      if (first_problem.empty()) first_problem = row.problem;
      if (!row.problem.empty() && ++failed <= kMessages) log().warn("row {}: {}", rows, row.problem);
      output.add(fmt::format("{},{}\n", csv_cell(row.from), csv_cell(row.to)));
    }
    if (failed < rows) output.flush();
  }
  if (failed > kMessages) log().warn("{} more rows could not be translated", grouped(failed - kMessages));
  if (rows > 0 && failed == rows)
    throw Error(reader.name(),
                fmt::format("none of its {} rows could be translated, the first: {}", grouped(rows), first_problem),
                "is this the right column, and the right way round?");
  output.finish();
  const std::string summary = fmt::format("{} rows, {} could not be translated", grouped(rows), grouped(failed));
  if (context.json)
    context.print({{"rows", rows}, {"failed", failed}, {"output", arguments.output}});
  else if (to_stdout)
    log().info("{}", summary);
  else
    fmt::print("{}: {}\n", printable(arguments.output, 200), summary);
}

void add_direction(CLI::App& parent, Context& context, const Direction& direction, const char* what,
                   const char* example) {
  auto* command = parent.add_subcommand(direction.name, what);
  command->footer(fmt::format("Examples:\n  {}", example));
  const auto arguments = std::make_shared<SelfiesArguments>();
  command
      ->add_option("FILE", arguments->file,
                   "A table with a header (.csv, .tsv; gzipped too), lines of a .smi or "
                   ".txt file, or - for a table on standard input")
      ->required();
  command
      ->add_option("--column", arguments->column, fmt::format("The column to translate (default: {})", direction.from))
      ->type_name("NAME");
  command->add_option("-o,--output", arguments->output, "CSV file to write, or - for standard output")
      ->capture_default_str();
  command->callback([=, &context] { translate(direction, *arguments, context); });
}

}  // namespace

void add_selfies_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("selfies", "Translate molecules from SMILES to SELFIES and back");
  command->require_subcommand(1);
  add_direction(*command, context, kEncode, "SMILES to SELFIES",
                "cpfm selfies encode molecules.csv --column smiles -o selfies.csv\n"
                "  cpfm selfies encode molecules.smi.gz -o selfies.csv");
  add_direction(*command, context, kDecode, "SELFIES to SMILES",
                "cpfm selfies decode selfies.csv -o smiles.csv\n"
                "  grep -v Ring selfies.csv | cpfm selfies decode - > smiles.csv");
}

}  // namespace cpfm::app
