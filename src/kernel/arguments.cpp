#include "kernel/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "cpfm/error.hpp"

namespace cpfm {

Arguments::Arguments(const KernelSource& source, const Expression& call, std::vector<std::string> names)
    : parsed_(source.parsed), call_(call), names_(std::move(names)), values_(names_.size(), nullptr) {
  std::size_t place = 0;
  for (const Expression::Argument& argument : call.arguments) {
    std::size_t at = place;
    if (!argument.key.empty()) {
      at = static_cast<std::size_t>(std::find(names_.begin(), names_.end(), argument.key) - names_.begin());
      if (at == names_.size()) {
        parsed_.fail(argument.value, fmt::format("{} has no argument '{}'", call.name, printable(argument.key)),
                     suggest(argument.key, names_));
      }
    } else if (place++ >= names_.size()) {
      std::string known;
      for (const std::string& name : names_) known += (known.empty() ? "" : ", ") + name;
      parsed_.fail(argument.value, "this is one argument too many",
                   call.name + (names_.empty() ? " takes none" : " takes " + known));
    }
    if (values_[at] != nullptr) parsed_.fail(argument.value, fmt::format("{} is given twice", names_[at]));
    values_[at] = &argument.value;
  }
}

const Expression* Arguments::find(const std::string& name) const {
  const auto at = std::find(names_.begin(), names_.end(), name);
  CPFM_ASSERT(at != names_.end(), "an argument that was not declared");
  return values_[static_cast<std::size_t>(at - names_.begin())];
}

std::string Arguments::text(const std::string& name) const {
  const Expression* value = find(name);
  if (value == nullptr) return {};
  return value->kind == Expression::Kind::kText ? value->name : std::string(value->text(parsed_.source()));
}

std::optional<double> Arguments::number(const std::string& name) const {
  const Expression* value = find(name);
  if (value == nullptr || text(name) == "auto") return std::nullopt;
  if (value->kind != Expression::Kind::kNumber) {
    fail(name, fmt::format("{} is '{}'", name, printable(text(name))), "it is a number, or auto");
  }
  return value->number;
}

std::optional<double> Arguments::positive(const std::string& name) const {
  const std::optional<double> value = number(name);
  if (value && *value <= 0) fail(name, fmt::format("{} is {}", name, *value), "it is above 0, or auto");
  return value;
}

void Arguments::fail(const std::string& name, const std::string& problem, const std::string& remedy) const {
  const Expression* value = find(name);
  parsed_.fail(value == nullptr ? call_ : *value, problem, remedy);
}

std::optional<std::string> as_argument(const std::string& text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_plain = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  if (!text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_plain)) return text;
  if (text.find('"') == std::string::npos) return '"' + text + '"';
  if (text.find('\'') == std::string::npos) return '\'' + text + '\'';
  return std::nullopt;
}

}  // namespace cpfm
