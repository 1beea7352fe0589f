// Figures drawn and read back as pixels, and what tests ask of pixels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cpfm/report.hpp"
#include "data/image_io.hpp"
#include "report/palette.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm::test {

inline Picture drawn(const Figure& figure) {
  const TempDir dir;
  write_png(dir / "figure.png", figure);
  return read_picture(dir / "figure.png");
}

struct Found {
  std::size_t count = 0;
  double x = 0, y = 0;  // the mean place, as fractions of width and height
};

// Pixels of about this colour (as ink of strength `alpha` on white, up to three times) left of `right`, a fraction of
// the width: legends are beyond.
inline Found find_color(const Picture& picture, report::Rgb color, double alpha = 1, double right = 0.75) {
  Found found;
  const double parts[3] = {color.r, color.g, color.b};
  const int end = static_cast<int>(right * picture.width);
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < end; ++x) {
      const std::uint8_t* pixel = &picture.pixels[static_cast<std::size_t>(y * picture.width + x) * 3];
      double nearest = 255;
      for (int times = 1; times <= 3; ++times) {
        const double paper = std::pow(1 - alpha, times);
        double off = 0;
        for (int c = 0; c < 3; ++c) off = std::max(off, std::abs(pixel[c] - 255 * ((1 - paper) * parts[c] + paper)));
        nearest = std::min(nearest, off);
      }
      if (nearest > 6) continue;
      ++found.count;
      found.x += x;
      found.y += y;
    }
  }
  if (found.count > 0) {
    found.x /= static_cast<double>(found.count) * picture.width;
    found.y /= static_cast<double>(found.count) * picture.height;
  }
  return found;
}

// Whether the outermost `depth` pixels on all sides are white: nothing was cut off.
inline bool has_white_border(const Picture& picture, int depth) {
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      const bool border = x < depth || y < depth || x >= picture.width - depth || y >= picture.height - depth;
      if (!border) continue;
      const std::uint8_t* pixel = &picture.pixels[static_cast<std::size_t>(y * picture.width + x) * 3];
      if (pixel[0] != 255 || pixel[1] != 255 || pixel[2] != 255) return false;
    }
  }
  return true;
}

}  // namespace cpfm::test
