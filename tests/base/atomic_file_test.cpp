#include "base/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
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

TEST(AtomicFile, CreatesWhatADanglingLinkLeadsTo) {
  const test::TempDir dir;
  fs::create_directory(dir / "sub");
  fs::create_symlink("sub/second", dir / "first");
  fs::create_symlink("real", dir / "sub" / "second");
  write_file(dir / "first", "new");
  EXPECT_TRUE(fs::is_symlink(dir / "first"));
  EXPECT_TRUE(fs::is_symlink(dir / "sub" / "second"));
  EXPECT_EQ(contents(dir / "sub" / "real"), "new");
  fs::create_symlink("round", dir / "round");
  EXPECT_THROW(AtomicFile out(dir / "round"), Error);
}

TEST(AtomicFile, TakesNamesAsLongAsTheSystemDoes) {
  for (const std::size_t length : {233u, 234u, 235u, 255u}) {
    const test::TempDir dir;
    const fs::path file = dir / std::string(length, 'n');
    std::ofstream(dir / ("." + std::string(std::min<std::size_t>(length, 233), 'n') + ".0123456789abcdef.tmp"))
        << "left";
    write_file(file, "new");
    EXPECT_EQ(contents(file), "new") << length;
    EXPECT_EQ(entries(dir.path()), 1u) << length;
  }
}

TEST(AtomicFile, LeavesAloneWhatOnlyLooksLikeALeftover) {
  const test::TempDir dir;
  std::ofstream(dir / ".f.notahexnumber!!!.tmp") << "somebody else's";
  ASSERT_EQ(mkfifo((dir / ".f.0123456789abcdef.tmp").c_str(), 0600), 0);  // opening it would wait for a writer
  fs::create_directory(dir / ".f.fedcba9876543210.tmp");
  write_file(dir / "f", "new");
  EXPECT_EQ(entries(dir.path()), 4u);
}

TEST(AtomicFileDeathTest, RefusesAFileWithoutTheRightToWrite) {
  const test::TempDir dir;
  write_file(dir / "f", "old");
  chmod((dir / "f").c_str(), 0444);
  const uid_t nobody = 65534;
  if (geteuid() == 0) {
    ASSERT_EQ(chown(dir.path().c_str(), nobody, nobody), 0);
    ASSERT_EQ(chown((dir / "f").c_str(), nobody, nobody), 0);
  }
  const auto overwrite = [&] {
    if (geteuid() == 0 && setuid(nobody) != 0) _exit(7);
    try {
      write_file(dir / "f", "new");
    } catch (const Error& error) {
      std::fputs(error.what(), stderr);
      _exit(1);
    }
    _exit(0);
  };
  EXPECT_EXIT(overwrite(), testing::ExitedWithCode(1), "f: is read-only; remove it, allow writing");
  EXPECT_EQ(contents(dir / "f"), "old");
}

TEST(AtomicFileDeathTest, AnInterruptEndsTheWaitForAReaderOfAPipe) {
  const test::TempDir dir;
  ASSERT_EQ(mkfifo((dir / "pipe").c_str(), 0600), 0);
  const auto wait_for_reader = [&] {
    catch_interrupts();
    // One signal alone could come between the check and open(); a repeated SIGALRM cannot always.
    struct sigaction action {};
    action.sa_handler = [](int) { request_interrupt(); };
    sigaction(SIGALRM, &action, nullptr);
    const itimerval often{{0, 50000}, {0, 50000}};
    setitimer(ITIMER_REAL, &often, nullptr);
    try {
      write_file(dir / "pipe", "x");
    } catch (const Interrupted&) {
      _exit(130);
    }
    _exit(0);
  };
  EXPECT_EXIT(wait_for_reader(), testing::ExitedWithCode(130), "");
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
