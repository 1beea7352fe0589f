#include "data/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "data/csv_scanner.hpp"
#include "data/npy_format.hpp"
#include "data/readers.hpp"

namespace cpfm {
namespace {

constexpr double kLargestClass = 9007199254740992.0;  // 2^53: beyond it doubles skip whole numbers

// All texts as numbers when every non-empty one is a number, else nothing. Missing becomes NaN.
std::optional<std::vector<double>> as_numbers(const std::vector<std::string>& texts) {
  std::vector<double> numbers(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty())
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

Column parse_text_column(Reader& reader, std::size_t samples, bool limited) {
  Column column;
  std::vector<std::string> texts;
  CsvScanner scanner(reader, 0);
  while (scanner.next_row()) {
    if (scanner.row().size() > 1) {
      throw Error(reader.name(), fmt::format("line {} has {} cells", scanner.line(), scanner.row().size()),
                  "a file of labels or properties has one per line");
    }
    texts.emplace_back(trim(scanner.row()[0]));
  }
  while (texts.size() > samples && texts.back().empty()) texts.pop_back();  // blank lines at the end
  double ignored = 0;
  const bool text_above_numbers =
      texts.size() > 1 && !parse_number(texts[0], ignored) &&
      std::all_of(texts.begin() + 1, texts.end(), [&](const auto& t) { return parse_number(t, ignored); });
  if (limited ? text_above_numbers : texts.size() == samples + 1) {
    column.name = texts.front();
    texts.erase(texts.begin());
  }
  column.values = std::move(texts);
  return column;
}

}  // namespace

Labels to_labels(const Column& column, const std::string& where) {
  const auto* texts = std::get_if<std::vector<std::string>>(&column.values);
  std::optional<std::vector<double>> numbers;
  if (texts == nullptr)
    numbers = std::get<std::vector<double>>(column.values);
  else
    numbers = as_numbers(*texts);
  if (!numbers) {
    std::vector<std::optional<std::string>> keys;
    for (const std::string& text : *texts) keys.push_back(text.empty() ? std::nullopt : std::optional(text));
    return number_classes(keys, where);
  }
  std::vector<std::optional<std::int64_t>> keys;
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    const double value = (*numbers)[i];
    if (std::isnan(value) || value == -1) {
      keys.emplace_back();
    } else if (value != std::floor(value) || std::abs(value) > kLargestClass) {
      throw Error(fmt::format("{}, row {}", where, i + 1), fmt::format("{} is not a class", value),
                  "labels are whole numbers or text; a measured quantity is a property: --property");
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

void keep_first(Column& column, std::size_t count) {
  std::visit([&](auto& values) { values.resize(std::min(values.size(), count)); }, column.values);
}

Column read_column_file(const std::string& path, std::size_t samples, bool limited) {
  Reader reader = open_reader(path);
  const std::string start(reader.peek(kNpyMagic.size()));
  Column column;
  if (start == kNpyMagic) {
    column = parse_npy_column(reader);
  } else if (start.size() >= 4 && start[0] == 0 && start[1] == 0 && start[3] == 1) {
    const Dataset vector = parse_idx(reader, {});
    column.values = std::vector<double>(vector.samples.values().begin(), vector.samples.values().end());
  } else {
    column = parse_text_column(reader, samples, limited);
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
