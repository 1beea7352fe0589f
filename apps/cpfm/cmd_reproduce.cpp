// cpfm reproduce NAME: an experiment of the paper. Each is a list of options of 'cpfm compare' (experiments/), which is
// what runs; the files are part of the program.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/text.hpp"
#include "cli.hpp"
#include "config.hpp"
#include "cpfm/error.hpp"
#include "evaluation.hpp"
#include "experiments.hpp"
#include "molecule_evaluation.hpp"
#include "whole_file.hpp"

namespace cpfm::app {
namespace fs = std::filesystem;
namespace {

// Options of 'compare' that may be given to 'reproduce' too.
constexpr const char* kPassed[] = {
    "--methods",      "--epochs",           "--steps",    "--minutes", "--batch",       "--learning-rate",
    "--schedule",     "--device",           "--runs",     "--starts",  "--precision",   "--lpips",
    "--test-limit",   "--run-samples",      "--features", "--kernel",  "--gwot-kernel", "--head",
    "--conditioning", "--fourier-features", "--solver",   "--calls",   "--coverage",    "--entropic-epsilon",
    "--pairs",        "--subsample",        "--algorithm"};
// Of pictures and classes: molecules have neither.
constexpr const char* kOfPictures[] = {"--lpips", "--features"};

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

// What an experiment's file says, with what was set on the command line in place of it.
Settings settings_of(const Arguments& arguments, const CLI::App& app) {
  const char* const text = text_of(arguments.name);
  if (text == nullptr)
    throw Error("NAME", fmt::format("there is no experiment '{}'", printable(arguments.name)),
                suggest(arguments.name, names()));
  Settings settings = read_settings(text, arguments.name, app);
  const std::string learns = settings.contains("fit.DATA") ? "fit." : "compare.";
  const auto drop_budgets = [&] {
    for (const char* budget : {"epochs", "steps", "minutes"}) settings.erase(learns + budget);
  };
  const auto is_budget = [](const std::string& name) {
    return name == "epochs" || name == "steps" || name == "minutes";
  };
  if (arguments.quick) {
    Settings other = read_settings(text_of(arguments.name + ".quick"), arguments.name + ".quick", app);
    if (other.contains(learns + "steps")) drop_budgets();
    for (auto& [name, values] : other) settings[name] = std::move(values);
  }
  for (const auto& [option, value] : arguments.passed) {
    if (!value.empty() && is_budget(option + 2)) drop_budgets();
  }
  for (const auto& [option, value] : arguments.passed) {
    if (value.empty()) continue;
    bool taken = false;
    const auto is_option = [&](const char* other) { return option == std::string_view(other); };
    const bool is_refused = learns == "fit." && std::any_of(std::begin(kOfPictures), std::end(kOfPictures), is_option);
    for (const char* section : {"compare", "fit", "evaluate"}) {
      if (is_option("--entropic-epsilon") && !settings.contains(section + std::string(".entropic"))) continue;
      if (is_refused || !settings.contains(std::string(section) + ".DATA")) continue;
      if (app.get_subcommand(section)->get_option_no_throw(option) == nullptr) continue;
      // Where a model is used, steps and batches are those of its solver, and a kernel that of GWOT.
      const bool of_training = is_budget(option + 2) || is_option("--batch") || is_option("--kernel");
      if (of_training && section + std::string(".") != learns) continue;
      settings[std::string(section) + "." + (option + 2)] = {value};
      taken = true;
    }
    if (!taken) throw Error(option, fmt::format("means nothing for the experiment {}", arguments.name), "leave it out");
  }
  return settings;
}

// The words of one command of the experiment; none where it has no such command.
std::vector<std::string> words_of(const char* section, const Settings& settings, const std::string& data,
                                  const CLI::App& app) {
  const CLI::App& command = *app.get_subcommand(section);
  const std::string prefix = std::string(section) + ".";
  std::vector<std::string> words;
  for (const auto& [full, values] : settings) {
    if (!full.starts_with(prefix)) continue;
    if (words.empty()) words.emplace_back(section);
    const std::string name = full.substr(prefix.size());
    if (name == "DATA") {
      words.insert(words.begin() + 1, with_data(values.at(0), data));
      continue;
    }
    const bool flag = command.get_option("--" + name)->get_expected_max() == 0;
    for (const std::string& value : values) {
      if (flag) {
        if (value == "true") words.push_back("--" + name);
        continue;
      }
      words.push_back("--" + name);
      words.push_back(with_data(value, data));
    }
  }
  return words;
}

// While it lives, what is printed goes where messages go.
class OutputAside {
 public:
  OutputAside() {
    std::fflush(stdout);
    kept_ = dup(STDOUT_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~OutputAside() {
    std::fflush(stdout);
    dup2(kept_, STDOUT_FILENO);
    close(kept_);
  }
  OutputAside(const OutputAside&) = delete;
  OutputAside& operator=(const OutputAside&) = delete;

 private:
  int kept_ = -1;
};

void run_command(std::vector<std::string> words, const Context& context) {
  if (context.json) words.insert(words.begin(), "--json");
  if (context.quiet) words.insert(words.begin(), "--quiet");
  if (context.verbose) words.insert(words.begin(), "--verbose");
  words.insert(words.begin(), fmt::format("--threads={}", context.threads));
  words.insert(words.begin(), fmt::format("--seed={}", context.seed));
  run_words(words);
}

}  // namespace

void add_reproduce_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("reproduce", "Run an experiment of the paper: tables and pictures");
  command->footer(
      fmt::format("NAME is one of {}.\n"
                  "Examples:\n"
                  "  cpfm reproduce digits --quick\n"
                  "  cpfm reproduce mnist --data data/mnist --minutes 5 -o mnist\n"
                  "It runs 'cpfm compare', of molecules 'cpfm fit' and 'cpfm evaluate', with the options of "
                  "experiments/NAME.toml.\n"
                  "Those above can be set here, too;\n"
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
    CLI::Option& of_compare = *app.get_subcommand("compare")->get_option(option);
    if (of_compare.get_expected_max() == 0) {
      command->add_flag(option, value, of_compare.get_description());
      continue;
    }
    CLI::Option* const mine =
        command->add_option(option, value, of_compare.get_description())->option_text(of_compare.get_type_name());
    try {  // what is wrong with a value is said before anything runs
      for (int k = 0;; ++k) mine->check(*of_compare.get_validator(k));
    } catch (const CLI::OptionNotFound&) {  // there are no more, which is told in no other way
    }
  }
  command->callback([=, &app, &context] {
    const Settings settings = settings_of(*arguments, app);
    std::string data = arguments->data.empty() ? "data/" + arguments->name : arguments->data;
    if (data.starts_with('-')) data = "./" + data;
    const fs::path folder = arguments->folder.empty()
                                ? fmt::format("reproduced/{}{}", arguments->name, arguments->quick ? "-quick" : "")
                                : arguments->folder;
    std::vector<std::string> fit = words_of("fit", settings, data, app),
                             compare = words_of("compare", settings, data, app),
                             evaluate = words_of("evaluate", settings, data, app);
    const std::string& source = fit.empty() ? compare.at(1) : fit.at(1);
    if (source == "digits" && !arguments->data.empty())
      throw Error("--data", "the digits are built in", "leave it out");
    const auto at_test = std::find(compare.begin(), compare.end(), "--test");
    const std::string test = at_test == compare.end() ? source : *(at_test + 1);
    if (const std::string& missing = fs::exists(source) ? test : source; source != "digits" && !fs::exists(missing)) {
      throw Error("--data", fmt::format("there is no {}", printable(missing, 200)),
                  arguments->name == "mnist" || arguments->name == "cifar10"
                      ? fmt::format("'cpfm data get {}' fetches it, or --data DIR names where it is", arguments->name)
                  : arguments->name == "qm9" ? "--data DIR names a folder with qm9.csv, columns smiles and mu"
                                             : "--data DIR names a folder with train/CLASS/… and test/CLASS/…");
    }
    for (std::vector<std::string>* words : {&compare, &fit}) {
      if (words->empty()) continue;
      words->insert(words->end(), {"--output", folder.string()});
    }
    if (!compare.empty()) return run_command(compare, context);
    // What is fitted stays fitted, if it is what is asked for, and what is measured stays measured.
    const std::string of = fmt::format("seed {}, {:016x}: ", context.seed, fingerprint(bytes_of(source)));
    const std::string asked = fmt::format("{}{}\n", of, fmt::join(fit, " "));
    const fs::path noted = folder / "experiment.txt";
    const bool begun = fs::exists(folder / "config.toml");
    if (begun && content_of(noted) != asked)
      throw Error("--output", fmt::format("{} holds a run with other options, data or seed", folder.string()),
                  "name another folder");
    if (!fs::exists(folder / "report.html")) {
      if (begun) fit.push_back("--resume");
      fs::create_directories(folder);
      write_whole(noted, asked);
      Context told = context;
      told.json = false;
      const std::optional<OutputAside> aside =
          context.json ? std::optional<OutputAside>(std::in_place) : std::nullopt;  // one object is printed
      run_command(fit, told);
    }
    const fs::path figures = folder / "evaluation.json", measured = folder / "evaluation.txt";
    evaluate.insert(evaluate.begin() + 1, (folder / "model.cpfm").string());
    evaluate.insert(evaluate.end(), {"--output", figures.string()});
    // Figures that are measured in another way from a version on have another number here.
    constexpr int kMeasuredAs = 3;
    const std::string measure = fmt::format("{}{} {:016x} {}\n", of, kMeasuredAs,
                                            fingerprint(bytes_of(folder / "model.cpfm")), fmt::join(evaluate, " "));
    const Json known = Json::parse(content_of(figures), nullptr, false);
    if (known.is_object() && content_of(measured) == measure) {
      if (context.json) return context.print(known);
      fmt::print("{}, measured before:\n", printable(figures.string(), 200));
      print_evaluation(known);
      if (known.contains("molecules")) print_molecules(known["molecules"]);
      return;
    }
    std::error_code ignored;
    fs::remove(measured, ignored);  // what is measured next is not yet
    run_command(evaluate, context);
    write_whole(measured, measure);
  });
}

}  // namespace cpfm::app
