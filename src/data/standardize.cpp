#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "cpfm/data.hpp"
#include "cpfm/error.hpp"
#include "cpfm/parallel.hpp"

namespace cpfm {
namespace {

constexpr std::array<std::pair<const char*, Standardize>, 4> kModes{{{"none", Standardize::kNone},
                                                                     {"unit", Standardize::kUnit},
                                                                     {"zscore", Standardize::kZscore},
                                                                     {"image", Standardize::kImage}}};
constexpr std::size_t kColumnGrain = 16;

// As a float that can be divided by: a range wider than a float holds becomes the widest.
float usable_scale(double scale) {
  const auto narrow = static_cast<float>(std::min(scale, double{std::numeric_limits<float>::max()}));
  return narrow > 0 ? narrow : 1.0f;
}

std::array<float, 2> observed_range(const Dataset& data) {
  using Range = std::array<float, 2>;
  const float first = data.samples.data()[0];
  return parallel_reduce(
      data.samples.size(), 1 << 16, Range{first, first},
      [&](std::size_t begin, std::size_t end) {
        const auto [low, high] = std::minmax_element(data.samples.data() + begin, data.samples.data() + end);
        return Range{*low, *high};
      },
      [](const Range& a, const Range& b) {
        return Range{std::min(a[0], b[0]), std::max(a[1], b[1])};
      });
}

}  // namespace

std::array<float, 2> picture_range(const Dataset& data) {
  return data.file_range ? *data.file_range : data.value_range ? *data.value_range : observed_range(data);
}

Standardize parse_standardize(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& [known, mode] : kModes) {
    if (name == known) return mode;
    names.emplace_back(known);
  }
  throw Error("--standardize", fmt::format("'{}' is not a way to standardize", printable(name)), suggest(name, names));
}

std::string to_string(Standardize mode) {
  for (const auto& [name, known] : kModes) {
    if (mode == known) return name;
  }
  return {};
}

Standardizer Standardizer::fit(const Dataset& data, Standardize mode) {
  Standardizer result;
  result.mode = mode;
  const std::size_t n = data.size(), d = data.dim();
  if (mode == Standardize::kNone) return result;
  if (n == 0 || d == 0) throw Error(data.source, "holds no samples to standardize by");
  if (mode == Standardize::kImage) {
    if (!data.image) {
      throw Error("--standardize image", fmt::format("{} does not hold pictures", data.source),
                  "unit or zscore suit tables; --image CxHxW declares rows to be pictures");
    }
    const auto [black, white] = data.value_range ? *data.value_range : observed_range(data);
    result.shift = {static_cast<float>((double{black} + white) / 2)};
    result.scale = {usable_scale((double{white} - black) / 2)};
    return result;
  }
  result.shift.resize(d);
  result.scale.resize(d);
  parallel_for(d, kColumnGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
      double low = data.samples(0, j), high = low, mean = 0, squares = 0;
      for (std::size_t i = 0; i < n; ++i) {  // Welford's update: no cancellation for large means
        const double x = data.samples(i, j);
        low = std::min(low, x);
        high = std::max(high, x);
        const double step = x - mean;
        mean += step / static_cast<double>(i + 1);
        squares += step * (x - mean);
      }
      const bool unit = mode == Standardize::kUnit;
      result.shift[j] = static_cast<float>(unit ? low : mean);
      result.scale[j] =
          high > low ? usable_scale(unit ? high - low : std::sqrt(squares / static_cast<double>(n))) : 1.0f;
    }
  });
  return result;
}

namespace {

// `change` works in double: differences of large floats overflow in float.
template <class Change>
void change_values(const Standardizer& by, MatrixView<float> samples, const Change& change) {
  if (by.mode == Standardize::kNone) return;
  const bool shared = by.mode == Standardize::kImage;
  if (by.shift.size() != by.scale.size() || (shared && by.shift.size() != 1)) {
    throw Error("standardization", fmt::format("has {} shifts and {} scales", by.shift.size(), by.scale.size()),
                shared ? "one of each for pictures" : "one of each for every feature");
  }
  if (!shared && by.shift.size() != samples.cols) {
    throw Error("samples",
                fmt::format("have {} features where the standardization knows {}", samples.cols, by.shift.size()));
  }
  parallel_for(samples.rows, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = 0; j < samples.cols; ++j) {
        const std::size_t k = shared ? 0 : j;
        samples(i, j) = static_cast<float>(change(samples(i, j), by.shift[k], by.scale[k]));
      }
    }
  });
}

}  // namespace

void Standardizer::apply(MatrixView<float> samples) const {
  change_values(*this, samples, [](double x, double shift, double scale) { return (x - shift) / scale; });
}

void Standardizer::invert(MatrixView<float> samples) const {
  change_values(*this, samples, [](double x, double shift, double scale) { return x * scale + shift; });
}

Standardizer compose(const Standardizer& first, const Standardizer& second) {
  if (first.mode == Standardize::kNone) return second;
  if (second.mode == Standardize::kNone) return first;
  // ((x - a) / b - c) / d = (x - (a + b c)) / (b d)
  const std::size_t size = std::max(first.shift.size(), second.shift.size());
  Standardizer both;
  both.mode = size == 1 ? Standardize::kImage : Standardize::kZscore;
  const auto entry = [](const std::vector<float>& values, std::size_t j) {
    return double(values.size() == 1 ? values[0] : values[j]);
  };
  for (std::size_t j = 0; j < size; ++j) {
    const double scale = entry(first.scale, j);
    both.shift.push_back(static_cast<float>(entry(first.shift, j) + scale * entry(second.shift, j)));
    both.scale.push_back(static_cast<float>(scale * entry(second.scale, j)));
  }
  return both;
}

}  // namespace cpfm
