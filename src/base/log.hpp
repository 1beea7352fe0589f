// The library's own logger: stderr only, because stdout belongs to results.
#pragma once

#include <spdlog/logger.h>

namespace cpfm {

spdlog::logger& log();

}  // namespace cpfm
