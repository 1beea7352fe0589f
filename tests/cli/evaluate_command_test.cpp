// cpfm evaluate: what it tells, by which judge, and what it needs.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "cpfm/data.hpp"
#include "flow_commands.hpp"
#include "support/program.hpp"

#if !CPFM_SANITIZED
namespace cpfm::test {
namespace {

class EvaluateCommand : public FlowCommands {};

TEST_F(EvaluateCommand, AJudgeOfOtherClassesIsNamed) {
  const std::vector<std::string> read{"--labels", "kind", "--property", "mass", "--steps", "2", "--runs", "1"};
  const auto judged_by = [&](const std::string& table) {
    std::vector<std::string> words{"evaluate", table_model(), path("k.csv"), "--judge", path(table)};
    words.insert(words.end(), read.begin(), read.end());
    return run_cpfm(words);
  };
  const std::string rows = "a,b,c,kind,mass\n4,0,9,p,0\n0,4,9,q,1\n4,1,9,p,0\n0,4,9,q,1\n";
  write_table("k.csv", "abckm");
  write_bytes(*dir_ / "judge.csv", rows);
  expect_refused(judged_by("judge.csv"),
                 "--judge: " + path("judge.csv") + " has none of the classes of " + path("k.csv") + ": x, y, z");
  std::string some = rows;
  std::replace(some.begin(), some.end(), 'p', 'x');
  write_bytes(*dir_ / "judge.csv", some);
  const Outcome outcome = judged_by("judge.csv");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_CONTAINS(outcome.err, "lack the classes y, z; their samples are not judged");
  std::replace(some.begin(), some.end(), 'q', 'x');
  write_bytes(*dir_ / "judge.csv", some);
  expect_refused(judged_by("judge.csv"), "--judge: " + path("judge.csv") + " has samples of one class, x");
}

// What a random split leaves of the labels and classes of a part is a matter of luck.
TEST_F(EvaluateCommand, EvaluateTakesWhatLabelsAPartHas) {
  Dataset rows;
  rows.samples = FloatMatrix(60, 1);
  for (std::size_t i = 0; i < 60; ++i) rows.samples(i, 0) = static_cast<float>(i);
  const Dataset test = split_off(rows, 0.2, 1);  // as --part test does it
  std::set<int> in_test;
  for (const float row : test.samples.values()) in_test.insert(static_cast<int>(row));
  const auto evaluate = [&](const std::function<std::string(int)>& kind, bool judged) {
    write_table("part.csv", "abckm", kind);
    std::vector<std::string> words{"evaluate", table_model(), path("part.csv"), "--labels", "kind", "--property",
                                   "mass",     "--part",      "test",           "--steps",  "2",    "--runs",
                                   "1",        "--quiet",     "--json"};
    if (judged) words.insert(words.end(), {"--judge", path("part.csv")});
    return run_cpfm(words);
  };
  const std::string unlabelled;
  const auto some = [&](int i) { return i == *in_test.begin() || i % 3 == 0 ? std::string("x") : unlabelled; };
  const auto labelled = std::count_if(in_test.begin(), in_test.end(), [&](int i) { return some(i) == "x"; });
  ASSERT_GT(labelled, 1);
  Outcome outcome = evaluate(some, false);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["knn_label"]["k"], labelled - 1);
  // One neighbour at least is needed.
  outcome = evaluate([&](int i) { return i == *in_test.begin() ? "x" : unlabelled; }, false);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_FALSE(outcome.json().contains("knn_label"));

  const auto outside = [&](int i) { return in_test.contains(i) ? unlabelled : std::string{"xyz"[i % 3]}; };
  expect_refused(evaluate(outside, true), "--judge: " + path("part.csv") + " has no labels; labels are what it judges");
  const auto inside = [&](int i) { return in_test.contains(i) ? std::string{"xyz"[i % 3]} : unlabelled; };
  expect_refused(evaluate(inside, true), "--judge: " + path("part.csv") + " has no labels; labels are what it learns");
  const auto apart = [&](int i) { return in_test.contains(i) ? "x" : i % 2 == 0 ? "y" : "z"; };
  expect_refused(evaluate(apart, true), "has none of the classes of " + path("part.csv") + ": x;");
  // A class that the part does not have is not missed.
  outcome = evaluate([&](int i) { return std::string{"xyz"[in_test.contains(i) ? i % 2 : i % 3]}; }, true);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.json().contains("label_kept"));
}

TEST_F(EvaluateCommand, EvaluateTellsTheJudgesOwnAccuracy) {
  const Outcome outcome =
      run_cpfm({"evaluate", model(), "digits", "--part", "test", "--judge", "digits", "--runs", "2", "--steps", "2",
                "--gaussian-points", "100", "--entropic", "--coverage", "--json", "--quiet"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = outcome.json();
  for (const char* figure : {"mse", "knn_label", "label_kept", "label_kept_1nn", "w2_gaussian", "w2_entropic",
                             "w2_divergence", "gwot", "trustworthiness", "continuity", "coverage_50", "coverage_90"}) {
    ASSERT_TRUE(json.contains(figure)) << figure;
    EXPECT_EQ(json[figure]["runs"], 2) << figure;
  }
  EXPECT_EQ(json["method"], "cpfm");
  EXPECT_GT(json["gwot"]["random"].get<double>(), 0);
  EXPECT_GT(json["w2_divergence"]["floor"].get<double>(), 0.1);
  EXPECT_GT(json["label_kept_1nn"]["judge_accuracy"].get<double>(), 0.9);
  EXPECT_GT(json["w2_gaussian"]["floor"].get<double>(), 0.1);
  for (const char* figure :
       {"w2_gaussian", "w2_entropic", "w2_divergence"}) {  // two samples of 100 points: 0.24 ± 0.07
    EXPECT_GT(json[figure]["floor_sd"].get<double>(), 0.01) << figure;
    EXPECT_LT(json[figure]["floor_sd"].get<double>(), 0.2) << figure;
  }
}

TEST_F(EvaluateCommand, AModelOfStandardizedPicturesKnowsBlackAndWhiteOfTheFile) {
  for (const char* how : {"zscore", "unit", "image"}) {
    const std::string run = fmt::format("scaled-{}", how);
    const Outcome made = run_cpfm(
        {"fit", "digits", "--limit", "100", "--method", "kpca", "--standardize", how, "-o", path(run), "--quiet"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    const Outcome told = run_cpfm({"info", path(run + "/model.cpfm"), "--json"});
    ASSERT_EQ(told.exit_code, 0) << told.err;
    const auto facts = nlohmann::json::parse(told.json()["metadata"]["model"].get<std::string>());
    EXPECT_EQ(facts["value_range"], nlohmann::json({0.0, 16.0})) << how;
    EXPECT_EQ(facts["data_scale"]["mode"], how);
  }
}

TEST_F(EvaluateCommand, EvaluateSaysWhatItNeeds) {
  const auto evaluate = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all{"evaluate", model(), "digits", "--limit", "30", "--runs", "1", "--steps", "1"};
    all.insert(all.end(), words.begin(), words.end());
    return run_cpfm(all);
  };
  expect_refused(evaluate({"--lpips", path("none")}), "docs/metrics.md, Weights");
  expect_refused(evaluate({"--features", "resnet:x"}),
                 "classifier, inception:FILE (weights of pytorch-fid) or squeezenet:FILE (of lpips)");
  expect_refused(evaluate({"--features", "classifier"}), "--features: there is no classifier; --judge DATA");
  expect_refused(evaluate({"--features", "inception:" + path("run/model.cpfm")}), "docs/metrics.md");
  const Outcome few = evaluate({"--neighbours", "20"});
  EXPECT_EQ(few.exit_code, 0) << few.err;
  EXPECT_CONTAINS(few.err, "needs more than 40 samples");
  expect_refused(evaluate({"--coverage", "--temperature", "0.5"}), "--coverage: densities are of temperature 1");
  expect_refused(evaluate({"--run-samples", "1"}), "--run-samples: 1 is too few");
  expect_refused(evaluate({"--run-samples", "20", "--kernel", "knn(3)"}), "--run-samples: ");
  const Outcome same = evaluate({"--judge", "digits"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_CONTAINS(same.err,
                  "digits has 30 of the 30 samples that are measured, and the judge knows them; 'cpfm evaluate --part "
                  "test'");
  EXPECT_CONTAINS(same.err, "with 30 samples; more than 128 are needed");
  // By what it holds, whatever it is called; and what is one file stays apart however its path is written.
  const Outcome written = run_cpfm({"data", "convert", "digits", "-o", path("digits.csv"), "--quiet"});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  std::filesystem::copy_file(path("digits.csv"), path("copy.csv"));
  const auto judged = [&](const std::string& data, const std::string& judge) {
    return run_cpfm({"evaluate", model(), data, "--labels", "label", "--part", "test", "--test-fraction", "0.02",
                     "--judge", judge, "--runs", "1", "--steps", "1"});
  };
  const std::string csv = path("digits.csv"), around = path("./run/../digits.csv");
  EXPECT_CONTAINS(judged(csv, path("copy.csv")).err, "and the judge knows them");
  const Outcome apart = judged(csv, around);
  EXPECT_EQ(apart.exit_code, 0) << apart.err;
  EXPECT_EQ(apart.err.find("the judge knows"), std::string::npos) << apart.err;
  EXPECT_CONTAINS(few.out, "squared error");
  // Of a single run nothing is known of it, but of the floor.
  const std::size_t of_floor = few.out.find("±", few.out.find("floor"));
  EXPECT_NE(of_floor, std::string::npos) << few.out;
  EXPECT_EQ(few.out.find("±"), of_floor) << few.out;
  EXPECT_EQ(few.out.find("±", of_floor + 1), std::string::npos) << few.out;
}

}  // namespace
}  // namespace cpfm::test
#endif
