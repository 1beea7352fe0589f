// cpfm reproduce: experiments of the paper, small.
#include <gtest/gtest.h>

#include <algorithm>

#include "cpfm/model.hpp"
#include "support/program.hpp"

#if !CPFM_SANITIZED
namespace cpfm::test {
namespace {

namespace fs = std::filesystem;

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
             other = table_of(
                 "c", {"--head", "paper", "--fourier-features", "0", "--subsample", "200", "--pairs", "mixture",
                       "--coverage", "--conditioning", "concat", "--algorithm", "paper", "--entropic-epsilon", "0.1"});
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
  EXPECT_EQ(plain["methods"]["cpfm"]["w2_entropic"]["epsilon"], 0.01);
  EXPECT_EQ(other["methods"]["cpfm"]["w2_entropic"]["epsilon"], 0.1);
  const std::string config = read_bytes(dir / "c/cpfm/config.toml");
  EXPECT_CONTAINS(config, "conditioning = \"concat\"");
  EXPECT_CONTAINS(config, "algorithm = \"paper\"");
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
  EXPECT_CONTAINS(run_cpfm({"reproduce", "qm9", "--entropic-epsilon", "0.1"}).err, "means nothing for the experiment");
  const Outcome wrong = run_cpfm({"reproduce", "qm9", "--runs", "none"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_CONTAINS(wrong.err, "--runs: 'none' is not allowed");
}

TEST(Reproduce, SaysWhatADataFolderLacks) {
  const TempDir dir;
  for (const char* name : {"mnist", "cifar10"}) {
    const Outcome outcome = run_cpfm({"reproduce", name, "--data", dir.path().string(), "-o", (dir / "o").string()});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_CONTAINS(outcome.err, std::string("'cpfm data get ") + name + "' fetches it");
  }
  EXPECT_FALSE(fs::exists(dir / "o"));
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
