// cpfm train COUPLING DATA -o RUN: stage 2 alone. cpfm fit DATA -o RUN: both stages.
#include <fmt/format.h>

#include "base/text.hpp"
#include "checks.hpp"
#include "cli.hpp"
#include "config.hpp"
#include "cpfm/error.hpp"
#include "fit.hpp"
#include "flow_library.hpp"
#include "folder_lock.hpp"

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

void tell(const fs::path& folder, const RunResult& result, const Context& context) {
  if (context.json)
    context.print(result.numbers);
  else
    print_run(folder, result);
}

// Options that mean nothing for a method: those of stage 1 for all but cpfm, which make a map of their own, those of
// training for methods that are not trained, and those of one method for the others.
std::vector<const CLI::Option*> options_without_meaning(const CLI::App& command, const std::string& method) {
  std::vector<const CLI::Option*> found;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const bool of_flow = name == "--alpha" || name == "--interpolant" || name == "--y-draws" || name == "--pairs" ||
                         name == "--head" || name == "--fourier-features" || name == "--fourier-scale" ||
                         (name == "--conditioning" && method == "vae");
    const bool of_cpfm = of_flow || (CoupleArguments::owns(*option) && name != "--dim");
    const bool of_training =
        (method == "kpca" || method == "tsne") && TrainArguments::owns(*option) && name != "--device";
    const bool of_others = (name == "--beta" && method != "vae" && method != "infodiffusion") ||
                           (name == "--perplexity" && method != "tsne") || (name == "--sigma" && method != "kpca");
    if ((of_cpfm && method != "cpfm") || of_training || of_others) found.push_back(option);
  }
  return found;
}

void refuse_given(const std::vector<const CLI::Option*>& options, const std::string& what) {
  for (const CLI::Option* option : options) {
    // A default asks for nothing, wherever it was written down.
    if (option->count() > 0 && option->results()[0] != option->get_default_str()) {
      throw Error(option->get_name(), fmt::format("means nothing for {}", what),
                  CoupleArguments::owns(*option) ? "it belongs to cpfm" : "leave it out");
    }
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
    if (!data.molecules.empty())
      throw Error(data.source, "holds molecules, which 'train' has no autoencoder for", "'cpfm fit' does both stages");
    if (fingerprint(data) != coupling.data_fingerprint) {
      throw Error(*coupling_file, fmt::format("was made of other data than {}", data.source),
                  "give the same DATA with the same --limit, --sample, --part, --labels, --property and --standardize");
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
    const FolderLock lock(*folder);
    const Run run{*folder, data,  &coupling, applied, options, arguments->pairs, coupling.latent.cols(),
                  *resume, config};
    tell(*folder, train_run(run, flow, context), context);
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
  const auto molecule_arguments = std::make_shared<MoleculeArguments>();
  data_options->as_selfies = true;
  data_options->add_to(*command);
  command->add_option("-o,--output", *folder, "Folder of the run")->required()->option_text("RUN REQUIRED");
  couple_arguments->add_to(*command);
  train_arguments->add_methods_to(*command);
  train_arguments->add_to(*command);
  molecule_arguments->add_to(*command);
  command->add_flag("--resume", *resume, "Go on with what an interrupted run left");
  command->callback([=, &context] {
    FlowEntry& flow = flow_library();
    Standardizer applied;
    const Dataset data = data_options->load(context, &applied);
    const std::string& method = train_arguments->options.method;
    std::vector<const CLI::Option*> without_meaning = options_without_meaning(*command, method);
    refuse_given(without_meaning, "--method " + method);
    if (data.molecules.empty()) {
      for (const CLI::Option* option : command->get_options()) {
        if (MoleculeArguments::owns(*option)) without_meaning.push_back(option);
      }
      refuse_given(without_meaning, "data that are not molecules");
    }
    const std::string config = config_of(*command, *data_options, data, without_meaning);
    const FitRequest request{*folder, *command,           data, applied, *couple_arguments, *train_arguments, *resume,
                             config,  *molecule_arguments};
    RunResult result = fit(request, flow, context);
    data_options->tell_left_out(result.numbers);
    tell(*folder, result, context);
  });
}

}  // namespace cpfm::app
