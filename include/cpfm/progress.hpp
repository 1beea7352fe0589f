// How long work tells how far it is. The library reports to a Progress; the command line shows it on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

namespace cpfm {

// An observer of one piece of long work at a time, called by one thread at a time. Work that ends by an exception need
// not finish(). The base class ignores everything, so it serves as "no progress wanted".
class Progress {
 public:
  virtual ~Progress() = default;
  // `total` 0 means unknown. `unit` is plural: "rows", "bytes", "steps".
  virtual void start(const std::string& /*label*/, std::uint64_t /*total*/, const std::string& /*unit*/) {}
  // `note` is shown behind the numbers (a loss, an objective).
  virtual void update(std::uint64_t /*done*/, const std::string& /*note*/ = {}) {}
  virtual void finish() {}
};

enum class ProgressStyle {
  kAuto,   // kBar when the stream is a terminal, else kLines
  kBar,    // one line redrawn in place, with rate and time left
  kLines,  // one line per 10 %
  kQuiet,  // nothing
};

// `now` in seconds can be replaced in tests.
std::unique_ptr<Progress> make_progress(std::FILE* stream, ProgressStyle style, std::function<double()> now = {});

}  // namespace cpfm
