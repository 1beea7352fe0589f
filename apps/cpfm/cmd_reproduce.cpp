// cpfm reproduce NAME: an experiment of the paper. Each is a list of options of 'cpfm compare' (experiments/), which is
// what runs; the files are part of the program.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "base/text.hpp"
#include "cli.hpp"
#include "config.hpp"
#include "cpfm/error.hpp"
#include "experiments.hpp"

namespace cpfm::app {
namespace fs = std::filesystem;
namespace {

// Options of 'compare' that may be given to 'reproduce' too.
constexpr const char* kPassed[] = {"--methods",       "--epochs",     "--steps",  "--minutes",
                                   "--learning-rate", "--batch",      "--device", "--runs",
                                   "--starts",        "--test-limit", "--lpips",  "--features"};

const char* text_of(const std::string& name) {
  for (const Experiment& known : kExperiments) {
    if (known.name == name) return known.text;
  }
  return nullptr;
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  for (const Experiment& known : kExperiments) {
    if (std::string(known.name).find('.') == std::string::npos) found.emplace_back(known.name);
  }
  return found;
}

std::string with_data(std::string text, const std::string& data) {
  const std::string place = "{data}";
  for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place, at + data.size()))
    text.replace(at, place.size(), data);
  return text;
}

struct Arguments {
  std::string name, data, folder;
  bool quick = false;
  std::vector<std::pair<const char*, std::string>> passed;
};

// The words of the command that does it.
std::vector<std::string> as_compare(const Arguments& arguments, const CLI::App& app) {
  const char* const text = text_of(arguments.name);
  if (text == nullptr)
    throw Error("NAME", fmt::format("there is no experiment '{}'", printable(arguments.name)),
                suggest(arguments.name, names()));
  Settings settings = read_settings(text, arguments.name, app);
  if (arguments.quick) {
    Settings other = read_settings(text_of(arguments.name + ".quick"), arguments.name + ".quick", app);
    if (other.contains("compare.steps")) settings.erase("compare.epochs");
    for (auto& [name, values] : other) settings[name] = std::move(values);
  }
  std::string data = arguments.data.empty() ? "data/" + arguments.name : arguments.data;
  if (data.starts_with('-')) data = "./" + data;
  for (const auto& [option, value] : arguments.passed) {
    if (value.empty()) continue;
    const std::string name = option + 2;
    // One budget in place of another.
    if (name == "epochs" || name == "steps" || name == "minutes") {
      for (const char* budget : {"epochs", "steps", "minutes"}) settings.erase(std::string("compare.") + budget);
    }
  }
  for (const auto& [option, value] : arguments.passed) {
    if (!value.empty()) settings[std::string("compare.") + (option + 2)] = {value};
  }
  const CLI::App& compare = *app.get_subcommand("compare");
  std::vector<std::string> words{"compare"};
  for (const auto& [full, values] : settings) {
    const std::string name = full.substr(full.find('.') + 1);
    if (name == "DATA") {
      words.insert(words.begin() + 1, with_data(values.at(0), data));
      continue;
    }
    const bool flag = compare.get_option("--" + name)->get_expected_max() == 0;
    for (const std::string& value : values) {
      if (flag) {
        if (value == "true") words.push_back("--" + name);
        continue;
      }
      words.push_back("--" + name);
      words.push_back(with_data(value, data));
    }
  }
  words.push_back("--output");
  words.push_back(arguments.folder.empty()
                      ? fmt::format("reproduced/{}{}", arguments.name, arguments.quick ? "-quick" : "")
                      : arguments.folder);
  return words;
}

}  // namespace

void add_reproduce_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("reproduce", "Run an experiment of the paper: tables and pictures");
  command->footer(fmt::format(
      "NAME is one of {}.\n"
      "Examples:\n"
      "  cpfm reproduce digits --quick\n"
      "  cpfm reproduce mnist --data data/mnist --minutes 5 -o mnist\n"
      "It runs 'cpfm compare' with the options of experiments/NAME.toml. Those above can be set here, too;\n"
      "the same command again goes on where it was interrupted.",
      fmt::join(names(), ", ")));
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("NAME", arguments->name, "Which experiment")->required();
  command->add_option("--data", arguments->data, "Folder of its data (default: data/NAME)")->option_text("DIR");
  command
      ->add_option("-o,--output", arguments->folder, "Folder of the results (default: reproduced/NAME, or NAME-quick)")
      ->option_text("OUT");
  command->add_flag("--quick", arguments->quick, "A small version: minutes on two cores, not the paper's figures");
  for (const char* option : kPassed) arguments->passed.emplace_back(option, "");
  for (auto& [option, value] : arguments->passed) {
    const CLI::Option& of_compare = *app.get_subcommand("compare")->get_option(option);
    command->add_option(option, value, of_compare.get_description())->option_text(of_compare.get_type_name());
  }
  command->callback([=, &app, &context] {
    std::vector<std::string> words = as_compare(*arguments, app);
    if (words[1] == "digits" && !arguments->data.empty())
      throw Error("--data", "the digits are built in", "leave it out");
    if (words[1] != "digits" && !fs::exists(words[1])) {
      throw Error("--data", fmt::format("there is no {}", printable(words[1], 200)),
                  arguments->name == "mnist" || arguments->name == "cifar10"
                      ? fmt::format("'cpfm data get {}' fetches it, or --data DIR names where it is", arguments->name)
                      : "--data DIR names a folder with train/CLASS/… and test/CLASS/…");
    }
    if (context.json) words.insert(words.begin(), "--json");
    if (context.quiet) words.insert(words.begin(), "--quiet");
    if (context.verbose) words.insert(words.begin(), "--verbose");
    words.insert(words.begin(), fmt::format("--threads={}", context.threads));
    words.insert(words.begin(), fmt::format("--seed={}", context.seed));
    run_words(words);
  });
}

}  // namespace cpfm::app
