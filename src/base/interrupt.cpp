#include "cpfm/interrupt.hpp"

#include <atomic>
#include <csignal>
#include <initializer_list>

#include "cpfm/error.hpp"

namespace cpfm {
namespace {

// What a signal handler may touch and every thread may read. It belongs to the process, as signals do.
std::atomic<int> requested = 0;
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void on_signal(int signal) {
  if (requested != 0) {  // asked twice: go now, with the signal's own ending
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  requested = 1;
}

}  // namespace

void catch_interrupts() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction inherited {};
    if (sigaction(signal, nullptr, &inherited) == 0 && inherited.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    action.sa_flags = 0;  // no SA_RESTART: a blocked read of a pipe returns, so that the flag is seen
    sigaction(signal, &action, nullptr);
  }
}

bool interrupt_requested() { return requested != 0; }
void request_interrupt() { requested = 1; }
void clear_interrupt() { requested = 0; }

void check_interrupt() {
  if (interrupt_requested()) throw Interrupted();
}

}  // namespace cpfm
