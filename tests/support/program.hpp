// Runs the real cpfm binary as a user would: what it printed on stdout and stderr, and how it ended.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm::test {

struct Outcome {
  int exit_code = -1;  // -signal when a signal ended it
  std::string out, err;
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

struct RunOptions {
  std::string input;             // for stdin
  std::filesystem::path folder;  // to run in
  std::filesystem::path program = CPFM_BINARY;
  std::function<void()> before_exec;  // in the child
  std::function<void(pid_t)> while_running;
};

inline Outcome run_cpfm(const std::vector<std::string>& arguments, const RunOptions& options = {}) {
  const TempDir dir;
  write_bytes(dir / "in", options.input);
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), options.program.string());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(open((dir / "in").c_str(), O_RDONLY), STDIN_FILENO);
    dup2(open((dir / "out").c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    dup2(open((dir / "err").c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) _exit(99);
    if (options.before_exec) options.before_exec();
    execv(argv[0], argv.data());
    _exit(98);
  }
  if (options.while_running) options.while_running(child);
  int status = 0;
  waitpid(child, &status, 0);
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  outcome.out = read_bytes(dir / "out");
  outcome.err = read_bytes(dir / "err");
  return outcome;
}

// Exit 1, nothing on stdout, one sentence on stderr that holds `part`. It is one line; below an error in an expression
// stand `more_lines`, the source and its caret, each indented.
inline void expect_refused(const Outcome& outcome, const std::string& part, int more_lines = 0) {
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_CONTAINS(outcome.err, part);
  EXPECT_TRUE(outcome.err.starts_with("cpfm: ")) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1 + more_lines) << outcome.err;
  for (std::size_t at = outcome.err.find('\n'); at + 1 < outcome.err.size(); at = outcome.err.find('\n', at + 1))
    EXPECT_EQ(outcome.err.substr(at + 1, 2), "  ") << outcome.err;
}

}  // namespace cpfm::test
