#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "cpfm/model.hpp"
#include "support/program.hpp"

#if !CPFM_SANITIZED
namespace cpfm::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> compare_words(const std::string& out, const std::vector<std::string>& more,
                                       const std::string& steps = "4") {
  std::vector<std::string> words{"compare", "digits",  "--limit", "200",       "-o",   out,        "--steps",
                                 steps,     "--batch", "16",      "--epsilon", "0.02", "--starts", "1",
                                 "--runs",  "2",       "--json",  "--threads", "1",    "--device", "cpu"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Three features and a class of three.
void write_table(const fs::path& file, int rows, double shift) {
  std::string text = "a,b,c,kind\n";
  for (int i = 0; i < rows; ++i)
    text += fmt::format("{},{},{},{}\n", i % 3 + shift * (i % 7), std::sin(i), std::cos(1.7 * i), "xyz"[i % 3]);
  write_bytes(file, text);
}
std::vector<std::string> table_words(const TempDir& dir, const std::string& out, const std::vector<std::string>& more) {
  std::vector<std::string> words{"compare",
                                 (dir / "t.csv").string(),
                                 "--labels",
                                 "kind",
                                 "-o",
                                 (dir / out).string(),
                                 "--methods",
                                 "kpca",
                                 "--runs",
                                 "1",
                                 "--standardize",
                                 "zscore",
                                 "--threads",
                                 "1",
                                 "--quiet",
                                 "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// A tensor file as a version to come may write it.
void make_newer(const fs::path& file) {
  std::string bytes = read_bytes(file);
  const std::string version = "\"cpfm.format_version\":\"1\"";
  const std::size_t at = bytes.find(version);
  ASSERT_NE(at, std::string::npos);
  bytes[at + version.size() - 2] = '9';
  write_bytes(file, bytes);
}

TEST(Compare, MakesOneTableAndDoesNothingTwice) {
  const TempDir dir;
  const std::string out = (dir / "c").string();
  const Outcome first = run_cpfm(compare_words(out, {"--methods", "vae,kpca", "--quiet"}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto table = first.json();
  for (const char* method : {"vae", "kpca"}) {
    for (const char* figure :
         {"w2_gaussian", "gwot", "gwot_share", "label_kept", "knn_label", "trustworthiness", "mse", "frechet"}) {
      ASSERT_TRUE(table["methods"][method].contains(figure)) << method << " " << figure;
      EXPECT_EQ(table["methods"][method][figure]["runs"], 2);
    }
    EXPECT_EQ(table["methods"][method]["frechet"]["is_fid"], false);
    for (const char* file : {"model.cpfm", "report.html", "map.png", "back.png", "places.png", "evaluation.json"})
      EXPECT_TRUE(fs::exists(dir / "c" / method / file)) << method << " " << file;
  }
  // The best comes first, the second next, by the direction of the figure.
  const auto mean = [&](const std::string& method, const char* figure) {
    return table["methods"][method][figure]["mean"].get<double>();
  };
  const auto first_of = [&](const char* figure) { return table["best"][figure]["best"][0].get<std::string>(); };
  const std::string low = first_of("mse"), high = first_of("knn_label");
  EXPECT_LE(mean(low, "mse"), mean(low == "vae" ? "kpca" : "vae", "mse"));
  EXPECT_GE(mean(high, "knn_label"), mean(high == "vae" ? "kpca" : "vae", "knn_label"));
  const std::string page = read_bytes(dir / "c/report.html"), markdown = read_bytes(dir / "c/table.md");
  EXPECT_CONTAINS(page, "<strong>");
  EXPECT_CONTAINS(page, "<u>");
  EXPECT_CONTAINS(markdown, "**");
  EXPECT_CONTAINS(markdown, "± of one such pair");
  EXPECT_CONTAINS(markdown, "is right on");
  EXPECT_CONTAINS(read_bytes(dir / "c/table.csv"), "kpca,mse,");

  // Again, in other words that change nothing, and with one method more: what is there stays as it is.
  const auto written = fs::last_write_time(dir / "c/vae/model.cpfm");
  const auto measured = fs::last_write_time(dir / "c/vae/evaluation.json");
  const Outcome again = run_cpfm(compare_words(out, {"--methods", "vae,kpca"}));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.json(), table);
  EXPECT_EQ(again.err, "");
  const Outcome more = run_cpfm(compare_words(out, {"--methods", "vae,kpca,cpfm", "--law", "square", "--quiet"}));
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(fs::last_write_time(dir / "c/vae/model.cpfm"), written);
  EXPECT_EQ(fs::last_write_time(dir / "c/vae/evaluation.json"), measured);
  EXPECT_EQ(more.json()["methods"]["vae"], table["methods"]["vae"]);
  EXPECT_TRUE(fs::exists(dir / "c/laws.png"));
  EXPECT_TRUE(fs::exists(dir / "c/cpfm/coupling.cpfm"));
  // A law that is coupled stays so, also where an interrupt came before the picture; others come beside it.
  const auto coupled = fs::last_write_time(dir / "c/laws/1.cpfm");
  fs::remove(dir / "c/laws/key");
  fs::remove(dir / "c/laws.png");
  const Outcome laws =
      run_cpfm(compare_words(out, {"--methods", "vae,kpca,cpfm", "--law", "square", "--law", "disk", "--quiet"}));
  ASSERT_EQ(laws.exit_code, 0) << laws.err;
  EXPECT_EQ(fs::last_write_time(dir / "c/laws/1.cpfm"), coupled);
  EXPECT_TRUE(fs::exists(dir / "c/laws/2.cpfm"));
  EXPECT_FALSE(fs::exists(dir / "c/laws/2.cpfm.partial"));
  EXPECT_TRUE(fs::exists(dir / "c/laws.png"));
  const Outcome other_law = run_cpfm(compare_words(out, {"--methods", "vae,kpca,cpfm", "--law", "disk", "--quiet"}));
  ASSERT_EQ(other_law.exit_code, 0) << other_law.err;
  EXPECT_NE(fs::last_write_time(dir / "c/laws/1.cpfm"), coupled);

  // Another measurement measures again, without training; another coupling is refused.
  const Outcome other = run_cpfm(compare_words(out, {"--methods", "vae", "--neighbours", "5", "--quiet"}));
  ASSERT_EQ(other.exit_code, 0) << other.err;
  EXPECT_EQ(other.json()["methods"]["vae"]["trustworthiness"]["k"], 5);
  EXPECT_EQ(fs::last_write_time(dir / "c/vae/model.cpfm"), written);
  // So do other test samples, by the judge that is there.
  const auto judged = fs::last_write_time(dir / "c/judge.cpfm");
  const Outcome fewer =
      run_cpfm(compare_words(out, {"--methods", "vae,kpca", "--test-limit", "30", "--run-samples", "25", "--quiet"}));
  ASSERT_EQ(fewer.exit_code, 0) << fewer.err;
  EXPECT_EQ(fewer.json()["methods"]["vae"]["frechet"]["n"], 25);
  EXPECT_GT(fewer.json()["methods"]["kpca"]["gwot"]["sd"], 0);  // each run has samples of its own
  EXPECT_EQ(fs::last_write_time(dir / "c/vae/model.cpfm"), written);
  EXPECT_EQ(fs::last_write_time(dir / "c/judge.cpfm"), judged);
  const Outcome refused = run_cpfm(compare_words(out, {"--methods", "cpfm", "--kernel", "heat", "--quiet"}));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_CONTAINS(refused.err, "c/cpfm was begun with other options: kernel = \"heat\" here");
  // Another budget would compare unlike with unlike.
  const Outcome longer = run_cpfm(compare_words(out, {"--methods", "kpca,vae", "--quiet"}, "6"));
  EXPECT_EQ(longer.exit_code, 1);
  EXPECT_CONTAINS(longer.err, "steps = 6 here, and steps = 4 there");

  // What is missing or damaged is made again.
  fs::remove(dir / "c/vae/map.png");
  write_bytes(dir / "c/kpca/evaluation.json", "{\"key\": 3, \"figures\": {\"mse\": {}}}");
  const Outcome mended = run_cpfm(compare_words(out, {"--methods", "vae,kpca", "--quiet"}));
  ASSERT_EQ(mended.exit_code, 0) << mended.err;
  EXPECT_TRUE(fs::exists(dir / "c/vae/map.png"));
  EXPECT_EQ(mended.json()["methods"]["kpca"]["mse"], table["methods"]["kpca"]["mse"]);
  EXPECT_EQ(fs::last_write_time(dir / "c/vae/model.cpfm"), written);
  // A part of a comparison is a run like any other.
  const Outcome used = run_cpfm({"evaluate", out + "/kpca", "digits", "--part", "test", "--runs", "1", "--quiet"});
  EXPECT_EQ(used.exit_code, 0) << used.err;
}

TEST(Compare, KnowsDataByWhatItHolds) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  const Outcome first = run_cpfm(table_words(dir, "c", {}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  // The judge has not seen what it judges: of three values in the plane, some are not to be told.
  EXPECT_TRUE(first.json()["methods"]["kpca"].contains("label_kept"));
  write_table(dir / "t.csv", 90, 0.3);
  const Outcome other = run_cpfm(table_words(dir, "c", {}));
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_CONTAINS(other.err, "c/kpca was trained on other samples");
  EXPECT_EQ(run_cpfm(table_words(dir, "d", {})).exit_code, 0);
}

TEST(Compare, TellsNoStandardDeviationOfASingleRun) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  const Outcome once = run_cpfm(table_words(dir, "c", {}));
  ASSERT_EQ(once.exit_code, 0) << once.err;
  EXPECT_TRUE(once.json()["methods"]["kpca"]["mse"]["sd"].is_null());
  EXPECT_CONTAINS(read_bytes(dir / "c/table.csv"), ",,1,");
  const std::string table = read_bytes(dir / "c/table.md");
  EXPECT_EQ(table.substr(0, table.find("\n\n")).find("±"), std::string::npos);  // but for the floor's, below
  const auto measured = fs::last_write_time(dir / "c/kpca/evaluation.json");
  const Outcome again = run_cpfm(table_words(dir, "c", {}));
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(fs::last_write_time(dir / "c/kpca/evaluation.json"), measured);
}

TEST(Compare, MeasuresOnAllOfOtherTestData) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  write_table(dir / "u.csv", 50, 0.2);
  const Outcome outcome = run_cpfm(table_words(dir, "c", {"--test", (dir / "u.csv").string(), "--sample", "40"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto table = nlohmann::json::parse(read_bytes(dir / "c/table.json"));
  EXPECT_EQ(table["n"], 40);
  EXPECT_EQ(table["test_n"], 50);
  EXPECT_EQ(outcome.err, "");
}

TEST(Compare, TellsWhereWhatIsMeasuredIsTrainedOn) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  std::vector<std::string> words = table_words(dir, "c", {"--test", (dir / "t.csv").string()});
  std::erase(words, "--quiet");
  std::erase(words, "--json");
  const Outcome outcome = run_cpfm(words);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_CONTAINS(outcome.err, "--test: 90 of its 90 samples are trained on, too");
  EXPECT_CONTAINS(outcome.out, "90 samples, 90 of them trained on too");
  for (const char* file : {"table.md", "report.html"})
    EXPECT_CONTAINS(read_bytes(dir / "c" / file), "90 of the 90 samples measured are trained on, too");
  EXPECT_EQ(read_bytes(dir / "c/report.html").find("no method has seen"), std::string::npos);
  EXPECT_CONTAINS(read_bytes(dir / "c/table.json"), "\"test_trained_on\": 90");
}

TEST(Compare, OptionsThatWereRefusedLeaveNothingInTheWay) {
  const TempDir dir;
  const std::string out = (dir / "c").string();
  const Outcome refused = run_cpfm(compare_words(out, {"--methods", "kpca", "--train-limit", "2", "--quiet"}));
  EXPECT_EQ(refused.exit_code, 1);
  const Outcome mended = run_cpfm(compare_words(out, {"--methods", " kpca", "--quiet"}));
  EXPECT_EQ(mended.exit_code, 0) << mended.err;
  EXPECT_CONTAINS(run_cpfm(compare_words(out, {"--methods", "kpca", "--train-limit", "1"})).err,
                  "--train-limit: leaves one sample to train on");
}

TEST(Compare, TellsAPropertyByItsNeighboursOnTheMap) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  std::string text = read_bytes(dir / "t.csv");
  text.replace(0, 3, "a,\"b|, x\"");
  write_bytes(dir / "t.csv", text);
  const Outcome outcome = run_cpfm(table_words(dir, "c", {"--property", "b|, x"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.json()["methods"]["kpca"].contains("knn_r2.b|, x"));
  EXPECT_CONTAINS(read_bytes(dir / "c/table.md"), "R² of b\\|, x on map");
  EXPECT_CONTAINS(read_bytes(dir / "c/table.csv"), "kpca,\"knn_r2.b|, x\",");
}

TEST(Compare, MeasuresGwotByAnotherKernelThanThatOfTheMap) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  const Outcome first = run_cpfm(table_words(dir, "c", {"--kernel", "heat(sigma=1)"}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto fitted = fs::last_write_time(dir / "c/kpca/model.cpfm");
  const auto by = [&](const Outcome& outcome) { return outcome.json()["methods"]["kpca"]["gwot"]; };
  EXPECT_CONTAINS(by(first)["kernel"].get<std::string>(), "heat");
  const Outcome other = run_cpfm(table_words(dir, "c", {"--kernel", "heat(sigma=1)", "--gwot-kernel", "label"}));
  ASSERT_EQ(other.exit_code, 0) << other.err;
  EXPECT_EQ(by(other)["kernel"], "label");
  EXPECT_NE(by(other)["mean"], by(first)["mean"]);
  EXPECT_EQ(fs::last_write_time(dir / "c/kpca/model.cpfm"), fitted);
  const Outcome wrong = run_cpfm(table_words(dir, "c", {"--kernel", "heat(sigma=1)", "--gwot-kernel", "labl"}));
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_CONTAINS(wrong.err, "--gwot-kernel: unknown kernel 'labl'");
  const Outcome own = run_cpfm(table_words(dir, "d", {"--kernel", "haet"}));
  EXPECT_EQ(own.exit_code, 1);
  EXPECT_CONTAINS(own.err, "cpfm: --kernel: unknown kernel 'haet'");
}

// Steps as large as these leave no network standing.
TEST(Compare, OneMethodThatFailsKeepsNoOtherFromTheTable) {
  const TempDir dir;
  const std::string out = (dir / "c").string();
  const auto words = compare_words(out, {"--methods", "vae,kpca", "--learning-rate", "1e6", "--warmup", "0"}, "40");
  for (int again = 0; again < 2; ++again) {
    const Outcome outcome = run_cpfm(words);
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_CONTAINS(outcome.err, "compare: vae failed");
    const auto table = outcome.json();
    EXPECT_TRUE(table["methods"].contains("kpca"));
    EXPECT_FALSE(table["methods"].contains("vae"));
    EXPECT_CONTAINS(table["failed"]["vae"].get<std::string>(), "not finite");
    EXPECT_CONTAINS(read_bytes(dir / "c/table.md"), "vae failed: ");
    EXPECT_CONTAINS(read_bytes(dir / "c/table.csv"), "kpca,mse,");
    EXPECT_TRUE(fs::exists(dir / "c/report.html"));
  }
  // Where there is no other, its error is that of the command.
  const Outcome alone = run_cpfm(
      compare_words((dir / "d").string(), {"--methods", "vae", "--learning-rate", "1e6", "--warmup", "0"}, "40"));
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_CONTAINS(alone.err, "training: ");
}

TEST(Compare, WhatIsAskedForWronglyIsNoFailureOfAMethod) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  std::vector<std::string> words = table_words(dir, "c", {"--kernel", "haet", "--gwot-kernel", "heat", "--steps", "2"});
  std::replace(words.begin(), words.end(), std::string("kpca"), std::string("cpfm,kpca"));
  const Outcome outcome = run_cpfm(words);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_CONTAINS(outcome.err, "cpfm: --kernel: unknown kernel 'haet'");
  EXPECT_FALSE(fs::exists(dir / "c/kpca"));
}

TEST(Compare, MeasuresAgainWhereTheJudgeLearnedFromOtherData) {
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
TEST(Compare, MeasuresAgainWhereTheLabelsOfTheJudgeAreOthers) {
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

TEST(Compare, LeavesOutAGwotThatSaysNothing) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  write_table(dir / "u.csv", 3, 0.1);
  auto words = table_words(dir, "c", {"--test", (dir / "u.csv").string(), "--gwot-kernel", "label"});
  std::erase(words, "--quiet");
  const Outcome outcome = run_cpfm(words);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_CONTAINS(outcome.err, "GWOT says nothing: label joins no two of 3 samples");
  EXPECT_FALSE(outcome.json()["methods"]["kpca"].contains("gwot"));
  EXPECT_TRUE(outcome.json()["methods"]["kpca"].contains("mse"));
}

TEST(Compare, TellsWhatTooFewSamplesLeaveOut) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  std::vector<std::string> words = table_words(dir, "c", {"--property", "a", "--run-samples", "9"});
  std::erase(words, "--quiet");
  const Outcome outcome = run_cpfm(words);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_CONTAINS(outcome.err, "trustworthiness of 10 neighbours needs more than 20 samples, and a run has 9");
  EXPECT_CONTAINS(outcome.err, "R² of a property by 10 neighbours needs more samples than that, and a run has 9");
  EXPECT_FALSE(outcome.json()["methods"]["kpca"].contains("trustworthiness"));
}

TEST(Compare, GoesOnAfterAnInterrupt) {
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

TEST(Compare, SaysWhatDoesNotFit) {
  const TempDir dir;
  const std::string out = (dir / "c").string();
  const auto refuse = [&](const std::vector<std::string>& more, const std::string& why) {
    const Outcome outcome = run_cpfm(compare_words(out, more));
    EXPECT_EQ(outcome.exit_code, 1) << why;
    EXPECT_CONTAINS(outcome.err, why);
    EXPECT_FALSE(fs::exists(out)) << why;
  };
  refuse({"--methods", "vae,pca"}, "--methods: 'pca' is not known");
  refuse({"--part", "test"}, "--part: is decided by what is compared");
  refuse({"--entropic", "--latent", "square"}, "--entropic: the map is square");
  refuse({"--methods", "vae,kpca", "--preset", "tiny", "--width", "8"}, "--width: means nothing for a network");
  refuse({"--lpips", "nowhere"}, "nowhere");
  refuse({"--features", "inception:nowhere"}, "nowhere");
  refuse({"--features", "resnet"}, "--features: 'resnet' is not known");
  refuse({"--law", "bogus"}, "--law: ");
  refuse({"--calls", "41"}, "--calls: a step of midpoint takes 2, which does not divide 41");
  refuse({"--calls", "6", "--solver", "rk4"}, "8, for one");
  refuse({"--solver", "dopri5"}, "--solver");
  refuse({"--entropic", "--entropic-epsilon", "0"}, "--entropic-epsilon");
  refuse({"--latent", "sphere"}, "--latent: sphere has 3 dimensions");
  refuse({"--methods", "cpfm,tsne"}, "--methods: t-SNE makes no model");
  write_bytes(dir / "t.csv", "a,b,c\n1,2,3\n4,5,6\n7,8,9\n2,4,1\n");
  refuse({"--test", (dir / "t.csv").string()}, "--test: ");
  const Outcome unknown = run_cpfm({"reproduce", "imagenet"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_CONTAINS(unknown.err, "there is no experiment 'imagenet'");
  const Outcome missing = run_cpfm({"reproduce", "mnist", "--data", (dir / "none").string()});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_CONTAINS(missing.err, "cpfm data get mnist");
  const Outcome wrong = run_cpfm({"reproduce", "digits", "--runs", "none"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_CONTAINS(wrong.err, "--runs: 'none' is not allowed");
}

TEST(Compare, SamplesByTheSolverThatIsAskedFor) {
  const TempDir dir;
  const auto mse = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"--methods", "cpfm,diffae", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_cpfm(compare_words((dir / "c").string(), words));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto methods = outcome.json()["methods"];
    return std::pair(methods["cpfm"]["mse"]["mean"].get<double>(), methods["diffae"]["mse"]["mean"].get<double>());
  };
  const auto usual = mse({}), same = mse({"--solver", "midpoint", "--calls", "40"}), euler = mse({"--solver", "euler"});
  const auto few = mse({"--calls", "2"});
  EXPECT_EQ(usual, same);
  EXPECT_NE(usual.first, euler.first);
  EXPECT_EQ(usual.second, euler.second);  // the solver is that of the flow, the number of calls that of all
  EXPECT_NE(usual.second, few.second);
}

TEST(Compare, ReportsDrawWithAsManyCallsAsTheRest) {
  const TempDir dir;
  for (const char* calls : {"6", "2"}) {
    // A flow that has learned nothing yet is straight, and one call is as good as many.
    const Outcome outcome = run_cpfm(
        compare_words((dir / calls).string(),
                      {"--methods", "cpfm,diffae", "--calls", calls, "--learning-rate", "1e-2", "--quiet"}, "30"));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  for (const std::string method : {"cpfm", "diffae"}) {
    const auto differs = [&](const char* file) {
      return read_bytes(dir / "6" / method / file) != read_bytes(dir / "2" / method / file);
    };
    EXPECT_FALSE(differs("model.cpfm")) << method;
    EXPECT_TRUE(differs("grid.png")) << method;
    EXPECT_TRUE(differs("reconstructions.png")) << method;
  }
}

TEST(Compare, TellsTheParametersAndWhatWasSeen) {
  const TempDir dir;
  const Outcome outcome = run_cpfm(compare_words((dir / "c").string(), {"--methods", "vae,kpca", "--quiet"}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string markdown = read_bytes(dir / "c/table.md");
  EXPECT_CONTAINS(
      markdown,
      fmt::format("Parameters: vae {}, 64 samples seen; kpca ",
                  outcome.json()["methods"].contains("vae")
                      ? nlohmann::json::parse(read_bytes(dir / "c/table.json"))["runs"]["vae"]["parameters"].get<int>()
                      : 0));
  EXPECT_TRUE(fs::exists(dir / "c/originals.png"));
  // A batch holds no more than there is: 72 of 90 rows, of which 3 are held out.
  write_table(dir / "t.csv", 90, 0.1);
  auto words = table_words(dir, "d", {"--steps", "3", "--batch", "500", "--validation", "0.05"});
  std::replace(words.begin(), words.end(), std::string("kpca"), std::string("vae"));
  const Outcome small = run_cpfm(words);
  ASSERT_EQ(small.exit_code, 0) << small.err;
  EXPECT_CONTAINS(read_bytes(dir / "d/table.md"), ", 207 samples seen");
}

TEST(Compare, TellsHowManySamplesAreJudged) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  write_table(dir / "u.csv", 30, 0.3);
  std::string other = read_bytes(dir / "u.csv");
  for (std::size_t at = other.find(",z\n"); at != std::string::npos; at = other.find(",z\n")) other[at + 1] = 'w';
  write_bytes(dir / "u.csv", other);
  const Outcome outcome = run_cpfm(table_words(dir, "c", {"--test", (dir / "u.csv").string()}));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["methods"]["kpca"]["label_kept"]["judged"], 20);
  EXPECT_CONTAINS(read_bytes(dir / "c/table.md"), "20 of 30 samples are of classes that it has learned");
  const Outcome without = run_cpfm(table_words(dir, "c", {}));
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_CONTAINS(without.err, "was trained on other samples; give the same DATA and --test");
}

TEST(Compare, MakesADamagedModelAgain) {
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

// It is whole, for a program that knows it.
TEST(Compare, LeavesAModelOfANewerVersionAlone) {
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

// It is needed for the report and the picture of the laws alone, once there is a model.
TEST(Compare, ADamagedCouplingCostsNoMeasurement) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  auto words = table_words(dir, "c", {"--steps", "3", "--law", "gaussian", "--law", "square"});
  std::replace(words.begin(), words.end(), std::string("kpca"), std::string("cpfm"));
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

TEST(Compare, OneCallOfTheNetworkIsEnoughWhereNoFlowIsSolved) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  auto words = table_words(dir, "c", {"--calls", "1", "--steps", "3"});
  std::replace(words.begin(), words.end(), std::string("kpca"), std::string("vae,diffae,kpca"));
  const Outcome outcome = run_cpfm(words);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["methods"].size(), 3u);
}

// One byte of a trained one: its checkpoint goes on, and where that is damaged too, or gone, it is trained anew.
TEST(Compare, MakesADamagedModelOfATrainedMethodAgain) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  auto words = table_words(dir, "c", {"--steps", "3"});
  std::replace(words.begin(), words.end(), std::string("kpca"), std::string("vae"));
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
TEST(Compare, FinishesWhatHasItsModelAlready) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  auto words = table_words(dir, "c", {"--steps", "3"});
  std::replace(words.begin(), words.end(), std::string("kpca"), std::string("vae,kpca"));
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

TEST(Compare, AReportThatFailedIsWrittenTheNextTime) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  auto words = table_words(dir, "c", {"--steps", "3"});
  std::replace(words.begin(), words.end(), std::string("kpca"), std::string("vae"));
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

TEST(Compare, AFileThatIsNoCouplingIsMadeAgain) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  auto words = table_words(dir, "c", {"--steps", "3"});
  std::replace(words.begin(), words.end(), std::string("kpca"), std::string("cpfm"));
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

TEST(Compare, LeavesAJudgeOfANewerVersionAlone) {
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
TEST(Compare, WhatWasFittedInAnotherWayIsNotMeasuredAsIfItWereNew) {
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

TEST(Compare, SaysWhatIsWrongWithALawBeforeItBegins) {
  const TempDir dir;
  const Outcome outcome = run_cpfm(compare_words((dir / "c").string(), {"--methods", "cpfm", "--latent", "triangle"}));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_CONTAINS(outcome.err, "--latent: ");
  EXPECT_FALSE(fs::exists(dir / "c"));
}

TEST(Compare, TellsThatLabelsAreTooFew) {
  const TempDir dir;
  write_table(dir / "t.csv", 60, 0);
  std::string text = read_bytes(dir / "t.csv"), one;
  for (std::size_t at = 0, line = 0; at < text.size(); ++line) {  // a class for the first row alone
    const std::size_t end = text.find('\n', at), comma = text.rfind(',', end);
    one += line < 2 ? text.substr(at, end - at) : text.substr(at, comma + 1 - at);
    one += '\n';
    at = end + 1;
  }
  write_bytes(dir / "one.csv", one);
  const std::string table = (dir / "t.csv").string(), few = (dir / "one.csv").string(), run = (dir / "r").string();
  ASSERT_EQ(run_cpfm({"fit", table, "--labels", "kind", "--method", "kpca", "-o", run, "--quiet"}).exit_code, 0);
  const Outcome outcome = run_cpfm({"evaluate", run, few, "--labels", "kind"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_CONTAINS(outcome.err, "at least two samples that have one, and " + few + " has 1");
}

TEST(Reproduce, TakesOptionsOfSamplingAndOfWhatIsMeasured) {
  const TempDir dir;
  const auto table_of = [&](const char* folder, const std::vector<std::string>& more) {
    std::vector<std::string> words{"reproduce",
                                   "digits",
                                   "--quick",
                                   "--methods",
                                   "cpfm",
                                   "--steps",
                                   "2",
                                   "--runs",
                                   "1",
                                   "--test-limit",
                                   "40",
                                   "-o",
                                   (dir / folder).string(),
                                   "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_cpfm(words);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return nlohmann::json::parse(read_bytes(dir / folder / "table.json"));
  };
  const auto plain = table_of("a", {}), solved = table_of("b", {"--solver", "euler", "--calls", "3"}),
             other = table_of("c", {"--head", "paper", "--fourier-features", "0", "--subsample", "200", "--pairs",
                                    "mixture", "--coverage"});
  const auto parameters = [](const auto& table) { return table["runs"]["cpfm"]["parameters"].template get<int>(); };
  const auto mse = [](const auto& table) { return table["methods"]["cpfm"]["mse"]["mean"].template get<double>(); };
  EXPECT_EQ(parameters(solved), parameters(plain));
  EXPECT_NE(mse(solved), mse(plain));
  EXPECT_LT(parameters(other), parameters(plain));
  EXPECT_EQ(plain["methods"]["cpfm"].count("coverage_50"), 0u);
  for (const char* level : {"coverage_50", "coverage_90"}) {
    const double inside = other["methods"]["cpfm"][level]["mean"];
    EXPECT_TRUE(inside >= 0 && inside <= 1) << level;
    EXPECT_CONTAINS(read_bytes(dir / "c/table.csv"), std::string("cpfm,") + level);
  }
  const TensorFile coupling = TensorFile::open(dir / "c/cpfm/coupling.cpfm");
  EXPECT_EQ(coupling.tensor("rows").shape, (std::vector<std::uint64_t>{200}));
}

// Before anything is fitted.
TEST(Reproduce, RefusesWhatMeansNothingForMolecules) {
  for (const char* option : {"--lpips", "--features", "--gwot-kernel"}) {
    const Outcome outcome = run_cpfm({"reproduce", "qm9", option, "heat"});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_CONTAINS(outcome.err, std::string(option) + ": means nothing for the experiment qm9");
  }
}

// Minutes; a test of its own in CMakeLists.txt.
TEST(Reproduce, DigitsQuickComparesAllMethods) {
  const TempDir dir;
  const Outcome outcome = run_cpfm({"reproduce", "digits", "--quick", "-o", (dir / "d").string(), "--json", "--quiet"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto table = outcome.json();
  const auto mean = [&](const char* method, const char* figure) {
    return table["methods"][method][figure]["mean"].get<double>();
  };
  for (const char* method : {"cpfm", "vae", "diffae", "infodiffusion", "kpca"}) {
    EXPECT_TRUE(table["methods"].contains(method)) << method;
    // Ten classes of about equal size: all learn something.
    EXPECT_GT(mean(method, "knn_label"), 0.4) << method;
    EXPECT_GT(mean(method, "label_kept"), 0.25) << method;
    EXPECT_LT(mean(method, "gwot_share"), 0.5) << method;
  }
  // On so few samples the best ones are at the floor, and which comes first is a matter of luck.
  for (const char* method : {"vae", "diffae"}) EXPECT_LT(mean("cpfm", "w2_gaussian"), mean(method, "w2_gaussian"));
  EXPECT_LT(mean("cpfm", "gwot"), std::min({mean("vae", "gwot"), mean("diffae", "gwot"), mean("kpca", "gwot")}));
  // One distance of 359 points varies by 0.017, so the mean of two by 0.012.
  EXPECT_LT(mean("cpfm", "w2_gaussian"), table["methods"]["cpfm"]["w2_gaussian"]["floor"].get<double>() + 0.04);
  for (const char* law : {"1.cpfm", "2.cpfm", "3.cpfm"}) EXPECT_TRUE(fs::exists(dir / "d/laws" / law));
  EXPECT_TRUE(fs::exists(dir / "d/report.html"));
}

}  // namespace
}  // namespace cpfm::test
#endif
