#include "base/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <memory>

namespace cpfm {

spdlog::logger& log() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto logger = std::make_shared<spdlog::logger>("cpfm", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    logger->set_pattern("cpfm: %^%l%$: %v");
    return logger;
  }();
  return *instance;
}

}  // namespace cpfm
