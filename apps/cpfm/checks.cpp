#include "checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>

#include "base/text.hpp"

namespace cpfm::app {

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        std::uint64_t value = 0;
        const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (!digits || problem != std::errc{} || value < least || value > most) {
          return fmt::format("'{}' is not allowed; a whole number from {} to {}", printable(text, 30), least, most);
        }
        text = std::to_string(value);
        return {};
      },
      "");
}

CLI::Validator proper_fraction() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        double value = 0;
        if (parse_number(text, value) && value > 0 && value < 1) return {};
        return fmt::format("'{}' is not allowed; a number above 0 and below 1", printable(text, 30));
      },
      "");
}

CLI::Validator one_of(std::vector<std::string> choices) {
  return CLI::Validator(
      [choices = std::move(choices)](std::string& text) -> std::string {
        if (std::find(choices.begin(), choices.end(), text) != choices.end()) return {};
        return fmt::format("'{}' is not one of {}; {}", printable(text, 30), fmt::join(choices, ", "),
                           suggest(text, choices));
      },
      "");
}

void refuse_empty_texts(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_expected_max() == 0) continue;  // a flag
    option->check(CLI::Validator(
        [](std::string& text) { return std::string(text.empty() ? "an empty text is not allowed" : ""); }, ""));
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) refuse_empty_texts(*command);
}

}  // namespace cpfm::app
