// cpfm: parses the command line, runs one subcommand, and turns what happened into an exit code: 0 done, 1 the input or
// the options are wrong, 2 a bug of ours, 130 interrupted. Results go to stdout, everything else to stderr.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>
#include <new>
#include <system_error>

#include "base/log.hpp"
#include "base/text.hpp"
#include "checks.hpp"
#include "cli.hpp"
#include "config.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"

namespace cpfm::app {

std::unique_ptr<Progress> Context::progress() const {
  return make_progress(stderr, quiet ? ProgressStyle::kQuiet : ProgressStyle::kAuto);
}

void Context::print(const Json& result) const {
  fmt::print("{}\n", result.dump(2, ' ', false, Json::error_handler_t::replace));
}

std::string full_name(const CLI::App& command) {
  return command.get_parent() == nullptr ? command.get_name()
                                         : full_name(*command.get_parent()) + " " + command.get_name();
}

namespace {

enum ExitCode { kDone = 0, kWrongInput = 1, kBug = 2, kInterrupted = 130 };

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// The deepest subcommand that was recognised.
const CLI::App& deepest(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : deepest(*chosen.front());
}

// The command that `word` was given to: the deepest one named before it.
const CLI::App& command_before(const CLI::App& app, const std::vector<std::string>& words, const std::string& word) {
  const CLI::App* command = &app;
  for (const std::string& earlier : words) {
    if (earlier == word) break;
    for (const CLI::App* next : commands_of(*command)) {
      if (next->get_name() == earlier) {
        command = next;
        break;
      }
    }
  }
  return *command;
}

Error unknown_word(const CLI::App& app, const std::vector<std::string>& words, const std::string& word) {
  const CLI::App& command = command_before(app, words, word);
  const bool option = word.starts_with('-');
  std::vector<std::string> names;
  if (!option) {
    for (const CLI::App* known : commands_of(command)) names.push_back(known->get_name());
  }
  for (const CLI::App* up = &command; option && up != nullptr; up = up->get_parent()) {
    for (const CLI::Option* known : up->get_options()) {
      for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
    }
  }
  const std::string path = full_name(command);
  const std::string what = option          ? "is not an option of " + path
                           : names.empty() ? "is one word too many for " + path
                                           : "is not a command of " + path;
  const std::string nearest = nearest_name(word.substr(0, word.find('=')), names);
  return Error("", fmt::format("'{}' {}", printable(word), what),
               nearest.empty() ? fmt::format("see {} --help", path) : fmt::format("did you mean '{}'?", nearest));
}

Error unreadable_config(const std::string& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return Error(file, "is a folder", "--config wants a TOML file");
  if (!std::filesystem::exists(file, error)) return Error(file, "there is no such file", "--config wants a TOML file");
  return Error(file, "cannot be read", "--config wants a TOML file that you may read");
}

// What CLI11 found wrong, in our words.
Error as_error(const CLI::App& app, const std::vector<std::string>& words, const CLI::ParseError& error) {
  // A word that fits nowhere is the likeliest cause, even where CLI11 complains of what is missing instead.
  if (const auto extras = app.remaining(true); !extras.empty()) return unknown_word(app, words, extras[0]);
  if (dynamic_cast<const CLI::FileError*>(&error) != nullptr)
    return unreadable_config(app.get_config_ptr()->results().at(0));
  std::string text = error.what();
  while (!text.empty() && (text.back() == '\n' || text.back() == '.')) text.pop_back();
  // A value that was not typed came from the configuration file.
  const std::string option = text.substr(0, text.find(':'));
  const bool typed =
      std::any_of(words.begin(), words.end(), [&](const auto& word) { return word.starts_with(option); });
  const bool validated = dynamic_cast<const CLI::ValidationError*>(&error) != nullptr;
  const bool configured = app.get_config_ptr()->count() > 0 && validated && option.starts_with("--") && !typed;
  return Error(configured ? app.get_config_ptr()->results().at(0) : "", printable(text, 500),
               text.ends_with('?') ? "" : fmt::format("see {} --help", full_name(deepest(app))));
}

// CLI11 expands one level of commands only.
std::string help_of_all(const CLI::App& command) {
  std::string text = command.get_formatter()->make_help(&command, full_name(command), CLI::AppFormatMode::Normal);
  for (const CLI::App* next : commands_of(command))
    text += fmt::format("\n--- {} ---\n\n{}", full_name(*next), help_of_all(*next));
  return text;
}

// Every command's help ends by telling where the common options are.
void mention_common_options(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    const std::string footer = command->get_footer();
    command->footer(footer + (footer.empty() ? "" : "\n") +
                    "Common options (--json --quiet --threads --seed --config …): cpfm --help");
    mention_common_options(*command);
  }
}

// As one would type it.
std::string command_line(int argc, char** argv) {
  std::string line = "cpfm";
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return std::isalnum(c) || c >= 0x80 || std::string_view("-_./,:=+@%").find(char(c)) != std::string_view::npos;
    });
    line += ' ';
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

void apply_globals(const Context& context) {
  if (context.quiet && context.verbose) throw Error("--quiet and --verbose", "exclude each other");
  log().set_level(context.quiet ? spdlog::level::err : context.verbose ? spdlog::level::debug : spdlog::level::info);
  set_threads(context.threads);
  log().debug("{} threads", threads());
}

int run(int argc, char** argv) {
  Context context;
  context.command_line = command_line(argc, argv);
  CLI::App app("CPFM: controllable dimension reduction that can go back.", "cpfm");
  app.footer(
      "Examples:\n"
      "  cpfm fit digits -o run\n"
      "  cpfm embed run/model.cpfm digits -o y.npy\n"
      "  cpfm generate run/model.cpfm --grid 10 -o grid.png\n"
      "  cpfm couple digits -o digits.cpfm --png map.png\n"
      "  cpfm data info digits --png digits.png\n"
      "  cpfm data get mnist\n"
      "  cpfm info\n"
      "'cpfm COMMAND --help' tells more.");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", version_text, "Show the version and how it was built");
  app.set_help_all_flag("--help-all", "Show the options of every command");
  const char* group = "Common options";
  app.add_flag("--json", context.json, "Print the result as one JSON object")->group(group);
  app.add_flag("--quiet", context.quiet, "No progress, only errors")->group(group);
  app.add_flag("--verbose", context.verbose, "Say more about what is done")->group(group);
  app.add_option("--threads", context.threads, "Threads to use, 0 for one per core")
      ->transform(whole_number(0, 4096))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.add_option("--seed", context.seed, "Seed of everything random")
      ->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  app.set_config("--config", "", "Read options from a TOML file, a section per command")
      ->option_text("FILE")
      ->group(group);
  app.config_formatter(std::make_shared<TomlConfig>(app));
  bool dump_config = false;
  app.add_flag("--dump-config", dump_config, "Print the effective options as TOML and do nothing else")
      ->configurable(false)
      ->group(group);
  add_fit_command(app, context);
  add_couple_command(app, context);
  add_train_command(app, context);
  add_embed_command(app, context);
  add_generate_command(app, context);
  add_reconstruct_command(app, context);
  add_evaluate_command(app, context);
  add_compare_command(app, context);
  add_reproduce_command(app, context);
  add_data_command(app, context);
  add_selfies_command(app, context);
  add_info_command(app, context);
  add_bench_command(app, context);
  mention_common_options(app);
  refuse_empty_texts(app);

  // Subcommands run from CLI11's callbacks, after everything is parsed; the innermost runs first, so the global options
  // are applied just before it.
  app.parse_complete_callback([&] {
    if (!dump_config) {
      apply_globals(context);
      if (app.get_config_ptr()->count() > 0) log().debug("options of {}", app.get_config_ptr()->results().at(0));
      return;
    }
    if (context.json) throw Error("--json and --dump-config", "exclude each other", "what is dumped is TOML");
    fmt::print("{}", app.config_to_str());
    throw CLI::Success();
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}\n", app.help());
  } catch (const CLI::CallForAllHelp&) {
    fmt::print("{}\n", help_of_all(deepest(app)));
  } catch (const CLI::CallForVersion&) {
    fmt::print("{}\n", version_text());
  } catch (const CLI::Success&) {
  } catch (const CLI::ParseError& error) {
    throw as_error(app, {argv + 1, argv + argc}, error);
  }
  if (std::fflush(stdout) != 0) throw Error("standard output", "cannot be written", "is the disk full?");
  return kDone;
}

}  // namespace

void run_words(const std::vector<std::string>& words) {
  std::vector<std::string> all{"cpfm"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  run(static_cast<int>(pointers.size()), pointers.data());
}

namespace {

// Not fmt::print: where stderr is closed or full, there is nobody to tell and nothing to throw.
void say(const std::string& message) { std::fputs(fmt::format("cpfm: {}\n", message).c_str(), stderr); }

}  // namespace
}  // namespace cpfm::app

int main(int argc, char** argv) {
  using namespace cpfm;
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is then an ordinary write error
  std::signal(SIGCHLD, SIG_DFL);  // an inherited SIG_IGN would reap our children before we ask how they ended
  catch_interrupts();
  try {
    return app::run(argc, argv);
  } catch (const Interrupted& interrupted) {
    app::say(printable_message(interrupted.what()));
    return app::kInterrupted;
  } catch (const Error& error) {
    app::say(printable_message(error.what()));
    return app::kWrongInput;
  } catch (const std::bad_alloc&) {
    app::say("out of memory");
    return app::kWrongInput;
  } catch (const std::system_error& error) {  // a file, a pipe or the system itself: nothing we did
    app::say(printable_message(error.what()));
    return app::kWrongInput;
  } catch (const std::exception& error) {
    app::say(
        fmt::format("internal error: {}; please report it with the command you ran", printable_message(error.what())));
    return app::kBug;
  }
}
