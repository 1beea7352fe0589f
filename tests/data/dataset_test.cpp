#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <set>

#include "cpfm/data.hpp"
#include "data/gzip.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using namespace test;

TEST(Digits, AreBuiltInAndLookLikeTheUciData) {
  const Dataset data = read_dataset("digits");
  EXPECT_EQ(data.size(), 1797u);
  EXPECT_EQ(*data.image, (ImageShape{1, 8, 8}));
  std::vector<int> counts(10);
  for (const auto id : data.labels->ids) ++counts.at(static_cast<std::size_t>(id));
  EXPECT_EQ(counts, (std::vector<int>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}));
  double sum = 0;
  for (const float v : data.samples.values()) sum += v;
  EXPECT_NEAR(sum / (1797 * 64), 4.8842, 1e-4);
}

Dataset small() {
  Dataset data;
  data.source = "small";
  data.samples = FloatMatrix(10, 2);
  data.labels.emplace();
  data.labels->names = {"even", "odd"};
  data.properties.push_back({"p", {}});
  for (std::size_t i = 0; i < 10; ++i) {
    data.samples(i, 0) = static_cast<float>(i);
    data.samples(i, 1) = static_cast<float>(10 * i);
    data.labels->ids.push_back(static_cast<std::int32_t>(i % 2));
    data.properties[0].values.push_back(static_cast<float>(100 * i));
    data.sample_names.push_back(std::to_string(i));
    data.molecules.push_back(std::string(i + 1, 'C'));
  }
  return data;
}

void expect_rows_belong_together(const Dataset& data) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    const float id = data.samples(i, 0);
    EXPECT_EQ(data.samples(i, 1), 10 * id);
    EXPECT_EQ(data.labels->ids.at(i), static_cast<int>(id) % 2);
    EXPECT_EQ(data.properties.at(0).values.at(i), 100 * id);
    EXPECT_EQ(data.sample_names.at(i), std::to_string(static_cast<int>(id)));
    EXPECT_EQ(data.molecules.at(i), std::string(static_cast<std::size_t>(id) + 1, 'C'));
  }
}

TEST(Split, PartsAreDisjointWholeAndInOrder) {
  Dataset train = small();
  const Dataset test = split_off(train, 0.3, 1);
  EXPECT_EQ(test.size(), 3u);
  EXPECT_EQ(train.size(), 7u);
  expect_rows_belong_together(train);
  expect_rows_belong_together(test);
  std::set<float> seen;
  for (const Dataset* part : {static_cast<const Dataset*>(&train), &test}) {
    for (std::size_t i = 0; i < part->size(); ++i) {
      seen.insert(part->samples(i, 0));
      if (i > 0) {
        EXPECT_LT(part->samples(i - 1, 0), part->samples(i, 0));
      }
    }
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST(Split, DependsOnTheSeedAlone) {
  Dataset a = small(), b = small(), c = small();
  EXPECT_EQ(split_off(a, 0.3, 1).sample_names, split_off(b, 0.3, 1).sample_names);
  EXPECT_NE(a.sample_names, (split_off(c, 0.3, 2), c.sample_names));
}

TEST(Split, KeepsARowOnEachSideAndRefusesNonsense) {
  Dataset data = small();
  EXPECT_EQ(split_off(data, 0.001, 1).size(), 1u);
  EXPECT_EQ(split_off(data, 0.999, 1).size(), 8u);
  EXPECT_EQ(data.size(), 1u);
  EXPECT_THROW(split_off(data, 0.5, 1), Error);
  Dataset other = small();
  EXPECT_THROW(split_off(other, 0, 1), Error);
  EXPECT_THROW(split_off(other, 1, 1), Error);
  EXPECT_THROW(split_off(other, NAN, 1), Error);
}

TEST(Validate, NamesRowAndColumnOfTheFirstBadValue) {
  Dataset data = small();
  EXPECT_NO_THROW(validate(data));
  data.samples(7, 1) = INFINITY;
  data.samples(3, 0) = NAN;
  EXPECT_CONTAINS(error_of([&] { validate(data); }), "small, row 4, column 1: the value is NaN");
  data.samples(3, 0) = 0;
  data.feature_names = {"a", "b"};
  EXPECT_CONTAINS(error_of([&] { validate(data); }), "row 8, column 'b': the value is infinite");
}

TEST(Validate, RefusesCountsThatDisagree) {
  Dataset data = small();
  data.labels->ids.pop_back();
  EXPECT_CONTAINS(error_of([&] { validate(data); }), "9 labels for 10 samples");
  data = small();
  data.properties[0].values.push_back(1);
  EXPECT_CONTAINS(error_of([&] { validate(data); }), "11 values of the property 'p'");
  data = small();
  data.molecules.pop_back();
  EXPECT_CONTAINS(error_of([&] { validate(data); }), "9 molecules for 10 samples");
  data = small();
  data.image = ImageShape{1, 3, 3};
  EXPECT_CONTAINS(error_of([&] { validate(data); }), "not pictures");
  EXPECT_CONTAINS(error_of([&] { validate(Dataset{}); }), "no samples");
}

TEST(Fingerprint, TellsMoleculesApartAndStaysAsItWasWithoutThem) {
  Dataset data = small();
  const std::uint64_t molecules = fingerprint(data);
  data.molecules[3] += 'O';
  EXPECT_NE(fingerprint(data), molecules);
  data.molecules.clear();
  EXPECT_NE(fingerprint(data), molecules);
  EXPECT_EQ(fingerprint(read_dataset("digits")), 0x729bd202548384a3u);  // stands in coupling files
}

TEST(ReadDataset, DeclaresPictures) {
  const TempDir dir;
  write_bytes(dir / "a.csv", "1,2,3,4\n5,6,7,8\n");
  ReadOptions options;
  options.image = ImageShape{1, 2, 2};
  EXPECT_EQ(*read_dataset((dir / "a.csv").string(), options).image, (ImageShape{1, 2, 2}));
  options.image = ImageShape{3, 2, 2};
  EXPECT_CONTAINS(error_of([&] { read_dataset((dir / "a.csv").string(), options); }), "12 values, but rows");
}

TEST(ReadDataset, SaysWhatBinaryDataOnStandardInputIs) {
  const TempDir dir;
  for (const auto& [bytes, message] : {std::pair{npy("<f4", "(2,)", "12345678"), "this is npy data; give it as a file"},
                                       {std::string("\x89HDF\r\n\x1a\n"), "this is HDF5 data; give it as a file"},
                                       {std::string("PK\x03\x04"), "this is npz data; give it as a file"}}) {
    write_bytes(dir / "in", bytes);
    const int before = dup(STDIN_FILENO), file = open((dir / "in").c_str(), O_RDONLY);
    dup2(file, STDIN_FILENO);
    EXPECT_CONTAINS(error_of([] { read_dataset("-"); }), message);
    dup2(before, STDIN_FILENO);
    close(before);
    close(file);
  }
}

TEST(ReadDataset, TellsHowManyBytesOfTheFileWereRead) {
  struct Watch : Progress {
    void start(const std::string&, std::uint64_t t, const std::string& u) override {
      total = t;
      unit = u;
    }
    void update(std::uint64_t d, const std::string&) override { done = d; }
    void finish() override { ++finished; }
    std::uint64_t total = 0, done = 0;
    std::string unit;
    int finished = 0;
  };
  const TempDir dir;
  const std::vector<std::pair<std::string, std::string>> files{
      {"a.npy", npy("<f4", "(2, 2)", raw<float>({1, 2, 3, 4}))},
      {"a.csv", "1,2\n3,4\n"},
      {"a.csv.gz", gzipped("1,2\n3,4\n")},
      {"a-idx", idx({2, 2}, "abcd")},
      {"a.bin", std::string(2 * 3073, '\x01')}};
  for (const auto& [name, bytes] : files) {
    write_bytes(dir / name, bytes);
    Watch watch;
    ReadOptions options;
    options.progress = &watch;
    read_dataset((dir / name).string(), options);
    EXPECT_EQ(watch.total, bytes.size()) << name;
    EXPECT_EQ(watch.done, bytes.size()) << name;
    EXPECT_EQ(watch.unit, "bytes") << name;
    EXPECT_EQ(watch.finished, 1) << name;
  }
}

TEST(ReadDataset, RefusesWhatItCannotRead) {
  const TempDir dir;
  EXPECT_CONTAINS(error_of([&] { read_dataset((dir / "none.npy").string()); }), "there is no such file");
  write_bytes(dir / "a.npy", "not numpy");
  EXPECT_CONTAINS(error_of([&] { read_dataset((dir / "a.npy").string()); }),
                  "named like an npy file but does not begin like one");
  write_bytes(dir / "a.png", "\x89PNG\r\n\x1a\n");
  EXPECT_CONTAINS(error_of([&] { read_dataset((dir / "a.png").string()); }), "is one picture");
  ReadOptions options;
  options.limit = 1;
  EXPECT_CONTAINS(error_of([&] { read_dataset("digits", options); }), "at least 2");
}

}  // namespace
}  // namespace cpfm
