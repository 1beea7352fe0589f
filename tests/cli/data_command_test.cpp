#include <gtest/gtest.h>

#include "cpfm/data.hpp"
#include "support/program.hpp"

namespace cpfm::test {
namespace {

TEST(DataInfo, DescribesTheBuiltInDigits) {
  const Outcome text = run_cpfm({"data", "info", "digits"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_EQ(text.err, "");
  for (const char* part : {"1797 x 64", "uint8", "460 kB", "1 x 8 x 8", "0 to 16", "10: 0 (178), 1 (182)"})
    EXPECT_CONTAINS(text.out, part);
  const auto json = run_cpfm({"data", "info", "digits", "--json"}).json();
  EXPECT_EQ(json["n"], 1797);
  EXPECT_EQ(json["dim"], 64);
  EXPECT_EQ(json["image"]["height"], 8);
  EXPECT_EQ(json["labels"]["classes"][3]["count"], 183);
  EXPECT_EQ(json["memory_bytes"], 1797 * 64 * 4);
}

TEST(DataInfo, ReadsCsvFromStandardInput) {
  RunOptions options;
  options.input = "a,b,kind\n1,2,x\n3,4,y\n5,6,x\n";
  const auto json = run_cpfm({"data", "info", "-", "--labels", "kind", "--property", "b", "--json"}, options).json();
  EXPECT_EQ(json["n"], 3);
  EXPECT_EQ(json["dim"], 1);
  EXPECT_EQ(json["features"], (std::vector<std::string>{"a"}));
  EXPECT_EQ(json["labels"]["classes"][0]["name"], "x");
  EXPECT_EQ(json["properties"][0]["max"], 6);
}

TEST(DataInfo, DrawsAContactSheet) {
  const TempDir dir;
  const auto json = run_cpfm({"data", "info", "digits", "--png", (dir / "d.png").string(), "--json"}).json();
  EXPECT_EQ(json["png"], (dir / "d.png").string());
  EXPECT_TRUE(read_bytes(dir / "d.png").starts_with("\x89PNG"));
  const Outcome text = run_cpfm({"data", "info", "digits", "--png", (dir / "e.png").string()});
  EXPECT_CONTAINS(text.out, "written     " + (dir / "e.png").string());
  expect_refused(run_cpfm({"data", "info", "digits", "--png", (dir / "x.jpg").string()}), "does not end in .png");
  expect_refused(run_cpfm({"data", "info", "digits", "--png", (dir / "x.png").string(), "--pictures", "0"}),
                 "--pictures: '0' is not allowed; a whole number from 1 to 1000000");
  EXPECT_FALSE(std::filesystem::exists(dir / "x.jpg"));
}

TEST(DataInfo, WarnsOfOptionsThatMeanNothingForTheData) {
  const TempDir dir;
  write_bytes(dir / "t.csv", "1,2\n3,4\n");
  const Outcome outcome = run_cpfm({"data", "info", (dir / "t.csv").string(), "--key", "X", "--image-size", "8"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_CONTAINS(outcome.err, "warning: --key means nothing for " + (dir / "t.csv").string() + ": its format is csv");
  EXPECT_CONTAINS(outcome.err, "warning: --image-size means nothing");
  EXPECT_EQ(run_cpfm({"data", "info", (dir / "t.csv").string(), "--header", "no"}).err, "");
  EXPECT_EQ(run_cpfm({"data", "info", (dir / "t.csv").string(), "--key", "X", "--quiet"}).err, "");
}

TEST(DataInfo, HintsAtWhatCanBeFetched) {
  const TempDir dir;
  RunOptions there;
  there.folder = dir.path();
  expect_refused(run_cpfm({"data", "info", "mnist"}, there), "fetch it with 'cpfm data get mnist'");
  expect_refused(run_cpfm({"data", "info", "data/cifar10"}, there), "fetch it with 'cpfm data get cifar10'");
  std::filesystem::create_directories(dir / "data/mnist");
  expect_refused(run_cpfm({"data", "info", "mnist"}, there), "did you mean data/mnist?");
}

TEST(DataInfo, RefusesASplitThatLeavesAPartWithLessThanTwoSamples) {
  const auto part = [](const char* fraction) {
    return run_cpfm({"data", "info", "digits", "--limit", "20", "--part", "train", "--test-fraction", fraction});
  };
  expect_refused(part("0.01"), "--test-fraction: 0.01 leaves 19 to train and 1 to test of the 20 samples of digits");
  expect_refused(part("0.95"), "each part needs at least 2");
  EXPECT_EQ(part("0.1").exit_code, 0);
  for (const char* fraction : {"0", "1", "-0.5", "2", "nan", "half", ""}) {
    expect_refused(run_cpfm({"data", "info", "digits", "--test-fraction", fraction}),
                   "is not allowed; a number above 0 and below 1");
  }
}

TEST(DataInfo, TakesPartsOfASeededSplit) {
  const auto n = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"data", "info", "digits", "--json", "--test-fraction", "0.25"};
    words.insert(words.end(), more.begin(), more.end());
    return run_cpfm(words).json();
  };
  const auto train = n({"--part", "train"}), test = n({"--part", "test"}), other = n({"--part", "test", "--seed", "2"});
  EXPECT_EQ(train["n"], 1348);
  EXPECT_EQ(test["n"], 449);
  EXPECT_NE(test["values"]["mean"], other["values"]["mean"]);
  EXPECT_EQ(test, n({"--part", "test", "--threads", "1"}));
}

TEST(DataInfo, Standardizes) {
  const auto json = run_cpfm({"data", "info", "digits", "--standardize", "image", "--json"}).json();
  EXPECT_EQ(json["values"]["min"], -1);
  EXPECT_EQ(json["values"]["max"], 1);
  EXPECT_EQ(json["image"]["white"], 1);
}

TEST(DataConvert, WritesNpyCsvAndPng) {
  const TempDir dir;
  for (const char* name : {"d.npy", "d.csv", "d.png"}) {
    const Outcome outcome = run_cpfm({"data", "convert", "digits", "--limit", "20", "-o", (dir / name).string()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_CONTAINS(outcome.out, "20 x 64");
  }
  ReadOptions labelled;
  labelled.labels = "label";
  const Dataset csv = read_dataset((dir / "d.csv").string(), labelled), npy = read_dataset((dir / "d.npy").string());
  EXPECT_EQ(csv.dim(), 64u);
  EXPECT_EQ(csv.labels->names.size(), 10u);
  for (std::size_t k = 0; k < npy.samples.size(); ++k) ASSERT_EQ(npy.samples.data()[k], csv.samples.data()[k]);
}

TEST(DataConvert, RefusesAnOutputItCannotName) {
  const TempDir dir;
  expect_refused(run_cpfm({"data", "convert", "digits", "-o", (dir / "d.xlsx").string()}), ".npy, .csv and .png");
  write_bytes(dir / "t.csv", "1,2\n3,4\n");
  expect_refused(run_cpfm({"data", "convert", (dir / "t.csv").string(), "-o", (dir / "t.png").string()}),
                 "--output: " + (dir / "t.csv").string() + " does not hold pictures");
  EXPECT_FALSE(std::filesystem::exists(dir / "t.png"));
}

TEST(DataList, NamesWhatCanBeHad) {
  const Outcome text = run_cpfm({"data", "list"});
  for (const char* part : {"digits", "mnist", "cifar10", "cpfm data get mnist"}) EXPECT_CONTAINS(text.out, part);
  EXPECT_EQ(run_cpfm({"data", "list", "--json"}).json()["datasets"][0]["name"], "digits");
}

TEST(DataGet, SuggestsTheNearestName) {
  expect_refused(run_cpfm({"data", "get", "mnst"}), "did you mean 'mnist'?");
  expect_refused(run_cpfm({"data", "get", "digits"}), "digits: is built in");
}

}  // namespace
}  // namespace cpfm::test
