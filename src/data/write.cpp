#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <string>

#include "base/atomic_file.hpp"
#include "base/checked.hpp"
#include "cpfm/data.hpp"
#include "cpfm/error.hpp"

namespace cpfm {
namespace {

static_assert(std::endian::native == std::endian::little, "npy files are written as '<f4' straight from memory");

std::string quoted_if_needed(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
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
  out.write_values(values);
  out.commit();
}

void write_npy(const std::filesystem::path& file, MatrixView<const float> values) {
  write_npy(file, {values.data, values.size()}, {values.rows, values.cols});
}

void write_csv(const std::filesystem::path& file, const Dataset& data) {
  AtomicFile out(file);
  fmt::memory_buffer buffer;
  const auto flush = [&](std::size_t when) {
    if (buffer.size() < when) return;
    out.write(std::string_view(buffer.data(), buffer.size()));
    buffer.clear();
  };
  const auto to = std::back_inserter(buffer);
  for (std::size_t j = 0; j < data.dim(); ++j) {
    const std::string name =
        j < data.feature_names.size() ? quoted_if_needed(data.feature_names[j]) : fmt::format("x{}", j + 1);
    fmt::format_to(to, "{}{}", j == 0 ? "" : ",", name);
  }
  for (const Property& property : data.properties) fmt::format_to(to, ",{}", quoted_if_needed(property.name));
  if (data.labels) fmt::format_to(to, ",label");
  fmt::format_to(to, "\n");
  for (std::size_t i = 0; i < data.size(); ++i) {
    for (std::size_t j = 0; j < data.dim(); ++j) fmt::format_to(to, "{}{}", j == 0 ? "" : ",", data.samples(i, j));
    for (const Property& property : data.properties) fmt::format_to(to, ",{}", property.values[i]);
    if (data.labels) {
      const std::int32_t id = data.labels->ids[i];
      fmt::format_to(to, ",{}",
                     id < 0 ? std::string() : quoted_if_needed(data.labels->names[static_cast<std::size_t>(id)]));
    }
    fmt::format_to(to, "\n");
    flush(1 << 16);
  }
  flush(0);
  out.commit();
}

}  // namespace cpfm
