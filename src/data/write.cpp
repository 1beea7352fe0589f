#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "base/atomic_file.hpp"
#include "base/checked.hpp"
#include "cpfm/data.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "data/csv_field.hpp"

namespace cpfm {
namespace {

static_assert(std::endian::native == std::endian::little, "npy files are written as '<f4' straight from memory");

// `wanted`, or "wanted_2" and so on where the table has such a column.
std::string free_column_name(const Dataset& data, const std::string& wanted) {
  const auto taken = [&](const std::string& name) {
    return std::find(data.feature_names.begin(), data.feature_names.end(), name) != data.feature_names.end() ||
           std::any_of(data.properties.begin(), data.properties.end(),
                       [&](const Property& property) { return property.name == name; });
  };
  std::string name = wanted;
  for (int k = 2; taken(name); ++k) name = fmt::format("{}_{}", wanted, k);
  return name;
}

}  // namespace

void write_npy(const std::filesystem::path& file, std::span<const float> values,
               const std::vector<std::size_t>& shape) {
  if (checked_product(shape, file.string()) != values.size()) {
    throw Error(file.string(), fmt::format("the shape does not hold {} values", values.size()));
  }
  std::string dims;
  for (const std::size_t dim : shape) dims += fmt::format("{}, ", dim);
  if (shape.size() > 1)
    dims.resize(dims.size() - 2);
  else if (shape.size() == 1)
    dims.resize(dims.size() - 1);
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", dims);
  // Magic, version and length take 10 bytes; numpy aligns the data to 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  AtomicFile out(file);
  const auto length = static_cast<std::uint16_t>(header.size());
  out.write(std::string_view("\x93NUMPY\x01\x00", 8));
  out.write_values(std::span<const std::uint16_t>(&length, 1));
  out.write(header);
  constexpr std::size_t kSlice = (16 << 20) / sizeof(float);
  for (std::size_t begin = 0; begin < values.size(); begin += kSlice) {
    check_interrupt();
    out.write_values(values.subspan(begin, std::min(kSlice, values.size() - begin)));
  }
  out.commit();
}

void write_npy(const std::filesystem::path& file, MatrixView<const float> values) {
  write_npy(file, {values.data, values.size()}, {values.rows, values.cols});
}

void write_csv(const std::filesystem::path& file, const Dataset& data) {
  const bool molecules = !data.molecules.empty();
  const bool only_column = data.dim() == 1 && data.properties.empty() && !data.labels && !molecules;
  const auto quoted = [&](const std::string& text) { return quoted_if_needed(text, only_column); };
  AtomicFile out(file);
  fmt::memory_buffer buffer;
  const auto flush = [&](std::size_t when) {
    if (buffer.size() < when) return;
    out.write(std::string_view(buffer.data(), buffer.size()));
    buffer.clear();
  };
  const auto to = std::back_inserter(buffer);
  if (molecules) fmt::format_to(to, "{},", free_column_name(data, "smiles"));
  for (std::size_t j = 0; j < data.dim(); ++j) {
    const std::string name = j < data.feature_names.size() ? quoted(data.feature_names[j]) : fmt::format("x{}", j + 1);
    fmt::format_to(to, "{}{}", j == 0 ? "" : ",", name);
  }
  for (const Property& property : data.properties) fmt::format_to(to, ",{}", quoted(property.name));
  if (data.labels) fmt::format_to(to, ",{}", free_column_name(data, "label"));
  fmt::format_to(to, "\n");
  for (std::size_t i = 0; i < data.size(); ++i) {
    check_interrupt();
    if (molecules) fmt::format_to(to, "{},", quoted(data.molecules[i]));
    for (std::size_t j = 0; j < data.dim(); ++j) fmt::format_to(to, "{}{}", j == 0 ? "" : ",", data.samples(i, j));
    for (const Property& property : data.properties) fmt::format_to(to, ",{}", property.values[i]);
    if (data.labels) {
      const std::int32_t id = data.labels->ids[i];
      fmt::format_to(to, ",{}", id < 0 ? std::string() : quoted(data.labels->names[static_cast<std::size_t>(id)]));
    }
    fmt::format_to(to, "\n");
    flush(1 << 16);
  }
  flush(0);
  out.commit();
}

}  // namespace cpfm
