// cpfm evaluate MODEL DATA: how good a model is on data it has not seen, with the floor or the judge's own accuracy
// beside every figure that has one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <functional>

#include "base/log.hpp"
#include "base/text.hpp"
#include "checks.hpp"
#include "cli.hpp"
#include "cpfm/error.hpp"
#include "cpfm/metric.hpp"
#include "flow_library.hpp"
#include "model_input.hpp"

namespace cpfm::app {
namespace {

struct Options {
  std::string model, judge_data;
  std::size_t runs = 3, gaussian_points = 2000;
};

// Values of the same figure over runs.
struct Figure {
  std::vector<double> values;

  double mean() const {
    double sum = 0;
    for (const double v : values) sum += v;
    return sum / static_cast<double>(values.size());
  }
  double sd() const {
    double sum = 0;
    for (const double v : values) sum += (v - mean()) * (v - mean());
    return values.size() > 1 ? std::sqrt(sum / static_cast<double>(values.size() - 1)) : 0;
  }
  Json json() const { return {{"mean", mean()}, {"sd", sd()}, {"runs", values.size()}}; }
};

// The label of every sample as an index into the judge's classes; -1 where the judge has no such class.
std::vector<std::int32_t> known_classes(const Dataset& data, const Dataset& judge_data) {
  const std::vector<std::string>&mine = data.labels->names, &theirs = judge_data.labels->names;
  std::vector<std::int32_t> id_of(mine.size(), -1);
  std::vector<std::string> unknown;
  for (std::size_t k = 0; k < mine.size(); ++k) {
    const auto found = std::find(theirs.begin(), theirs.end(), mine[k]);
    if (found == theirs.end())
      unknown.push_back(printable(mine[k]));
    else
      id_of[k] = static_cast<std::int32_t>(found - theirs.begin());
  }
  constexpr std::size_t kMost = 6;
  const std::size_t shown = std::min(unknown.size(), kMost);
  const std::string list =
      fmt::format("{}{}", fmt::join(unknown.begin(), unknown.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                  unknown.size() > shown ? " …" : "");
  if (unknown.size() == mine.size()) {
    throw Error("--judge", fmt::format("{} has none of the classes of {}: {}", judge_data.source, data.source, list),
                "a judge is trained on data of the same classes");
  }
  if (!unknown.empty())
    log().warn("--judge: {} lacks the classes {}; their samples are not judged", judge_data.source, list);
  std::vector<std::int32_t> ids;
  for (const std::int32_t id : data.labels->ids) ids.push_back(id < 0 ? -1 : id_of[static_cast<std::size_t>(id)]);
  return ids;
}

void run(const Options& o, const DataOptions& data_options, const SampleArguments& sample, const Context& context) {
  FlowEntry& flow = flow_library();
  const auto model = open_model(o.model, sample.device);
  Dataset data = data_options.load(context);
  match_columns(data, model->facts());
  const auto progress = context.progress();
  Figure mse, knn, kept_1nn, kept_net, w2;
  double floor = 0, judge_accuracy = 0, judge_1nn = 0;
  std::size_t w2_points = 0;

  std::optional<Dataset> judging;
  std::unique_ptr<Classifier> judge;
  std::vector<std::int32_t> wanted;
  if (!o.judge_data.empty()) {
    if (!data.labels) throw Error("--judge", fmt::format("{} has no labels", data.source), "labels are what it judges");
    DataOptions judge_options = data_options;
    judge_options.source = o.judge_data;
    judge_options.read.limit.reset();
    // The judge of a test part must not have seen it.
    judge_options.part = data_options.part == "test" && o.judge_data == data_options.source ? "train" : "all";
    judging = judge_options.load(context);
    if (!judging->labels) throw Error("--judge", fmt::format("{} has no labels", o.judge_data));
    match_columns(*judging, model->facts());
    wanted = known_classes(data, *judging);
    judge = flow.train_classifier(*judging, {.seed = context.seed, .device = sample.device}, progress.get());
    judge_accuracy = agreement(judge->predict(data.samples.view()), wanted);
    judge_1nn =
        agreement(nearest_labels(judging->samples.view(), judging->labels->ids, data.samples.view(), 1), wanted);
  }
  for (std::size_t r = 0; r < o.runs; ++r) {
    SampleOptions options = sample.resolve(context, progress.get());
    options.seed = context.seed + r;
    const FloatMatrix y = model->embed(data.samples.view(), 1, options);
    const FloatMatrix back = model->generate(y.view(), options);
    mse.values.push_back(mean_squared_error(data.samples.view(), back.view()));
    if (data.labels)
      knn.values.push_back(agreement(nearest_labels(y.view(), data.labels->ids, y.view(), 15, true), data.labels->ids));
    if (judge) {
      kept_net.values.push_back(agreement(judge->predict(back.view()), wanted));
      kept_1nn.values.push_back(
          agreement(nearest_labels(judging->samples.view(), judging->labels->ids, back.view(), 1), wanted));
    }
    if (model->facts().latent == "gaussian") {
      const GaussianDistance distance = wasserstein2_to_gaussian(y.view(), o.gaussian_points, options.seed);
      w2.values.push_back(distance.value);
      w2_points = distance.n;
      floor = distance.floor;
    }
  }
  Json result{
      {"model", o.model}, {"data", data.source}, {"n", data.size()}, {"device", model->device()}, {"mse", mse.json()}};
  if (!knn.values.empty()) {
    result["knn_label"] = knn.json();
    result["knn_label"]["k"] = 15;
  }
  if (judge) {
    result["label_kept"] = kept_net.json();
    result["label_kept"].update({{"judge", model->facts().image ? "cnn" : "mlp"}, {"judge_accuracy", judge_accuracy}});
    result["label_kept_1nn"] = kept_1nn.json();
    result["label_kept_1nn"].update({{"judge", "1-NN"}, {"judge_accuracy", judge_1nn}});
  }
  if (!w2.values.empty()) {
    result["w2_gaussian"] = w2.json();
    result["w2_gaussian"].update({{"n", w2_points}, {"epsilon", 0}, {"floor", floor}});
  }
  if (context.json) {
    context.print(result);
    return;
  }
  const auto line = [](const char* what, const Figure& figure, const std::string& note) {
    if (!figure.values.empty()) fmt::print("  {:<16} {:.4g} ± {:.2g}{}\n", what, figure.mean(), figure.sd(), note);
  };
  fmt::print("{} on {} ({} samples, {} runs)\n", printable(o.model, 200), printable(data.source, 200), data.size(),
             o.runs);
  line("label kept", kept_net,
       fmt::format("  judged by a network that is right on {:.4f} of the originals", judge_accuracy));
  line("  by 1-NN", kept_1nn, fmt::format("  which is right on {:.4f} of the originals", judge_1nn));
  line("15-NN label", knn, "  on the map");
  line("squared error", mse, "  per value, there and back");
  line("W2^2 to Gaussian", w2, fmt::format("  at N = {}, exact; floor {:.4g}", w2_points, floor));
}

}  // namespace

void add_evaluate_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("evaluate", "Measure a model on data: labels kept, neighbours, errors, the law");
  command->footer(
      "Examples:\n"
      "  cpfm evaluate run/model.cpfm digits --part test --judge digits\n"
      "  cpfm evaluate run/model.cpfm data/mnist/t10k-images-idx3-ubyte.gz --judge "
      "data/mnist/train-images-idx3-ubyte.gz");
  const auto o = std::make_shared<Options>();
  const auto data_options = std::make_shared<DataOptions>();
  const auto sample = std::make_shared<SampleArguments>();
  add_model_argument(*command, o->model);
  data_options->add_unscaled_to(*command);
  command->add_option("--judge", o->judge_data, "Labelled originals to train a judge of classes on")
      ->option_text("DATA");
  command->add_option("--runs", o->runs, "Repetitions, each with noise of its own")
      ->transform(whole_number(1, 1000))
      ->type_name("R")
      ->capture_default_str();
  command->add_option("--gaussian-points", o->gaussian_points, "N of the distance to the Gaussian")
      ->transform(whole_number(2, 5000))
      ->type_name("N")
      ->capture_default_str();
  sample->add_to(*command);
  command->callback([=, &context] { run(*o, *data_options, *sample, context); });
}

}  // namespace cpfm::app
