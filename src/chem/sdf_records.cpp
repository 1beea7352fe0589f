// SDF: a block per molecule, data fields behind it, "$$$$" at the end. The blocks are left to RDKit.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "chem/molecule_rows.hpp"
#include "chem/text_lines.hpp"
#include "cpfm/error.hpp"

namespace cpfm {
namespace {

constexpr std::size_t kLongestRecord = std::size_t{1} << 26;

// What stands between the brackets of "> 25 <mu> (extern)".
std::string field_name(std::string_view line) {
  line.remove_prefix(1);
  const std::size_t open = line.find('<'), close = line.find('>');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  return std::string(trim(line.substr(open + 1, close - open - 1)));
}

struct Record {
  std::uint64_t line = 0;  // where it begins
  std::string block;       // up to "M  END"
  std::vector<std::pair<std::string, std::string>> fields;
};

// False at the end. The last record may lack its "$$$$".
bool next_record(Lines& lines, const std::string& file, Record& record) {
  record = {};
  std::string line;
  std::size_t bytes = 0;
  bool anything = false, in_fields = false, in_value = false;
  while (lines.next(line)) {
    if (record.line == 0) record.line = lines.number();
    if (line.starts_with("$$$$")) return true;
    bytes += line.size() + 1;
    if (bytes > kLongestRecord) {
      throw Error(fmt::format("{}, line {}", file, record.line), "the record is longer than 64 MiB",
                  "records end with a line $$$$");
    }
    const bool blank = trim(line).empty();
    anything = anything || !blank;
    if (!in_fields) {
      record.block += line + '\n';
      in_fields = line.starts_with("M  END");
    } else if (in_value && !blank) {
      std::string& value = record.fields.back().second;
      value += (value.empty() ? "" : " ") + line;
    } else if (line.starts_with('>')) {
      record.fields.emplace_back(field_name(line), "");
      in_value = true;
    } else {
      in_value = false;
    }
  }
  return anything;
}

}  // namespace

MoleculeRows parse_sdf(Reader& reader, const ReadOptions& options) {
  MoleculeRows rows;
  rows.are_blocks = true;
  // The labels first where they are asked for.
  std::vector<std::string> wanted = options.properties;
  if (!options.labels.empty()) wanted.insert(wanted.begin(), options.labels);
  std::vector<MoleculeRows::Field> fields;
  for (const std::string& name : wanted)
    fields.push_back(MoleculeRows::Field::of_texts(fmt::format("data field '{}'", printable(name)), name));
  std::set<std::string> seen;

  Lines lines(reader);
  Record record;
  while (!(options.limit && rows.size() >= *options.limit) && next_record(lines, reader.name(), record)) {
    rows.names.emplace_back(trim(std::string_view(record.block).substr(0, record.block.find('\n'))));
    rows.texts.push_back(std::move(record.block));
    rows.lines.push_back(record.line);
    for (std::size_t k = 0; k < fields.size(); ++k) {
      const auto at = std::find_if(record.fields.begin(), record.fields.end(),
                                   [&](const auto& field) { return field.first == wanted[k]; });
      fields[k].texts().emplace_back(at == record.fields.end() ? "" : trim(at->second));
    }
    for (auto& field : record.fields) seen.insert(std::move(field.first));
  }

  const auto take = [&](std::size_t k, const char* option) {
    if (seen.contains(wanted[k])) return std::move(fields[k]);
    if (names_a_file(wanted[k])) return MoleculeRows::Field{};
    throw Error(reader.name(), fmt::format("has no data field '{}' (option {})", printable(wanted[k]), option),
                seen.empty() ? "its records have none" : suggest(wanted[k], {seen.begin(), seen.end()}));
  };
  const std::size_t labels = options.labels.empty() ? 0 : 1;
  if (labels == 1) rows.labels = take(0, "--labels");
  for (std::size_t k = labels; k < wanted.size(); ++k) rows.properties.push_back(take(k, "--property"));
  return rows;
}

}  // namespace cpfm
