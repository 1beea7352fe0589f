// Options from a file and back: a section of TOML per command, every option that has a value. CLI11's own reader loses
// quotes, '#' and line feeds inside texts and reports mistakes without the file's name, so this is a reader of the part
// of TOML that options need: texts, numbers, truth values and lists of them.
#include "config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <istream>
#include <set>

#include "base/text.hpp"
#include "cli.hpp"
#include "cpfm/error.hpp"

namespace cpfm::app {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kBare = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz-";

bool is_flag(const CLI::Option& option) { return option.get_expected_max() == 0; }

// A number that TOML lets stand bare, as it is typed most often.
bool is_plain_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view part = point < text.size() ? text.substr(point + 1) : "0";
  const auto digits = [](std::string_view s) {
    return !s.empty() && s.find_first_not_of(kDigits) == std::string_view::npos;
  };
  return digits(whole) && digits(part) && (whole.size() == 1 || whole[0] != '0');
}

std::string toml_value(const std::string& text) {
  if (is_plain_number(text)) return text;
  if (!is_utf8(text)) {
    throw Error("--dump-config", fmt::format("'{}' is not UTF-8, and TOML holds nothing else", printable(text)));
  }
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += std::string{'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\u{:04X}", static_cast<int>(c));
    else
      out += c;
  }
  return out + '"';
}

void append_section(const CLI::App& app, const std::string& section, const std::vector<const CLI::Option*>& leave_out,
                    std::string& out) {
  std::string lines;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_configurable() || option->get_single_name().empty()) continue;
    if (std::find(leave_out.begin(), leave_out.end(), option) != leave_out.end()) continue;
    std::vector<std::string> values = option->results();
    if (is_flag(*option)) {
      if (option->count() > 0) lines += fmt::format("{} = {}\n", option->get_single_name(), option->as<bool>());
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
    append_section(*chosen, section.empty() ? chosen->get_name() : section + "." + chosen->get_name(), leave_out, out);
  }
}

class TomlReader {
 public:
  TomlReader(std::string text, const std::string& file, const CLI::App& app)
      : text_(std::move(text)), file_(file), app_(app) {}

  std::vector<CLI::ConfigItem> read() {
    for (skip_lines(); !at_end(); skip_lines()) {
      if (take('[')) {
        section_ = dotted_name();
        expect(']', "the section's name ends with ']'");
        (void)command_of(section_);
      } else {
        read_entry();
      }
      end_line();
    }
    return std::move(items_);
  }

 private:
  [[noreturn]] void fail(std::string problem, std::string remedy = {}) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    throw Error(fmt::format("{}, line {}", file_, line), std::move(problem), std::move(remedy));
  }

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (at_end() || peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c, const char* rule) {
    skip_spaces();
    if (!take(c)) fail(fmt::format("'{}' is not understood", printable(rest_of_line())), rule);
  }
  std::string_view rest_of_line() const {
    return std::string_view(text_).substr(at_, std::min(text_.find('\n', at_), text_.size()) - at_);
  }
  void skip_spaces() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\r') ++at_;
    if (peek() == '#') at_ += rest_of_line().size();
  }
  void skip_lines() {
    do skip_spaces();
    while (take('\n'));
  }
  void end_line() {
    skip_spaces();
    if (!at_end() && peek() != '\n')
      fail(fmt::format("'{}' is more than belongs there", printable(rest_of_line())), "one key = value per line");
  }

  std::string name() {
    skip_spaces();
    if (peek() == '"' || peek() == '\'') return quoted();
    const std::size_t end = std::min(text_.find_first_not_of(kBare, at_), text_.size());
    if (end == at_) fail(fmt::format("'{}' is not understood", printable(rest_of_line())), "key = value, or [section]");
    const std::size_t begin = std::exchange(at_, end);
    return text_.substr(begin, end - begin);
  }
  std::vector<std::string> dotted_name() {
    std::vector<std::string> parts{name()};
    for (skip_spaces(); take('.'); skip_spaces()) parts.push_back(name());
    return parts;
  }

  void read_entry() {
    std::vector<std::string> path = section_;
    for (std::string& part : dotted_name()) path.push_back(std::move(part));
    CLI::ConfigItem item;
    item.name = path.back();
    path.pop_back();
    item.parents = std::move(path);
    const CLI::Option& option = option_of(item);
    if (!seen_.insert(item.fullname()).second) fail(fmt::format("the key '{}' stands there twice", item.name));
    expect('=', "key = value");
    skip_spaces();
    const bool list = take('[');
    if (list) {
      for (skip_lines(); !take(']'); skip_lines()) {
        item.inputs.push_back(value());
        skip_lines();
        if (!take(',') && peek() != ']') fail("a list is not closed", "commas between its values, ']' at its end");
      }
    } else {
      item.inputs.push_back(value());
    }
    if (list && option.get_items_expected_max() <= 1) fail(fmt::format("'{}' takes one value, not a list", item.name));
    if (is_flag(option) && item.inputs[0] != "true" && item.inputs[0] != "false")
      fail(fmt::format("'{}' is '{}'", item.name, printable(item.inputs[0])), "true or false");
    if (!item.inputs.empty()) items_.push_back(std::move(item));
  }

  std::string value() {
    if (peek() == '"' || peek() == '\'') return quoted();
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n,]#", at_), text_.size());
    const std::string word = text_.substr(at_, end - at_);
    double ignored = 0;
    if (word != "true" && word != "false" && !parse_number(word, ignored))
      fail(word.empty() ? "a value is missing" : fmt::format("'{}' is not a number", printable(word)),
           "texts stand in quotes");
    at_ = end;
    return word;
  }

  std::string quoted() {
    const char quote = text_[at_++];
    std::string out;
    for (;;) {
      if (at_end() || peek() == '\n')
        fail("a text is not closed", "it ends with the quote it begins with, in one line");
      const char c = text_[at_++];
      if (c == quote) return out;
      if (quote == '"' && c == '\\')
        out += escaped();
      else
        out += c;
    }
  }
  std::string escaped() {
    constexpr std::string_view kNames = "\"\\bfnrt", kMeanings = "\"\\\b\f\n\r\t";
    const char c = peek();
    if (const std::size_t which = c == '\0' ? std::string_view::npos : kNames.find(c); which < kNames.size()) {
      ++at_;
      return {kMeanings[which]};
    }
    if (c == 'u' || c == 'U') {
      const std::string digits = text_.substr(at_ + 1, c == 'u' ? 4 : 8);
      if (digits.size() == (c == 'u' ? 4 : 8) &&
          digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos) {
        const std::string character = utf8(std::stoul(digits, nullptr, 16));
        if (is_utf8(character) && character[0] != '\0') {
          at_ += 1 + digits.size();
          return character;
        }
      }
    }
    fail("a backslash in a text is followed by what TOML does not know", "'…' keeps backslashes as they are");
  }
  // Surrogates and what is beyond Unicode come out as what is_utf8() refuses.
  static std::string utf8(unsigned long code) {
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80) return {static_cast<char>(code)};
    if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), tail(0)};
    if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
    if (code < 0x110000) return {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
    return "\xFF";
  }

  const CLI::App& command_of(const std::vector<std::string>& path) const {
    const CLI::App* command = &app_;
    for (const std::string& part : path) {
      std::vector<std::string> names;
      const CLI::App* next = nullptr;
      for (const CLI::App* candidate : command->get_subcommands([](const CLI::App*) { return true; })) {
        if (candidate->get_name() == part) next = candidate;
        names.push_back(candidate->get_name());
      }
      if (next == nullptr) {
        fail(fmt::format("unknown section [{}]: '{}' is not a command of {}",
                         printable(fmt::format("{}", fmt::join(path, "."))), printable(part), full_name(*command)),
             suggest(part, names));
      }
      command = next;
    }
    return *command;
  }
  const CLI::Option& option_of(const CLI::ConfigItem& item) const {
    const CLI::App& command = command_of(item.parents);
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
      if (!option->get_configurable()) continue;
      if (option->get_single_name() == item.name) return *option;
      names.push_back(option->get_single_name());
    }
    fail(fmt::format(
             "unknown key '{}' {}", printable(item.name),
             item.parents.empty() ? "before the first section" : fmt::format("in [{}]", fmt::join(item.parents, "."))),
         suggest(item.name, names));
  }

  std::string text_;
  const std::string& file_;
  const CLI::App& app_;
  std::size_t at_ = 0;
  std::vector<std::string> section_;
  std::vector<CLI::ConfigItem> items_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<CLI::ConfigItem> TomlConfig::from_config(std::istream& input) const {
  const std::string file = app_.get_config_ptr()->results().at(0);
  std::string text(kMostBytes + 1, '\0');
  input.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(input.gcount()));
  if (text.size() > kMostBytes) throw Error(file, "is too long for a configuration", "at most 1 MiB");
  if (!is_utf8(text)) throw Error(file, "is not UTF-8 text", "a configuration is a TOML file");
  return TomlReader(std::move(text), file, app_).read();
}

std::string TomlConfig::to_config(const CLI::App* app, bool, bool, std::string) const { return config_text(*app); }

std::string config_text(const CLI::App& app, const std::vector<const CLI::Option*>& leave_out) {
  std::string out;
  append_section(app, "", leave_out, out);
  return out;
}

Settings read_settings(const std::string& text, const std::string& file, const CLI::App& app) {
  Settings settings;
  for (CLI::ConfigItem& item : TomlReader(text, file, app).read()) settings[item.fullname()] = std::move(item.inputs);
  return settings;
}

}  // namespace cpfm::app
