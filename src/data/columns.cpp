#include "data/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/checked.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "data/csv_scanner.hpp"
#include "data/npy_format.hpp"
#include "data/readers.hpp"

namespace cpfm {
namespace {

constexpr double kLargestClass = 9007199254740992.0;  // 2^53: beyond it doubles skip whole numbers
constexpr double kLargestFloatClass = 16777215;       // 2^24 - 1: the last one that no other is rounded to

// All texts as numbers when every one that is not missing is a number, else nothing. Missing becomes NaN.
std::optional<std::vector<double>> as_numbers(const std::vector<std::string>& texts) {
  std::vector<double> numbers(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (is_missing(texts[i]))
      numbers[i] = std::nan("");
    else if (!parse_number(texts[i], numbers[i]))
      return std::nullopt;
  }
  return numbers;
}

template <class Key>
Labels number_classes(const std::vector<std::optional<Key>>& keys, const std::string& where) {
  std::map<Key, std::int32_t> classes;
  for (const auto& key : keys) {
    if (key) classes.emplace(*key, 0);
  }
  if (classes.empty()) throw Error(where, "labels no sample: every entry is missing");
  Labels labels;
  std::int32_t next = 0;
  for (auto& [key, id] : classes) {
    id = next++;
    labels.names.push_back(fmt::format("{}", key));
  }
  labels.ids.reserve(keys.size());
  for (const auto& key : keys) labels.ids.push_back(key ? classes.at(*key) : -1);
  return labels;
}

std::string utf8_from_utf32(std::span<const std::byte> bytes, bool swap) {
  std::string text;
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    std::uint32_t c = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      c |= std::to_integer<std::uint32_t>(bytes[at + k]) << 8 * (swap ? 3 - k : k);
    }
    if (c == 0) break;
    if (c < 0x80) {
      text += static_cast<char>(c);
    } else if (c < 0x800) {
      text += {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
    } else if (c < 0x10000) {
      text += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)),
               static_cast<char>(0x80 | (c & 0x3F))};
    } else {
      text += {static_cast<char>(0xF0 | (c >> 18 & 7)), static_cast<char>(0x80 | (c >> 12 & 0x3F)),
               static_cast<char>(0x80 | (c >> 6 & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
    }
  }
  return text;
}

// Without blank space around it, and without the quotes around that.
std::string unquoted(std::string_view text) {
  text = trim(text);
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::string(text);
  std::string out;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    out += text[i];
    if (text[i] == '"' && text[i + 1] == '"' && i + 2 < text.size()) ++i;
  }
  return out;
}

// One value per line, whatever else the line holds.
std::vector<std::string> read_lines(Reader& reader) {
  if (reader.peek(3) == "\xEF\xBB\xBF") reader.consume(3);
  std::vector<std::string> lines;
  std::string line;
  char last = '\n';
  for (std::string_view window = reader.buffered(); !window.empty(); window = reader.buffered()) {
    for (const char c : window) {
      if (c == '\0') {
        throw Error(fmt::format("{}, line {}", reader.name(), lines.size() + 1), "holds a zero byte",
                    "this is not text; labels and properties are npy, idx or one value per line");
      }
      const bool line_ends = c == '\n' || c == '\r';
      if (!line_ends) {
        line += c;
      } else if (!(c == '\n' && last == '\r')) {
        lines.push_back(unquoted(line));
        line.clear();
      }
      last = c;
    }
    reader.consume(window.size());
  }
  if (last != '\n' && last != '\r') lines.push_back(unquoted(line));
  return lines;
}

// One value per row of a table that calls itself one.
std::vector<std::string> read_only_cells(Reader& reader, char delimiter) {
  std::vector<std::string> texts;
  CsvScanner scanner(reader, delimiter);
  while (scanner.next_row()) {
    if (scanner.row().size() > 1) {
      throw Error(reader.name(), fmt::format("line {} has {} cells", scanner.line(), scanner.row().size()),
                  "a file of labels or properties has one per line");
    }
    texts.emplace_back(trim(scanner.row()[0]));
  }
  return texts;
}

bool is_number(const std::string& text) {
  double ignored = 0;
  return parse_number(text, ignored);
}

bool begins_with_header(const std::vector<std::string>& texts, std::size_t samples, bool limited) {
  if (texts.size() < 2 || is_missing(texts[0]) || is_number(texts[0])) return false;
  const auto rest = texts.begin() + 1;
  if (std::all_of(rest, texts.end(), is_number)) return true;
  const bool one_too_many = limited ? texts.size() > samples : texts.size() == samples + 1;
  return one_too_many && std::find(rest, texts.end(), texts[0]) == texts.end();
}

Column parse_text_column(Reader& reader, std::size_t samples, bool limited, Header header) {
  const std::string extension = content_extension(reader.name());
  std::vector<std::string> texts = extension == ".csv"   ? read_only_cells(reader, ',')
                                   : extension == ".tsv" ? read_only_cells(reader, '\t')
                                                         : read_lines(reader);
  const std::size_t most = samples + (header == Header::kYes ? 1 : 0);
  while (texts.size() > most && texts.back().empty()) texts.pop_back();  // blank lines at the end
  Column column;
  if (!texts.empty() &&
      (header == Header::kYes || (header == Header::kAuto && begins_with_header(texts, samples, limited)))) {
    column.name = texts.front();
    texts.erase(texts.begin());
    log().debug("{}: the first line, '{}', is taken for a header", reader.name(), printable(column.name));
  }
  column.values = std::move(texts);
  return column;
}

// -1 and 1 are the two classes where they are the only numbers; else -1 is "no class".
bool are_signs(const std::vector<double>& numbers) {
  bool minus = false, plus = false;
  for (const double value : numbers) {
    if (!std::isnan(value) && std::abs(value) != 1) return false;
    minus = minus || value == -1;
    plus = plus || value == 1;
  }
  return minus && plus;
}

}  // namespace

bool is_missing(std::string_view text) { return text.empty() || text == "nan" || text == "NaN" || text == "NA"; }

Labels to_labels(const Column& column, const std::string& where) {
  const auto* texts = std::get_if<std::vector<std::string>>(&column.values);
  std::optional<std::vector<double>> numbers;
  if (texts == nullptr)
    numbers = std::get<std::vector<double>>(column.values);
  else if (!column.are_names)
    numbers = as_numbers(*texts);
  if (!numbers) {
    std::vector<std::optional<std::string>> keys;
    for (const std::string& text : *texts) keys.push_back(is_missing(text) ? std::nullopt : std::optional(text));
    return number_classes(keys, where);
  }
  std::vector<std::optional<std::int64_t>> keys;
  const bool signs = are_signs(*numbers);
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    const double value = (*numbers)[i];
    if (std::isnan(value) || (value == -1 && !signs)) {
      keys.emplace_back();
    } else if (value != std::floor(value) || std::abs(value) > kLargestClass) {
      throw Error(fmt::format("{}, row {}", where, i + 1), fmt::format("{} is not a class", value),
                  "labels are whole numbers or text; a measured quantity is a property: --property");
    } else if (column.from_floats && std::abs(value) > kLargestFloatClass) {
      throw Error(fmt::format("{}, row {}", where, i + 1),
                  fmt::format("{:.0f} is too large for a class kept beside the samples as a 32-bit float", value),
                  "give the labels as a file of their own (npy or text)");
    } else {
      keys.emplace_back(static_cast<std::int64_t>(value));
    }
  }
  return number_classes(keys, where);
}

Property to_property(const Column& column, const std::string& where) {
  Property property{column.name, {}};
  const auto add = [&](double value, std::size_t i, std::string_view shown) {
    const auto narrow = static_cast<float>(value);
    if (!std::isfinite(narrow)) {
      throw Error(fmt::format("{}, row {}", where, i + 1), fmt::format("'{}' is not a finite number", printable(shown)),
                  "every sample needs a value of the property; remove the row or fill it in");
    }
    property.values.push_back(narrow);
  };
  if (const auto* numbers = std::get_if<std::vector<double>>(&column.values)) {
    for (std::size_t i = 0; i < numbers->size(); ++i) add((*numbers)[i], i, fmt::format("{}", (*numbers)[i]));
    return property;
  }
  const auto& texts = std::get<std::vector<std::string>>(column.values);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    double value = 0;
    if (!parse_number(texts[i], value)) value = std::nan("");
    add(value, i, texts[i]);
  }
  return property;
}

Column parse_npy_column(Reader& reader) {
  const NpyHeader header = read_npy_header(reader);
  const std::size_t count = checked_product(header.shape, reader.name());
  if (header.shape.empty() || count != header.shape[0]) {
    throw Error(reader.name(), "is not one value per sample",
                "an array of shape (n,) is needed for labels or a property");
  }
  const std::size_t width = header.is_text ? header.text_bytes : header.type.size();
  constexpr std::size_t kLongestText = 1 << 20;
  if (count == 0) throw Error(reader.name(), "holds no values");
  if (width == 0 || width > kLongestText) {
    throw Error(reader.name(), fmt::format("holds texts of {} bytes", width), "labels are of 1 byte to 1 MiB");
  }
  check_declared_size(reader, checked_mul(count, width, reader.name()), "values");
  Column column;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  std::vector<std::byte> element(width);
  for (std::size_t i = 0; i < count; ++i) {
    reader.read_exact(element, "values");
    if (!header.is_text) {
      double value = 0;
      convert(header.type, element.data(), 1, &value);
      numbers.push_back(value);
    } else if (header.text_is_utf32) {
      texts.push_back(utf8_from_utf32(element, header.type.order == std::endian::big));
    } else {
      const auto end = std::find(element.begin(), element.end(), std::byte{0});
      texts.emplace_back(reinterpret_cast<const char*>(element.data()),
                         static_cast<std::size_t>(end - element.begin()));
    }
  }
  if (header.is_text)
    column.values = std::move(texts);
  else
    column.values = std::move(numbers);
  return column;
}

Column column_of_floats(std::string name, std::span<const float> values) {
  Column column{std::move(name), std::vector<double>(values.begin(), values.end())};
  column.from_floats = true;
  return column;
}

bool names_a_file(const std::string& spec) {
  std::error_code ignored;
  return std::filesystem::exists(spec, ignored) && !std::filesystem::is_directory(spec, ignored);
}

void keep_first(Column& column, std::size_t count) {
  std::visit([&](auto& values) { values.resize(std::min(values.size(), count)); }, column.values);
}

Column read_column_file(const std::string& path, std::size_t samples, bool limited, Header header) {
  Reader reader = open_reader(path);
  const std::string start(reader.peek(kNpyMagic.size()));
  Column column;
  if (start == kNpyMagic) {
    column = parse_npy_column(reader);
  } else if (start.size() >= 4 && start[0] == 0 && start[1] == 0) {
    if (start[3] != 1) throw Error(path, "is not one value per sample", "an idx vector (one dimension) is needed");
    column = column_of_floats({}, parse_idx(reader, {}).samples.values());
  } else {
    column = parse_text_column(reader, samples, limited, header);
  }
  if (limited) keep_first(column, samples);
  if (column.size() != samples) {
    throw Error(path, fmt::format("holds {} values for {} samples", column.size(), samples),
                "one per sample is needed");
  }
  if (column.name.empty()) {
    std::filesystem::path stem = std::filesystem::path(path).filename();
    while (stem.has_extension()) stem = stem.stem();
    column.name = stem.string();
  }
  return column;
}

}  // namespace cpfm
