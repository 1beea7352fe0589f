// The folder of a comparison: what stays, what is made or measured again, and what becomes of damaged files.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>
#include <thread>

#include "compare_words.hpp"
#include "cpfm/model.hpp"
#include "support/program.hpp"

#if !CPFM_SANITIZED
namespace cpfm::test {
namespace {

namespace fs = std::filesystem;

// A tensor file as a version to come may write it.
void make_newer(const fs::path& file) {
  std::string bytes = read_bytes(file);
  const std::string version = "\"cpfm.format_version\":\"1\"";
  const std::size_t at = bytes.find(version);
  ASSERT_NE(at, std::string::npos);
  bytes[at + version.size() - 2] = '9';
  write_bytes(file, bytes);
}

TEST(CompareFolder, KnowsDataByWhatItHolds) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  const Outcome first = run_cpfm(table_words(dir, "c", {}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  // The judge has not seen what it judges: of three values in the plane, some are not to be told.
  EXPECT_TRUE(first.json()["methods"]["kpca"].contains("label_kept"));
  write_table(dir / "t.csv", 90, 0.3);
  const Outcome other = run_cpfm(table_words(dir, "c", {}));
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_CONTAINS(other.err, "c/kpca was made of other data");
  EXPECT_EQ(run_cpfm(table_words(dir, "d", {})).exit_code, 0);
}

TEST(CompareFolder, OptionsThatWereRefusedLeaveNothingInTheWay) {
  const TempDir dir;
  const std::string out = (dir / "c").string();
  const Outcome refused = run_cpfm(compare_words(out, {"--methods", "kpca", "--train-limit", "2", "--quiet"}));
  EXPECT_EQ(refused.exit_code, 1);
  const Outcome mended = run_cpfm(compare_words(out, {"--methods", " kpca", "--quiet"}));
  EXPECT_EQ(mended.exit_code, 0) << mended.err;
  EXPECT_CONTAINS(run_cpfm(compare_words(out, {"--methods", "kpca", "--train-limit", "1"})).err,
                  "--train-limit: leaves one sample to train on");
}

TEST(CompareFolder, MeasuresAgainWhereTheJudgeLearnedFromOtherData) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  write_table(dir / "j.csv", 60, 0.1);
  const std::vector<std::string> words = table_words(dir, "c", {"--judge", (dir / "j.csv").string()});
  ASSERT_EQ(run_cpfm(words).exit_code, 0);
  const auto first = fs::last_write_time(dir / "c/kpca/evaluation.json");
  ASSERT_EQ(run_cpfm(words).exit_code, 0);
  EXPECT_EQ(fs::last_write_time(dir / "c/kpca/evaluation.json"), first);
  write_table(dir / "j.csv", 50, 0.1);
  ASSERT_EQ(run_cpfm(words).exit_code, 0);
  EXPECT_NE(fs::last_write_time(dir / "c/kpca/evaluation.json"), first);
}

// Labels lie in a file of their own, and what is named is a folder.
TEST(CompareFolder, MeasuresAgainWhereTheLabelsOfTheJudgeAreOthers) {
  const TempDir dir;
  const auto write_digits = [&](const std::string& folder, unsigned classes) {
    std::string pictures, labels;
    for (unsigned i = 0; i < 60; ++i) {
      for (unsigned k = 0; k < 64; ++k) pictures += static_cast<char>(i % 2 == k / 32 ? 200 + i : k + i);
      labels += static_cast<char>(i % classes);
    }
    fs::create_directories(dir / folder);
    write_bytes(dir / folder / "train-images-idx3-ubyte", idx({60, 8, 8}, pictures));
    write_bytes(dir / folder / "train-labels-idx1-ubyte", idx({60}, labels));
  };
  write_digits("d", 2);
  write_digits("j", 2);
  const std::string data = (dir / "d").string(), judge = (dir / "j").string(), out = (dir / "c").string();
  const std::vector<std::string> words{"compare", data,     "--judge", judge,       "-o", out,       "--methods",
                                       "kpca",    "--runs", "1",       "--threads", "1",  "--quiet", "--json"};
  const Outcome first = run_cpfm(words);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto written = fs::last_write_time(dir / "c/kpca/evaluation.json");
  ASSERT_EQ(run_cpfm(words).json(), first.json());
  EXPECT_EQ(fs::last_write_time(dir / "c/kpca/evaluation.json"), written);
  write_digits("j", 3);
  const Outcome other = run_cpfm(words);
  ASSERT_EQ(other.exit_code, 0) << other.err;
  const auto accuracy = [](const Outcome& of) {
    return of.json()["methods"]["kpca"]["label_kept_1nn"]["judge_accuracy"].get<double>();
  };
  EXPECT_NE(accuracy(other), accuracy(first));
}

TEST(CompareFolder, GoesOnAfterAnInterrupt) {
  const TempDir dir;
  const std::string out = (dir / "c").string();
  const std::vector<std::string> words = compare_words(out, {"--methods", "kpca,vae", "--quiet"}, "500");
  RunOptions options;
  options.while_running = [&](pid_t child) {
    for (int k = 0; k < 600 && !fs::exists(dir / "c/vae/metrics.jsonl"); ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    kill(child, SIGINT);
  };
  const Outcome stopped = run_cpfm(words, options);
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_CONTAINS(stopped.err, "the same command goes on");
  ASSERT_TRUE(fs::exists(dir / "c/kpca/evaluation.json"));
  ASSERT_TRUE(fs::exists(dir / "c/vae/checkpoint.cpfm"));
  EXPECT_FALSE(fs::exists(dir / "c/vae/model.cpfm"));
  const auto measured = fs::last_write_time(dir / "c/kpca/evaluation.json");
  const Outcome ended = run_cpfm(words);
  ASSERT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_EQ(ended.json()["methods"].size(), 2u);
  EXPECT_EQ(fs::last_write_time(dir / "c/kpca/evaluation.json"), measured);
}

TEST(CompareFolder, MakesADamagedModelAgain) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  ASSERT_EQ(run_cpfm(table_words(dir, "c", {})).exit_code, 0);
  const std::string whole = read_bytes(dir / "c/kpca/model.cpfm");
  write_bytes(dir / "c/kpca/model.cpfm", whole.substr(0, 100));
  auto words = table_words(dir, "c", {});
  std::erase(words, "--quiet");
  const Outcome again = run_cpfm(words);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_CONTAINS(again.err, "kpca/model.cpfm: the header has");
  EXPECT_CONTAINS(again.err, "it is kept as model.cpfm.unreadable");
  EXPECT_EQ(read_bytes(dir / "c/kpca/model.cpfm"), whole);
  EXPECT_EQ(read_bytes(dir / "c/kpca/model.cpfm.unreadable"), whole.substr(0, 100));
  // One that is damaged after that takes no other's place.
  write_bytes(dir / "c/kpca/model.cpfm", whole.substr(0, 200));
  EXPECT_CONTAINS(run_cpfm(words).err, "it is kept as model.cpfm.unreadable2");
  EXPECT_EQ(read_bytes(dir / "c/kpca/model.cpfm.unreadable"), whole.substr(0, 100));
  EXPECT_EQ(read_bytes(dir / "c/kpca/model.cpfm.unreadable2"), whole.substr(0, 200));
}

TEST(CompareFolder, IsWrittenIntoByOneCommandAtATime) {
  const TempDir dir;
  const std::vector<std::string> words =
      compare_words((dir / "c").string(), {"--methods", "kpca,vae", "--quiet"}, "100000");
  Outcome second;
  RunOptions options;
  options.while_running = [&](pid_t child) {
    for (int k = 0; k < 600 && !fs::exists(dir / "c/vae/metrics.jsonl"); ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    second = run_cpfm(words);
    kill(child, SIGINT);
  };
  EXPECT_EQ(run_cpfm(words, options).exit_code, 130);
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_CONTAINS(second.err, "--output: another command writes into");
}

// It is whole, for a program that knows it.
TEST(CompareFolder, LeavesAModelOfANewerVersionAlone) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  ASSERT_EQ(run_cpfm(table_words(dir, "c", {})).exit_code, 0);
  const fs::path model = dir / "c/kpca/model.cpfm";
  make_newer(model);
  const std::string newer = read_bytes(model);
  const Outcome outcome = run_cpfm(table_words(dir, "c", {}));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_CONTAINS(outcome.err, "has format version 9");
  EXPECT_CONTAINS(outcome.err, "update cpfm");
  EXPECT_TRUE(read_bytes(model) == newer);
}

TEST(CompareFolder, AModelOfANewerVersionKeepsNoOtherFromTheTable) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  auto words = table_words(dir, "c", {"--steps", "3"}, "kpca,vae");
  const Outcome first = run_cpfm(words);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  make_newer(dir / "c/kpca/model.cpfm");
  const auto measured = fs::last_write_time(dir / "c/vae/evaluation.json");
  const Outcome again = run_cpfm(words);
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_EQ(again.json()["methods"]["vae"], first.json()["methods"]["vae"]);
  EXPECT_EQ(fs::last_write_time(dir / "c/vae/evaluation.json"), measured);
  EXPECT_CONTAINS(again.json()["failed"]["kpca"].get<std::string>(), "has format version 9");
}

// A file that an option names is known by what it holds.
TEST(CompareFolder, NoticesThatANamedFileHasChanged) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  const fs::path points = dir / "p.csv";
  const auto write_points = [&](double size) {
    std::string text = "a,b\n";
    for (int i = 0; i < 40; ++i) text += fmt::format("{},{}\n", size * std::cos(i), std::sin(i));
    write_bytes(points, text);
  };
  write_points(1);
  const std::string law = fmt::format("points({})", points.string());
  const auto run = [&](const char* out, const std::vector<std::string>& more) {
    return run_cpfm(table_words(dir, out, more));
  };
  const std::vector<std::string> laws{"--law", law}, map{"--latent", fmt::format("mixture({}, gaussian)", law)};
  ASSERT_EQ(run("laws", laws).exit_code, 0);
  ASSERT_EQ(run("map", map).exit_code, 0);
  const auto drawn = [&] { return fs::last_write_time(dir / "laws/laws/1.cpfm"); };
  const auto before = drawn();
  ASSERT_EQ(run("laws", laws).exit_code, 0);
  ASSERT_EQ(run("map", map).exit_code, 0);
  EXPECT_EQ(drawn(), before);
  write_points(2);
  ASSERT_EQ(run("laws", laws).exit_code, 0);
  EXPECT_NE(drawn(), before);
  const Outcome other = run("map", map);
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_CONTAINS(other.err, "was made of other data; give");
}

// It is needed for the report and the picture of the laws alone, once there is a model.
TEST(CompareFolder, ADamagedCouplingCostsNoMeasurement) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  auto words = table_words(dir, "c", {"--steps", "3", "--law", "gaussian", "--law", "square"}, "cpfm");
  std::erase(words, "--quiet");
  const Outcome first = run_cpfm(words);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto trained = fs::last_write_time(dir / "c/cpfm/model.cpfm");
  for (const char* file : {"c/cpfm/coupling.cpfm", "c/laws/1.cpfm", "c/laws/2.cpfm"})
    write_bytes(dir / file, read_bytes(dir / file).substr(0, 200));
  fs::remove(dir / "c/laws/key");
  fs::remove(dir / "c/cpfm/evaluation.json");
  const Outcome again = run_cpfm(words);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_CONTAINS(again.err, "it is kept as coupling.cpfm.unreadable");
  EXPECT_EQ(again.json()["methods"], first.json()["methods"]);
  EXPECT_EQ(fs::last_write_time(dir / "c/cpfm/model.cpfm"), trained);
  for (const char* file : {"c/laws/1.cpfm", "c/laws/2.cpfm"}) EXPECT_NO_THROW(TensorFile::open(dir / file)) << file;
}

// One byte of a trained one: its checkpoint goes on, and where that is damaged too, or gone, it is trained anew.
TEST(CompareFolder, MakesADamagedModelOfATrainedMethodAgain) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  auto words = table_words(dir, "c", {"--steps", "3"}, "vae");
  std::erase(words, "--quiet");
  ASSERT_EQ(run_cpfm(words).exit_code, 0);
  const fs::path model = dir / "c/vae/model.cpfm";
  const std::string whole = read_bytes(model);
  const fs::path checkpoint = dir / "c/vae/checkpoint.cpfm";
  const auto damage = [](const fs::path& file) {
    std::string bytes = read_bytes(file);
    bytes[bytes.size() / 2] ^= 1;
    write_bytes(file, bytes);
  };
  for (const char* with : {"a checkpoint", "a damaged one", "none"}) {
    damage(model);
    if (std::string_view(with) == "a damaged one") damage(checkpoint);
    if (std::string_view(with) == "none") fs::remove(checkpoint);
    const Outcome again = run_cpfm(words);
    EXPECT_EQ(again.exit_code, 0) << again.err;
    EXPECT_CONTAINS(again.err, "vae/model.cpfm: its bytes are not those that were written");
    EXPECT_EQ(again.err.find("checkpoint.cpfm.unreadable") != std::string::npos,
              std::string_view(with) == "a damaged one");
    EXPECT_TRUE(read_bytes(model) == whole) << with;
  }
}

// An interrupt between the model and its report.
TEST(CompareFolder, FinishesWhatHasItsModelAlready) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  auto words = table_words(dir, "c", {"--steps", "3"}, "vae,kpca");
  std::erase(words, "--quiet");
  const Outcome first = run_cpfm(words);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  for (const std::string method : {"vae", "kpca"}) {
    const fs::path folder = dir / "c" / method;
    const std::string whole = read_bytes(folder / "model.cpfm");
    fs::remove(folder / "fitted.json");
    fs::remove(folder / "report.html");
    const Outcome again = run_cpfm(words);
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(again.err.find("kept as"), std::string::npos) << again.err;
    EXPECT_FALSE(fs::exists(folder / "model.cpfm.unreadable")) << method;
    EXPECT_TRUE(fs::exists(folder / "report.html")) << method;
    EXPECT_TRUE(read_bytes(folder / "model.cpfm") == whole) << method;
    EXPECT_EQ(again.json()["methods"], first.json()["methods"]);
  }
  // Without its checkpoint it is trained anew, and the old one is kept.
  for (const char* file : {"fitted.json", "checkpoint.cpfm"}) fs::remove(dir / "c/vae" / file);
  const Outcome anew = run_cpfm(words);
  ASSERT_EQ(anew.exit_code, 0) << anew.err;
  EXPECT_CONTAINS(anew.err, "vae has a model, and no checkpoint that tells how it was trained");
  EXPECT_TRUE(fs::exists(dir / "c/vae/model.cpfm.unreadable"));
  EXPECT_EQ(anew.json()["methods"], first.json()["methods"]);
}

TEST(CompareFolder, WhatIsFinishedNeedsNoConfiguration) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  const Outcome first = run_cpfm(table_words(dir, "c", {}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const fs::path config = dir / "c/kpca/config.toml";
  write_bytes(config, read_bytes(config).substr(0, 50));
  const Outcome again = run_cpfm(table_words(dir, "c", {}));
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.json(), first.json());
}

TEST(CompareFolder, AReportThatFailedIsWrittenTheNextTime) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  auto words = table_words(dir, "c", {"--steps", "3"}, "vae");
  const Outcome first = run_cpfm(words);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const fs::path model = dir / "c/vae/model.cpfm", report = dir / "c/vae/report.html";
  write_bytes(model, read_bytes(model).substr(0, 100));
  fs::remove(report);
  fs::create_directories(report / "in the way");
  EXPECT_EQ(run_cpfm(words).exit_code, 1);
  fs::remove_all(report);
  const Outcome again = run_cpfm(words);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(fs::is_regular_file(report));
  EXPECT_EQ(again.json(), first.json());
}

TEST(CompareFolder, AFileThatIsNoCouplingIsMadeAgain) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  auto words = table_words(dir, "c", {"--steps", "3"}, "cpfm");
  const Outcome first = run_cpfm(words);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const fs::path folder = dir / "c/cpfm";
  fs::rename(folder / "model.cpfm", folder / "coupling.cpfm");
  for (const char* file : {"fitted.json", "checkpoint.cpfm"}) fs::remove(folder / file);
  const Outcome again = run_cpfm(words);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(fs::exists(folder / "coupling.cpfm.unreadable"));
  EXPECT_EQ(again.json(), first.json());
}

TEST(CompareFolder, LeavesAJudgeOfANewerVersionAlone) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  ASSERT_EQ(run_cpfm(table_words(dir, "c", {})).exit_code, 0);
  make_newer(dir / "c/judge.cpfm");
  const std::string newer = read_bytes(dir / "c/judge.cpfm");
  const Outcome outcome = run_cpfm(table_words(dir, "c", {"--neighbours", "5"}));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_CONTAINS(outcome.err, "judge.cpfm: has format version 9");
  EXPECT_TRUE(read_bytes(dir / "c/judge.cpfm") == newer);
}

// Files of before there were numbers, and of models that took a model's place.
TEST(CompareFolder, WhatWasFittedInAnotherWayIsNotMeasuredAsIfItWereNew) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  const auto words = table_words(dir, "c", {});
  ASSERT_EQ(run_cpfm(words).exit_code, 0);
  const fs::path model = dir / "c/kpca/model.cpfm", fitted = dir / "c/kpca/fitted.json";
  auto saved = nlohmann::json::parse(read_bytes(fitted));
  saved.erase("as");
  write_bytes(fitted, saved.dump());
  const auto before = fs::last_write_time(model);
  ASSERT_EQ(run_cpfm(words).exit_code, 0);
  EXPECT_NE(fs::last_write_time(model), before);
  const std::string measured = read_bytes(dir / "c/kpca/evaluation.json");
  auto other = nlohmann::json::parse(measured);
  other["model"] = "0123456789abcdef";
  write_bytes(dir / "c/kpca/evaluation.json", other.dump());
  ASSERT_EQ(run_cpfm(words).exit_code, 0);
  EXPECT_EQ(read_bytes(dir / "c/kpca/evaluation.json"), measured);
}

}  // namespace
}  // namespace cpfm::test
#endif
