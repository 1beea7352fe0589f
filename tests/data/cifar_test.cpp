#include <gtest/gtest.h>

#include "cpfm/data.hpp"
#include "data/gzip.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using namespace test;

std::string record(int label, char fill) { return std::string(1, static_cast<char>(label)) + std::string(3072, fill); }

TEST(Cifar, ReadsABatch) {
  const TempDir dir;
  write_bytes(dir / "test_batch.bin", record(3, 'a') + record(9, 'b'));
  const Dataset data = read_dataset((dir / "test_batch.bin").string());
  EXPECT_EQ(data.size(), 2u);
  EXPECT_EQ(*data.image, (ImageShape{3, 32, 32}));
  EXPECT_EQ(data.samples(1, 3071), 'b');
  EXPECT_EQ(data.labels->names.at(3), "cat");
  EXPECT_EQ(data.labels->ids, (std::vector<std::int32_t>{3, 9}));
}

TEST(Cifar, ReadsAGzippedBatch) {
  const TempDir dir;
  const std::string packed = gzipped(record(3, 'a') + record(9, 'b'));
  write_bytes(dir / "test_batch.bin.gz", packed);
  const Dataset data = read_dataset((dir / "test_batch.bin.gz").string());
  EXPECT_EQ(data.format, "cifar10");
  EXPECT_EQ(data.samples(1, 3071), 'b');
  write_bytes(dir / "test_batch.bin.gz", gzipped(record(3, 'a') + record(9, 'b').substr(0, 100)));
  EXPECT_CONTAINS(error_of([&] { read_dataset((dir / "test_batch.bin.gz").string()); }), "ends after 100 of the 3073");
}

TEST(Cifar, ReadsAFolderOfFiveBatchesAndStopsAtALimit) {
  const TempDir dir;
  for (int batch = 1; batch <= 5; ++batch) {
    write_bytes(dir / ("data_batch_" + std::to_string(batch) + ".bin"), record(batch, 'a') + record(0, 'b'));
  }
  EXPECT_EQ(read_dataset(dir.path().string()).size(), 10u);
  ReadOptions options;
  options.limit = 3;
  EXPECT_EQ(read_dataset(dir.path().string(), options).labels->ids, (std::vector<std::int32_t>{1, 0, 2}));
  std::filesystem::remove(dir / "data_batch_4.bin");
  EXPECT_CONTAINS(error_of([&] { read_dataset(dir.path().string()); }), "data_batch_4.bin is missing");
}

TEST(Cifar, RefusesTruncationAndUnknownClasses) {
  const TempDir dir;
  write_bytes(dir / "a.bin", record(1, 'a') + record(2, 'b').substr(0, 100));
  EXPECT_CONTAINS(error_of([&] { read_dataset((dir / "a.bin").string()); }), "not a multiple of 3073");
  write_bytes(dir / "a.bin", record(1, 'a') + record(10, 'b'));
  EXPECT_CONTAINS(error_of([&] { read_dataset((dir / "a.bin").string()); }), "record 2: has class 10");
  write_bytes(dir / "a.bin", "");
  EXPECT_CONTAINS(error_of([&] { read_dataset((dir / "a.bin").string()); }), "is empty");
}

}  // namespace
}  // namespace cpfm
