#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cpfm/data.hpp"
#include "cpfm/error.hpp"
#include "data/image_io.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using test::TempDir;

constexpr std::uint8_t kGap = 128;

FloatMatrix matrix(std::size_t rows, std::size_t cols, float value = 0) {
  FloatMatrix m(rows, cols);
  std::fill_n(m.data(), m.size(), value);
  return m;
}

void draw(const TempDir& dir, const FloatMatrix& images, ImageShape shape, const GridOptions& options = {}) {
  write_png_grid(dir / "grid.png", images.view(), shape, options);
}

std::string message_of(const TempDir& dir, const FloatMatrix& images, ImageShape shape,
                       const GridOptions& options = {}) {
  try {
    draw(dir, images, shape, options);
  } catch (const Error& error) {
    EXPECT_FALSE(std::filesystem::exists(dir / "grid.png"));
    return error.what();
  }
  return "no Error";
}

#define EXPECT_MENTIONS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(ImageGrid, PutsPicturesSideBySideWithGreyGaps) {
  const TempDir dir;
  FloatMatrix images = matrix(3, 2 * 2);
  for (std::size_t j = 0; j < 4; ++j) {
    images(1, j) = 255;
    images(2, j) = float(10 * j);
  }
  draw(dir, images, {1, 2, 2}, {.columns = 2, .zoom = 1, .gap = 1});
  const Picture sheet = read_picture(dir / "grid.png");
  EXPECT_EQ(sheet.width, 5);
  EXPECT_EQ(sheet.height, 5);
  EXPECT_EQ(sheet.pixels, (std::vector<std::uint8_t>{0,    0,    kGap, 255,  255,   //
                                                     0,    0,    kGap, 255,  255,   //
                                                     kGap, kGap, kGap, kGap, kGap,  //
                                                     0,    10,   kGap, kGap, kGap,  //
                                                     20,   30,   kGap, kGap, kGap}));
}

TEST(ImageGrid, ReadsColourChannelByChannel) {
  const TempDir dir;
  FloatMatrix images(1, 3 * 1 * 2);
  for (std::size_t j = 0; j < 6; ++j) images(0, j) = float(j);
  draw(dir, images, {3, 1, 2}, {.columns = 0, .zoom = 1, .gap = 0});
  const Picture sheet = read_picture(dir / "grid.png");
  EXPECT_EQ(sheet.channels, 3);
  EXPECT_EQ(sheet.pixels, (std::vector<std::uint8_t>{0, 2, 4, 1, 3, 5}));
}

TEST(ImageGrid, MapsTheRangeToBlackAndWhiteAndClamps) {
  const TempDir dir;
  FloatMatrix images(1, 5);
  const float inf = std::numeric_limits<float>::infinity();
  const float values[] = {-1, 0, 1, 7, -inf};
  std::copy(std::begin(values), std::end(values), images.data());
  draw(dir, images, {1, 1, 5}, {.columns = 1, .zoom = 1, .gap = 0, .range = {-1, 1}});
  EXPECT_EQ(read_picture(dir / "grid.png").pixels, (std::vector<std::uint8_t>{0, 128, 255, 255, 0}));
  draw(dir, images, {1, 1, 5}, {.columns = 1, .zoom = 1, .gap = 0, .range = {1, -1}});
  EXPECT_EQ(read_picture(dir / "grid.png").pixels, (std::vector<std::uint8_t>{255, 128, 0, 0, 255}));
}

TEST(ImageGrid, ZoomsByRepeatingPixels) {
  const TempDir dir;
  FloatMatrix images(1, 2);
  images(0, 0) = 0;
  images(0, 1) = 255;
  draw(dir, images, {1, 1, 2}, {.columns = 1, .zoom = 2, .gap = 3});
  const Picture sheet = read_picture(dir / "grid.png");
  EXPECT_EQ(sheet.pixels, (std::vector<std::uint8_t>{0, 0, 255, 255, 0, 0, 255, 255}));
}

TEST(ImageGrid, ChoosesZoomAndColumnsByItself) {
  const TempDir dir;
  draw(dir, matrix(9, 8 * 8), {1, 8, 8});
  Picture sheet = read_picture(dir / "grid.png");
  EXPECT_EQ(sheet.width, 3 * 32 + 2);
  EXPECT_EQ(sheet.height, 3 * 32 + 2);
  draw(dir, matrix(10, 3 * 40 * 40), {3, 40, 40});
  sheet = read_picture(dir / "grid.png");
  EXPECT_EQ(sheet.width, 4 * 40 + 3);
  EXPECT_EQ(sheet.height, 3 * 40 + 2);
  draw(dir, matrix(2, 4), {1, 2, 2}, {.columns = 50, .zoom = 1, .gap = 0});
  EXPECT_EQ(read_picture(dir / "grid.png").width, 4);
}

TEST(ImageGrid, RefusesNaNAndNamesIt) {
  const TempDir dir;
  FloatMatrix images = matrix(3, 4);
  images(2, 3) = std::nanf("");
  const std::string message = message_of(dir, images, {1, 2, 2});
  EXPECT_MENTIONS(message, "picture 3");
  EXPECT_MENTIONS(message, "row 2, column 2");
}

TEST(ImageGrid, RefusesShapesThatAreNotPictures) {
  const TempDir dir;
  EXPECT_MENTIONS(message_of(dir, matrix(2, 8), {2, 2, 2}), "2 channels");
  EXPECT_MENTIONS(message_of(dir, matrix(2, 5), {1, 2, 2}), "5 values");
  EXPECT_MENTIONS(message_of(dir, matrix(2, 0), {1, 0, 2}), "0 values");
  EXPECT_MENTIONS(message_of(dir, FloatMatrix(0, 4), {1, 2, 2}), "no pictures");
}

TEST(ImageGrid, RefusesOptionsThatMakeNoSense) {
  const TempDir dir;
  const FloatMatrix images = matrix(2, 4);
  EXPECT_MENTIONS(message_of(dir, images, {1, 2, 2}, {.zoom = -1}), "zoom");
  EXPECT_MENTIONS(message_of(dir, images, {1, 2, 2}, {.gap = -1}), "gap");
  EXPECT_MENTIONS(message_of(dir, images, {1, 2, 2}, {.range = {3, 3}}), "range");
  EXPECT_MENTIONS(message_of(dir, images, {1, 2, 2}, {.range = {0, std::numeric_limits<float>::infinity()}}), "range");
}

TEST(ImageGrid, RefusesAnAbsurdlyLargeSheet) {
  const TempDir dir;
  const std::string message = message_of(dir, matrix(100, 4), {1, 2, 2}, {.zoom = 1000});
  EXPECT_MENTIONS(message, "pass fewer pictures (--limit)");
  EXPECT_MENTIONS(message, "100 pictures");
  for (const GridOptions& options :
       {GridOptions{.gap = std::numeric_limits<int>::max()}, GridOptions{.zoom = std::numeric_limits<int>::max()}}) {
    const std::string refusal = message_of(dir, matrix(2, 4), {1, 2, 2}, options);
    EXPECT_TRUE(refusal.find("a sheet of 2 pictures") != std::string::npos ||
                refusal.find("overflows") != std::string::npos)
        << refusal;
  }
}

TEST(ImageGrid, GivesTheBytesOfTheFileItWrites) {
  const TempDir dir;
  FloatMatrix images = matrix(5, 3 * 4 * 4, 200);
  images(3, 7) = 10;
  for (const GridOptions& options : {GridOptions{}, GridOptions{.columns = 2, .zoom = 3, .gap = 2, .range = {0, 1}}}) {
    draw(dir, images, {3, 4, 4}, options);
    const std::vector<std::byte> bytes = png_grid_bytes(images.view(), {3, 4, 4}, options);
    EXPECT_EQ(test::raw(bytes), test::read_bytes(dir / "grid.png"));
  }
  EXPECT_MENTIONS(test::error_of([&] { png_grid_bytes(images.view(), {1, 4, 4}); }), "48 values");
}

TEST(ImageGrid, SetsReconstructionsBelowTheirOriginals) {
  FloatMatrix originals(5, 1), reconstructions(5, 1);
  for (std::size_t i = 0; i < 5; ++i) {
    originals(i, 0) = float(10 + i);
    reconstructions(i, 0) = float(20 + i);
  }
  const auto order = [&](std::size_t columns, std::array<float, 2> range = {0, 100}) {
    const FloatMatrix pairs = interleave_pairs(originals.view(), reconstructions.view(), columns, range);
    return std::vector<float>(pairs.values().begin(), pairs.values().end());
  };
  EXPECT_EQ(order(3), (std::vector<float>{10, 11, 12, 20, 21, 22, 13, 14, 50, 23, 24, 50}));
  EXPECT_EQ(order(5), (std::vector<float>{10, 11, 12, 13, 14, 20, 21, 22, 23, 24}));
  EXPECT_EQ(order(1), (std::vector<float>{10, 20, 11, 21, 12, 22, 13, 23, 14, 24}));
  EXPECT_EQ(order(6, {-1, 1}), (std::vector<float>{10, 11, 12, 13, 14, 0, 20, 21, 22, 23, 24, 0}));
}

TEST(ImageGrid, ShowsThePlaceOfAMissingPairAsAGap) {
  const TempDir dir;
  const FloatMatrix images = matrix(3, 1, 1);
  const std::array<float, 2> range{-1, 1};
  const FloatMatrix pairs = interleave_pairs(images.view(), images.view(), 2, range);
  draw(dir, pairs, {1, 1, 1}, {.columns = 2, .zoom = 1, .gap = 0, .range = range});
  EXPECT_EQ(read_picture(dir / "grid.png").pixels,
            (std::vector<std::uint8_t>{255, 255, 255, 255, 255, kGap, 255, kGap}));
}

TEST(ImageGrid, RefusesPairsThatAreNone) {
  const FloatMatrix two = matrix(2, 4), three = matrix(3, 4), other = matrix(2, 5);
  const auto refusal = [](const FloatMatrix& originals, const FloatMatrix& reconstructions, std::size_t columns) {
    return test::error_of([&] { interleave_pairs(originals.view(), reconstructions.view(), columns); });
  };
  EXPECT_MENTIONS(refusal(two, three, 2), "2 × 4 originals and 3 × 4 reconstructions");
  EXPECT_MENTIONS(refusal(two, other, 2), "2 × 5 reconstructions");
  EXPECT_MENTIONS(refusal(FloatMatrix(0, 4), FloatMatrix(0, 4), 2), "there are none");
  EXPECT_MENTIONS(refusal(two, two, 0), "pairs columns");
  EXPECT_MENTIONS(refusal(two, two, std::numeric_limits<std::size_t>::max()), "overflows");
}

TEST(ImageGrid, LeavesTheOldFileWhenItFails) {
  const TempDir dir;
  draw(dir, matrix(1, 4), {1, 2, 2}, {.zoom = 1});
  FloatMatrix bad = matrix(1, 4);
  bad(0, 0) = std::nanf("");
  EXPECT_THROW(draw(dir, bad, {1, 2, 2}), Error);
  EXPECT_EQ(read_picture(dir / "grid.png").width, 2);
}

}  // namespace
}  // namespace cpfm
