#include "base/log.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <memory>

#include "base/terminal_line.hpp"
#include "base/text.hpp"

namespace cpfm {
namespace {

// The message, made safe for a terminal: file names and what servers say go into it.
class SafeText final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = printable_message({message.payload.data(), message.payload.size()});
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<SafeText>(); }
};

// Nothing is printed here: the bar that stands on the line is ended before the message is.
class EndOpenLine final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg&, const std::tm&, spdlog::memory_buf_t&) override { end_open_line(); }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<EndOpenLine>(); }
};

}  // namespace

spdlog::logger& log() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto logger = std::make_shared<spdlog::logger>("cpfm", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    auto pattern = std::make_unique<spdlog::pattern_formatter>();
    pattern->add_flag<EndOpenLine>('<').add_flag<SafeText>('*').set_pattern("%<cpfm: %^%l%$: %*");
    logger->set_formatter(std::move(pattern));
    return logger;
  }();
  return *instance;
}

}  // namespace cpfm
