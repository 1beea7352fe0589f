// Pictures as bytes: PNG and JPEG in, resized to a square, PNG out. The two libraries that decode report failure by a
// jump and by a status; both end here as cpfm::Error that names the file. EXIF orientation and colour profiles are not
// applied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "cpfm/data.hpp"

namespace cpfm {

struct Picture {
  int width = 0, height = 0;
  int channels = 0;                  // 1 (grey) or 3 (red, green, blue)
  std::vector<std::uint8_t> pixels;  // row by row, channels interleaved

  std::size_t stride() const { return static_cast<std::size_t>(width) * static_cast<std::size_t>(channels); }
};

// What the header of a picture declares. `channels` is what read_picture() will give.
struct PictureInfo {
  int width = 0, height = 0, channels = 0;
};

// Reads the header only. The format is found by content, never by the file's name. Throws cpfm::Error for anything that
// is not a PNG or JPEG, for CMYK, and for a header that declares more pixels than a file of its size can hold.
PictureInfo read_picture_info(const std::filesystem::path& file);

// Reads the whole picture as 8-bit samples. Transparency is blended on white, palettes are expanded (to colour), 16
// bits are rounded to 8. A truncated or damaged file is a cpfm::Error: half a picture is not a sample.
Picture read_picture(const std::filesystem::path& file);

// Grey to colour by repetition, colour to grey by luma (0.299 R + 0.587 G + 0.114 B, as JPEG does).
Picture with_channels(Picture picture, int channels);

// Brings a picture to side × side pixels, antialiased:
//   kCrop     the shorter side fills the square, the longer one is cut equally at both ends;
//   kStretch  both sides fill the square;
//   kPad      the longer side fills the square; the margin has the mean colour of the picture's outermost pixels, so
//             that a drawing on white stays on white and one on black on black.
Picture resize(const Picture& picture, int side, ImageFit fit);

// The bytes of a PNG file; the same pixels give the same bytes.
std::vector<std::byte> encode_png(int width, int height, int channels, std::span<const std::uint8_t> pixels);

}  // namespace cpfm
