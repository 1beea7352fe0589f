// What holds for every command: help, version, configuration, exit codes, interrupts.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "support/program.hpp"

namespace cpfm::test {
namespace {

TEST(CommandLine, HelpListsTheCommandsThatExistWithExamples) {
  const Outcome help = run_cpfm({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_EQ(help.err, "");
  for (const char* part : {"data", "info", "--json", "--threads", "--config", "Examples"})
    EXPECT_CONTAINS(help.out, part);
  const Outcome data = run_cpfm({"data", "info", "--help"});
  EXPECT_EQ(data.exit_code, 0);
  for (const char* part : {"DATA", "--labels", "--standardize", "none|unit|zscore|image", "Examples"})
    EXPECT_CONTAINS(data.out, part);
}

TEST(CommandLine, HelpAnswersWithinFiftyMilliseconds) {
  if (CPFM_SANITIZED) GTEST_SKIP() << "SKIPPED: sanitizers are slow to start";
  double best = 1e9;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    run_cpfm({"--help"});
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  EXPECT_LE(best, 50);
}

TEST(CommandLine, VersionNamesTheBuild) {
  const Outcome version = run_cpfm({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_TRUE(version.out.starts_with("cpfm 0.")) << version.out;
  EXPECT_CONTAINS(version.out, "components");
}

TEST(CommandLine, RefusesUnknownOptionsAndCommandsWithTheNearestName) {
  expect_refused(run_cpfm({"data", "info", "digits", "--lables", "x"}), "did you mean '--labels'?");
  expect_refused(run_cpfm({"dta"}), "did you mean 'data'?");
  expect_refused(run_cpfm({"data", "inof", "digits"}), "did you mean 'info'?");
  expect_refused(run_cpfm({}), "see cpfm --help");
  expect_refused(run_cpfm({"data"}), "see cpfm data --help");
  expect_refused(run_cpfm({"data", "info"}), "DATA is required");
  expect_refused(run_cpfm({"data", "info", "digits", "--limit", "many"}), "--limit");
  expect_refused(run_cpfm({"data", "info", "digits", "--standardize", "zscor"}), "--standardize");
  expect_refused(run_cpfm({"data", "info", "digits", "--threads", "-2"}), "threads");
  expect_refused(run_cpfm({"data", "info", "digits", "--quiet", "--verbose"}), "exclude each other");
}

TEST(CommandLine, TakesCommonOptionsBeforeAndBehindTheCommand) {
  EXPECT_EQ(run_cpfm({"--json", "data", "info", "digits"}).json()["n"], 1797);
  EXPECT_EQ(run_cpfm({"data", "info", "digits", "--json"}).json()["n"], 1797);
  EXPECT_EQ(run_cpfm({"data", "--json", "info", "digits", "--threads", "1"}).json()["n"], 1797);
}

TEST(Configuration, ComesFromATomlFileAndTheCommandLineWins) {
  const TempDir dir;
  write_bytes(dir / "c.toml", "threads = 1\n[data.info]\nlimit = 50\npart = \"train\"\ntest-fraction = 0.5\n");
  const std::string config = (dir / "c.toml").string();
  EXPECT_EQ(run_cpfm({"data", "info", "digits", "--json", "--config", config}).json()["n"], 25);
  EXPECT_EQ(run_cpfm({"data", "info", "digits", "--json", "--config", config, "--limit", "100"}).json()["n"], 50);
}

TEST(Configuration, RefusesKeysItDoesNotKnowAndFilesThatAreNotThere) {
  const TempDir dir;
  write_bytes(dir / "c.toml", "[data.info]\nlimmit = 50\n");
  expect_refused(run_cpfm({"data", "info", "digits", "--config", (dir / "c.toml").string()}), "limmit");
  expect_refused(run_cpfm({"data", "info", "digits", "--config", (dir / "none.toml").string()}), "none.toml");
}

TEST(Configuration, DumpIsReadBackToTheSameResult) {
  const TempDir dir;
  const std::vector<std::string> command{"data",   "info", "digits", "--json", "--limit",       "60",
                                         "--part", "test", "--seed", "4",      "--standardize", "zscore"};
  std::vector<std::string> dump = command;
  dump.push_back("--dump-config");
  const Outcome dumped = run_cpfm(dump);
  EXPECT_EQ(dumped.exit_code, 0) << dumped.err;
  EXPECT_CONTAINS(dumped.out, "seed = 4");
  EXPECT_CONTAINS(dumped.out, "[data.info]");
  write_bytes(dir / "c.toml", dumped.out);
  const Outcome again = run_cpfm({"data", "info", "digits", "--config", (dir / "c.toml").string()});
  EXPECT_EQ(again.out, run_cpfm(command).out) << dumped.out << again.err;
}

TEST(CommandLine, EndsWith130WhenInterrupted) {
  for (const int signal : {SIGINT, SIGTERM}) {
    RunOptions options;
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    // stdin is a pipe nobody writes to, so the program waits for data
    options.before_exec = [&] { dup2(ends[0], STDIN_FILENO); };
    options.while_running = [&](pid_t child) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      kill(child, signal);
    };
    const Outcome outcome = run_cpfm({"data", "info", "-"}, options);
    close(ends[0]);
    close(ends[1]);
    EXPECT_EQ(outcome.exit_code, 130) << outcome.err;
    EXPECT_EQ(outcome.err, "cpfm: interrupted\n");
    EXPECT_EQ(outcome.out, "");
  }
}

}  // namespace
}  // namespace cpfm::test
