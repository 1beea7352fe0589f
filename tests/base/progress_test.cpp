#include "cpfm/progress.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/terminal_line.hpp"

namespace cpfm {
namespace {

// Runs 1000 rows in so many pretended seconds and gives back what was shown.
std::string shown(ProgressStyle style, std::uint64_t total = 1000, double seconds = 10) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  double now = 0;
  {
    const auto progress = make_progress(stream, style, [&] { return now; });
    progress->start("read", total, "rows");
    for (std::uint64_t done = 1; done <= 1000; ++done) {
      now += seconds / 1000;
      progress->update(done, "loss 0.5");
    }
    progress->finish();
  }
  std::fclose(stream);
  std::string result(text, size);
  std::free(text);
  return result;
}

TEST(Progress, PrintsOneLinePerTenthWhenNotOnATerminal) {
  const std::string text = shown(ProgressStyle::kAuto);  // a memory stream is no terminal
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_NE(text.find("read 50 %  500/1000 rows  100 rows/s  0:05 left  loss 0.5"), std::string::npos) << text;
  EXPECT_NE(text.find("read 100 %  1000/1000 rows  100 rows/s  took 0:10"), std::string::npos) << text;
}

TEST(Progress, RedrawsABarWithRateAndTimeLeftOnATerminal) {
  const std::string text = shown(ProgressStyle::kBar);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  const auto drawn = std::count(text.begin(), text.end(), '\r');
  EXPECT_GE(drawn, 50);
  EXPECT_LE(drawn, 110);  // at most ten a second, whatever the number of updates
  EXPECT_NE(text.find("[############............]  5"), std::string::npos);
  EXPECT_NE(text.find("0:05 left"), std::string::npos);
}

TEST(Progress, SaysNothingWhenQuiet) { EXPECT_EQ(shown(ProgressStyle::kQuiet), ""); }

TEST(Progress, SaysNothingOfWorkThatIsOverAtOnce) {
  EXPECT_EQ(shown(ProgressStyle::kBar, 1000, 0.2), "");
  EXPECT_EQ(shown(ProgressStyle::kLines, 1000, 0.2), "");
}

// What `act` makes a bar print, with time under its control.
template <class Act>
std::string bar_of(ProgressStyle style, const Act& act) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  double now = 0;
  {
    const auto progress = make_progress(stream, style, [&] { return now; });
    act(*progress, now);
  }
  std::fclose(stream);
  const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
  return {text, size};
}

TEST(Progress, ShowsSlowRatesWithDigits) {
  const std::string text = bar_of(ProgressStyle::kLines, [](Progress& progress, double& now) {
    progress.start("train", 10, "steps");
    now = 25;
    progress.update(5);
    now = 250;
    progress.update(9);
    now = 4;
    progress.start("train", 10, "steps");
    now = 6;
    progress.update(9);
  });
  EXPECT_NE(text.find("  0.2 steps/s"), std::string::npos) << text;
  EXPECT_NE(text.find("  0.036 steps/s"), std::string::npos) << text;
  EXPECT_NE(text.find("  4.5 steps/s"), std::string::npos) << text;
}

TEST(Progress, NeverShowsMoreThanEverything) {
  const std::string text = bar_of(ProgressStyle::kLines, [](Progress& progress, double& now) {
    progress.start("read", 100, "rows");
    now = 10;
    progress.update(250);
    progress.finish();
  });
  EXPECT_NE(text.find("read 100 %"), std::string::npos) << text;
  EXPECT_EQ(text.find("250 %"), std::string::npos) << text;
}

TEST(Progress, ForgetsTheNoteOfTheWorkBefore) {
  const std::string text = bar_of(ProgressStyle::kLines, [](Progress& progress, double& now) {
    progress.start("first", 10, "rows");
    progress.update(1, "loss 0.5");
    progress.start("second", 10, "rows");
    now = 10;
    progress.finish();
  });
  EXPECT_NE(text.find("second"), std::string::npos) << text;
  EXPECT_EQ(text.find("loss"), std::string::npos) << text;
}

TEST(Progress, EndsItsBarBeforeALogLine) {
  const std::string text = bar_of(ProgressStyle::kBar, [](Progress& progress, double& now) {
    progress.start("read", 10, "rows");
    now = 10;
    progress.update(5);
    end_open_line();  // as the log does
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_TRUE(text.ends_with('\n')) << text;
}

TEST(Progress, CutsItsBarToTheWidthOfTheTerminal) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) GTEST_SKIP() << "SKIPPED: no terminals here";
  const winsize size{24, 40, 0, 0};
  ASSERT_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
  std::FILE* stream = std::fopen(ptsname(terminal), "w");
  ASSERT_NE(stream, nullptr);
  double now = 0;
  const auto progress = make_progress(stream, ProgressStyle::kAuto, [&] { return now; });
  progress->start("downloading a file", 10, "bytes");
  now = 10;
  progress->update(5);
  char bytes[400];
  const ssize_t got = read(terminal, bytes, sizeof(bytes));
  ASSERT_GT(got, 0);
  const std::string text(bytes, static_cast<std::size_t>(got));
  EXPECT_EQ(text, "\r\033[Kdownloading a file [############.......");
  EXPECT_EQ(text.size() - 4, 39u);
  progress->finish();
  std::fclose(stream);
  close(terminal);
}

TEST(Progress, WorksWithoutATotal) {
  const std::string text = shown(ProgressStyle::kLines, 0);
  EXPECT_EQ(text, "read  1000 rows  100 rows/s  took 0:10  loss 0.5\n");
}

}  // namespace
}  // namespace cpfm
