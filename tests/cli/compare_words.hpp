// What the tests of 'cpfm compare' run it with.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "support/program.hpp"

namespace cpfm::test {

inline std::vector<std::string> compare_words(const std::string& out, const std::vector<std::string>& more,
                                              const std::string& steps = "4") {
  std::vector<std::string> words{"compare", "digits",  "--limit", "200",       "-o",   out,        "--steps",
                                 steps,     "--batch", "16",      "--epsilon", "0.02", "--starts", "1",
                                 "--runs",  "2",       "--json",  "--threads", "1",    "--device", "cpu"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Three features and a class of three.
inline void write_table(const std::filesystem::path& file, int rows, double shift) {
  std::string text = "a,b,c,kind\n";
  for (int i = 0; i < rows; ++i)
    text += fmt::format("{},{},{},{}\n", i % 3 + shift * (i % 7), std::sin(i), std::cos(1.7 * i), "xyz"[i % 3]);
  write_bytes(file, text);
}
inline std::vector<std::string> table_words(const TempDir& dir, const std::string& out,
                                            const std::vector<std::string>& more, const std::string& methods = "kpca") {
  std::vector<std::string> words{"compare",
                                 (dir / "t.csv").string(),
                                 "--labels",
                                 "kind",
                                 "-o",
                                 (dir / out).string(),
                                 "--methods",
                                 methods,
                                 "--runs",
                                 "1",
                                 "--standardize",
                                 "zscore",
                                 "--threads",
                                 "1",
                                 "--quiet",
                                 "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace cpfm::test
