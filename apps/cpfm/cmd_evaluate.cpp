// cpfm evaluate MODEL DATA: how good a model is on data it has not seen, with the floor or the judge's own accuracy
// beside every figure that has one.
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli.hpp"
#include "cpfm/error.hpp"
#include "evaluation.hpp"
#include "model_input.hpp"

namespace cpfm::app {

void add_evaluate_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("evaluate", "Measure a model on data: labels kept, neighbours, errors, the law");
  command->footer(
      "Examples:\n"
      "  cpfm evaluate run/model.cpfm digits --part test --judge digits\n"
      "  cpfm evaluate run/model.cpfm data/mnist/t10k-images-idx3-ubyte.gz --judge "
      "data/mnist/train-images-idx3-ubyte.gz");
  const auto model_file = std::make_shared<std::string>();
  const auto arguments = std::make_shared<EvaluationArguments>();
  const auto data_options = std::make_shared<DataOptions>();
  const auto sample = std::make_shared<SampleArguments>();
  add_model_argument(*command, *model_file);
  data_options->add_unscaled_to(*command);
  arguments->add_to(*command);
  sample->add_to(*command);
  command->callback([=, &context] {
    const auto model = open_model(*model_file, sample->device);
    if (arguments->coverage && !has_coverage(model->facts()))
      throw Error("--coverage", fmt::format("{} has no density of both ways", model->facts().method),
                  "cpfm and infodiffusion have");
    Dataset data = data_options->load(context);
    match_columns(data, model->facts());
    const Json figures = Evaluation(data, model->facts(), *arguments, *data_options, *sample, context).measure(*model);
    if (context.json) {
      Json result{{"model", *model_file},
                  {"method", model->facts().method},
                  {"data", data.source},
                  {"n", data.size()},
                  {"device", model->device()}};
      result.update(figures);
      context.print(result);
      return;
    }
    fmt::print("{} ({}) on {} ({} samples, {} runs)\n", printable(*model_file, 200), model->facts().method,
               printable(data.source, 200), data.size(), arguments->runs);
    print_evaluation(figures);
  });
}

}  // namespace cpfm::app
