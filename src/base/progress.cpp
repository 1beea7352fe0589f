#include "cpfm/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/terminal_line.hpp"
#include "base/text.hpp"

namespace cpfm {
namespace {

constexpr double kSilence = 0.5;  // seconds: work that is over sooner shows nothing

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string short_count(double value) {
  constexpr std::array<const char*, 5> kSuffix{"", "k", "M", "G", "T"};
  std::size_t power = 0;
  while (value >= 9999.5 && power + 1 < kSuffix.size()) {
    value /= 1000;
    ++power;
  }
  return fmt::format("{:.{}f}{}", value, value < 99.95 && power > 0 ? 1 : 0, kSuffix[power]);
}

// Slow work shows digits where a whole number would say 0.
std::string short_rate(double value) {
  if (value < 0.995) return fmt::format("{:.2g}", value);
  return value < 9.95 ? fmt::format("{:.1f}", value) : short_count(value);
}

// Columns of the terminal behind `stream`; without one, no limit.
std::size_t columns_of(std::FILE* stream) {
  winsize size{};
  if (fileno(stream) < 0 || ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return std::numeric_limits<std::size_t>::max();
  return size.ws_col;
}

std::string clock_time(double seconds) {
  const auto s = static_cast<std::int64_t>(std::llround(std::min(seconds, 3.6e8)));
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

class StreamProgress final : public Progress {
 public:
  StreamProgress(std::FILE* stream, bool bar, std::function<double()> now)
      : stream_(stream), bar_(bar), now_(std::move(now)) {}
  ~StreamProgress() override { close_line(); }

  void start(const std::string& label, std::uint64_t total, const std::string& unit) override {
    close_line();
    label_ = printable(label);
    unit_ = unit;
    note_.clear();
    total_ = total;
    started_ = now_();
    drawn_at_ = -1e9;
    tenth_shown_ = 0;
    done_ = 0;
    active_ = true;
  }

  void update(std::uint64_t done, const std::string& note) override {
    if (!active_) return;
    done_ = done;
    note_ = note;
    if (now_() - started_ < kSilence) return;
    if (bar_) {
      if (now_() - drawn_at_ >= 0.1) draw_bar();
      return;
    }
    if (total_ == 0) return;
    const auto tenth =
        static_cast<int>(10.0 * static_cast<double>(std::min(done, total_)) / static_cast<double>(total_));
    if (tenth > tenth_shown_ && tenth < 10) {
      tenth_shown_ = tenth;
      print_line();
    }
  }

  void finish() override {
    if (!active_) return;
    active_ = false;
    if (now_() - started_ < kSilence) return;
    if (bar_) {
      draw_bar();
      close_line();
    } else {
      print_line();
    }
  }

 private:
  // "12345/60000 rows  4.1k rows/s  0:07 left  loss 0.12"
  std::string numbers() const {
    const double elapsed = std::max(now_() - started_, 1e-9);
    const double rate = static_cast<double>(done_) / elapsed;
    std::string text = total_ > 0 ? fmt::format("{}/{} {}", short_count(static_cast<double>(done_)),
                                                short_count(static_cast<double>(total_)), unit_)
                                  : fmt::format("{} {}", short_count(static_cast<double>(done_)), unit_);
    text += fmt::format("  {} {}/s", short_rate(rate), unit_);
    if (!active_) {
      text += fmt::format("  took {}", clock_time(elapsed));
    } else if (total_ > done_ && done_ > 0) {
      text += fmt::format("  {} left", clock_time(static_cast<double>(total_ - done_) / rate));
    }
    if (!note_.empty()) text += "  " + note_;
    return text;
  }

  double share() const { return static_cast<double>(std::min(done_, total_)) / static_cast<double>(total_); }

  void draw_bar() {
    drawn_at_ = now_();
    std::string line = label_;
    if (total_ > 0) {
      constexpr int kWidth = 24;
      const int filled = static_cast<int>(share() * kWidth);
      line += fmt::format(" [{:#<{}}{:.<{}}] {:3.0f} %", "", filled, "", kWidth - filled, 100 * share());
    }
    line += "  " + numbers();
    // One column stays free: a full line would wrap, and a wrapped one cannot be redrawn in place.
    fmt::print(stream_, "\r\033[K{}", cut_to_width(line, columns_of(stream_) - 1));
    std::fflush(stream_);
    open_line = stream_;
  }
  void print_line() {
    const std::string percent = total_ > 0 ? fmt::format(" {:.0f} %", 100 * share()) : "";
    fmt::print(stream_, "{}{}  {}\n", label_, percent, numbers());
    std::fflush(stream_);
  }
  void close_line() {
    if (open_line == stream_) end_open_line();
  }

  std::FILE* stream_;
  bool bar_, active_ = false;
  std::function<double()> now_;
  std::string label_, unit_, note_;
  std::uint64_t total_ = 0, done_ = 0;
  double started_ = 0, drawn_at_ = 0;
  int tenth_shown_ = 0;
};

}  // namespace

std::unique_ptr<Progress> make_progress(std::FILE* stream, ProgressStyle style, std::function<double()> now) {
  if (style == ProgressStyle::kQuiet) return std::make_unique<Progress>();
  const bool bar = style == ProgressStyle::kBar || (style == ProgressStyle::kAuto && isatty(fileno(stream)) == 1);
  return std::make_unique<StreamProgress>(stream, bar, now ? std::move(now) : steady_seconds);
}

}  // namespace cpfm
