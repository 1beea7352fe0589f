#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <fstream>

// Behind <cstdio>: jpeglib.h uses FILE without declaring it.
// clang-format off
#include <jpeglib.h>
// clang-format on

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "data/image_io.hpp"
#include "data/readers.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

namespace fs = std::filesystem;
using test::TempDir;

void write_bytes(const fs::path& file, std::string_view bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
}

// All channels of pixel p have value + p.
void write_png(const fs::path& file, int width, int height, int channels, int value) {
  std::vector<std::uint8_t> pixels;
  for (int p = 0; p < width * height; ++p) {
    for (int c = 0; c < channels; ++c) pixels.push_back(std::uint8_t(value + p + 100 * c));
  }
  const auto bytes = encode_png(width, height, channels, pixels);
  write_bytes(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void write_grey_jpeg(const fs::path& file, int width, int height, std::uint8_t value) {
  fs::create_directories(file.parent_path());
  std::FILE* stream = std::fopen(file.c_str(), "wb");
  jpeg_compress_struct state{};
  jpeg_error_mgr errors{};
  state.err = jpeg_std_error(&errors);
  jpeg_create_compress(&state);
  jpeg_stdio_dest(&state, stream);
  state.image_width = JDIMENSION(width);
  state.image_height = JDIMENSION(height);
  state.input_components = 1;
  state.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&state);
  jpeg_start_compress(&state, TRUE);
  std::vector<std::uint8_t> pixels(std::size_t(width), value);
  JSAMPROW row = pixels.data();
  for (int y = 0; y < height; ++y) jpeg_write_scanlines(&state, &row, 1);
  jpeg_finish_compress(&state);
  jpeg_destroy_compress(&state);
  std::fclose(stream);
}

std::string message_of(const fs::path& folder, const ReadOptions& options = {}) {
  try {
    read_image_folder(folder, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no Error";
}

#define EXPECT_MENTIONS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

using Names = std::vector<std::string>;
using Ids = std::vector<std::int32_t>;

TEST(ImageFolder, TakesClassesFromFolders) {
  const TempDir dir;
  write_png(dir / "dog/b.png", 2, 2, 1, 20);
  write_png(dir / "cat/c.png", 2, 2, 1, 30);
  write_png(dir / "cat/a.png", 2, 2, 1, 40);
  const Dataset data = read_image_folder(dir.path(), {});
  ASSERT_TRUE(data.labels);
  EXPECT_EQ(data.labels->names, (Names{"cat", "dog"}));
  EXPECT_EQ(data.labels->ids, (Ids{0, 1, 0}));
  EXPECT_EQ(data.sample_names, (Names{"cat/a.png", "dog/b.png", "cat/c.png"}));
  EXPECT_EQ(data.format, "image folder");
  EXPECT_EQ(data.dtype, "uint8");
  EXPECT_EQ(data.image, (ImageShape{1, 2, 2}));
  EXPECT_EQ(data.value_range, (std::array<float, 2>{0, 255}));
  ASSERT_EQ(data.size(), 3u);
  ASSERT_EQ(data.dim(), 4u);
  EXPECT_EQ(data.samples(0, 0), 40);
  EXPECT_EQ(data.samples(1, 3), 23);
  EXPECT_EQ(data.samples(2, 1), 31);
}

TEST(ImageFolder, OrdersNumberedClassesByValue) {
  const TempDir dir;
  for (const char* name : {"10", "9", "0"}) write_png(dir / name / "a.png", 1, 1, 1, 0);
  EXPECT_EQ(read_image_folder(dir.path(), {}).labels->names, (Names{"0", "9", "10"}));
}

TEST(ImageFolder, ReadsAFlatFolderWithoutLabels) {
  const TempDir dir;
  write_png(dir / "2.png", 3, 1, 1, 2);
  write_png(dir / "1.PNG", 3, 1, 1, 1);
  write_grey_jpeg(dir / "3.JpG", 3, 1, 77);
  write_grey_jpeg(dir / "4.jpeg", 3, 1, 78);
  fs::create_directory(dir / "notes");
  const Dataset data = read_image_folder(dir.path(), {});
  EXPECT_FALSE(data.labels);
  EXPECT_EQ(data.sample_names, (Names{"1.PNG", "2.png", "3.JpG", "4.jpeg"}));
  EXPECT_EQ(data.image, (ImageShape{1, 1, 3}));
  EXPECT_EQ(data.samples(2, 0), 77);
}

TEST(ImageFolder, FindsPicturesDeepInsideAClass) {
  const TempDir dir;
  write_png(dir / "a/images/deep/1.png", 1, 1, 1, 1);
  write_png(dir / "b/2.png", 1, 1, 1, 2);
  fs::create_directory(dir / "empty_class");
  const Dataset data = read_image_folder(dir.path(), {});
  EXPECT_EQ(data.labels->names, (Names{"a", "b"}));
  EXPECT_EQ(data.sample_names, (Names{"a/images/deep/1.png", "b/2.png"}));
}

TEST(ImageFolder, SkipsHiddenFilesAndFolders) {
  const TempDir dir;
  write_png(dir / "a/1.png", 1, 1, 1, 1);
  write_bytes(dir / "a/._1.png", "not a picture");
  write_bytes(dir / "a/.thumbs/2.png", "not a picture");
  write_bytes(dir / ".hidden/3.png", "not a picture");
  write_bytes(dir / ".4.png", "not a picture");
  write_bytes(dir / "a/readme.txt", "not a picture");
  EXPECT_EQ(read_image_folder(dir.path(), {}).sample_names, (Names{"a/1.png"}));
}

TEST(ImageFolder, RefusesPicturesBesideClassFolders) {
  const TempDir dir;
  write_png(dir / "stray.png", 1, 1, 1, 1);
  write_png(dir / "cat/1.png", 1, 1, 1, 1);
  const std::string message = message_of(dir.path());
  EXPECT_MENTIONS(message, "stray.png");
  EXPECT_MENTIONS(message, "cat");
}

TEST(ImageFolder, SaysWhatItLookedForWhenThereIsNothing) {
  const TempDir dir;
  write_bytes(dir / "a/readme.txt", "text");
  const std::string message = message_of(dir.path());
  EXPECT_MENTIONS(message, "no pictures");
  EXPECT_MENTIONS(message, "*.png, *.jpg and *.jpeg");
}

TEST(ImageFolder, NamesAFolderThatIsNotThere) {
  const TempDir dir;
  EXPECT_MENTIONS(message_of(dir / "absent"), "absent");
}

TEST(ImageFolder, ALimitedReadIsTheStartOfTheFullOneAndSeesEveryClass) {
  const TempDir dir;
  for (int i = 0; i < 5; ++i) write_png(dir / "big" / (std::to_string(i) + ".png"), 1, 1, 1, i);
  for (int i = 0; i < 2; ++i) write_png(dir / "small" / (std::to_string(i) + ".png"), 1, 1, 1, 50 + i);
  write_png(dir / "tiny/0.png", 1, 1, 1, 99);
  const Dataset all = read_image_folder(dir.path(), {});
  EXPECT_EQ(all.labels->ids, (Ids{0, 1, 2, 0, 1, 0, 0, 0}));
  for (std::size_t limit = 1; limit <= 9; ++limit) {
    ReadOptions options;
    options.limit = limit;
    const Dataset some = read_image_folder(dir.path(), options);
    ASSERT_EQ(some.size(), std::min<std::size_t>(limit, 8));
    EXPECT_EQ(some.labels->names, all.labels->names);
    for (std::size_t i = 0; i < some.size(); ++i) {
      EXPECT_EQ(some.sample_names[i], all.sample_names[i]);
      EXPECT_EQ(some.samples(i, 0), all.samples(i, 0));
    }
  }
  ReadOptions none;
  none.limit = 0;
  EXPECT_MENTIONS(message_of(dir.path(), none), "limit");
}

TEST(ImageFolder, NamesTheTwoPicturesWhoseSizesDiffer) {
  const TempDir dir;
  write_png(dir / "a.png", 4, 4, 1, 0);
  write_png(dir / "b.png", 4, 4, 1, 0);
  write_png(dir / "c.png", 5, 4, 1, 0);
  const std::string message = message_of(dir.path());
  for (const char* part : {"'a.png' is 4 × 4", "'c.png' is 4 × 5 (height × width)", "--image-size"})
    EXPECT_MENTIONS(message, part);
}

TEST(ImageFolder, BringsPicturesToOneSizeWhenAsked) {
  const TempDir dir;
  write_png(dir / "a.png", 8, 4, 1, 0);
  write_png(dir / "b.png", 3, 9, 3, 0);
  for (const ImageFit fit : {ImageFit::kCrop, ImageFit::kStretch, ImageFit::kPad}) {
    ReadOptions options;
    options.image_size = 4;
    options.image_fit = fit;
    const Dataset data = read_image_folder(dir.path(), options);
    EXPECT_EQ(data.image, (ImageShape{3, 4, 4}));
    EXPECT_EQ(data.dim(), 48u);
  }
  for (const int size : {-1, 1 << 20}) {
    ReadOptions options;
    options.image_size = size;
    EXPECT_MENTIONS(message_of(dir.path(), options), "image size");
  }
}

TEST(ImageFolder, CropsToTheMiddleOfThePicture) {
  const TempDir dir;
  write_png(dir / "a.png", 6, 2, 1, 0);  // rows 0…5 and 6…11
  ReadOptions options;
  options.image_size = 2;
  const Dataset data = read_image_folder(dir.path(), options);
  EXPECT_EQ(std::vector<float>(data.samples.row(0).begin(), data.samples.row(0).end()),
            (std::vector<float>{2, 3, 8, 9}));
}

TEST(ImageFolder, IsColouredWhenOnePictureIs) {
  const TempDir dir;
  write_png(dir / "grey.png", 2, 1, 1, 50);
  write_png(dir / "red.png", 2, 1, 3, 10);
  const auto row = [](const Dataset& data, std::size_t i) {
    return std::vector<float>(data.samples.row(i).begin(), data.samples.row(i).end());
  };
  const Dataset automatic = read_image_folder(dir.path(), {});
  EXPECT_EQ(automatic.image, (ImageShape{3, 1, 2}));
  EXPECT_EQ(row(automatic, 0), (std::vector<float>{50, 51, 50, 51, 50, 51}));
  EXPECT_EQ(row(automatic, 1), (std::vector<float>{10, 11, 110, 111, 210, 211}));

  ReadOptions grey;
  grey.image_color = ImageColor::kGrey;
  const Dataset forced_grey = read_image_folder(dir.path(), grey);
  EXPECT_EQ(forced_grey.image, (ImageShape{1, 1, 2}));
  EXPECT_EQ(row(forced_grey, 1), (std::vector<float>{92, 93}));

  fs::remove(dir / "red.png");
  EXPECT_EQ(read_image_folder(dir.path(), {}).image, (ImageShape{1, 1, 2}));
  ReadOptions color;
  color.image_color = ImageColor::kColor;
  EXPECT_EQ(read_image_folder(dir.path(), color).image, (ImageShape{3, 1, 2}));
}

TEST(ImageFolder, NamesADamagedPicture) {
  const TempDir dir;
  for (int i = 0; i < 30; ++i) write_png(dir / (std::to_string(i) + ".png"), 20, 20, 1, i);
  fs::resize_file(dir / "17.png", fs::file_size(dir / "17.png") - 20);
  EXPECT_MENTIONS(message_of(dir.path()), "17.png");
  write_bytes(dir / "17.png", "GIF89a, really");
  EXPECT_MENTIONS(message_of(dir.path()), "17.png");
}

TEST(ImageFolder, GivesTheSameDataForAnyNumberOfThreads) {
  const TempDir dir;
  for (int i = 0; i < 100; ++i) write_png(dir / std::to_string(i % 3) / (std::to_string(i) + ".png"), 3, 3, 3, i);
  set_threads(1);
  const Dataset one = read_image_folder(dir.path(), {});
  set_threads(4);
  const Dataset four = read_image_folder(dir.path(), {});
  set_threads(0);
  EXPECT_EQ(one.sample_names, four.sample_names);
  EXPECT_TRUE(std::equal(one.samples.values().begin(), one.samples.values().end(), four.samples.values().begin()));
}

TEST(ImageFolder, TellsProgressOneCallAtATime) {
  struct Watch : Progress {
    void start(const std::string&, std::uint64_t total, const std::string& unit) override {
      EXPECT_EQ(total, 100u);
      EXPECT_EQ(unit, "pictures");
      ++starts;
      last = 0;
    }
    void update(std::uint64_t done, const std::string&) override {
      EXPECT_EQ(inside.exchange(true), false);
      EXPECT_GT(done, last);
      last = done;
      inside = false;
    }
    void finish() override { EXPECT_EQ(last, 100u); }
    std::atomic<bool> inside{false};
    std::uint64_t last = 0;
    int starts = 0;
  };
  const TempDir dir;
  for (int i = 0; i < 100; ++i) write_png(dir / (std::to_string(i) + ".png"), 2, 2, 1, i);
  Watch watch;
  ReadOptions options;
  options.progress = &watch;
  read_image_folder(dir.path(), options);
  EXPECT_EQ(watch.starts, 2);
}

TEST(ImageFolder, StopsWhenInterrupted) {
  const TempDir dir;
  write_png(dir / "a.png", 1, 1, 1, 1);
  request_interrupt();
  EXPECT_THROW(read_image_folder(dir.path(), {}), Interrupted);
  clear_interrupt();
}

TEST(ImageFolder, FollowsLinkedClassesAndPicturesButNotCircles) {
  const TempDir dir;
  write_png(dir / "store/x.png", 1, 1, 1, 5);
  fs::create_directories(dir / "data/a");
  fs::create_directory_symlink(dir / "store", dir / "data/linked");
  fs::create_symlink(dir / "store/x.png", dir / "data/a/y.png");
  fs::create_directory_symlink(dir / "data", dir / "data/a/circle");
  const Dataset data = read_image_folder(dir / "data", {});
  EXPECT_EQ(data.sample_names, (Names{"a/y.png", "linked/x.png"}));
}

}  // namespace
}  // namespace cpfm
