// cpfm evaluate MODEL DATA: how good a model is on data it has not seen, with the floor or the judge's own accuracy
// beside every figure that has one.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "checks.hpp"
#include "cli.hpp"
#include "cpfm/error.hpp"
#include "evaluation.hpp"
#include "model_input.hpp"
#include "molecule_evaluation.hpp"
#include "molecules.hpp"
#include "whole_file.hpp"

namespace cpfm::app {
namespace {

// Before anything is measured.
void check_judged_property(const Dataset& data) {
  if (data.properties.empty())
    throw Error("--judge", "of molecules it judges a property, and none is named", "--property NAME names it");
  const std::vector<float>& values = data.properties.front().values;
  if (std::equal(values.begin() + 1, values.end(), values.begin()))
    throw Error(data.source, fmt::format("{} is the same for all", printable(data.properties.front().name)),
                "there is nothing to judge");
}

// The molecules a judge learns from.
struct MoleculeJudge {
  Dataset molecules;
  std::size_t rows_left_out = 0;
};
MoleculeJudge load_molecule_judge(const std::string& source, const DataOptions& options, const Dataset& data,
                                  const Context& context) {
  DataOptions of_judge = judge_options(source, options);
  MoleculeJudge judge;
  try {
    judge.molecules = of_judge.load(context);
  } catch (const Error& error) {
    throw Error("--judge, " + error.where(), error.problem(), error.remedy());
  }
  judge.rows_left_out = of_judge.rows_left_out();
  check_judge_size(judge.molecules);
  warn_of_known(source, options, data, judge.molecules);
  return judge;
}

}  // namespace

void add_evaluate_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("evaluate", "Measure a model on data: labels kept, neighbours, errors, the law");
  command->footer(
      "Examples:\n"
      "  cpfm fit digits --part train -o run && cpfm evaluate run digits --part test --judge digits\n"
      "  cpfm evaluate run/model.cpfm data/mnist/t10k-images-idx3-ubyte.gz --judge "
      "data/mnist/train-images-idx3-ubyte.gz\n"
      "  cpfm evaluate run/model.cpfm test.csv --property mu --judge train.csv");
  const auto model_file = std::make_shared<std::string>();
  const auto arguments = std::make_shared<EvaluationArguments>();
  const auto data_options = std::make_shared<DataOptions>();
  const auto sample = std::make_shared<SampleArguments>();
  add_model_argument(*command, *model_file);
  data_options->as_selfies = true;
  data_options->add_unscaled_to(*command);
  arguments->add_to(*command, "--kernel", "Of the GWOT objective (default: heat*label, or heat without labels)");
  const auto output = std::make_shared<std::string>();
  command->add_option("-o,--output", *output, "Also write the figures to this file")->option_text("FILE.json");
  sample->add_to(*command);
  command->callback([=, &context] {
    arguments->check();
    if (!output->empty()) {
      check_extension("--output", *output, {".json"});
      check_writable("--output", *output);
    }
    const auto model = open_model(*model_file, sample->device);
    if (arguments->coverage && !has_coverage(model->facts()))
      throw Error("--coverage", fmt::format("{} has no density of both ways", model->facts().method),
                  "cpfm and infodiffusion have");
    if (arguments->coverage && sample->options.temperature != 1)
      throw Error("--coverage", "densities are of temperature 1, and draws at another have others",
                  "leave one of --coverage and --temperature out");
    const auto coder = coder_in(*model_file, sample->device);
    Dataset data = data_options->load(context);
    EvaluationArguments general = *arguments;
    FloatMatrix by_structure;
    std::optional<MoleculeJudge> judge;
    if (coder && !data.molecules.empty()) {
      general.judge_data.clear();  // a judge of a property is another one
      if (!arguments->judge_data.empty()) {
        check_judged_property(data);
        judge = load_molecule_judge(arguments->judge_data, *data_options, data, context);
        by_structure = coder->encode_by_structure(data, context.progress().get());
      }
    }
    data = samples_for(coder, std::move(data), context);
    match_columns(data, model->facts());
    FittedTo fitted_to;
    fitted_to.scale = model->facts().data_scale;
    Json figures = Evaluation(data, model->facts(), general, *data_options, *sample, context, std::move(fitted_to))
                       .measure(*model);
    if (coder) {
      const auto progress = context.progress();
      const std::filesystem::path at(*model_file);
      const MoleculeEvaluation molecules{*model,
                                         *coder,
                                         data,
                                         by_structure,
                                         sample->resolve(context, progress.get()),
                                         std::filesystem::is_directory(at) ? at : at.parent_path()};
      figures["molecules"] = evaluate_molecules(molecules);
      if (judge) {
        Json& told = figures["molecules"]["judge"] = judge_molecules(molecules, judge->molecules);
        told["rows_left_out"] = judge->rows_left_out;
      }
    }
    data_options->tell_left_out(figures);
    Json result{{"model", *model_file},
                {"method", model->facts().method},
                {"data", data.source},
                {"n", data.size()},
                {"run_samples", arguments->of_run(data.size())},
                {"device", model->device()}};
    result.update(figures);
    if (!output->empty()) write_whole(*output, result.dump(2) + "\n");
    if (context.json) {
      context.print(result);
      return;
    }
    const std::size_t of_run = arguments->of_run(data.size());
    fmt::print("{} ({}) on {} ({} samples, {} runs{}{})\n", printable(*model_file, 200), model->facts().method,
               printable(data.source, 200), data.size(), arguments->runs,
               of_run < data.size() ? fmt::format(" of {}", of_run) : "", left_out_text(figures));
    print_evaluation(figures);
    if (coder) print_molecules(figures["molecules"]);
  });
}

}  // namespace cpfm::app
