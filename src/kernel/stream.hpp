// Passes over the rows of a kernel: parallel over fixed chunks, with progress and interruption in between.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/progress.hpp"

namespace cpfm {

// body(begin, end) for chunks [k·grain, (k+1)·grain) of [0, n), as parallel_for; the caller's thread tells `progress`
// (may be null) and asks for interrupts about fifty times.
inline void for_row_chunks(std::size_t n, std::size_t grain, Progress* progress, const char* label,
                           const std::function<void(std::size_t, std::size_t)>& body, const char* unit = "rows") {
  const std::size_t chunks = (n + grain - 1) / grain;
  const std::size_t batch = std::max<std::size_t>({chunks / 50, 4 * static_cast<std::size_t>(threads()), 1}) * grain;
  if (progress != nullptr) progress->start(label, n, unit);
  for (std::size_t first = 0; first < n; first += batch) {
    check_interrupt();
    const std::size_t count = std::min(batch, n - first);
    parallel_for(count, grain, [&](std::size_t begin, std::size_t end) { body(first + begin, first + end); });
    if (progress != nullptr) progress->update(first + count);
  }
  if (progress != nullptr) progress->finish();
}

}  // namespace cpfm
