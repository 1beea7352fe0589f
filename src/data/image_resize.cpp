// Pictures to squares, by a triangle filter along each axis in turn; one row at a time, so that little is held beside
// the picture and the result.
#include <algorithm>
#include <array>
#include <cmath>

#include "cpfm/error.hpp"
#include "data/image_io.hpp"

namespace cpfm {
namespace {

// The source pixels [first, first + weights.size()) that make one pixel of the result along one axis.
struct Taps {
  int first = 0;
  std::vector<float> weights;
};

// Maps the stretch [begin, begin + length) of an axis of `size` pixels onto `count` pixels. The triangle is as wide as
// one pixel of the result, so shrinking averages and enlarging interpolates; no weight is negative, so nothing rings.
std::vector<Taps> triangle_taps(int size, double begin, double length, int count) {
  const double scale = length / count, radius = std::max(scale, 1.0);
  std::vector<Taps> axis(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const double center = begin + (i + 0.5) * scale;
    const int first = std::clamp(static_cast<int>(std::floor(center - radius)), 0, size - 1);
    const int last = std::clamp(static_cast<int>(std::ceil(center + radius)), first + 1, size);
    Taps& taps = axis[static_cast<std::size_t>(i)];
    taps.first = first;
    double sum = 0;
    for (int j = first; j < last; ++j) {
      const double weight = std::max(0.0, 1.0 - std::abs(j + 0.5 - center) / radius);
      taps.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : taps.weights) weight = static_cast<float>(weight / sum);
  }
  return axis;
}

std::uint8_t to_byte(float value) { return static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L)); }

// Mean colour of the outermost rows and columns, a corner counting once for each.
std::array<std::uint8_t, 3> border_color(const Picture& picture) {
  const auto channels = static_cast<std::size_t>(picture.channels);
  std::array<double, 3> sum{};
  const auto add = [&](int x, int y) {
    const std::size_t at = static_cast<std::size_t>(y) * picture.stride() + static_cast<std::size_t>(x) * channels;
    for (std::size_t c = 0; c < channels; ++c) sum[c] += picture.pixels[at + c];
  };
  for (int x = 0; x < picture.width; ++x) {
    add(x, 0);
    add(x, picture.height - 1);
  }
  for (int y = 0; y < picture.height; ++y) {
    add(0, y);
    add(picture.width - 1, y);
  }
  std::array<std::uint8_t, 3> color{};
  const double count = 2.0 * picture.width + 2.0 * picture.height;
  for (std::size_t c = 0; c < channels; ++c) color[c] = to_byte(static_cast<float>(sum[c] / count));
  return color;
}

}  // namespace

Picture resize(const Picture& picture, int side, ImageFit fit) {
  CPFM_ASSERT(side > 0 && picture.width > 0 && picture.height > 0, "sizes are positive");
  double left = 0, top = 0, width = picture.width, height = picture.height;  // of the part of the source that is kept
  int out_width = side, out_height = side;
  if (fit == ImageFit::kCrop) {
    const double kept = std::min(width, height);
    left = (width - kept) / 2;
    top = (height - kept) / 2;
    width = height = kept;
  } else if (fit == ImageFit::kPad) {
    const double scale = side / std::max(width, height);
    out_width = std::clamp(static_cast<int>(std::lround(width * scale)), 1, side);
    out_height = std::clamp(static_cast<int>(std::lround(height * scale)), 1, side);
  }
  const std::vector<Taps> columns = triangle_taps(picture.width, left, width, out_width);
  const std::vector<Taps> rows = triangle_taps(picture.height, top, height, out_height);
  const auto channels = static_cast<std::size_t>(picture.channels);
  Picture result{side, side, picture.channels, {}};
  result.pixels.resize(static_cast<std::size_t>(side) * result.stride());
  if (fit == ImageFit::kPad) {
    const auto color = border_color(picture);
    for (std::size_t i = 0; i < result.pixels.size(); ++i) result.pixels[i] = color[i % channels];
  }
  const auto margin_x = static_cast<std::size_t>((side - out_width) / 2);
  const auto margin_y = static_cast<std::size_t>((side - out_height) / 2);
  std::vector<float> line(picture.stride());  // one row of the result at the source's width
  for (std::size_t y = 0; y < rows.size(); ++y) {
    std::fill(line.begin(), line.end(), 0.0f);
    for (std::size_t k = 0; k < rows[y].weights.size(); ++k) {
      const std::uint8_t* source = &picture.pixels[(static_cast<std::size_t>(rows[y].first) + k) * picture.stride()];
      for (std::size_t i = 0; i < line.size(); ++i) line[i] += rows[y].weights[k] * static_cast<float>(source[i]);
    }
    std::uint8_t* out = &result.pixels[(margin_y + y) * result.stride() + margin_x * channels];
    for (const Taps& taps : columns) {
      for (std::size_t c = 0; c < channels; ++c) {
        float sum = 0;
        const float* source = &line[static_cast<std::size_t>(taps.first) * channels + c];
        for (std::size_t k = 0; k < taps.weights.size(); ++k) sum += taps.weights[k] * source[k * channels];
        *out++ = to_byte(sum);
      }
    }
  }
  return result;
}

}  // namespace cpfm
