// cpfm compare: its table, what it measures, and what it refuses.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compare_words.hpp"
#include "support/program.hpp"

#if !CPFM_SANITIZED
namespace cpfm::test {
namespace {

namespace fs = std::filesystem;

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
  const std::string csv = read_bytes(dir / "c/table.csv");
  EXPECT_CONTAINS(csv, "method,figure,mean,sd,runs,n,epsilon,floor,floor_sd\n");
  EXPECT_CONTAINS(csv, "kpca,mse,");
  const auto distance = table["methods"]["kpca"]["w2_gaussian"];
  EXPECT_CONTAINS(csv, fmt::format("kpca,w2_gaussian,{},{},2,40,0,{},{}\n", distance["mean"].dump(),
                                   distance["sd"].dump(), distance["floor"].dump(), distance["floor_sd"].dump()));

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

TEST(Compare, NamesTheColumnsThatOtherTestDataLack) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  std::string text = "a,b,kind\n";
  for (int i = 0; i < 30; ++i) text += fmt::format("{},{},{}\n", i, 2 * i, "xyz"[i % 3]);
  write_bytes(dir / "u.csv", text);
  const Outcome outcome = run_cpfm(table_words(dir, "c", {"--test", (dir / "u.csv").string()}));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_CONTAINS(outcome.err, "missing: c");
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
  std::vector<std::string> words =
      table_words(dir, "c", {"--kernel", "haet", "--gwot-kernel", "heat", "--steps", "2"}, "cpfm,kpca");
  const Outcome outcome = run_cpfm(words);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_CONTAINS(outcome.err, "cpfm: --kernel: unknown kernel 'haet'");
  EXPECT_FALSE(fs::exists(dir / "c/kpca"));
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
  refuse({"--methods", "vae,kpca", "--coverage"}, "--coverage: means nothing for vae,kpca");
  refuse({"--entropic-epsilon", "0.1"}, "--entropic-epsilon: means nothing without --entropic");
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
  auto words = table_words(dir, "d", {"--steps", "3", "--batch", "500", "--validation", "0.05"}, "vae");
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
  EXPECT_CONTAINS(without.err, "was made of other data; give the same DATA and --test");
}

TEST(Compare, OneCallOfTheNetworkIsEnoughWhereNoFlowIsSolved) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  auto words = table_words(dir, "c", {"--calls", "1", "--steps", "3"}, "vae,diffae,kpca");
  const Outcome outcome = run_cpfm(words);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["methods"].size(), 3u);
}

TEST(Compare, TheTableSaysWhyThereIsNoPictureOfTheLaws) {
  const TempDir dir;
  write_table(dir / "t.csv", 90, 0.1);
  const Outcome outcome = run_cpfm(table_words(dir, "c", {"--law", "square", "--latent-weights", "none"}));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(outcome.json()["methods"].contains("kpca"));
  EXPECT_CONTAINS(read_bytes(dir / "c/table.md"), "Stage 1 on other laws failed: --latent-weights: there is no file");
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

}  // namespace
}  // namespace cpfm::test
#endif
