// cpfm: parses the command line, runs one subcommand, and turns what happened into an exit code: 0 done, 1 the input or
// the options are wrong, 2 a bug of ours, 130 interrupted. Results go to stdout, everything else to stderr.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "base/log.hpp"
#include "base/text.hpp"
#include "cli.hpp"
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

namespace {

enum ExitCode { kDone = 0, kWrongInput = 1, kBug = 2, kInterrupted = 130 };

void collect_names(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
}

// The deepest subcommand that was recognised.
const CLI::App& deepest(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : deepest(*chosen.front());
}

int report_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = deepest(app);
  std::string path;
  std::vector<std::string> names;
  for (const CLI::App* up = &command; up != nullptr; up = up->get_parent()) {
    path = up->get_name() + (path.empty() ? "" : " " + path);
    collect_names(*up, names);
  }
  // A word that fits nowhere is the likeliest cause, even where CLI11 complains of what is missing instead.
  const auto extras = app.remaining(true);
  if (!extras.empty()) {
    const std::string nearest = nearest_name(extras[0].substr(0, extras[0].find('=')), names);
    fmt::print(stderr, "cpfm: '{}' is not an option or command of {}; {}\n", printable(extras[0]), path,
               nearest.empty() ? fmt::format("see {} --help", path) : fmt::format("did you mean '{}'?", nearest));
    return kWrongInput;
  }
  std::string text = error.what();
  while (!text.empty() && (text.back() == '\n' || text.back() == '.')) text.pop_back();
  fmt::print(stderr, "cpfm: {}; see {} --help\n", printable(text, 500), path);
  return kWrongInput;
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

void apply_globals(const Context& context) {
  if (context.quiet && context.verbose) throw Error("--quiet and --verbose", "exclude each other");
  log().set_level(context.quiet ? spdlog::level::err : context.verbose ? spdlog::level::debug : spdlog::level::info);
  set_threads(context.threads);
}

int run(int argc, char** argv) {
  Context context;
  CLI::App app("CPFM: controllable dimension reduction that can go back.", "cpfm");
  app.footer(
      "Examples:\n"
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
      ->capture_default_str()
      ->group(group);
  app.add_option("--seed", context.seed, "Seed of everything random")->capture_default_str()->group(group);
  app.set_config("--config", "", "Read options from a TOML file, a section per command")->group(group);
  app.allow_config_extras(CLI::config_extras_mode::error);
  bool dump_config = false;
  app.add_flag("--dump-config", dump_config, "Print the effective options as TOML and do nothing else")
      ->configurable(false)
      ->group(group);
  add_data_command(app, context);
  add_info_command(app, context);
  mention_common_options(app);

  // Subcommands run from CLI11's callbacks, after everything is parsed; the innermost runs first, so the global options
  // are applied just before it.
  app.parse_complete_callback([&] {
    if (!dump_config) return apply_globals(context);
    fmt::print("{}", effective_config(app));
    throw CLI::Success();
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}\n", app.help());
  } catch (const CLI::CallForAllHelp&) {
    fmt::print("{}\n", app.help("", CLI::AppFormatMode::All));
  } catch (const CLI::CallForVersion&) {
    fmt::print("{}\n", version_text());
  } catch (const CLI::Success&) {
  } catch (const CLI::ParseError& error) {
    return report_parse_error(app, error);
  }
  if (std::fflush(stdout) != 0) throw Error("standard output", "cannot be written", "is the disk full?");
  return kDone;
}

}  // namespace
}  // namespace cpfm::app

int main(int argc, char** argv) {
  using namespace cpfm;
  std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is then an ordinary write error
  catch_interrupts();
  try {
    return app::run(argc, argv);
  } catch (const Interrupted&) {
    fmt::print(stderr, "cpfm: interrupted\n");
    return app::kInterrupted;
  } catch (const Error& error) {
    fmt::print(stderr, "cpfm: {}\n", error.what());
    return app::kWrongInput;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "cpfm: out of memory; use fewer samples (--limit)\n");
    return app::kWrongInput;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cpfm: internal error: {}; please report it with the command you ran\n", error.what());
    return app::kBug;
  }
}
