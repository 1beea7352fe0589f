// scripts/paper-tables on tables written by hand: what stands where, and what it says of folders it cannot use.
#include <gtest/gtest.h>

#include "support/program.hpp"
#include "support/python.hpp"

namespace cpfm::test {
namespace {

namespace fs = std::filesystem;

class PaperTables : public ::testing::Test {
 protected:
  void SetUp() override {
    if (python_with("json").empty()) GTEST_SKIP() << "there is no python3, which the script is written in";
  }
  void write(const std::string& folder, const std::string& table) const {
    fs::create_directories(dir_ / folder);
    write_bytes(dir_ / folder / "table.json", table);
  }
  Outcome tables_of(const std::vector<std::string>& words) const {
    RunOptions options;
    options.folder = dir_.path();
    options.program = fs::path(CPFM_TEST_SOURCE_DIR) / "../scripts/paper-tables";
    return run_cpfm(words, options);
  }
  void expect_refused(const std::vector<std::string>& words, const std::string& why) const {
    const Outcome outcome = tables_of(words);
    EXPECT_EQ(outcome.exit_code, 1) << why;
    EXPECT_EQ(outcome.out, "") << why;
    EXPECT_TRUE(outcome.err.starts_with("paper-tables: ")) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_CONTAINS(outcome.err, why);
  }

  TempDir dir_;
};

constexpr const char* kThree = R"({"methods": {
  "kpca": {"w2_gaussian": {"mean": 0.5, "sd": 1e-17, "runs": 5, "n": 2000, "floor": 0.0312, "floor_sd": 0.0021}, "gwot": {"mean": 0.25, "sd": 0.0, "runs": 5}},
  "vae": {"w2_gaussian": {"mean": 0.123456, "sd": 0.0123, "runs": 5, "n": 2000, "floor": 0.0312, "floor_sd": 0.0021}, "gwot": {"mean": 0.5, "sd": 0.1, "runs": 5}},
  "cpfm": {"w2_gaussian": {"mean": 0.0321, "sd": 0.001, "runs": 5, "n": 2000, "floor": 0.0312, "floor_sd": 0.0021}, "gwot": {"mean": 0.125, "sd": 0.02, "runs": 5}}},
  "best": {"w2_gaussian": {"best": ["cpfm"], "second": ["vae"]}, "gwot": {"best": ["cpfm"], "second": ["kpca"]}}})";
// Of a single run; diffae is in no other table, and vae and kpca are not in this one.
constexpr const char* kTwo = R"({"methods": {
  "cpfm": {"w2_gaussian": {"mean": 0.4, "sd": null, "runs": 1, "n": 300, "floor": 0.1}, "gwot": {"mean": 0.3, "sd": null, "runs": 1}},
  "diffae": {"w2_gaussian": {"mean": 0.2, "sd": null, "runs": 1, "n": 300, "floor": 0.1}, "gwot": {"mean": 0.3, "sd": null, "runs": 1}}},
  "best": {"w2_gaussian": {"best": ["diffae"], "second": ["cpfm"]}, "gwot": {"best": ["cpfm", "diffae"]}}})";

TEST_F(PaperTables, MarkTheBestAndTheSecondOfEachDatasetAndShowWhatIsMissing) {
  write("mnist", kThree);
  write("out", kTwo);
  const Outcome outcome = tables_of({"mnist", "CIFAR-10=out"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_CONTAINS(outcome.out,
                  "| method | mnist<br>N = 2,000, floor 0.0312 ± 0.0021 | CIFAR-10<br>N = 300, floor 0.1 |\n"
                  "| --- | --- | --- |\n"
                  "| cpfm | **0.0321 ± 0.001** | *0.4* |\n"
                  "| vae | *0.1235 ± 0.012* | – |\n"
                  "| diffae | – | **0.2** |\n"
                  "| kpca | 0.5 ± 0 | – |\n");
  EXPECT_CONTAINS(outcome.out,
                  "| method | mnist | CIFAR-10 |\n"
                  "| --- | --- | --- |\n"
                  "| cpfm | **0.125 ± 0.02** | **0.3** |\n"
                  "| vae | 0.5 ± 0.1 | – |\n"
                  "| diffae | – | **0.3** |\n"
                  "| kpca | *0.25 ± 0* | – |\n");
}

TEST_F(PaperTables, SayWhichFolderHasNoTableAndWhatMakesOne) {
  write("mnist", kThree);
  fs::create_directories(dir_ / "begun");
  expect_refused({"mnist", "begun"}, "begun has no table.json; 'cpfm compare DATA -o begun' or 'cpfm reproduce NAME");
  expect_refused({"nowhere"}, "there is no folder nowhere");
}

TEST_F(PaperTables, RefuseTablesThatCannotBeReadOrCompared) {
  write("cut", std::string(kThree).substr(0, 100));
  expect_refused({"cut"}, "cut/table.json cannot be read");
  write("other", R"({"methods": {"cpfm": {"gwot": {"mean": "low"}}}, "best": {}})");
  expect_refused({"other"}, "other/table.json is no table of a comparison");
  std::string mixed = kTwo;
  mixed.replace(mixed.rfind("\"n\": 300"), 8, "\"n\": 500");
  write("mixed", mixed);
  expect_refused({"mixed"}, "mixed: its methods were measured with different N (300, 500)");
  write("a/mnist", kThree);
  write("b/mnist", kThree);
  expect_refused({"a/mnist", "b/mnist"}, "two folders are called mnist; NAME=FOLDER");
}

}  // namespace
}  // namespace cpfm::test
