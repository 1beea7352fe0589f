#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "cpfm/data.hpp"
#include "support/program.hpp"

// A program under a sanitizer that draws would be blamed for what fontconfig keeps, and libtorch is not built for one.
#if !CPFM_SANITIZED
namespace cpfm::test {
namespace {

// A tiny model of a hundred digits, made once.
class FlowCommands : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = new TempDir;
    const Outcome made = run_cpfm(fit_words("run", {"--steps", "6"}));
    ASSERT_EQ(made.exit_code, 0) << made.err;
    made_ = made.json();
  }
  static void TearDownTestSuite() {
    delete dir_;
    dir_ = nullptr;
  }
  static std::vector<std::string> fit_words(const std::string& run, const std::vector<std::string>& more) {
    std::vector<std::string> words{"fit",      "digits", "--limit",  "100",    "-o",        path(run),
                                   "--starts", "1",      "--device", "cpu",    "--epsilon", "0.02",
                                   "--batch",  "16",     "--json",   "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::string path(const std::string& name) { return (*dir_ / name).string(); }
  static std::string model() { return path("run/model.cpfm"); }

  static TempDir* dir_;
  static nlohmann::json made_;
};
TempDir* FlowCommands::dir_ = nullptr;
nlohmann::json FlowCommands::made_;

TEST_F(FlowCommands, FitWritesTheWholeRun) {
  for (const char* file : {"model.cpfm", "coupling.cpfm", "checkpoint.cpfm", "config.toml", "metrics.jsonl",
                           "report.html", "reconstructions.png", "grid.png"})
    EXPECT_TRUE(std::filesystem::exists(*dir_ / "run" / file)) << file;
  EXPECT_FALSE(std::filesystem::exists(*dir_ / "run" / "coupling.cpfm.partial"));
  EXPECT_EQ(made_["steps"], 6);
  EXPECT_TRUE(made_.contains("label_kept"));
  EXPECT_TRUE(made_.contains("w2_gaussian"));
  EXPECT_CONTAINS(read_bytes(*dir_ / "run" / "report.html"), "There and back");
  EXPECT_CONTAINS(run_cpfm({"info", model()}).out, "model");
}

TEST_F(FlowCommands, AFinishedRunIsNotOverwrittenButTrainedFurther) {
  expect_refused(run_cpfm(fit_words("run", {"--steps", "6"})), "holds a finished run");
  const Outcome first = run_cpfm(fit_words("further", {"--steps", "3"}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const Outcome more = run_cpfm(fit_words("further", {"--steps", "5", "--resume"}));
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(more.json()["steps"], 5);
  expect_refused(run_cpfm(fit_words("further", {"--steps", "9", "--resume", "--alpha", "0.3"})),
                 "alpha is 0.3 here and was 0.5");
}

TEST_F(FlowCommands, TheConfigurationMakesTheRunAgain) {
  const Outcome again = run_cpfm({"fit", "--config", path("run/config.toml"), "--output", path("again"), "--quiet"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const auto y = [&](const std::string& run) {
    EXPECT_EQ(run_cpfm({"embed", path(run + "/model.cpfm"), "digits", "--limit", "9", "-o", path("y.npy"), "--quiet"})
                  .exit_code,
              0);
    return read_bytes(*dir_ / "y.npy");
  };
  EXPECT_EQ(y("again"), y("run"));
}

TEST_F(FlowCommands, EmbedGivesDrawsMeansAndDensities) {
  const auto embed = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"embed", model(), "digits", "--limit", "20", "--quiet", "--steps", "4"};
    words.insert(words.end(), more.begin(), more.end());
    return run_cpfm(words);
  };
  ASSERT_EQ(embed({"-o", path("y.npy")}).exit_code, 0);
  EXPECT_EQ(read_dataset(path("y.npy")).size(), 20u);
  ASSERT_EQ(embed({"-o", path("k.npy"), "--draws", "3"}).exit_code, 0);
  EXPECT_CONTAINS(read_bytes(*dir_ / "k.npy"), "(20, 3, 2)");
  ASSERT_EQ(embed({"-o", path("m.csv"), "--mean"}).exit_code, 0);
  EXPECT_CONTAINS(read_bytes(*dir_ / "m.csv"), "y1,y2,label");
  const Outcome density = embed({"-o", path("y.npy"), "--density", path("p.npy"), "--json"});
  ASSERT_EQ(density.exit_code, 0) << density.err;
  EXPECT_TRUE(density.json().contains("mean_log_density"));
  expect_refused(embed({"-o", path("k.csv"), "--draws", "3"}), "do not fit a table");
  expect_refused(embed({"-o", path("k.txt")}), "does not end in .npy or .csv");
}

TEST_F(FlowCommands, GenerateTakesPlacesFromAnywhere) {
  const auto generate = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"generate", model(), "--quiet", "--steps", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return run_cpfm(words);
  };
  ASSERT_EQ(generate({"--grid", "3", "-o", path("g.png")}).exit_code, 0);
  EXPECT_TRUE(read_bytes(*dir_ / "g.png").starts_with("\x89PNG"));
  ASSERT_EQ(generate({"--at", "0.5,-1", "--at", "0,0", "--each", "2", "-o", path("a.npy")}).exit_code, 0);
  EXPECT_EQ(read_dataset(path("a.npy")).size(), 4u);
  write_bytes(*dir_ / "places.csv", "0,1\n1,0\n0.5,0.5\n");
  ASSERT_EQ(generate({"--y", path("places.csv"), "-o", path("x.csv")}).exit_code, 0);
  EXPECT_EQ(read_dataset(path("x.csv")).size(), 3u);
  expect_refused(generate({"-o", path("x.npy")}), "exactly one of them says where");
  expect_refused(generate({"--grid", "3", "--at", "0,0", "-o", path("x.npy")}), "exactly one of them");
  expect_refused(generate({"--at", "0,0,0", "-o", path("x.npy")}), "has 3 numbers; the model's map has 2 dimensions");
  expect_refused(generate({"--at", "zero", "-o", path("x.npy")}), "'zero' is not a point");
}

TEST_F(FlowCommands, OneNewSampleIsEnough) {
  const std::string one = path("one.csv"), y = path("one.y.csv");
  ASSERT_EQ(run_cpfm({"data", "convert", "digits", "--limit", "2", "-o", path("two.csv"), "--quiet"}).exit_code, 0);
  const std::string two = read_bytes(*dir_ / "two.csv");
  write_bytes(*dir_ / "one.csv", two.substr(0, two.find('\n', two.find('\n') + 1) + 1));  // header and one row
  const std::vector<std::string> read{"--labels", "label", "--steps", "2", "--quiet", "--image", "8x8"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), read.begin(), read.end());
    return run_cpfm(words);
  };
  Outcome outcome = with({"embed", model(), one, "-o", y});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  outcome = run_cpfm({"generate", model(), "--y", y, "-o", path("one.x.npy"), "--steps", "2", "--quiet"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  outcome = with({"reconstruct", model(), one, "-o", path("one.back.npy")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_refused(run_cpfm({"couple", one, "-o", path("one.cpfm")}), "at least two samples are needed");
}

TEST_F(FlowCommands, ReconstructGoesThereAndBack) {
  const Outcome outcome = run_cpfm({"reconstruct", model(), "digits", "--limit", "12", "-o", path("b.npy"), "--png",
                                    path("b.png"), "--steps", "2", "--json", "--quiet"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GT(outcome.json()["mse"].get<double>(), 0);
  EXPECT_EQ(read_dataset(path("b.npy")).dim(), 64u);
  EXPECT_TRUE(read_bytes(*dir_ / "b.png").starts_with("\x89PNG"));
}

TEST_F(FlowCommands, EvaluateTellsTheJudgesOwnAccuracy) {
  const Outcome outcome = run_cpfm({"evaluate", model(), "digits", "--part", "test", "--judge", "digits", "--runs", "2",
                                    "--steps", "2", "--gaussian-points", "100", "--json", "--quiet"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = outcome.json();
  for (const char* figure : {"mse", "knn_label", "label_kept", "label_kept_1nn", "w2_gaussian"}) {
    ASSERT_TRUE(json.contains(figure)) << figure;
    EXPECT_EQ(json[figure]["runs"], 2) << figure;
  }
  EXPECT_GT(json["label_kept_1nn"]["judge_accuracy"].get<double>(), 0.9);
  EXPECT_GT(json["w2_gaussian"]["floor"].get<double>(), 0.1);
}

TEST_F(FlowCommands, SayWhatDoesNotFit) {
  write_bytes(*dir_ / "t.csv", "a,b,c\n1,2,3\n4,5,6\n7,8,9\n2,4,1\n");
  expect_refused(run_cpfm({"embed", model(), path("t.csv"), "-o", path("y.npy"), "--quiet"}),
                 "has 3 features, and the model was made for 64 features (1 x 8 x 8)");
  expect_refused(run_cpfm({"embed", path("run/coupling.cpfm"), "digits", "-o", path("y.npy"), "--quiet"}),
                 "is a coupling, not a model");
  expect_refused(run_cpfm({"fit", path("t.csv"), "-o", path("v"), "--preset", "mnist", "--quiet"}), "is for pictures");
  expect_refused(run_cpfm({"fit", path("t.csv"), "-o", path("v"), "--preset", "mnits", "--quiet"}), "mnist");
  expect_refused(run_cpfm({"train", path("run/coupling.cpfm"), "digits", "-o", path("v"), "--quiet"}),
                 "was made of other data");
  // What is wrong with the training is said before anything is coupled, and leaves no folder.
  expect_refused(run_cpfm({"fit", "digits", "-o", path("v"), "--device", "tpu", "--quiet"}), "tpu");
  expect_refused(run_cpfm({"fit", "digits", "-o", path("v"), "--device", "cuda:99", "--quiet"}), "cuda:99");
  expect_refused(run_cpfm({"fit", "digits", "-o", path("v"), "--num-heads", "7", "--quiet"}), "7 heads do not divide");
  EXPECT_FALSE(std::filesystem::exists(*dir_ / "v"));
  expect_refused(run_cpfm({"fit", path("t.csv"), "-o", path("v2"), "--validation", "0.9", "--starts", "1", "--quiet"}),
                 "--validation");
  std::string newer = read_bytes(*dir_ / "run" / "model.cpfm");
  const std::string version = "\"cpfm.format_version\":\"1\"";
  ASSERT_NE(newer.find(version), std::string::npos);
  newer.replace(newer.find(version), version.size(), "\"cpfm.format_version\":\"9\"");
  write_bytes(*dir_ / "newer.cpfm", newer);
  expect_refused(run_cpfm({"embed", path("newer.cpfm"), "digits", "-o", path("y.npy"), "--quiet"}), "format version 9");
  std::string bytes = read_bytes(*dir_ / "run" / "model.cpfm");
  bytes.resize(bytes.size() / 2);
  write_bytes(*dir_ / "half.cpfm", bytes);
  expect_refused(run_cpfm({"generate", path("half.cpfm"), "--grid", "2", "-o", path("g.png"), "--quiet"}), "half.cpfm");
}

TEST_F(FlowCommands, ATableWithClassesAndAPropertyIsFitted) {
  std::string text = "a,b,c,kind,mass\n";
  for (int i = 0; i < 60; ++i) {
    const double noise = std::sin(12.9898 * i);
    text += fmt::format("{},{},{},{},{}\n", 4 * (i % 3 == 0) + noise, 4 * (i % 3 == 1) - noise,
                        4 * (i % 3 == 2) + noise, "xyz"[i % 3], i % 3 + noise);
  }
  write_bytes(*dir_ / "k.csv", text);
  const Outcome fitted = run_cpfm({"fit", path("k.csv"), "--labels", "kind", "--property", "mass", "-o", path("table"),
                                   "--steps", "5", "--starts", "1", "--device", "cpu", "--quiet", "--json"});
  ASSERT_EQ(fitted.exit_code, 0) << fitted.err;
  ASSERT_EQ(
      run_cpfm({"generate", path("table/model.cpfm"), "--at", "0,0", "--each", "4", "-o", path("new.csv"), "--quiet"})
          .exit_code,
      0);
  EXPECT_CONTAINS(read_bytes(*dir_ / "new.csv"), "a,b,c");
  // Where samples lie, as 'embed' writes it, is what 'generate' takes, classes and all.
  const std::vector<std::string> embed{
      "embed", path("table/model.cpfm"), path("k.csv"), "--labels", "kind", "--property", "mass", "--quiet",
      "-o",    path("places.csv")};
  ASSERT_EQ(run_cpfm(embed).exit_code, 0);
  EXPECT_CONTAINS(read_bytes(*dir_ / "places.csv"), "label");
  const Outcome back = run_cpfm(
      {"generate", path("table/model.cpfm"), "--y", path("places.csv"), "-o", path("back.csv"), "--quiet", "--json"});
  ASSERT_EQ(back.exit_code, 0) << back.err;
  EXPECT_CONTAINS(back.out, "\"n\": 60");
  EXPECT_CONTAINS(read_bytes(*dir_ / "table" / "report.html"), "explained variance");
  EXPECT_CONTAINS(read_bytes(*dir_ / "table" / "report.html"), "cpfm fit ");
}

TEST_F(FlowCommands, InterruptedTrainingResumes) {
  RunOptions options;
  options.while_running = [&](pid_t child) {
    for (int k = 0; k < 400 && !std::filesystem::exists(*dir_ / "stop" / "metrics.jsonl"); ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(child, SIGINT);
  };
  const Outcome stopped = run_cpfm(fit_words("stop", {"--minutes", "10"}), options);
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_CONTAINS(stopped.err, "--resume goes on");
  EXPECT_TRUE(std::filesystem::exists(*dir_ / "stop" / "checkpoint.cpfm"));
  EXPECT_FALSE(std::filesystem::exists(*dir_ / "stop" / "model.cpfm"));
  const Outcome resumed = run_cpfm(fit_words("stop", {"--steps", "1", "--resume"}));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_TRUE(std::filesystem::exists(*dir_ / "stop" / "model.cpfm"));
}

}  // namespace
}  // namespace cpfm::test
#endif
