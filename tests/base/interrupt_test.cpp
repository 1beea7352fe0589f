#include "cpfm/interrupt.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "cpfm/error.hpp"

namespace cpfm {
namespace {

TEST(Interrupt, IsSeenAtTheNextCheckAndCanBeCleared) {
  clear_interrupt();
  EXPECT_NO_THROW(check_interrupt());
  request_interrupt();
  EXPECT_TRUE(interrupt_requested());
  EXPECT_THROW(check_interrupt(), Interrupted);
  clear_interrupt();
  EXPECT_NO_THROW(check_interrupt());
}

TEST(Interrupt, ComesFromTheFirstSignalWithoutEndingTheProcess) {
  for (const int signal : {SIGINT, SIGTERM}) {
    clear_interrupt();
    catch_interrupts();
    std::raise(signal);
    EXPECT_TRUE(interrupt_requested());
  }
  clear_interrupt();
}

TEST(Interrupt, StaysIgnoredWhereTheProcessWasStartedThatWay) {
  clear_interrupt();
  struct sigaction before {};
  sigaction(SIGINT, nullptr, &before);
  std::signal(SIGINT, SIG_IGN);
  catch_interrupts();
  std::raise(SIGINT);
  EXPECT_FALSE(interrupt_requested());
  sigaction(SIGINT, &before, nullptr);
}

TEST(InterruptDeathTest, EndsTheProcessAtTheSecondSignal) {
  EXPECT_EXIT(
      {
        catch_interrupts();
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace cpfm
