// Tables of text. Columns are features unless the options make them labels, properties or ignored; everything else must
// be a finite number.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "data/columns.hpp"
#include "data/csv_scanner.hpp"
#include "data/readers.hpp"
#include "data/table_columns.hpp"

namespace cpfm {
namespace {

enum class Role { kFeature, kLabels, kProperty, kIgnored };

class Table {
 public:
  Table(Reader& reader, const ReadOptions& options)
      : reader_(reader), options_(options), scanner_(reader, content_extension(reader.name()) == ".tsv" ? '\t' : 0) {}

  Dataset read() {
    if (!scanner_.next_row()) throw Error(reader_.name(), "is empty");
    const CsvRow first = scanner_.row();
    const std::uint64_t first_line = scanner_.line();
    const bool more = scanner_.next_row();
    columns_.count = first.size();
    columns_.starts_with_text = all_text(first);
    const bool header = options_.header == Header::kYes ||
                        (options_.header == Header::kAuto &&
                         (more ? looks_like_header(first, scanner_.row()) : columns_.starts_with_text));
    for (std::size_t k = 0; header && k < first.size(); ++k) columns_.names.emplace_back(trim(first[k]));
    assign_roles();
    if (!header) add_row(first, first_line);
    for (bool row = more; row && !full(); row = scanner_.next_row()) add_row(scanner_.row(), scanner_.line());
    return finish();
  }

 private:
  bool full() const { return options_.limit && rows_ >= *options_.limit; }

  void assign(const std::string& spec, Role role, const char* option) {
    const auto column = columns_.find(spec, reader_.name());
    if (!column) {
      if (role == Role::kIgnored || !names_a_file(spec)) columns_.refuse(spec, option, reader_.name());
      if (role == Role::kProperty) properties_.push_back({kElsewhere, {}, {}});  // read by read_dataset()
      return;
    }
    if (roles_[*column] != Role::kFeature) {
      throw Error(reader_.name(), fmt::format("column {} is asked for twice", columns_.shown(*column)),
                  "a column is labels, a property or ignored");
    }
    roles_[*column] = role;
    if (role == Role::kProperty) {
      properties_.push_back({*column, columns_.spec(*column), {}});
    }
  }

  void assign_roles() {
    roles_.assign(columns_.count, Role::kFeature);
    if (!options_.labels.empty()) assign(options_.labels, Role::kLabels, "--labels");
    for (const std::string& spec : options_.properties) assign(spec, Role::kProperty, "--property");
    for (const std::string& spec : options_.ignore) assign(spec, Role::kIgnored, "--ignore");
    features_ = static_cast<std::size_t>(std::count(roles_.begin(), roles_.end(), Role::kFeature));
    if (features_ == 0) throw Error(reader_.name(), "has no column left for the samples");
  }

  void add_row(const CsvRow& row, std::uint64_t line) {
    if (full()) return;
    if (columns_.count == 1 && row[0].empty()) {  // at the end of the file it is no cell
      if (blank_line_ == 0) blank_line_ = line;
      return;
    }
    if (blank_line_ != 0) number({}, 0, blank_line_);
    if (row.size() != columns_.count) {
      throw Error(fmt::format("{}, row {} (line {})", reader_.name(), rows_ + 1, line),
                  fmt::format("has {} cells where the first row has {}", row.size(), columns_.count),
                  "every row needs as many");
    }
    if (values_.capacity() < (rows_ + 1) * features_) {
      values_.reserve(std::max({2 * values_.capacity(), (rows_ + 1) * features_, std::size_t{1024}}));
    }
    float* out = values_.data() + rows_ * features_;
    std::size_t property = 0;
    for (std::size_t k = 0; k < columns_.count; ++k) {
      switch (roles_[k]) {
        case Role::kFeature:
          *out++ = number(row[k], k, line);
          break;
        case Role::kLabels:
          labels_.emplace_back(trim(row[k]));
          break;
        case Role::kProperty: {
          while (properties_[property].column != k) property = (property + 1) % properties_.size();
          properties_[property].texts.emplace_back(trim(row[k]));
          break;
        }
        case Role::kIgnored:
          break;
      }
    }
    ++rows_;
  }

  float number(std::string_view text, std::size_t column, std::uint64_t line) const {
    double value = 0;
    if (parse_number(text, value)) {
      const auto narrow = static_cast<float>(value);
      if (std::isfinite(narrow)) return narrow;
    }
    const std::string where =
        fmt::format("{}, row {} (line {}), column {}", reader_.name(), rows_ + 1, line, columns_.shown(column));
    text = trim(text);
    const std::string shown = printable(text);
    const char* const kFill = "fill it in, remove the row, or leave the column out with --ignore";
    if (text.empty()) throw Error(where, "the cell is empty", kFill);
    if (is_missing(text)) throw Error(where, fmt::format("'{}' is not a finite number", shown), kFill);
    if (parse_number(text, value)) {
      const bool written_out = text.find_first_of("0123456789") != std::string_view::npos;
      throw Error(
          where, fmt::format("'{}' is {}", shown, written_out ? "too large for a 32-bit float" : "not a finite number"),
          kFill);
    }
    if (is_decimal_comma(text)) {
      throw Error(where, fmt::format("'{}' is not a number", shown), "decimal commas are not read; use points");
    }
    const std::string name = columns_.spec(column);
    if (lower(name) == "smiles") {
      throw Error(
          where, fmt::format("'{}' is not a number", shown),
          fmt::format("read the rows as molecules (--smiles {0}) or leave the column out (--ignore {0})", name));
    }
    throw Error(where, fmt::format("'{}' is not a number", shown),
                fmt::format("use the column as labels (--labels {0}) or leave it out (--ignore {0})", printable(name)));
  }

  Dataset finish() {
    if (rows_ == 0) throw Error(reader_.name(), "holds a header and no rows");
    Dataset data;
    data.format = "csv";
    data.dtype = "text";
    data.samples = std::move(values_);
    data.samples.reshape(rows_, features_);
    data.samples.shrink();
    const auto where = [&](std::size_t k) { return fmt::format("{}, column {}", reader_.name(), columns_.shown(k)); };
    const auto labelled = std::find(roles_.begin(), roles_.end(), Role::kLabels);
    if (labelled != roles_.end()) {
      data.labels =
          to_labels({options_.labels, std::move(labels_)}, where(static_cast<std::size_t>(labelled - roles_.begin())));
    }
    for (PropertyColumn& property : properties_) {
      data.properties.push_back(property.column == kElsewhere
                                    ? Property{}
                                    : to_property({property.name, std::move(property.texts)}, where(property.column)));
    }
    for (std::size_t k = 0; k < columns_.names.size(); ++k) {
      if (roles_[k] == Role::kFeature) data.feature_names.push_back(std::move(columns_.names[k]));
    }
    return data;
  }

  static constexpr std::size_t kElsewhere = std::numeric_limits<std::size_t>::max();
  struct PropertyColumn {
    std::size_t column;
    std::string name;
    std::vector<std::string> texts;
  };

  Reader& reader_;
  const ReadOptions& options_;
  CsvScanner scanner_;
  TableColumns columns_;
  std::vector<Role> roles_;
  std::size_t features_ = 0, rows_ = 0;
  std::uint64_t blank_line_ = 0;  // the first since the last row, in a table of one column
  FloatMatrix values_;
  std::vector<std::string> labels_;
  std::vector<PropertyColumn> properties_;
};

}  // namespace

Dataset parse_csv(Reader& reader, const ReadOptions& options) { return Table(reader, options).read(); }

}  // namespace cpfm
