#include "data/array_shape.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/checked.hpp"
#include "cpfm/parallel.hpp"

namespace cpfm {

ArrayShape interpret_shape(const std::vector<std::uint64_t>& dims, const std::string& where) {
  const std::string shown = fmt::format("({})", fmt::join(dims, ", "));
  if (dims.empty() || dims.size() > 4) {
    throw Error(where, fmt::format("an array of shape {} is not a set of samples", shown),
                "1 to 4 dimensions: n, n × d, n × H × W, n × C × H × W or n × H × W × C");
  }
  if (std::find(dims.begin(), dims.end(), 0u) != dims.end()) {
    throw Error(where, fmt::format("the array is empty, its shape is {}", shown));
  }
  ArrayShape shape;
  shape.rows = dims[0];
  shape.cols = checked_product(std::vector<std::uint64_t>(dims.begin() + 1, dims.end()), where);
  checked_mul(checked_mul(shape.rows, shape.cols, where), sizeof(float), where);
  const auto side = [&](std::size_t k) { return checked_int(dims[k], where); };
  const auto is_channels = [](std::uint64_t c) { return c == 1 || c == 3; };
  if (dims.size() == 3) shape.image = ImageShape{1, side(1), side(2)};
  if (dims.size() == 4) {
    if (is_channels(dims[1])) {
      shape.image = ImageShape{side(1), side(2), side(3)};
    } else if (is_channels(dims[3])) {
      shape.image = ImageShape{side(3), side(1), side(2)};
      shape.channels_last = true;
    } else {
      throw Error(where, fmt::format("pictures of shape {} have neither 1 nor 3 channels", shown),
                  "n × C × H × W or n × H × W × C with C = 1 or 3");
    }
  }
  return shape;
}

void move_channels_first(FloatMatrix& samples, ImageShape shape) {
  if (shape.channels == 1) return;
  const std::size_t pixels = shape.size() / static_cast<std::size_t>(shape.channels);
  const auto channels = static_cast<std::size_t>(shape.channels);
  parallel_for(samples.rows(), 64, [&](std::size_t begin, std::size_t end) {
    std::vector<float> interleaved(shape.size());
    for (std::size_t i = begin; i < end; ++i) {
      const std::span<float> row = samples.row(i);
      std::copy(row.begin(), row.end(), interleaved.begin());
      for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t p = 0; p < pixels; ++p) row[c * pixels + p] = interleaved[p * channels + c];
      }
    }
  });
}

}  // namespace cpfm
