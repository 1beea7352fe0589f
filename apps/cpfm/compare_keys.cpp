#include "compare_keys.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/expression.hpp"
#include "config.hpp"
#include "cpfm/data.hpp"
#include "cpfm/error.hpp"
#include "whole_file.hpp"

namespace cpfm::app {
namespace fs = std::filesystem;

std::string config_with(const CLI::App& command, const Choice& keep) {
  std::vector<const CLI::Option*> leave_out;
  for (const CLI::Option* option : command.get_parent()->get_options()) {
    if (option->get_name() != "--seed") leave_out.push_back(option);
  }
  for (const CLI::Option* option : command.get_options()) {
    if (!keep(*option)) leave_out.push_back(option);
  }
  return config_text(*command.get_parent(), leave_out);
}

std::string content_key(const std::string& value) {
  std::string key;
  const auto add = [&](std::string_view name) {
    std::error_code none;
    if (!fs::is_regular_file(name, none)) return false;
    key += fmt::format(" {:016x}", fingerprint(bytes_of(name)));
    return true;
  };
  if (add(value) || add(std::string_view(value).substr(value.find(':') + 1))) return key;
  const std::function<void(const Expression&)> walk = [&](const Expression& at) {
    for (const Expression::Argument& argument : at.arguments) {
      const bool text = argument.value.kind == Expression::Kind::kText;
      if (!add(text ? argument.value.name : argument.value.text(value))) walk(argument.value);
    }
  };
  try {
    walk(ParsedExpression(value, "").root());
  } catch (const Error&) {  // no expression
  }
  return key;
}

std::string content_keys(const CLI::App& command, const Choice& keep) {
  std::string keys;
  for (const CLI::Option* option : command.get_options()) {
    if (!keep(*option)) continue;
    for (const std::string& value : option->results()) keys += content_key(value);
  }
  return keys;
}

}  // namespace cpfm::app
