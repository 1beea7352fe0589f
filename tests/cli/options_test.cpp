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
  expect_refused(run_cpfm({"dta"}), "'dta' is not a command of cpfm; did you mean 'data'?");
  expect_refused(run_cpfm({"dta", "info"}), "'dta' is not a command of cpfm; did you mean 'data'?");
  expect_refused(run_cpfm({"data", "inof", "digits"}), "'inof' is not a command of cpfm data; did you mean 'info'?");
  expect_refused(run_cpfm({"data", "info", "digits", "more"}), "'more' is one word too many for cpfm data info");
  expect_refused(run_cpfm({}), "see cpfm --help");
  expect_refused(run_cpfm({"data"}), "see cpfm data --help");
  expect_refused(run_cpfm({"data", "info"}), "DATA is required");
  expect_refused(run_cpfm({"data", "info", "digits", "--standardize", "zscor"}),
                 "--standardize: 'zscor' is not one of none, unit, zscore, image; did you mean 'zscore'?");
  expect_refused(run_cpfm({"data", "info", "digits", "--part", "tst"}), "did you mean 'test'?");
  expect_refused(run_cpfm({"data", "info", "digits", "--quiet", "--verbose"}), "exclude each other");
}

TEST(CommandLine, RefusesNumbersThatWouldWrapOrMeanSomethingElse) {
  const auto refused = [](const char* option, const char* value, const std::string& range) {
    expect_refused(run_cpfm({"data", "info", "digits", option, value}),
                   std::string(option) + ": '" + value + "' is not allowed; a whole number from " + range);
  };
  for (const char* value : {"-5", "0", "1", "1e3", "0x10", "+7", " 7", "7 ", "many", "", "99999999999999999999"})
    refused("--limit", value, "2 to 9223372036854775807");
  for (const char* value : {"-1", "1.5", "", "18446744073709551616"})
    refused("--seed", value, "0 to 18446744073709551615");
  for (const char* value : {"-2", "4097", ""}) refused("--threads", value, "0 to 4096");
  for (const char* value : {"0", "-1", "5000"}) refused("--image-size", value, "1 to 4096");
  EXPECT_EQ(run_cpfm({"data", "info", "digits", "--seed", "18446744073709551615"}).exit_code, 0);
  EXPECT_EQ(run_cpfm({"data", "info", "digits", "--limit", "010", "--json"}).json()["n"], 10);  // not octal
}

TEST(CommandLine, RefusesEmptyTexts) {
  for (const char* option : {"--labels", "--property", "--ignore", "--key", "--image", "--png", "--config"}) {
    expect_refused(run_cpfm({"data", "info", "digits", option, ""}),
                   std::string(option) + ": an empty text is not allowed");
  }
  expect_refused(run_cpfm({"data", "info", ""}), "DATA: an empty text is not allowed");
  expect_refused(run_cpfm({"data", "convert", "digits", "-o", ""}), "--output: an empty text is not allowed");
}

TEST(CommandLine, HelpOfAllShowsTheOptionsOfNestedCommands) {
  const Outcome all = run_cpfm({"--help-all"});
  EXPECT_EQ(all.exit_code, 0);
  for (const char* part : {"--- cpfm data convert ---", "--labels", "--output", "--config FILE", "--property TEXT  "})
    EXPECT_CONTAINS(all.out, part);
  EXPECT_EQ(run_cpfm({"data", "get", "--help-all"}).out.find("--labels"), std::string::npos);
}

TEST(CommandLine, VerboseTellsWhatIsDone) {
  const TempDir dir;
  write_bytes(dir / "c.toml", "threads = 3\n");
  const Outcome told = run_cpfm({"data", "info", "digits", "--verbose", "--config", (dir / "c.toml").string()});
  EXPECT_EQ(told.exit_code, 0);
  for (const std::string& part :
       {std::string("3 threads"), "options of " + (dir / "c.toml").string(), std::string("1797 x 64 read as built-in")})
    EXPECT_CONTAINS(told.err, part);
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
  const auto with = [&](const std::string& toml) {
    write_bytes(dir / "c.toml", toml);
    return run_cpfm({"data", "info", "digits", "--config", (dir / "c.toml").string()});
  };
  expect_refused(with("[data.info]\nlimt = 50\n"),
                 "c.toml, line 2: unknown key 'limt' in [data.info]; did you mean 'limit'?");
  expect_refused(with("limit = 50\n"), "c.toml, line 1: unknown key 'limit' before the first section");
  expect_refused(with("\n[data.inof]\n"), "line 2: unknown section [data.inof]: 'inof' is not a command of cpfm data");
  expect_refused(with("config = \"d.toml\"\n"), "unknown key 'config'");
  expect_refused(with("seed = 1\nseed = 2\n"), "line 2: the key 'seed' stands there twice");
  expect_refused(with("seed = one\n"), "line 1: 'one' is not a number; texts stand in quotes");
  expect_refused(with("seed\n"), "key = value");
  expect_refused(with("seed =\n"), "a value is missing");
  expect_refused(with("seed = [1]\n"), "'seed' takes one value, not a list");
  expect_refused(with("json = 3\n"), "'json' is '3'; true or false");
  expect_refused(with("[data.info]\nlabels = \"a\n"), "line 2: a text is not closed");
  expect_refused(with("[data.info]\nlabels = \"\\uD800\"\n"), "a backslash in a text");
  expect_refused(with("[data.info]\nproperty = [\"a\" \"b\"]\n"), "a list is not closed");
  expect_refused(with("[data.info] limit = 3\n"), "more than belongs there");
  expect_refused(with("[data.info]\nlimit = -3\n"), "c.toml: --limit: '-3' is not allowed");
  expect_refused(with("[data.info]\nlabels = \"\"\n"), "--labels: an empty text is not allowed");
  expect_refused(with("\xFF\n"), "c.toml: is not UTF-8 text; a configuration is a TOML file");
  expect_refused(with(std::string((1 << 20) + 1, '\n')), "at most 1 MiB");
  const auto from = [](const std::filesystem::path& file) {
    return run_cpfm({"data", "info", "digits", "--config", file.string()});
  };
  expect_refused(from(dir / "none.toml"), "none.toml: there is no such file; --config wants a TOML file");
  expect_refused(from(dir.path()), dir.path().string() + ": is a folder; --config wants a TOML file");
}

TEST(Configuration, KnowsTheCommentsListsAndTextsOfToml) {
  const TempDir dir;
  write_bytes(dir / "c.toml",
              "# ours\nthreads = 1 # one\njson=true\n\n[ data.info ]\r\nignore = [ 'a#\"b', # first\n  "
              "\"c\\u00e4\\n\\\"\", ]\n'labels' = \"k\"\n");
  write_bytes(dir / "t.csv", "\"a#\"\"b\",\"cä\n\"\"\",x,k\n1,2,3,a\n4,5,6,b\n");
  const Outcome outcome = run_cpfm({"data", "info", (dir / "t.csv").string(), "--config", (dir / "c.toml").string()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["features"], (std::vector<std::string>{"x"}));
  EXPECT_EQ(outcome.json()["labels"]["classes"].size(), 2u);
}

TEST(Configuration, DumpKeepsOddTexts) {
  const TempDir dir;
  const std::vector<std::string> odd{"#1",  "it's",       "say \"so\"", "both ' and \"", "back\\slash", "a\nb",
                                     "[x]", "a,b",        " spaced ",   "true",          "007",         "1e5",
                                     "=",   "ends in \\", "tab\t",      "ü €",           "'",           "\""};
  std::vector<std::string> words{"data", "info", "no # 'such' \"file\"", "--dump-config"};
  for (const std::string& text : odd) words.insert(words.end(), {"--ignore", text});
  for (const std::string& text : odd) {
    words.insert(words.end(), {"--labels", text});
    const Outcome dumped = run_cpfm(words);
    ASSERT_EQ(dumped.exit_code, 0) << dumped.err;
    write_bytes(dir / "c.toml", dumped.out);
    const Outcome again = run_cpfm({"data", "info", "--dump-config", "--config", (dir / "c.toml").string()});
    EXPECT_EQ(again.out, dumped.out) << text << again.err;
    words.resize(words.size() - 2);
  }
  const std::string message = run_cpfm({"data", "info", "--config", (dir / "c.toml").string()}).err;
  EXPECT_CONTAINS(message, "no # 'such' \"file\": there is no such file");
  expect_refused(run_cpfm({"data", "info", "x\xFF", "--dump-config"}), "is not UTF-8, and TOML holds nothing else");
  expect_refused(run_cpfm({"data", "info", "digits", "--json", "--dump-config"}), "exclude each other");
}

TEST(Configuration, DumpIsReadBackToTheSameResult) {
  const TempDir dir;
  const std::vector<std::string> command{"data", "info",   "digits", "--limit",       "60",    "--part",
                                         "test", "--seed", "4",      "--standardize", "zscore"};
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

TEST(Configuration, DumpsOfAllThatMeasureAreTaken) {
  const TempDir dir;
  const std::string file = (dir / "c.toml").string();
  for (const std::vector<std::string>& command : {std::vector<std::string>{"evaluate", "model.cpfm", "digits"},
                                                  {"compare", "digits", "-o", "compared"},
                                                  {"fit", "digits", "-o", "run"},
                                                  {"reproduce", "digits"}}) {
    std::vector<std::string> dump = command;
    dump.push_back("--dump-config");
    const Outcome first = run_cpfm(dump);
    ASSERT_EQ(first.exit_code, 0) << command[0] << first.err;
    write_bytes(file, first.out);
    dump.insert(dump.end(), {"--config", file});
    const Outcome second = run_cpfm(dump);
    EXPECT_EQ(second.exit_code, 0) << command[0] << second.err;
    EXPECT_EQ(second.out, first.out);
  }
}

TEST(CommandLine, StaysDeafToInterruptsWhereItWasStartedThatWay) {
  RunOptions options;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  options.before_exec = [&] {
    std::signal(SIGINT, SIG_IGN);  // as nohup and background jobs of a shell do
    dup2(ends[0], STDIN_FILENO);
    close(ends[1]);
  };
  options.while_running = [&](pid_t child) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(child, SIGINT);
    EXPECT_EQ(write(ends[1], "1,2\n3,4\n", 8), 8);
    close(ends[1]);
  };
  const Outcome outcome = run_cpfm({"data", "info", "-"}, options);
  close(ends[0]);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
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
