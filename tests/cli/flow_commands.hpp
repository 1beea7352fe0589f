// What the tests of commands that take a model share: a folder, small models of digits and of a table in it, and words
// to make them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "support/program.hpp"

namespace cpfm::test {

// A folder that the tests of a suite share; the suite makes it, with what it needs in it.
class CommandsInAFolder : public ::testing::Test {
 protected:
  // One thread: the work is tiny, and threads of libtorch that share busy cores wait for each other for seconds.
  static Outcome run_cpfm(std::vector<std::string> words, const RunOptions& options = {}) {
    words.insert(words.end(), {"--threads", "1"});
    return test::run_cpfm(words, options);
  }
  static void TearDownTestSuite() {
    delete dir_;
    dir_ = nullptr;
  }
  static std::string path(const std::string& name) { return (*dir_ / name).string(); }

  static inline TempDir* dir_ = nullptr;
  static inline nlohmann::json made_;  // what the command told that made the suite's model
};

// A tiny model of a hundred digits, made once.
class FlowCommands : public CommandsInAFolder {
 protected:
  static void SetUpTestSuite() {
    dir_ = new TempDir;
    const Outcome made = run_cpfm(fit_words("run", {"--steps", "6"}));
    ASSERT_EQ(made.exit_code, 0) << made.err;
    made_ = made.json();
  }
  static std::vector<std::string> fit_words(const std::string& run, const std::vector<std::string>& more) {
    std::vector<std::string> words{"fit",      "digits", "--limit",  "100",    "-o",        path(run),
                                   "--starts", "1",      "--device", "cpu",    "--epsilon", "0.02",
                                   "--batch",  "16",     "--json",   "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::string model() { return path("run/model.cpfm"); }

  // A table of 60 rows of the features a, b and c, a class (k) and a property (m), its columns in this order.
  static void write_table(
      const std::string& name, const std::string& columns,
      const std::function<std::string(int)>& kind = [](int i) { return std::string{"xyz"[i % 3]}; }) {
    std::string text;
    for (const char column : columns) text += fmt::format("{}{}", text.empty() ? "" : ",", full_name(column));
    text += '\n';
    for (int i = 0; i < 60; ++i) {
      const double noise = std::sin(12.9898 * i);
      const auto value = [&](char column) -> std::string {
        if (column == 'k') return kind(i);
        if (column == 'm') return fmt::format("{}", i % 3 + noise);
        return fmt::format("{}", 4 * (i % 3 == column - 'a') + (column == 'b' ? -noise : noise));
      };
      std::string row;
      for (const char column : columns) row += (row.empty() ? "" : ",") + value(column);
      text += row + '\n';
    }
    write_bytes(*dir_ / name, text);
  }
  static std::string full_name(char column) {
    return column == 'k' ? "kind" : column == 'm' ? "mass" : std::string{column};
  }
  // A fit of it that takes a second.
  static std::vector<std::string> table_words(const std::string& run, const std::vector<std::string>& more) {
    write_table("k.csv", "abckm");
    std::vector<std::string> words{"fit",     path("k.csv"), "--labels", "kind",     "--property",
                                   "mass",    "-o",          path(run),  "--starts", "1",
                                   "--width", "8",           "--depth",  "1",        "--fourier-features",
                                   "4",       "--device",    "cpu",      "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // A tiny model of it, made when it is first asked for.
  static std::string table_model() {
    if (!std::filesystem::exists(*dir_ / "table")) {
      const Outcome fitted = run_cpfm(table_words("table", {"--steps", "5", "--quiet"}));
      EXPECT_EQ(fitted.exit_code, 0) << fitted.err;
    }
    return path("table/model.cpfm");
  }
  static void copy_run(const std::string& from, const std::string& to) {
    std::filesystem::create_directory(*dir_ / to);
    for (const auto& entry : std::filesystem::directory_iterator(*dir_ / from))
      std::filesystem::copy_file(entry.path(), *dir_ / to / entry.path().filename());
  }
  // The bytes of every file of a run, by name.
  static std::map<std::string, std::string> files_of(const std::string& run) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(*dir_ / run))
      files[entry.path().filename().string()] = read_bytes(entry.path());
    return files;
  }
  // Starts a fit, waits for a file of its run and stops it.
  static Outcome interrupt(const std::string& run, const std::vector<std::string>& words, const char* file) {
    RunOptions options;
    options.while_running = [&](pid_t child) {
      for (int k = 0; k < 400 && !std::filesystem::exists(*dir_ / run / file); ++k)
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      kill(child, SIGINT);
    };
    return run_cpfm(words, options);
  }
};

}  // namespace cpfm::test
