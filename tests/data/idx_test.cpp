#include <gtest/gtest.h>

#include "cpfm/data.hpp"
#include "data/gzip.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using namespace test;

const std::string kImages = idx({3, 2, 2}, "abcdefghijkl");
const std::string kLabels = idx({3}, std::string("\x05\x00\x09", 3));

TEST(Idx, ReadsPicturesAndFindsTheirLabels) {
  const TempDir dir;
  write_bytes(dir / "train-images-idx3-ubyte", kImages);
  write_bytes(dir / "train-labels-idx1-ubyte", kLabels);
  for (const auto& source :
       {dir / "train-images-idx3-ubyte", dir.path()}) {  // the folder stands for its training images
    const Dataset data = read_dataset(source.string());
    EXPECT_EQ(data.size(), 3u);
    EXPECT_EQ(*data.image, (ImageShape{1, 2, 2}));
    EXPECT_EQ(data.samples(1, 0), 'e');
    EXPECT_EQ(data.dtype, "uint8");
    EXPECT_EQ(data.labels->names, (std::vector<std::string>{"0", "5", "9"}));
    EXPECT_EQ(data.labels->ids, (std::vector<std::int32_t>{1, 0, 2}));
  }
}

TEST(Idx, ReadsGzippedPicturesWithGzippedLabels) {
  const TempDir dir;
  write_bytes(dir / "train-images-idx3-ubyte.gz", gzipped(kImages));
  write_bytes(dir / "train-labels-idx1-ubyte.gz", gzipped(kLabels));
  for (const auto& source : {dir / "train-images-idx3-ubyte.gz", dir.path()}) {
    const Dataset data = read_dataset(source.string());
    EXPECT_EQ(data.samples(1, 0), 'e');
    EXPECT_EQ(data.labels->ids, (std::vector<std::int32_t>{1, 0, 2}));
  }
}

TEST(Idx, ReadsWithoutLabelsAndWithALimit) {
  const TempDir dir;
  write_bytes(dir / "images", kImages);
  EXPECT_FALSE(read_dataset((dir / "images").string()).labels);
  write_bytes(dir / "labels", kLabels);
  ReadOptions options;
  options.limit = 2;
  const Dataset data = read_dataset((dir / "images").string(), options);
  EXPECT_EQ(data.size(), 2u);
  EXPECT_EQ(data.labels->ids.size(), 2u);
}

TEST(Idx, ReadsOtherTypes) {
  const TempDir dir;
  write_bytes(dir / "a", idx({2, 1}, raw_big_endian<std::int16_t>({-300, 2}), 0x0B));
  EXPECT_EQ(read_dataset((dir / "a").string()).samples(0, 0), -300);
  write_bytes(dir / "b", idx({2, 1}, raw_big_endian<double>({0.5, 2}), 0x0E));
  EXPECT_EQ(read_dataset((dir / "b").string()).samples(0, 0), 0.5f);
}

TEST(Idx, TakesLabelsFromAnotherFile) {
  const TempDir dir;
  write_bytes(dir / "a", kImages);
  write_bytes(dir / "mine.txt", "kind\nx\ny\nx\n");
  write_bytes(dir / "other", kLabels);
  ReadOptions options;
  options.labels = (dir / "mine.txt").string();
  EXPECT_EQ(read_dataset((dir / "a").string(), options).labels->names, (std::vector<std::string>{"x", "y"}));
  options.labels = (dir / "other").string();
  EXPECT_EQ(read_dataset((dir / "a").string(), options).labels->names, (std::vector<std::string>{"0", "5", "9"}));
  options.labels = (dir / "none").string();
  EXPECT_CONTAINS(error_of([&] { read_dataset((dir / "a").string(), options); }), "neither a file nor a column");
}

TEST(Idx, RefusesALabelCountThatDiffers) {
  const TempDir dir;
  write_bytes(dir / "t-images", kImages);
  write_bytes(dir / "t-labels", idx({4}, "abcd"));
  EXPECT_CONTAINS(error_of([&] { read_dataset((dir / "t-images").string()); }), "holds 4 labels for 3 samples");
  ReadOptions options;
  options.labels = (dir / "l.txt").string();
  write_bytes(dir / "l.txt", "1\n2\n");
  EXPECT_CONTAINS(error_of([&] { read_dataset((dir / "t-images").string(), options); }),
                  "holds 2 values for 3 samples");
}

TEST(Idx, RefusesTruncationAtEveryLengthAndTrailingBytes) {
  const TempDir dir;
  for (std::size_t length = 0; length < kImages.size(); ++length) {
    write_bytes(dir / "t", kImages.substr(0, length));
    EXPECT_CONTAINS(error_of([&] { read_dataset((dir / "t").string()); }), length == 0   ? "is empty"
                                                                           : length < 4  ? "zero byte"
                                                                           : length < 16 ? "ends after"
                                                                                         : "promises 12 bytes");
  }
  write_bytes(dir / "t", kImages + "x");
  EXPECT_CONTAINS(error_of([&] { read_dataset((dir / "t").string()); }), "1 bytes more");
}

TEST(Idx, RefusesAHugeDeclaredSizeBeforeAllocating) {
  const TempDir dir;
  write_bytes(dir / "t", idx({0xFFFFFFFF, 0xFFFF, 0xFFFF}, "abc"));
  EXPECT_CONTAINS(error_of([&] { read_dataset((dir / "t").string()); }), "overflow");
  write_bytes(dir / "t", idx({0xFFFFFFFF, 2}, "abc"));
  EXPECT_CONTAINS(error_of([&] { read_dataset((dir / "t").string()); }), "promises 8.6 GB");
}

}  // namespace
}  // namespace cpfm
