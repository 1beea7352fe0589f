#include <gtest/gtest.h>

#include "cpfm/model.hpp"
#include "support/program.hpp"

namespace cpfm::test {
namespace {

void expect_machine(const nlohmann::json& machine) {
  for (const char* key : {"cpu", "simd", "version", "commit", "compiler", "build_type"})
    EXPECT_NE(machine[key].get<std::string>(), "") << key;
  EXPECT_GE(machine["cores"], 1);
  EXPECT_EQ(machine["threads"], 2);
}

TEST(BenchSinkhorn, TellsPairsPerSecondAndTheMachine) {
  const auto json = run_cpfm({"bench", "sinkhorn", "--points", "300", "--dim", "3", "--iterations", "4", "--repeat",
                              "3", "--threads", "2", "--device", "cpu", "--json"})
                        .json();
  EXPECT_EQ(json["points"], 300);
  EXPECT_EQ(json["dim"], 3);
  EXPECT_EQ(json["iterations"], 4);
  EXPECT_EQ(json["all_seconds"].size(), 3u);
  EXPECT_GT(json["seconds"], 0);
  EXPECT_NEAR(json["seconds_per_half_iteration"].get<double>() * 8, json["seconds"].get<double>(), 1e-12);
  EXPECT_NEAR(json["pairs_per_second"].get<double>() * json["seconds"].get<double>(), 8.0 * 300 * 300, 1);
  EXPECT_EQ(json["computed"], 1);
  expect_machine(json["machine"]);
}

TEST(BenchSinkhorn, ComputesTheSameWhateverTheTypeAndTheThreads) {
  const auto error = [](const std::vector<std::string>& more) {
    std::vector<std::string> words{"bench",     "sinkhorn", "--points", "200", "--iterations", "30",
                                   "--epsilon", "0.05",     "--repeat", "1",   "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_cpfm(words).json()["marginal_error"].get<double>();
  };
  const double plain = error({});
  EXPECT_GT(plain, 0);
  EXPECT_EQ(error({"--threads", "1"}), plain);
  EXPECT_NEAR(error({"--double"}), plain, 1e-4);
  EXPECT_NE(error({"--seed", "2"}), plain);
}

TEST(BenchSinkhorn, SavesItsProblemForOthersToSolve) {
  const TempDir dir;
  const Outcome text = run_cpfm({"bench", "sinkhorn", "--points", "50", "--iterations", "1", "--repeat", "1", "--save",
                                 (dir / "p.cpfm").string()});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* part : {"sinkhorn: 50 x 50 points in 2 dimensions", "per second", "written"})
    EXPECT_CONTAINS(text.out, part);
  const TensorFile file = TensorFile::open(dir / "p.cpfm");
  EXPECT_EQ(file.tensor("w").shape, (std::vector<std::uint64_t>{50}));
  EXPECT_EQ(file.tensor("p").shape, (std::vector<std::uint64_t>{50, 2}));
  EXPECT_EQ(file.tensor("y").shape, (std::vector<std::uint64_t>{50, 2}));
  EXPECT_GT(file.tensor("epsilon").to_floats().at(0), 0);
}

TEST(BenchGwot, TimesAWholeCoupling) {
  const std::vector<std::string> words{"bench", "gwot", "--points", "60", "--epsilon", "0.02", "--threads", "2"};
  auto with_json = words;
  with_json.push_back("--json");
  const auto json = run_cpfm(with_json).json();
  EXPECT_EQ(json["status"], "converged");
  EXPECT_TRUE(json["kernel"].get<std::string>().starts_with("heat(sigma="));
  EXPECT_LT(json["objective"].get<double>(), 0.7 * json["objective_random"].get<double>());
  EXPECT_GT(json["half_iterations"], 0);
  for (const char* part : {"kernel", "factor", "solve"}) EXPECT_GE(json["seconds"][part], 0);
  expect_machine(json["machine"]);
  const Outcome text = run_cpfm(words);
  for (const char* part : {"gwot: 60 points", "solve", "half-iterations", "machine"}) EXPECT_CONTAINS(text.out, part);
}

// At so large an ε every plan is the independent one, whatever ε is a share of (for linear kernels an eigenvalue).
TEST(BenchGwot, TheRandomObjectiveIsThatOfTheIndependentPlan) {
  for (const char* kernel : {"heat*label", "linear"}) {
    const auto json =
        run_cpfm({"bench", "gwot", "--points", "60", "--dim", "1", "--kernel", kernel, "--epsilon", "1e5", "--json"})
            .json();
    const auto random = json["objective_random"].get<double>();
    EXPECT_GT(random, 0);
    EXPECT_NEAR(json["objective"].get<double>(), random, 0.01 * random) << kernel;
  }
}

#define CPFM_SKIP_WITHOUT_TORCH() \
  if (!CPFM_HAS_TORCH) GTEST_SKIP() << "SKIPPED: this build has no libtorch"

TEST(BenchTrain, TellsSamplesPerSecond) {
  CPFM_SKIP_WITHOUT_TORCH();
  const std::vector<std::string> words{"bench", "train",    "--preset", "table",     "--batch", "16",       "--steps",
                                       "3",     "--repeat", "2",        "--threads", "2",       "--device", "cpu"};
  auto with_json = words;
  with_json.push_back("--json");
  const auto json = run_cpfm(with_json).json();
  EXPECT_EQ(json["batch"], 16);
  EXPECT_EQ(json["all_seconds"].size(), 2u);
  EXPECT_GT(json["seconds"], 0);
  EXPECT_NEAR(json["samples_per_second"].get<double>() * json["seconds"].get<double>(), 3 * 16, 1e-6);
  EXPECT_NE(json["machine"]["torch"].get<std::string>(), "");
  EXPECT_EQ(json["machine"]["device"], "cpu");
  expect_machine(json["machine"]);
  const Outcome text = run_cpfm(words);
  for (const char* part : {"train: the network 'table' on samples of 16 numbers", "per second", "batch of 16", "build"})
    EXPECT_CONTAINS(text.out, part);
}

TEST(BenchSample, TellsWhatIsGeneratedAndEmbeddedPerSecond) {
  CPFM_SKIP_WITHOUT_TORCH();
  const std::vector<std::string> words{"bench", "sample",   "--preset", "tiny",      "--samples", "8",        "--steps",
                                       "2",     "--repeat", "1",        "--threads", "2",         "--device", "cpu"};
  auto with_json = words;
  with_json.push_back("--json");
  const auto json = run_cpfm(with_json).json();
  EXPECT_EQ(json["shape"], "1 x 8 x 8");
  EXPECT_EQ(json["steps"], 2);
  EXPECT_NEAR(json["generated_per_second"].get<double>() * json["seconds"]["generate"].get<double>(), 8, 1e-6);
  EXPECT_NEAR(json["embedded_per_second"].get<double>() * json["seconds"]["embed"].get<double>(), 8, 1e-6);
  expect_machine(json["machine"]);
  EXPECT_CONTAINS(run_cpfm(words).out, "sample: the network 'tiny' on samples of 1 x 8 x 8");
}

TEST(Bench, RefusesWhatItCannotMeasure) {
  expect_refused(run_cpfm({"bench", "sinkhorn", "--points", "1"}),
                 "--points: '1' is not allowed; a whole number from 2 to 1000000");
  expect_refused(run_cpfm({"bench", "sinkhorn", "--dim", "9"}),
                 "--dim: '9' is not allowed; a whole number from 1 to 8");
  expect_refused(run_cpfm({"bench", "sinkhorn", "--repeat", "0"}), "--repeat: '0' is not allowed");
  expect_refused(run_cpfm({"bench", "sinkhorn", "--drop", "1"}), "--drop: 1 is out of range; 0 to below 1");
  expect_refused(run_cpfm({"bench", "sinkhorn", "--epsilon", "nan"}), "--epsilon: nan is out of range");
  expect_refused(run_cpfm({"bench", "gwot", "--epsilon", "0"}), "--epsilon: 0 is out of range; a positive number");
  expect_refused(run_cpfm({"bench", "gwot", "--points", "30", "--kernel", "heet"}), "did you mean 'heat'?", 2);
  expect_refused(run_cpfm({"bench", "sinkhron"}), "did you mean 'sinkhorn'?");
  expect_refused(run_cpfm({"bench", "train", "--batch", "1"}), "--batch: '1' is not allowed");
}

TEST(Bench, RefusesNetworksAndDevicesThatAreNotThere) {
  CPFM_SKIP_WITHOUT_TORCH();
  expect_refused(run_cpfm({"bench", "train", "--preset", "mnits"}), "did you mean 'mnist'?");
  expect_refused(run_cpfm({"bench", "sample", "--device", "cuda:99"}), "--device: libtorch knows no 'cuda:99' here");
}

}  // namespace
}  // namespace cpfm::test
