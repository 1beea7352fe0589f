#include "data/image_io.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>

// Behind <cstdio>: jpeglib.h uses FILE without declaring it.
// clang-format off
#include <jpeglib.h>
// clang-format on

#include "cpfm/error.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using test::TempDir;
using Bytes = std::vector<std::uint8_t>;

void write_file(const std::filesystem::path& file, const Bytes& bytes) {
  std::filesystem::remove(file);  // ext4 waits for the disk when a file is truncated and written anew
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

Bytes png_of(const Picture& picture) {
  const auto bytes = encode_png(picture.width, picture.height, picture.channels, picture.pixels);
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return {begin, begin + bytes.size()};
}

Bytes big_endian(std::uint32_t v) {
  return {std::uint8_t(v >> 24), std::uint8_t(v >> 16), std::uint8_t(v >> 8), std::uint8_t(v)};
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Bytes chunk(const char* type, const Bytes& data) {
  const Bytes body = Bytes(type, type + 4) + data;
  return big_endian(std::uint32_t(data.size())) + body +
         big_endian(std::uint32_t(crc32(0, body.data(), uInt(body.size()))));
}

// A PNG made by hand, for the kinds encode_png() does not write. `rows` holds each row behind its filter byte (0).
Bytes raw_png(std::uint32_t width, std::uint32_t height, std::uint8_t depth, std::uint8_t color_type, const Bytes& rows,
              const Bytes& extra_chunks = {}) {
  const Bytes magic{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  Bytes packed(compressBound(uLong(rows.size())));
  uLongf size = packed.size();
  compress(packed.data(), &size, rows.data(), uLong(rows.size()));
  packed.resize(size);
  return magic + chunk("IHDR", big_endian(width) + big_endian(height) + Bytes{depth, color_type, 0, 0, 0}) +
         extra_chunks + chunk("IDAT", packed) + chunk("IEND", {});
}

enum class Passes { kOne, kProgressive, kOnePerChannel };

Bytes jpeg_of(int width, int height, int channels, J_COLOR_SPACE space, const Bytes& pixels,
              Passes passes = Passes::kOne) {
  jpeg_compress_struct state{};
  jpeg_error_mgr errors{};
  state.err = jpeg_std_error(&errors);
  jpeg_create_compress(&state);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&state, &buffer, &size);
  state.image_width = JDIMENSION(width);
  state.image_height = JDIMENSION(height);
  state.input_components = channels;
  state.in_color_space = space;
  jpeg_set_defaults(&state);
  jpeg_set_quality(&state, 95, TRUE);
  if (passes == Passes::kProgressive) jpeg_simple_progression(&state);
  const jpeg_scan_info per_channel[3] = {
      {1, {0, 0, 0, 0}, 0, 63, 0, 0}, {1, {1, 0, 0, 0}, 0, 63, 0, 0}, {1, {2, 0, 0, 0}, 0, 63, 0, 0}};
  if (passes == Passes::kOnePerChannel) {
    state.scan_info = per_channel;
    state.num_scans = 3;
  }
  jpeg_start_compress(&state, TRUE);
  while (state.next_scanline < state.image_height) {
    auto* row = const_cast<JSAMPROW>(pixels.data()) + state.next_scanline * std::size_t(width) * std::size_t(channels);
    jpeg_write_scanlines(&state, &row, 1);
  }
  jpeg_finish_compress(&state);
  jpeg_destroy_compress(&state);
  Bytes bytes(buffer, buffer + size);
  std::free(buffer);
  return bytes;
}

Bytes gradient(int width, int height, int channels) {
  Bytes pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) pixels.push_back(std::uint8_t((3 * x + 2 * y + 40 * c) % 256));
    }
  }
  return pixels;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no Error";
}

#define EXPECT_MENTIONS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(ReadPicture, GivesBackTheGreyPixelsOfAPng) {
  const TempDir dir;
  const Picture picture{5, 3, 1, gradient(5, 3, 1)};
  write_file(dir / "a.png", png_of(picture));
  const Picture read = read_picture(dir / "a.png");
  EXPECT_EQ(read.width, 5);
  EXPECT_EQ(read.height, 3);
  EXPECT_EQ(read.channels, 1);
  EXPECT_EQ(read.pixels, picture.pixels);
}

TEST(ReadPicture, GivesBackTheColourPixelsOfAPng) {
  const TempDir dir;
  const Picture picture{4, 7, 3, gradient(4, 7, 3)};
  write_file(dir / "a.png", png_of(picture));
  const Picture read = read_picture(dir / "a.png");
  EXPECT_EQ(read.channels, 3);
  EXPECT_EQ(read.pixels, picture.pixels);
}

TEST(ReadPicture, KnowsTheFormatByContentAndNotByName) {
  const TempDir dir;
  write_file(dir / "really_png.jpg", png_of({4, 4, 1, gradient(4, 4, 1)}));
  write_file(dir / "really_jpeg.png", jpeg_of(8, 8, 1, JCS_GRAYSCALE, gradient(8, 8, 1)));
  EXPECT_EQ(read_picture(dir / "really_png.jpg").width, 4);
  EXPECT_EQ(read_picture(dir / "really_jpeg.png").width, 8);
}

TEST(ReadPicture, ReadsGreyAndColourAndProgressiveJpegs) {
  const TempDir dir;
  const Bytes grey(64, 90);
  write_file(dir / "grey.jpg", jpeg_of(8, 8, 1, JCS_GRAYSCALE, grey));
  const Picture read = read_picture(dir / "grey.jpg");
  EXPECT_EQ(read.channels, 1);
  EXPECT_EQ(read.pixels, grey);

  Bytes red;
  for (int i = 0; i < 16 * 8; ++i) red = red + Bytes{200, 30, 30};
  for (const Passes passes : {Passes::kOne, Passes::kProgressive}) {
    write_file(dir / "red.jpg", jpeg_of(16, 8, 3, JCS_RGB, red, passes));
    const Picture colour = read_picture(dir / "red.jpg");
    ASSERT_EQ(colour.channels, 3);
    ASSERT_EQ(colour.pixels.size(), red.size());
    for (std::size_t i = 0; i < red.size(); ++i) EXPECT_NEAR(colour.pixels[i], red[i], 3);
  }
}

TEST(ReadPicture, RefusesACmykJpegAndSaysWhatToDo) {
  const TempDir dir;
  write_file(dir / "print.jpg", jpeg_of(8, 8, 4, JCS_CMYK, Bytes(8 * 8 * 4, 100)));
  const std::string message = message_of([&] { read_picture(dir / "print.jpg"); });
  EXPECT_MENTIONS(message, "print.jpg");
  EXPECT_MENTIONS(message, "CMYK");
  EXPECT_MENTIONS(message, "RGB");
}

TEST(ReadPicture, BlendsTransparencyOnWhite) {
  const TempDir dir;
  // One row: opaque black, transparent black, opaque white.
  write_file(dir / "rgba.png", raw_png(3, 1, 8, 6, {0, 0, 0, 0, 255, 0, 0, 0, 0, 255, 255, 255, 255}));
  EXPECT_EQ(read_picture(dir / "rgba.png").pixels, (Bytes{0, 0, 0, 255, 255, 255, 255, 255, 255}));
  write_file(dir / "grey_alpha.png", raw_png(2, 1, 8, 4, {0, 10, 255, 10, 0}));
  EXPECT_EQ(read_picture(dir / "grey_alpha.png").pixels, (Bytes{10, 255}));
}

TEST(ReadPicture, ExpandsPalettesToColour) {
  const TempDir dir;
  const Bytes palette = chunk("PLTE", {255, 0, 0, 0, 0, 255});
  write_file(dir / "palette.png", raw_png(3, 1, 8, 3, {0, 0, 1, 0}, palette));
  const Picture read = read_picture(dir / "palette.png");
  EXPECT_EQ(read.channels, 3);
  EXPECT_EQ(read.pixels, (Bytes{255, 0, 0, 0, 0, 255, 255, 0, 0}));
  write_file(dir / "clear.png", raw_png(2, 1, 8, 3, {0, 0, 1}, palette + chunk("tRNS", {0})));
  EXPECT_EQ(read_picture(dir / "clear.png").pixels, (Bytes{255, 255, 255, 0, 0, 255}));
}

TEST(ReadPicture, BringsSixteenBitsAndOneBitToEight) {
  const TempDir dir;
  write_file(dir / "16.png", raw_png(3, 1, 16, 0, {0, 0x00, 0x00, 0x80, 0x80, 0xFF, 0xFF}));
  EXPECT_EQ(read_picture(dir / "16.png").pixels, (Bytes{0, 128, 255}));
  write_file(dir / "1.png", raw_png(4, 1, 1, 0, {0, 0b10100000}));
  EXPECT_EQ(read_picture(dir / "1.png").pixels, (Bytes{255, 0, 255, 0}));
}

TEST(ReadPicture, RefusesAPngCutAnywhere) {
  const TempDir dir;
  const Bytes whole = png_of({40, 30, 3, gradient(40, 30, 3)});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_file(dir / "cut.png", Bytes(whole.begin(), whole.begin() + std::ptrdiff_t(length)));
    const std::string message = message_of([&] { read_picture(dir / "cut.png"); });
    EXPECT_MENTIONS(message, "cut.png") << "at " << length;
  }
}

TEST(ReadPicture, RefusesAJpegCutAnywhere) {
  const TempDir dir;
  for (const Passes passes : {Passes::kOne, Passes::kProgressive}) {
    const Bytes whole = jpeg_of(20, 12, 3, JCS_RGB, gradient(20, 12, 3), passes);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      write_file(dir / "cut.jpg", Bytes(whole.begin(), whole.begin() + std::ptrdiff_t(length)));
      const std::string message = message_of([&] { read_picture(dir / "cut.jpg"); });
      EXPECT_MENTIONS(message, "cut.jpg") << "at " << length;
    }
  }
}

TEST(ReadPicture, RefusesAPngWithAnyByteOfItsPixelsChanged) {
  const TempDir dir;
  const Bytes whole = png_of({12, 9, 1, gradient(12, 9, 1)});
  const Bytes idat{'I', 'D', 'A', 'T'};
  const auto data = std::search(whole.begin(), whole.end(), idat.begin(), idat.end()) - whole.begin() + 4;
  for (std::size_t i = std::size_t(data); i < whole.size() - 12; ++i) {
    Bytes damaged = whole;
    damaged[i] ^= 0x10;
    write_file(dir / "damaged.png", damaged);
    EXPECT_THROW(read_picture(dir / "damaged.png"), Error) << "byte " << i;
  }
}

// JPEG has no checksum: a changed byte may decode to another picture. It must end in a picture or an Error.
TEST(ReadPicture, SurvivesAJpegWithAnyByteChanged) {
  const TempDir dir;
  for (const Passes passes : {Passes::kOne, Passes::kProgressive}) {
    const Bytes whole = jpeg_of(20, 12, 3, JCS_RGB, gradient(20, 12, 3), passes);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const int flip : {0xFF, 1 << i % 8}) {
        Bytes damaged = whole;
        damaged[i] ^= std::uint8_t(flip);
        write_file(dir / "damaged.jpg", damaged);
        try {
          const Picture picture = read_picture(dir / "damaged.jpg");
          EXPECT_EQ(picture.pixels.size(), std::size_t(picture.height) * picture.stride());
        } catch (const Error& error) {
          EXPECT_MENTIONS(std::string(error.what()), "damaged.jpg");
        }
      }
    }
  }
}

TEST(ReadPicture, RefusesASizeTheFileCannotHold) {
  const TempDir dir;
  write_file(dir / "bomb.png", raw_png(100000, 100000, 8, 2, Bytes(64, 0)));
  EXPECT_MENTIONS(message_of([&] { read_picture(dir / "bomb.png"); }), "100000 × 100000");
  EXPECT_THROW(read_picture_info(dir / "bomb.png"), Error);

  Bytes jpeg = jpeg_of(8, 8, 1, JCS_GRAYSCALE, Bytes(64, 7));
  const Bytes frame{0xFF, 0xC0};
  const auto at = std::search(jpeg.begin(), jpeg.end(), frame.begin(), frame.end());
  ASSERT_NE(at, jpeg.end());
  std::fill_n(at + 5, 4, std::uint8_t{0xF0});  // height and width, 16 bits each
  write_file(dir / "bomb.jpg", jpeg);
  EXPECT_MENTIONS(message_of([&] { read_picture(dir / "bomb.jpg"); }), "61680 × 61680");
  EXPECT_THROW(read_picture_info(dir / "bomb.jpg"), Error);
}

TEST(ReadPicture, RefusesAJpegThatAsksForEndlessPasses) {
  const TempDir dir;
  const Bytes whole = jpeg_of(16, 16, 3, JCS_RGB, gradient(16, 16, 3), Passes::kOnePerChannel);
  const Bytes scan_mark{0xFF, 0xDA};
  const auto first = std::search(whole.begin(), whole.end(), scan_mark.begin(), scan_mark.end());
  const auto second = std::search(first + 2, whole.end(), scan_mark.begin(), scan_mark.end());
  ASSERT_NE(second, whole.end());
  Bytes endless(whole.begin(), second);
  for (int i = 0; i < 1000; ++i) endless.insert(endless.end(), first, second);
  endless.insert(endless.end(), second, whole.end());
  write_file(dir / "endless.jpg", endless);
  EXPECT_MENTIONS(message_of([&] { read_picture(dir / "endless.jpg"); }), "more than 500 passes");
}

TEST(ReadPicture, AcceptsAsManyPixelsAsDeflateCanPack) {
  const TempDir dir;
  write_file(dir / "empty.png", png_of({4000, 1000, 1, Bytes(4000 * 1000, 0)}));
  EXPECT_EQ(read_picture(dir / "empty.png").width, 4000);
  write_file(dir / "empty.jpg", jpeg_of(2000, 1000, 3, JCS_RGB, Bytes(2000 * 1000 * 3, 0)));
  EXPECT_EQ(read_picture(dir / "empty.jpg").width, 2000);
}

TEST(ReadPicture, RefusesWhatIsNoPicture) {
  const TempDir dir;
  write_file(dir / "text.png", {'h', 'e', 'l', 'l', 'o', ' ', 'y', 'o', 'u'});
  EXPECT_MENTIONS(message_of([&] { read_picture(dir / "text.png"); }), "neither a PNG nor a JPEG");
  write_file(dir / "empty.png", {});
  EXPECT_MENTIONS(message_of([&] { read_picture(dir / "empty.png"); }), "is empty");
  EXPECT_MENTIONS(message_of([&] { read_picture(dir / "absent.png"); }), "absent.png");
  EXPECT_MENTIONS(message_of([&] { read_picture(dir.path()); }), "not a plain file");
  write_file(dir / "zero.png", raw_png(0, 5, 8, 0, {0}));
  EXPECT_THROW(read_picture(dir / "zero.png"), Error);
  write_file(dir / "kind.png", raw_png(1, 1, 8, 5, {0, 0}));
  EXPECT_THROW(read_picture(dir / "kind.png"), Error);
}

TEST(ReadPictureInfo, AgreesWithThePicture) {
  const TempDir dir;
  write_file(dir / "a.png", png_of({5, 3, 3, gradient(5, 3, 3)}));
  write_file(dir / "b.jpg", jpeg_of(9, 6, 1, JCS_GRAYSCALE, gradient(9, 6, 1)));
  for (const char* name : {"a.png", "b.jpg"}) {
    const PictureInfo info = read_picture_info(dir / name);
    const Picture picture = read_picture(dir / name);
    EXPECT_EQ(info.width, picture.width);
    EXPECT_EQ(info.height, picture.height);
    EXPECT_EQ(info.channels, picture.channels);
  }
}

TEST(WithChannels, MakesGreyByLumaAndColourByRepetition) {
  EXPECT_EQ(with_channels({2, 1, 3, {255, 0, 0, 255, 255, 255}}, 1).pixels, (Bytes{76, 255}));
  EXPECT_EQ(with_channels({2, 1, 1, {7, 9}}, 3).pixels, (Bytes{7, 7, 7, 9, 9, 9}));
  EXPECT_EQ(with_channels({2, 1, 1, {7, 9}}, 1).pixels, (Bytes{7, 9}));
}

TEST(Resize, LeavesAPictureOfTheRightSizeAlone) {
  const Picture picture{8, 8, 3, gradient(8, 8, 3)};
  for (const ImageFit fit : {ImageFit::kCrop, ImageFit::kStretch, ImageFit::kPad}) {
    EXPECT_EQ(resize(picture, 8, fit).pixels, picture.pixels);
  }
}

TEST(Resize, KeepsAFlatColourFlat) {
  for (const int side : {1, 2, 5, 16, 61}) {
    for (const ImageFit fit : {ImageFit::kCrop, ImageFit::kStretch, ImageFit::kPad}) {
      const Picture small = resize({13, 29, 1, Bytes(13 * 29, 255)}, side, fit);
      EXPECT_EQ(small.width, side);
      EXPECT_EQ(small.height, side);
      EXPECT_EQ(small.pixels, Bytes(std::size_t(side * side), 255));
    }
  }
}

TEST(Resize, AveragesWhenItShrinks) {
  Bytes checkers;
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) checkers.push_back((x + y) % 2 == 0 ? 255 : 0);
  }
  for (const std::uint8_t value : resize({32, 32, 1, checkers}, 4, ImageFit::kCrop).pixels)
    EXPECT_NEAR(value, 127.5, 2);
}

TEST(Resize, DoesNotRingAtAnEdge) {
  const Bytes edge{0, 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255};
  const Picture large = resize({4, 4, 1, edge}, 16, ImageFit::kStretch);
  for (std::size_t x = 1; x < 16; ++x) EXPECT_GE(large.pixels[x], large.pixels[x - 1]);
  EXPECT_EQ(large.pixels[0], 0);
  EXPECT_EQ(large.pixels[15], 255);
}

TEST(Resize, CropKeepsTheMiddle) {
  // Columns 0 0 | 100 200 | 50 50 of a 6 × 2 picture.
  const Picture wide{6, 2, 1, {0, 0, 100, 200, 50, 50, 0, 0, 100, 200, 50, 50}};
  EXPECT_EQ(resize(wide, 2, ImageFit::kCrop).pixels, (Bytes{100, 200, 100, 200}));
  const Picture tall{2, 6, 1, {0, 0, 0, 0, 100, 100, 200, 200, 50, 50, 50, 50}};
  EXPECT_EQ(resize(tall, 2, ImageFit::kCrop).pixels, (Bytes{100, 100, 200, 200}));
}

TEST(Resize, StretchUsesTheWholePicture) {
  const Picture wide{4, 2, 1, {0, 0, 200, 200, 0, 0, 200, 200}};
  const Picture square = resize(wide, 2, ImageFit::kStretch);
  EXPECT_LT(square.pixels[0], 60);
  EXPECT_GT(square.pixels[1], 140);
}

TEST(Resize, PadFillsTheMarginWithTheColourOfTheBorder) {
  Bytes on_white(8 * 4, 255);
  on_white[8 + 3] = on_white[16 + 3] = 0;
  const Picture padded = resize({8, 4, 1, on_white}, 8, ImageFit::kPad);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(padded.pixels[i], 255);
    EXPECT_EQ(padded.pixels[48 + i], 255);
  }
  EXPECT_EQ(padded.pixels[3 * 8 + 3], 0);
  const Picture on_blue = resize({4, 2, 3, Bytes{0, 0, 200, 0, 0, 200, 0, 0, 200, 0, 0, 200,  //
                                                 0, 0, 200, 0, 0, 200, 0, 0, 200, 0, 0, 200}},
                                 4, ImageFit::kPad);
  EXPECT_EQ(on_blue.pixels[0], 0);
  EXPECT_EQ(on_blue.pixels[2], 200);
}

TEST(Resize, HandlesExtremeShapes) {
  for (const ImageFit fit : {ImageFit::kCrop, ImageFit::kStretch, ImageFit::kPad}) {
    EXPECT_EQ(resize({1, 5000, 1, Bytes(5000, 9)}, 16, fit).pixels, Bytes(256, 9));
    EXPECT_EQ(resize({5000, 1, 1, Bytes(5000, 9)}, 16, fit).pixels, Bytes(256, 9));
    EXPECT_EQ(resize({1, 1, 1, {9}}, 16, fit).pixels, Bytes(256, 9));
  }
}

TEST(EncodePng, GivesTheSameBytesForTheSamePixels) {
  const Bytes pixels = gradient(50, 20, 3);
  EXPECT_EQ(encode_png(50, 20, 3, pixels), encode_png(50, 20, 3, pixels));
}

TEST(EncodePng, HoldsNoisePixelsToo) {
  const TempDir dir;
  Bytes noise;
  std::uint32_t state = 1;
  for (int i = 0; i < 97 * 53 * 3; ++i) noise.push_back(std::uint8_t((state = state * 1664525u + 1013904223u) >> 24));
  write_file(dir / "noise.png", png_of({97, 53, 3, noise}));
  EXPECT_EQ(read_picture(dir / "noise.png").pixels, noise);
}

}  // namespace
}  // namespace cpfm
