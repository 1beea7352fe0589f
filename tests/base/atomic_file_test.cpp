#include "base/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "cpfm/error.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {
namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void write_file(const fs::path& file, std::string_view text) {
  AtomicFile out(file);
  out.write(text);
  out.commit();
}

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(AtomicFile, ShowsTheNewContentOnlyAfterCommit) {
  const test::TempDir dir;
  const fs::path file = dir / "f";
  write_file(file, "old");
  {
    AtomicFile out(file);
    out.write("new");
    EXPECT_EQ(contents(file), "old");
    out.commit();
  }
  EXPECT_EQ(contents(file), "new");
  EXPECT_EQ(entries(dir.path()), 1u);
}

TEST(AtomicFile, LeavesTheOldFileAndNothingElseWithoutCommit) {
  const test::TempDir dir;
  const fs::path file = dir / "f";
  write_file(file, "old");
  {
    AtomicFile out(file);
    out.write("half-writ");
  }
  EXPECT_EQ(contents(file), "old");
  EXPECT_EQ(entries(dir.path()), 1u);
}

TEST(AtomicFile, RemovesWhatAKilledWriterLeftButNotWhatALiveOneWrites) {
  const test::TempDir dir;
  const fs::path file = dir / "f";
  std::ofstream(dir / ".f.0123456789abcdef.tmp") << "left by a dead process";
  std::ofstream(dir / ".g.0123456789abcdef.tmp") << "of another target";
  AtomicFile live(file);
  live.write("live");
  EXPECT_EQ(entries(dir.path()), 2u);  // the leftover is gone; ours and the other target's are there
  write_file(file, "second");
  EXPECT_EQ(contents(file), "second");
  live.commit();
  EXPECT_EQ(contents(file), "live");
  EXPECT_TRUE(fs::exists(dir / ".g.0123456789abcdef.tmp"));
}

TEST(AtomicFile, KeepsTheModeAndFollowsALink) {
  const test::TempDir dir;
  write_file(dir / "real", "old");
  chmod((dir / "real").c_str(), 0640);
  fs::create_symlink("real", dir / "link");
  write_file(dir / "link", "new");
  EXPECT_TRUE(fs::is_symlink(dir / "link"));
  EXPECT_EQ(contents(dir / "real"), "new");
  struct stat facts {};
  ASSERT_EQ(stat((dir / "real").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777u, 0640u);
}

TEST(AtomicFile, NamesAFolderThatIsNotThere) {
  const test::TempDir dir;
  try {
    AtomicFile out(dir / "none" / "f");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("there is no folder"), std::string::npos);
  }
  EXPECT_THROW(AtomicFile out(dir.path()), Error);
  EXPECT_THROW(AtomicFile out(""), Error);
}

TEST(AtomicFile, ReportsAFullDisk) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "SKIPPED: there is no /dev/full here";
  AtomicFile out("/dev/full");
  try {
    out.write("x");
    out.commit();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("No space left"), std::string::npos) << error.what();
  }
}

TEST(AtomicFile, KeepsTheOldFileWhenThereIsNoRoomForTheNewOne) {
  const test::TempDir dir;
  const fs::path file = dir / "f";
  write_file(file, "old");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 1000;
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_file(file, std::string(5000, 'x')), Error);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(contents(file), "old");
  EXPECT_EQ(entries(dir.path()), 1u);
}

TEST(AtomicFile, WritesADeviceDirectly) {
  EXPECT_NO_THROW(write_file("/dev/null", "gone"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace cpfm
