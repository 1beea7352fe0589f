// Other programs, started without a shell: arguments stay what they are, whatever characters they hold.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cpfm {

struct ProcessResult {
  int exit_code = 0;   // 128 + the signal's number when one ended the program
  std::string output;  // stdout and stderr as they came; of very long output the last 1 MiB
};

// Runs arguments[0] (looked up in PATH) in `folder` (empty: the current one) with an empty stdin, and waits for it.
// Throws cpfm::Error when it cannot be started. On an interrupt the program and all it started are ended first, then
// cpfm::Interrupted is thrown.
ProcessResult run_process(const std::vector<std::string>& arguments, const std::filesystem::path& folder = {});

}  // namespace cpfm
