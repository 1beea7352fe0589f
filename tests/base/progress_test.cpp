#include "cpfm/progress.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

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

TEST(Progress, WorksWithoutATotal) {
  const std::string text = shown(ProgressStyle::kLines, 0);
  EXPECT_EQ(text, "read  1000 rows  100 rows/s  took 0:10  loss 0.5\n");
}

}  // namespace
}  // namespace cpfm
