// cpfm train COUPLING DATA -o RUN: stage 2 alone. cpfm fit DATA -o RUN: both stages.
#include <fmt/format.h>

#include "base/log.hpp"
#include "base/text.hpp"
#include "checks.hpp"
#include "cli.hpp"
#include "config.hpp"
#include "cpfm/error.hpp"
#include "flow_library.hpp"
#include "run_folder.hpp"

namespace cpfm::app {
namespace fs = std::filesystem;
namespace {

// What makes the run again: not that it was resumed, nor options that mean nothing for the data.
std::string config_of(const CLI::App& command, const DataOptions& options, const Dataset& data,
                      std::vector<const CLI::Option*> leave_out = {}) {
  for (const CLI::Option* option : options.unused(data)) leave_out.push_back(option);
  leave_out.push_back(command.get_option("--resume"));
  return config_text(*command.get_parent(), leave_out);
}

void finish(const Run& run, FlowEntry& flow, const Context& context) {
  const RunResult result = train_run(run, flow, context);
  if (context.json)
    context.print(result.numbers);
  else
    print_run(run, result);
}

// Stage 1 goes where stage 2 does. Libtorch may know a GPU for which this build has no kernels of its own.
Device coupling_device(const std::string& name) {
  if (!name.starts_with("cuda")) return choose_device(name);
  try {
    return choose_device(name);
  } catch (const Error& error) {
    log().warn("the coupling is computed on the CPU: {}", error.problem());
    return {};
  }
}

// Options that mean nothing for methods that make a map of their own, which have no coupling, no paths and no roles.
std::vector<const CLI::Option*> options_of_cpfm(const CLI::App& command, const std::string& method) {
  std::vector<const CLI::Option*> found;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const bool of_flow = name == "--alpha" || name == "--interpolant" || name == "--y-draws" || name == "--pairs" ||
                         name == "--head" || name == "--fourier-features" || name == "--fourier-scale" ||
                         (name == "--conditioning" && method == "vae");
    if (name != "--dim" && (of_flow || CoupleArguments::owns(*option))) found.push_back(option);
  }
  return found;
}

void refuse_given(const std::vector<const CLI::Option*>& options, const std::string& method) {
  for (const CLI::Option* option : options) {
    // A default asks for nothing, wherever it was written down.
    if (option->count() > 0 && option->results()[0] != option->get_default_str())
      throw Error(option->get_name(), fmt::format("means nothing for --method {}", method), "it belongs to cpfm");
  }
}

}  // namespace

void add_train_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("train", "Train the network on a coupling: stage 2 alone");
  command->footer(
      "Examples:\n"
      "  cpfm couple digits -o digits.cpfm && cpfm train digits.cpfm digits -o run --minutes 3\n"
      "  cpfm train digits.cpfm digits -o run --minutes 10 --resume\n"
      "Ctrl-C leaves RUN/checkpoint.cpfm; the same command with --resume goes on.");
  const auto coupling_file = std::make_shared<std::string>();
  const auto folder = std::make_shared<std::string>();
  const auto resume = std::make_shared<bool>(false);
  const auto data_options = std::make_shared<DataOptions>();
  const auto arguments = std::make_shared<TrainArguments>();
  command->add_option("COUPLING", *coupling_file, "What 'cpfm couple' wrote")->required();
  data_options->add_to(*command);
  command->add_option("-o,--output", *folder, "Folder of the run")->required()->option_text("RUN REQUIRED");
  arguments->add_to(*command);
  command->add_flag("--resume", *resume, "Go on from RUN/checkpoint.cpfm");
  command->callback([=, &context] {
    FlowEntry& flow = flow_library();
    Coupling coupling = Coupling::load(*coupling_file);
    Standardizer applied;
    const Dataset data = data_options->load(context, &applied);
    if (fingerprint(data) != coupling.data_fingerprint) {
      throw Error(*coupling_file, fmt::format("was made of other data than {}", data.source),
                  "give the same DATA with the same --limit, --part, --labels, --property and --standardize");
    }
    const TrainOptions options = arguments->resolve(context, data, flow);
    coupling.plan.use(coupling_device(options.device));
    const std::string config = config_of(*command, *data_options, data);
    if (*resume)
      require_run_of(*folder, *command);
    else
      refuse_other_run(*folder, false);
    require_same_coupling(*folder, coupling);
    make_run_folder(*folder);
    finish({*folder, data, &coupling, applied, options, arguments->pairs, coupling.latent.cols(), *resume, config},
           flow, context);
  });
}

void add_fit_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("fit", "From data to a model, an embedding and a report: both stages");
  command->footer(
      "Examples:\n"
      "  cpfm fit digits -o run --minutes 3\n"
      "  cpfm fit table.csv --labels species --latent square -o run\n"
      "  cpfm fit digits --method vae -o run-vae --minutes 3\n"
      "Ctrl-C saves the state in RUN; the same command with --resume goes on.");
  const auto folder = std::make_shared<std::string>();
  const auto resume = std::make_shared<bool>(false);
  const auto data_options = std::make_shared<DataOptions>();
  const auto couple_arguments = std::make_shared<CoupleArguments>();
  const auto train_arguments = std::make_shared<TrainArguments>();
  data_options->add_to(*command);
  command->add_option("-o,--output", *folder, "Folder of the run")->required()->option_text("RUN REQUIRED");
  couple_arguments->add_to(*command);
  train_arguments->add_methods_to(*command);
  train_arguments->add_to(*command);
  command->add_flag("--resume", *resume, "Go on with what an interrupted run left");
  command->callback([=, &context] {
    FlowEntry& flow = flow_library();
    Standardizer applied;
    const Dataset data = data_options->load(context, &applied);
    if (train_arguments->options.method != "cpfm") {
      const auto others = options_of_cpfm(*command, train_arguments->options.method);
      refuse_given(others, train_arguments->options.method);
      const TrainOptions options = train_arguments->resolve(context, data, flow);
      const std::string config = config_of(*command, *data_options, data, others);
      if (*resume)
        require_run_of(*folder, *command);
      else
        refuse_other_run(*folder, true);
      make_run_folder(*folder);
      const int asked = couple_arguments->options.latent_options.dim;
      const std::size_t dim = asked > 0 ? static_cast<std::size_t>(asked) : 2;
      finish({*folder, data, nullptr, applied, options, "none", dim, *resume, config}, flow, context);
      return;
    }
    CoupleOptions couple_options = couple_arguments->resolve(context, data.size());
    const TrainOptions train_options = train_arguments->resolve(context, data, flow);
    couple_options.device = coupling_device(train_options.device);
    const std::string config = config_of(*command, *data_options, data);
    if (*resume)
      require_same_coupling(*folder, *command, config, fingerprint(data));
    else
      refuse_other_run(*folder, true);
    make_run_folder(*folder);
    const fs::path file = fs::path(*folder) / "coupling.cpfm";
    const auto progress = context.progress();
    Coupling coupling = [&] {
      if (fs::exists(file)) return Coupling::load(file);
      couple_options.checkpoint = file.string() + ".partial";
      couple_options.resume = *resume && fs::exists(couple_options.checkpoint);
      if (!couple_options.resume) write_config(*folder, config);  // couple() has yet to compare what it resumes
      try {
        return couple(data, couple_options, progress.get());
      } catch (const Interrupted&) {
        if (!fs::exists(couple_options.checkpoint)) throw;  // before there was anything to keep
        throw Interrupted(fmt::format("{} holds the state; the same command with --resume goes on", *folder));
      }
    }();
    coupling.plan.use(couple_options.device);
    if (!fs::exists(file)) coupling.save(file);
    std::error_code ignored;
    fs::remove(file.string() + ".partial", ignored);
    finish({*folder, data, &coupling, applied, train_options, train_arguments->pairs, coupling.latent.cols(), *resume,
            config},
           flow, context);
  });
}

}  // namespace cpfm::app
