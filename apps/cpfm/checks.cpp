#include "checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/text.hpp"
#include "cpfm/error.hpp"

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

CLI::Validator positive_number() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        double value = 0;
        if (parse_number(text, value) && value > 0 && std::isfinite(value)) return {};
        return fmt::format("'{}' is not allowed; a positive number", printable(text, 30));
      },
      "");
}

CLI::Validator number_between(double least, double most, bool above) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        double value = 0;
        if (parse_number(text, value) && value <= most && (above ? value > least : value >= least)) return {};
        return fmt::format("'{}' is not allowed; a number {} {} and at most {}", printable(text, 30),
                           above ? "above" : "of at least", least, most);
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

void check_writable(const char* option, const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const std::string shown = printable(file, 200);
  if (fs::is_directory(file, ignored)) throw Error(option, fmt::format("{} is a folder", shown), "name a file");
  const fs::path folder = fs::path(file).has_parent_path() ? fs::path(file).parent_path() : fs::path(".");
  if (!fs::is_directory(folder, ignored)) {
    throw Error(option, fmt::format("there is no folder {} for {}", printable(folder.string(), 200), shown),
                "make it first");
  }
  if (::access(folder.c_str(), W_OK) != 0 && !fs::is_other(file, ignored)) {
    throw Error(option, fmt::format("{} cannot be written", shown),
                fmt::format("you may not write to {}", printable(folder.string(), 200)));
  }
}

void check_extension(const char* option, const std::string& file, const std::vector<std::string>& extensions) {
  const std::string extension = lower(std::filesystem::path(file).extension().string());
  if (std::find(extensions.begin(), extensions.end(), extension) == extensions.end()) {
    throw Error(option, fmt::format("'{}' does not end in {}", printable(file, 200), fmt::join(extensions, " or ")),
                "the extension says what is written");
  }
}

void check_different(const std::vector<std::pair<std::string, std::string>>& files) {
  namespace fs = std::filesystem;
  const auto canonical = [](const std::string& file) {
    std::error_code ignored;
    const fs::path path = fs::weakly_canonical(file, ignored);
    return path.empty() ? fs::path(file) : path;
  };
  for (std::size_t a = 0; a < files.size(); ++a) {
    for (std::size_t b = a + 1; b < files.size(); ++b) {
      std::error_code ignored;
      if (files[a].second.empty() || files[b].second.empty() || fs::is_other(files[b].second, ignored)) continue;
      if (canonical(files[a].second) == canonical(files[b].second)) {
        throw Error(files[b].first, fmt::format("{} is also {}", printable(files[b].second, 200), files[a].first),
                    "name different files");
      }
    }
  }
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
