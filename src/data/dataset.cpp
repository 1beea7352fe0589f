// What can be done with a Dataset once it is read: check it, take rows out of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/text.hpp"
#include "cpfm/data.hpp"
#include "cpfm/error.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kSplitStream = 0x73706c74;  // "splt"

// Applies `take` to every per-row vector of the dataset except the samples; a property that is still to be read has no
// values.
template <class Take>
void for_each_row_vector(Dataset& data, const Take& take) {
  if (data.labels) take(data.labels->ids);
  for (Property& property : data.properties) {
    if (!property.values.empty()) take(property.values);
  }
  if (!data.sample_names.empty()) take(data.sample_names);
  if (!data.molecules.empty()) take(data.molecules);
}

}  // namespace

void validate(const Dataset& data) {
  const std::size_t n = data.size(), d = data.dim();
  if (n == 0 || d == 0) throw Error(data.source, "holds no samples");
  const std::size_t none = std::numeric_limits<std::size_t>::max();
  const std::size_t first_bad = parallel_reduce(
      n, 256, none,
      [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin * d; k < end * d; ++k) {
          if (!std::isfinite(data.samples.data()[k])) return k;
        }
        return none;
      },
      [](std::size_t a, std::size_t b) { return std::min(a, b); });
  if (first_bad != none) {
    const std::size_t row = first_bad / d, column = first_bad % d;
    const bool narrowed = data.dtype.starts_with("float") && data.dtype != "float32" && data.dtype != "float16";
    const bool named = column < data.feature_names.size() && !data.feature_names[column].empty();
    throw Error(fmt::format("{}, row {}, column {}", data.source, row + 1,
                            named ? "'" + printable(data.feature_names[column]) + "'" : std::to_string(column + 1)),
                std::isnan(data.samples.data()[first_bad]) ? "the value is NaN"
                : narrowed                                 ? "the value is infinite or too large for a 32-bit float"
                                                           : "the value is infinite",
                "remove the row or fill the value in");
  }
  const auto check_count = [&](std::size_t count, const std::string& what) {
    if (count != n)
      throw Error(data.source, fmt::format("has {} {} for {} samples", count, what, n), "one per sample is needed");
  };
  if (data.labels) check_count(data.labels->ids.size(), "labels");
  for (const Property& property : data.properties) {
    check_count(property.values.size(), "values of the property '" + printable(property.name) + "'");
  }
  if (!data.sample_names.empty()) check_count(data.sample_names.size(), "sample names");
  if (!data.molecules.empty()) check_count(data.molecules.size(), "molecules");
  if (data.image && data.image->size() != d) {
    throw Error(data.source, fmt::format("rows of {} values are not pictures of {} × {} × {}", d, data.image->channels,
                                         data.image->height, data.image->width));
  }
}

Dataset select(const Dataset& data, const std::vector<std::size_t>& rows) {
  Dataset out;
  out.source = data.source;
  out.format = data.format;
  out.dtype = data.dtype;
  out.image = data.image;
  out.value_range = data.value_range;
  out.file_range = data.file_range;
  out.feature_names = data.feature_names;
  out.labels = data.labels;
  out.properties = data.properties;
  out.sample_names = data.sample_names;
  out.molecules = data.molecules;
  out.samples = FloatMatrix(rows.size(), data.dim());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CPFM_ASSERT(rows[i] < data.size(), "select: row out of range");
    std::copy_n(data.samples.row(rows[i]).data(), data.dim(), out.samples.row(i).data());
  }
  for_each_row_vector(out, [&](auto& values) {
    std::decay_t<decltype(values)> taken;
    taken.reserve(rows.size());
    for (const std::size_t row : rows) taken.push_back(values[row]);
    values = std::move(taken);
  });
  return out;
}

Dataset split_off(Dataset& data, double fraction, std::uint64_t seed) {
  if (!(fraction > 0 && fraction < 1)) {
    throw Error("test fraction", fmt::format("{} is out of range", fraction), "a number between 0 and 1");
  }
  const std::size_t n = data.size();
  if (n < 2) throw Error(data.source, "one row cannot be split");
  const auto count =
      std::clamp<std::size_t>(static_cast<std::size_t>(std::llround(fraction * static_cast<double>(n))), 1, n - 1);
  std::vector<std::size_t> taken = permutation(n, seed, kSplitStream);
  taken.resize(count);
  std::sort(taken.begin(), taken.end());
  Dataset part = select(data, taken);

  std::vector<bool> gone(n, false);
  for (const std::size_t row : taken) gone[row] = true;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (gone[i]) continue;
    if (kept != i) std::memmove(data.samples.row(kept).data(), data.samples.row(i).data(), data.dim() * sizeof(float));
    ++kept;
  }
  data.samples.reshape(kept, data.dim());
  data.samples.shrink();
  for_each_row_vector(data, [&](auto& values) {
    std::size_t out = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (gone[i]) continue;
      if (out != i) values[out] = std::move(values[i]);
      ++out;
    }
    values.resize(out);
  });
  return part;
}

}  // namespace cpfm
