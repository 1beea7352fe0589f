#include "cpfm/error.hpp"

#include <fmt/format.h>

namespace cpfm {
namespace {

std::string sentence(const std::string& where, const std::string& problem, const std::string& remedy) {
  std::string text = where.empty() ? problem : where + ": " + problem;
  if (!remedy.empty()) text += "; " + remedy;
  return text;
}

}  // namespace

Error::Error(std::string where, std::string problem, std::string remedy)
    : std::runtime_error(sentence(where, problem, remedy)),
      where_(std::move(where)),
      problem_(std::move(problem)),
      remedy_(std::move(remedy)) {}

void detail::assertion_failed(const char* condition, const char* why, const char* file, int line) {
  throw InternalError(fmt::format("{}:{}: {} ({})", file, line, why, condition));
}

}  // namespace cpfm
