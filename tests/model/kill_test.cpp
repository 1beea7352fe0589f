// The promise behind every save: whenever the program is killed, the name holds a whole file, either the old one or the
// new. A child saves without pause and is killed at random moments; the parent looks at what is left.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "cpfm/model.hpp"
#include "cpfm/random.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

constexpr std::size_t kFloats = 1'500'000, kIntegers = 250'000;  // 8 MB in all

void save_version(const std::filesystem::path& file, std::int64_t version) {
  const std::vector<float> floats(kFloats, static_cast<float>(version));
  const std::vector<std::int64_t> integers(kIntegers, version);
  TensorFileWriter writer;
  writer.add("floats", {kFloats}, floats);
  writer.add("integers", {kIntegers}, integers);
  writer.set_metadata("version", std::to_string(version));
  writer.save(file);
}

// The one version that all of the file agrees on.
std::int64_t whole_version(const std::filesystem::path& path) {
  const TensorFile file = TensorFile::open(path);
  const std::int64_t version = std::stoll(file.metadata("version"));
  for (const auto& [name, count] : {std::pair{"floats", kFloats}, std::pair{"integers", kIntegers}}) {
    const std::vector<float> values = file.tensor(name).to_floats();
    EXPECT_EQ(values.size(), count);
    EXPECT_TRUE(std::all_of(values.begin(), values.end(), [&](float v) { return v == static_cast<float>(version); }))
        << name;
  }
  return version;
}

std::size_t files_beside(const std::filesystem::path& file) {
  const auto folder = std::filesystem::directory_iterator(file.parent_path());
  return static_cast<std::size_t>(std::distance(begin(folder), end(folder))) - 1;
}

double milliseconds(const std::function<void()>& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

TEST(SavingAModel, LeavesAWholeFileWheneverItIsKilled) {
  const test::TempDir folder;
  const std::filesystem::path file = folder / "model.cpfm";
  const double save_ms = milliseconds([&] { save_version(file, 1); });
  // 1 to 25 ms, or long enough for a slow disk (or a sanitizer) to finish a save now and then.
  const double longest_ms = std::max(25.0, 3 * save_ms);

  Rng moments(20260101, 0);
  std::int64_t version = 1;
  std::size_t killed_while_writing = 0;
  constexpr int kKills = 100;
  for (int kill_number = 0; kill_number < kKills; ++kill_number) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      try {
        for (std::int64_t next = version + 1;; ++next) save_version(file, next);
      } catch (...) {
        _exit(1);
      }
    }
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(1 + (longest_ms - 1) * moments.uniform()));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself: a save failed";

    const std::int64_t found = whole_version(file);
    ASSERT_FALSE(HasFailure()) << "after kill " << kill_number;
    ASSERT_GE(found, version) << "an older file came back after kill " << kill_number;
    version = found;
    const std::size_t leftovers = files_beside(file);
    ASSERT_LE(leftovers, 1u) << "after kill " << kill_number;
    killed_while_writing += leftovers;
  }
  // Otherwise the test looked at nothing.
  EXPECT_GT(version, 1);
  EXPECT_GT(killed_while_writing, 0u);

  save_version(file, version + 1);
  EXPECT_EQ(whole_version(file), version + 1);
  EXPECT_EQ(files_beside(file), 0u);
}

}  // namespace
}  // namespace cpfm
