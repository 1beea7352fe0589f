// The one line of a terminal that may stand unfinished: a progress bar's. Whoever prints something else ends it first.
#pragma once

#include <atomic>
#include <cstdio>

namespace cpfm {

// The stream whose last line a progress bar holds open, or null. It belongs to the process, as the terminal does.
inline std::atomic<std::FILE*> open_line{nullptr};

inline void end_open_line() {
  if (std::FILE* stream = open_line.exchange(nullptr)) {
    std::fputc('\n', stream);
    std::fflush(stream);
  }
}

}  // namespace cpfm
