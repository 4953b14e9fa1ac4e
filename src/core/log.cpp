#include "src/core/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace headtorch {

void start_log(LogLevel level) {
  auto logger = spdlog::get("headtorch");
  if (!logger) {
    logger = spdlog::stderr_color_mt("headtorch");
    spdlog::set_default_logger(logger);
  }
  logger->set_pattern("%v");
  logger->set_level(level == LogLevel::kQuiet ? spdlog::level::warn : spdlog::level::info);
}

}  // namespace headtorch
