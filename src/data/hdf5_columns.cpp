// Brings every form that a column takes in an HDF5 file to one: numbers, where NaN is missing, or texts, where an empty
// one is.
#if CPFM_HAS_HDF5

#include "data/hdf5_columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>

#include "base/checked.hpp"
#include "cpfm/error.hpp"

namespace cpfm::hdf5 {
namespace {

std::vector<std::string> read_enum_names(const Array& array, std::size_t count) {
  const std::size_t width = H5Tget_size(*array.type);
  std::vector<char> raw(checked_mul(count, width, array.where()));
  read_rows(array, 0, count, *array.type, raw.data());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    std::array<char, 256> name{};
    if (H5Tenum_nameof(*array.type, &raw[i * width], name.data(), name.size() - 1) < 0) name[0] = '\0';  // missing
    names.emplace_back(name.data());
  }
  return names;
}

// The first `count` of `total` values; `total` 0: however many there are.
Column read_values(const Array& array, std::size_t total, std::size_t count, Use use) {
  const bool one_per_row = array.dims.size() == 1 || (array.dims.size() == 2 && array.dims[1] == 1);
  if (!one_per_row) throw Error(array.where(), "is not one value per sample", "a dataset with one dimension is needed");
  if (total == 0) {
    count = array.dims[0];
  } else if (array.dims[0] != total) {
    throw Error(array.where(), fmt::format("holds {} values for {} samples", array.dims[0], total));
  }
  Column column;
  if (count == 0) return column;
  if (array.kind() == H5T_STRING) {
    column.values = read_texts(array, count);
  } else if (array.kind() == H5T_ENUM && use == Use::kClasses) {
    column.values = read_enum_names(array, count);
  } else if (is_number(array.kind()) || array.kind() == H5T_ENUM) {
    std::vector<double> numbers(count);
    read_rows(array, 0, count, H5T_NATIVE_DOUBLE, numbers.data());
    column.values = std::move(numbers);
  } else {
    throw Error(array.where(), "holds neither numbers nor text");
  }
  return column;
}

// Numbers that are declared to be categories are classes even where they are fractions: then their texts stand for
// them.
bool name_fractions(Column& names) {
  const auto* numbers = std::get_if<std::vector<double>>(&names.values);
  if (numbers == nullptr) return false;
  if (std::all_of(numbers->begin(), numbers->end(), [](double x) { return x == std::floor(x); })) return false;
  std::vector<std::string> texts;
  for (const double x : *numbers) texts.push_back(fmt::format("{}", x));
  names.values = std::move(texts);
  return true;
}

// Codes into a list of categories; -1 is missing.
Column decode_categories(const Array& codes, const Array& categories, std::size_t total, std::size_t count, Use use) {
  if (codes.kind() != H5T_INTEGER)
    throw Error(codes.where(), "does not hold whole numbers, as codes of categories are");
  const Column code_column = read_values(codes, total, count, Use::kNumbers);
  const auto& numbers = std::get<std::vector<double>>(code_column.values);
  Column names = read_values(categories, 0, 0, use);
  Column column;
  if (use == Use::kClasses) column.are_names = name_fractions(names);
  std::visit(
      [&](const auto& list) {
        using List = std::decay_t<decltype(list)>;
        typename List::value_type missing{};
        if constexpr (std::is_same_v<List, std::vector<double>>) missing = std::nan("");
        List values(numbers.size(), missing);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          if (numbers[i] == -1) continue;
          if (numbers[i] < 0 || numbers[i] >= static_cast<double>(list.size())) {
            throw Error(codes.where(),
                        fmt::format("row {} has the code {} for {} categories", i + 1, numbers[i], list.size()));
          }
          values[i] = list[static_cast<std::size_t>(numbers[i])];
        }
        column.values = std::move(values);
      },
      names.values);
  return column;
}

// A column with a mask of its missing values beside it (AnnData's nullable-integer, -boolean and -string).
Column read_masked(const Array& array, const Array& mask, std::size_t total, std::size_t count, Use use) {
  Column column = read_values(array, total, count, use);
  const Column missing = read_values(mask, total, count, Use::kNumbers);
  const auto* flags = std::get_if<std::vector<double>>(&missing.values);
  if (flags == nullptr) not_numbers(mask);
  for (std::size_t i = 0; i < flags->size(); ++i) {
    if ((*flags)[i] == 0) continue;
    if (auto* texts = std::get_if<std::vector<std::string>>(&column.values))
      (*texts)[i].clear();
    else
      std::get<std::vector<double>>(column.values)[i] = std::nan("");
  }
  return column;
}

}  // namespace

std::optional<Column> read_column_at(const File& file, const std::string& path, const std::string& categories,
                                     std::size_t total, std::size_t count, Use use) {
  const Handle object = file.open(path);
  if (is_dataset(object)) {
    const Array array = open_array(file, path);
    if (!categories.empty() && is_dataset(file.open(categories))) {
      return decode_categories(array, open_array(file, categories), total, count, use);
    }
    return read_values(array, total, count, use);
  }
  if (!is_group(object)) return std::nullopt;
  const auto has = [&](const char* name) { return is_dataset(file.open(path + "/" + name)); };
  if (has("codes") && has("categories")) {
    return decode_categories(open_array(file, path + "/codes"), open_array(file, path + "/categories"), total, count,
                             use);
  }
  if (has("values") && has("mask")) {
    return read_masked(open_array(file, path + "/values"), open_array(file, path + "/mask"), total, count, use);
  }
  throw Error(file.where(path), "is a group that is not a column",
              "a dataset, or a categorical with codes and categories");
}

std::vector<std::string> table_columns(const File& file, const std::string& table) {
  const Handle object = file.open(table);
  std::vector<std::string> names;
  if (is_group(object)) {
    names = members(file, object);
    std::erase(names, "__categories");
  } else if (is_dataset(object)) {
    const Handle type(H5Dget_type(*object), H5Tclose);
    const int fields = type && H5Tget_class(*type) == H5T_COMPOUND ? H5Tget_nmembers(*type) : 0;
    for (int i = 0; i < fields; ++i) {
      char* name = H5Tget_member_name(*type, static_cast<unsigned>(i));
      if (name == nullptr) continue;
      names.emplace_back(name);
      H5free_memory(name);
    }
  }
  return names;
}

std::optional<Column> read_table_column(const File& file, const std::string& table, const std::string& name,
                                        std::size_t total, std::size_t count, Use use) {
  const std::vector<std::string> names = table_columns(file, table);
  if (std::find(names.begin(), names.end(), name) == names.end()) return std::nullopt;
  if (!is_dataset(file.open(table))) {
    return read_column_at(file, table + "/" + name, table + "/__categories/" + name, total, count, use);
  }
  const Array array = open_array(file, table, name);
  const std::string categories = "uns/" + name + "_categories";
  if (array.kind() == H5T_INTEGER && is_dataset(file.open(categories))) {
    return decode_categories(array, open_array(file, categories), total, count, use);
  }
  return read_values(array, total, count, use);
}

std::vector<std::string> row_names(const File& file, const std::string& table, std::size_t total, std::size_t count) {
  const Handle object = file.open(table);
  if (!object) return {};
  for (const std::string& name : {text_attribute(object, "_index"), std::string("_index"), std::string("index")}) {
    const auto column = read_table_column(file, table, name, total, count, Use::kClasses);
    if (!column) continue;
    if (const auto* texts = std::get_if<std::vector<std::string>>(&column->values)) return *texts;
    std::vector<std::string> texts;
    for (const double number : std::get<std::vector<double>>(column->values))
      texts.push_back(fmt::format("{}", number));
    return texts;
  }
  return {};
}

}  // namespace cpfm::hdf5

#endif
