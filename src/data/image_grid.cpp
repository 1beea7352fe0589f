// A contact sheet: rows of a matrix as pictures side by side in one PNG, in a file or in memory, and the order of rows
// that sets pairs one above the other. Gaps and empty places are mid-grey, which shows the edges of black and of white
// pictures alike.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/atomic_file.hpp"
#include "base/checked.hpp"
#include "cpfm/data.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "data/image_io.hpp"

namespace cpfm {
namespace {

constexpr std::uint8_t kBackground = 128;
constexpr std::size_t kMostPixels = 100'000'000;
constexpr int kLeastWidth = 32;  // of one picture when the zoom is ours to choose

struct Layout {
  std::size_t columns, rows, zoom, gap;
  std::size_t width, height;  // of the sheet, in pixels
};

Layout lay_out(std::size_t count, ImageShape shape, const GridOptions& options, const std::string& where) {
  if (options.zoom < 0)
    throw Error("grid zoom", fmt::format("{} is negative", options.zoom), "1 or more, or 0 to choose");
  if (options.gap < 0) throw Error("grid gap", fmt::format("{} is negative", options.gap), "0 or more pixels");
  const auto picture_width = static_cast<std::size_t>(shape.width),
             picture_height = static_cast<std::size_t>(shape.height);
  Layout layout{};
  layout.gap = static_cast<std::size_t>(options.gap);
  layout.zoom =
      static_cast<std::size_t>(options.zoom > 0 ? options.zoom : (kLeastWidth + shape.width - 1) / shape.width);
  const double square = std::sqrt(static_cast<double>(count) * shape.height / shape.width);
  layout.columns = options.columns > 0 ? options.columns : static_cast<std::size_t>(std::ceil(square));
  layout.columns = std::clamp<std::size_t>(layout.columns, 1, count);
  layout.rows = (count + layout.columns - 1) / layout.columns;
  const auto extent = [&](std::size_t pictures, std::size_t pixels) {
    const std::size_t zoomed = checked_mul(pictures, checked_mul(pixels, layout.zoom, where), where);
    return checked_add(zoomed, checked_mul(pictures - 1, layout.gap, where), where);
  };
  layout.width = extent(layout.columns, picture_width);
  layout.height = extent(layout.rows, picture_height);
  if (checked_mul(layout.width, layout.height, where) > kMostPixels) {
    throw Error(where,
                fmt::format("a sheet of {} pictures would have {} × {} pixels (height × width), more than {} million",
                            count, layout.height, layout.width, kMostPixels / 1'000'000),
                "pass fewer pictures (--limit)");
  }
  return layout;
}

// `where` names the file or the call in messages.
std::vector<std::byte> draw_sheet(MatrixView<const float> images, ImageShape shape, const GridOptions& options,
                                  const std::string& where) {
  if (shape.channels != 1 && shape.channels != 3) {
    throw Error(where, fmt::format("pictures with {} channels cannot be drawn", shape.channels),
                "1 (grey) or 3 (colour)");
  }
  if (shape.height < 1 || shape.width < 1 ||
      checked_product(std::array{shape.channels, shape.height, shape.width}, where) != images.cols) {
    throw Error(where, fmt::format("rows of {} values are not pictures of {} × {} × {}", images.cols, shape.channels,
                                   shape.height, shape.width));
  }
  if (images.rows == 0) throw Error(where, "there are no pictures to draw", "one row or more");
  const auto [black, white] = options.range;
  if (!std::isfinite(black) || !std::isfinite(white) || black == white) {
    throw Error("grid range", fmt::format("{} to {} is not a range of values", black, white),
                "two different finite numbers");
  }
  const Layout layout = lay_out(images.rows, shape, options, where);
  const auto channels = static_cast<std::size_t>(shape.channels);
  const auto height = static_cast<std::size_t>(shape.height), width = static_cast<std::size_t>(shape.width);
  std::vector<std::uint8_t> sheet(layout.width * layout.height * channels, kBackground);

  for (std::size_t i = 0; i < images.rows; ++i) {
    check_interrupt();
    const std::span<const float> values = images.row(i);
    const std::size_t left = i % layout.columns * (width * layout.zoom + layout.gap);
    const std::size_t top = i / layout.columns * (height * layout.zoom + layout.gap);
    for (std::size_t y = 0; y < height; ++y) {
      std::uint8_t* const line = &sheet[((top + y * layout.zoom) * layout.width + left) * channels];
      std::uint8_t* out = line;
      for (std::size_t x = 0; x < width; ++x) {
        std::array<std::uint8_t, 3> pixel{};
        for (std::size_t c = 0; c < channels; ++c) {
          const float value = values[(c * height + y) * width + x];
          if (std::isnan(value)) {
            throw Error(where, fmt::format("picture {} holds a NaN (channel {}, row {}, column {})", i + 1, c + 1,
                                           y + 1, x + 1));
          }
          const double level = 255.0 * (double{value} - black) / (double{white} - black);
          pixel[c] = static_cast<std::uint8_t>(std::lround(std::clamp(level, 0.0, 255.0)));
        }
        for (std::size_t z = 0; z < layout.zoom; ++z) out = std::copy_n(pixel.begin(), channels, out);
      }
      for (std::size_t z = 1; z < layout.zoom; ++z) {
        std::copy(line, out, line + z * layout.width * channels);
      }
    }
  }

  return encode_png(static_cast<int>(layout.width), static_cast<int>(layout.height), shape.channels, sheet);
}

}  // namespace

std::vector<std::byte> png_grid_bytes(MatrixView<const float> images, ImageShape shape, const GridOptions& options) {
  return draw_sheet(images, shape, options, "grid");
}

void write_png_grid(const std::filesystem::path& file, MatrixView<const float> images, ImageShape shape,
                    const GridOptions& options) {
  const std::vector<std::byte> bytes = draw_sheet(images, shape, options, file.string());
  AtomicFile output(file);
  output.write(bytes);
  output.commit();
}

FloatMatrix interleave_pairs(MatrixView<const float> originals, MatrixView<const float> reconstructions,
                             std::size_t columns, std::array<float, 2> range) {
  const std::string where = "pairs";
  if (originals.rows != reconstructions.rows || originals.cols != reconstructions.cols) {
    throw Error(where,
                fmt::format("{} × {} originals and {} × {} reconstructions", originals.rows, originals.cols,
                            reconstructions.rows, reconstructions.cols),
                "as many rows and columns of both");
  }
  if (originals.rows == 0) throw Error(where, "there are none", "one row or more");
  if (columns == 0) throw Error(where + " columns", "0", "1 or more");
  const std::size_t lines = (originals.rows - 1) / columns + 1;  // of originals, and as many of reconstructions
  const std::size_t rows = checked_mul(checked_mul(lines, 2, where), columns, where);
  (void)checked_mul(checked_mul(rows, originals.cols, where), sizeof(float), where);

  FloatMatrix pairs(rows, originals.cols);
  std::fill_n(pairs.data(), pairs.size(), std::midpoint(range[0], range[1]));
  for (std::size_t i = 0; i < originals.rows; ++i) {
    const std::size_t above = i / columns * 2 * columns + i % columns;
    std::ranges::copy(originals.row(i), pairs.row(above).begin());
    std::ranges::copy(reconstructions.row(i), pairs.row(above + columns).begin());
  }
  return pairs;
}

}  // namespace cpfm
