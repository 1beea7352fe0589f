#include "base/subprocess.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

namespace fs = std::filesystem;

class Subprocess : public ::testing::Test {
 protected:
  void TearDown() override { clear_interrupt(); }
  test::TempDir folder_;
};

// From a signal handler, as in real life.
void interrupt_after_milliseconds(int milliseconds) {
  ::signal(SIGALRM, [](int) { request_interrupt(); });
  itimerval when{};
  when.it_value.tv_usec = milliseconds * 1000;
  setitimer(ITIMER_REAL, &when, nullptr);
}

// Gone, or ended and only waiting to be reaped by somebody else.
bool is_gone(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return !(in >> number >> name >> state) || state == "Z";
}

TEST_F(Subprocess, GivesBothOutputsAndTheExitCode) {
  const ProcessResult result = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(result.output, "out\nerr\n");
  EXPECT_EQ(result.exit_code, 3);
}

TEST_F(Subprocess, PassesArgumentsUntouched) {
  const std::string odd = "two words; $HOME 'quoted' \"too\" * `x`\nand a line";
  EXPECT_EQ(run_process({"printf", "%s", odd}).output, odd);
}

TEST_F(Subprocess, RunsInTheFolderItIsGiven) {
  EXPECT_EQ(run_process({"pwd", "-P"}, folder_.path()).output, fs::canonical(folder_.path()).string() + "\n");
}

TEST_F(Subprocess, HasAnEmptyStdin) { EXPECT_EQ(run_process({"cat"}).output, ""); }

TEST_F(Subprocess, ReportsTheSignalThatEndedTheProgram) {
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}).exit_code, 128 + 9);
}

TEST_F(Subprocess, KeepsTheEndOfVeryLongOutput) {
  const ProcessResult result = run_process({"sh", "-c", "head -c 5000000 /dev/zero; echo the end"});
  EXPECT_EQ(result.output.size(), std::size_t{1} << 20);
  EXPECT_TRUE(result.output.ends_with("the end\n"));
}

TEST_F(Subprocess, DoesNotWaitForAGrandchildThatKeepsTheOutputOpen) {
  const auto start = std::chrono::steady_clock::now();
  const ProcessResult result = run_process({"sh", "-c", "sleep 20 & echo $!"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  kill(static_cast<pid_t>(std::stoi(result.output)), SIGKILL);
}

TEST_F(Subprocess, NamesAProgramThatIsNotThere) {
  try {
    run_process({"cpfm-no-such-program", "x"});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "cpfm-no-such-program");
    EXPECT_EQ(error.remedy(), "is it installed and in PATH?");
  }
}

TEST_F(Subprocess, NamesAFolderThatIsNotThere) { EXPECT_THROW(run_process({"true"}, folder_ / "missing"), Error); }

TEST_F(Subprocess, EndsTheProgramAndWhatItStartedOnAnInterrupt) {
  interrupt_after_milliseconds(300);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(run_process({"sh", "-c", "sleep 60 & echo $! > grandchild; wait"}, folder_.path()), Interrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  pid_t grandchild = 0;
  ASSERT_TRUE(std::ifstream(folder_ / "grandchild") >> grandchild);
  for (int i = 0; i < 100 && !is_gone(grandchild); ++i) usleep(10'000);
  EXPECT_TRUE(is_gone(grandchild));
}

TEST_F(Subprocess, EndsAProgramThatDoesNotListen) {
  interrupt_after_milliseconds(300);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(run_process({"sh", "-c", "trap '' TERM; while :; do sleep 1; done"}), Interrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(Subprocess, StartsNothingOnceInterrupted) {
  request_interrupt();
  EXPECT_THROW(run_process({"touch", "file"}, folder_.path()), Interrupted);
  EXPECT_FALSE(fs::exists(folder_ / "file"));
}

}  // namespace
}  // namespace cpfm
