// The effective configuration as TOML: a section per chosen command, every option that has a value.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "cli.hpp"
#include "cpfm/error.hpp"

namespace cpfm::app {
namespace {

// Numbers and truth values stand bare. Text is quoted so that nothing in it needs an escape, which not every version of
// the reader knows.
std::string toml_value(const std::string& text) {
  double ignored = 0;
  if (text == "true" || text == "false" || parse_number(text, ignored)) return text;
  for (const char quote : {'"', '\''}) {
    if (text.find(quote) == std::string::npos && (quote == '\'' || text.find('\\') == std::string::npos)) {
      return quote + text + quote;
    }
  }
  throw Error("configuration",
              fmt::format("'{}' holds both kinds of quotes and cannot be written down", printable(text)));
}

void append_section(const CLI::App& app, const std::string& section, std::string& out) {
  std::string lines;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_configurable() || option->get_single_name().empty()) continue;
    std::vector<std::string> values = option->results();
    if (option->get_expected_max() == 0) {  // a flag
      if (option->count() > 0) lines += fmt::format("{} = true\n", option->get_single_name());
      continue;
    }
    if (values.empty() && !option->get_default_str().empty()) values = {option->get_default_str()};
    if (values.empty()) continue;
    for (std::string& value : values) value = toml_value(value);
    const std::string text =
        option->get_items_expected_max() > 1 ? fmt::format("[{}]", fmt::join(values, ", ")) : values[0];
    lines += fmt::format("{} = {}\n", option->get_single_name(), text);
  }
  if (!lines.empty() && !section.empty()) out += fmt::format("\n[{}]\n", section);
  out += lines;
  for (const CLI::App* chosen : app.get_subcommands()) {
    append_section(*chosen, section.empty() ? chosen->get_name() : section + "." + chosen->get_name(), out);
  }
}

}  // namespace

std::string effective_config(const CLI::App& app) {
  std::string out;
  append_section(app, "", out);
  return out;
}

}  // namespace cpfm::app
