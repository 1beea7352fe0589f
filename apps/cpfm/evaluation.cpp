#include "evaluation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <unordered_set>

#include "base/log.hpp"
#include "base/take_rows.hpp"
#include "base/text.hpp"
#include "checks.hpp"
#include "cpfm/error.hpp"
#include "cpfm/features.hpp"
#include "cpfm/kernel.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/random.hpp"
#include "cuda/memory.hpp"
#include "fit.hpp"
#include "flow_library.hpp"
#include "map_view.hpp"
#include "model_input.hpp"

namespace cpfm::app {
namespace {

constexpr std::uint32_t kSubsetStream = 0x6e656967, kShuffleStream = 0x73687566;  // "neig", "shuf"
constexpr std::uint32_t kPartStream = 0x73616d65;                                 // "same"
constexpr std::uint32_t kRunStream = 0x72756e73;                                  // "runs"

// Values of figures over runs, by name.
class Figures {
 public:
  void add(const std::string& name, double value) { values_[name].push_back(value); }
  void forget(const std::string& name) { values_.erase(name); }
  // {mean, sd (null of a single run), runs} and what is told besides; nothing where there was no such figure.
  void tell(Json& result, const std::string& name, const Json& besides = Json::object()) const {
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    const auto finite = [](double value) { return std::isfinite(value); };
    if (!std::all_of(found->second.begin(), found->second.end(), finite)) {
      log().warn("{} is not finite, and is left out", name);
      return;
    }
    const Repeated figure = repeated(found->second);
    Json sd;
    if (figure.sd) sd = *figure.sd > 1e-9 * std::abs(figure.mean) ? *figure.sd : 0.0;  // what is left of rounding is 0
    result[name] = {{"mean", figure.mean}, {"sd", sd}, {"runs", figure.values.size()}};
    result[name].update(besides);
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};

// The classes that have a sample, in their order; a part of data may have none of some.
std::vector<std::string> classes_of(const Dataset& data) {
  std::vector<std::string> classes;
  if (!data.labels) return classes;
  std::vector<bool> found(data.labels->names.size(), false);
  for (const std::int32_t id : data.labels->ids) {
    if (id >= 0) found[static_cast<std::size_t>(id)] = true;
  }
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (found[k]) classes.push_back(data.labels->names[k]);
  }
  return classes;
}
bool contains(const std::vector<std::string>& classes, const std::string& name) {
  return std::find(classes.begin(), classes.end(), name) != classes.end();
}

// The label of every sample as an index into the judge's classes; -1 where the judge has no sample of such a class.
std::vector<std::int32_t> known_classes(const Dataset& data, const Dataset& judge_data) {
  const std::vector<std::string> mine = classes_of(data), theirs = classes_of(judge_data);
  std::vector<std::string> unknown;
  for (const std::string& name : mine) {
    if (!contains(theirs, name)) unknown.push_back(printable(name));
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
    log().warn("the judge's data, {}, lack the classes {}; their samples are not judged", judge_data.source, list);
  std::vector<std::int32_t> id_of, ids;
  for (const std::string& name : data.labels->names) {
    const std::vector<std::string>& all = judge_data.labels->names;
    const auto at = std::find(all.begin(), all.end(), name) - all.begin();
    id_of.push_back(contains(theirs, name) ? static_cast<std::int32_t>(at) : -1);
  }
  for (const std::int32_t id : data.labels->ids) ids.push_back(id < 0 ? -1 : id_of[static_cast<std::size_t>(id)]);
  return ids;
}

// A judge of classes, and what it says of the originals.
struct Judge {
  Dataset data;
  std::unique_ptr<Classifier> network;
  std::vector<std::int32_t> wanted;
  double network_accuracy = 0, nearest_accuracy = 0;

  Judge(Dataset originals, const Dataset& judged, ClassifierOptions options, Progress* progress)
      : data(std::move(originals)) {
    if (classes_of(judged).empty())
      throw Error("--judge", fmt::format("{} has no labels", judged.source),
                  "labels are what it judges; --labels says where they are");
    const std::vector<std::string> learned = classes_of(data);
    if (learned.empty())
      throw Error("--judge", fmt::format("{} has no labels", data.source),
                  "labels are what it learns; --labels says where they are");
    if (learned.size() == 1)
      throw Error("--judge", fmt::format("{} has samples of one class, {}", data.source, printable(learned[0])),
                  "a judge learns to tell two or more apart");
    wanted = known_classes(judged, data);
    network = flow_library().train_classifier(data, options, progress);
    network_accuracy = agreement(network->predict(judged.samples.view()), wanted);
    nearest_accuracy = agreement(nearest(judged.samples.view()), wanted);
  }
  std::vector<std::int32_t> nearest(MatrixView<const float> samples) const {
    return nearest_labels(data.samples.view(), data.labels->ids, samples, 1);
  }
};

bool is_one_place(const FloatMatrix& y) {
  const auto first = y.row(0);
  for (std::size_t i = 1; i < y.rows(); ++i) {
    if (!std::equal(first.begin(), first.end(), y.row(i).begin())) return false;
  }
  return true;
}

// Rows for figures whose time grows with their square; all where there are few.
std::vector<std::size_t> subset(std::size_t n, std::uint64_t seed) {
  constexpr std::size_t kMost = 2000;
  std::vector<std::size_t> rows = permutation(n, seed, kSubsetStream);
  rows.resize(std::min(n, kMost));
  return rows;
}

std::unique_ptr<PictureFeatures> open_features(const std::string& spec, const std::string& device) {
  const std::size_t colon = spec.find(':');
  const std::string kind = spec.substr(0, colon), file = colon == std::string::npos ? "" : spec.substr(colon + 1);
  if ((kind != "inception" && kind != "squeezenet") || file.empty()) {
    throw Error("--features", fmt::format("'{}' is not known", printable(spec)),
                "classifier, inception:FILE (weights of pytorch-fid) or squeezenet:FILE (of lpips); docs/metrics.md, "
                "Weights, says where they come from and how to convert them");
  }
  return kind == "inception" ? flow_library().load_inception(file, device)
                             : flow_library().load_squeezenet(file, device);
}

}  // namespace

void EvaluationArguments::add_to(CLI::App& command, const char* kernel_option, const char* kernel_text) {
  command
      .add_option("--judge", judge_data,
                  "Originals to train a judge on: of classes, or of the first property of molecules")
      ->option_text("DATA");
  command.add_option("--runs", runs, "Repetitions, each with noise of its own")
      ->transform(whole_number(1, 1000))
      ->type_name("R")
      ->capture_default_str();
  command.add_option("--run-samples", run_samples, "Samples of a run, drawn at random for each; 0: all")
      ->transform(whole_number(0, 1000000000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--gaussian-points", gaussian_points, "N of the distance to the Gaussian")
      ->transform(whole_number(2, 5000))
      ->type_name("N")
      ->capture_default_str();
  command.add_flag("--entropic", entropic, "Also that distance as the paper has it, by Sinkhorn, and debiased");
  command.add_option("--entropic-epsilon", entropic_epsilon, "ε of --entropic, in units of squared distance")
      ->check(positive_number())
      ->type_name("E")
      ->capture_default_str();
  this->kernel_option = kernel_option;
  command.add_option(kernel_option, kernel, kernel_text)->option_text("EXPR");
  command.add_option("--neighbours", neighbours, "K of trustworthiness and continuity")
      ->transform(whole_number(1, 1000))
      ->type_name("K")
      ->capture_default_str();
  command.add_flag("--coverage", coverage, "Whether p(y|x) and p(x|y) agree; takes densities");
  command.add_option("--lpips", lpips, "Weights of LPIPS (squeeze), for pictures")->option_text("FILE");
  command
      .add_option("--features", features,
                  "Of the Frechet distance: classifier (the judge's), inception:FILE (then it is FID), squeezenet:FILE")
      ->option_text("SPEC");
}

void EvaluationArguments::check() const {
  // A default asks for nothing, wherever it was written down.
  if (!entropic && entropic_epsilon != EvaluationArguments{}.entropic_epsilon)
    throw Error("--entropic-epsilon", "means nothing without --entropic", "give both, or neither");
}

// What one run measures: some of the samples, or all, with all that belongs to them. It stays where it is: the kernel
// borrows its samples.
struct Part {
  const Dataset* data = nullptr;     // the samples as they are
  Dataset taken;                     // some of them; of all there is no other copy
  Dataset shown;                     // the same on the scale that the methods saw
  std::unique_ptr<Kernel> kernel;    // of `shown`
  FloatMatrix seen;                  // features of the originals
  std::vector<std::int32_t> wanted;  // for the judge
  std::vector<std::size_t> rows;     // for figures whose time grows with their square
  FloatMatrix x_rows;
};

struct Evaluation::Impl {
  const Dataset& data;
  const ModelFacts facts;  // of the data
  const EvaluationArguments& o;
  const SampleArguments& sample;
  const Context& context;
  std::unique_ptr<Progress> progress;
  const Device device;  // of what is not the model's
  std::optional<EntropicGaussianDistance> entropic_known;
  std::optional<GaussianDistance> gaussian_known;
  std::unique_ptr<PerceptualDistance> perceptual;
  std::unique_ptr<PictureFeatures> looking;
  std::optional<Judge> judge;
  Part all;

  Impl(const Dataset& of, const ModelFacts& of_data, const EvaluationArguments& arguments,
       const DataOptions& data_options, const SampleArguments& sampling, const Context& shared, FittedTo fitted_to)
      : data(of),
        facts(of_data),
        o(arguments),
        sample(sampling),
        context(shared),
        progress(shared.progress()),
        device(coupling_device(sampling.device)) {
    if (data.size() < 2) throw Error(data.source, "has one sample", "metrics need at least two");
    if (o.run_samples == 1) throw Error("--run-samples", "1 is too few", "metrics need at least two");
    const bool by_file = !o.features.empty() && o.features != "classifier";
    if ((!o.lpips.empty() || by_file) && !facts.image)
      throw Error(o.lpips.empty() ? "--features" : "--lpips", "is for pictures, and these samples are vectors");
    const bool judged = fitted_to.originals.has_value() || !o.judge_data.empty();
    if (o.features == "classifier" && !judged) {
      if (labelled(data) == 0)
        throw Error("--features", fmt::format("a classifier learns labels, and {} has none", data.source),
                    "--labels says where they are");
      throw Error("--features", "there is no classifier", "--judge DATA names what to train one on");
    }
    // Likeness and neighbours are those that the methods were shown.
    all.shown = select(data, all_rows(data.size()));
    fitted_to.scale.apply(all.shown.samples.view());
    try {
      all.kernel = make_kernel(o.kernel.empty() ? default_kernel(all.shown) : o.kernel, all.shown, progress.get());
    } catch (const Error& error) {
      if (error.where() != "--kernel") throw;
      throw Error(o.kernel_option, error.problem(), error.remedy());
    }
    if (in_parts() && !all.kernel->extends())
      throw Error("--run-samples", fmt::format("{} is of all samples alone", all.kernel->expression()), "leave it out");
    if (!o.lpips.empty()) perceptual = flow_library().load_lpips(o.lpips, sample.device);
    if (by_file) looking = open_features(o.features, sample.device);
    if (judged) {
      if (!fitted_to.keep_judge.empty()) make_run_folder(fitted_to.keep_judge.parent_path());
      judge.emplace(fitted_to.originals ? std::move(*fitted_to.originals)
                                        : judge_originals(o.judge_data, data_options, facts, data, context),
                    data,
                    ClassifierOptions{.seed = context.seed, .device = sample.device, .keep = fitted_to.keep_judge},
                    progress.get());
      all.wanted = judge->wanted;
    }
    if (has_features()) all.seen = features_of(data.samples);
    all.data = &data;
    rank_some(all, context.seed);
    if (const std::size_t known = labelled(data); data.labels && known < 2)
      log().warn("labels on the map take at least two samples that have one, and {} has {}", data.source, known);
    if (ranked() <= 2 * o.neighbours) {
      log().warn("trustworthiness of {} neighbours needs more than {} samples, and a run has {}", o.neighbours,
                 2 * o.neighbours, ranked());
    }
    if (!data.properties.empty() && run_size() <= kPropertyNeighbours) {
      log().warn("R² of a property by {} neighbours needs more samples than that, and a run has {}",
                 kPropertyNeighbours, run_size());
    }
    if (const std::size_t n = run_size(); has_features() && n <= all.seen.cols()) {
      log().warn(
          "a Fréchet distance by {} features is of a singular covariance with {} samples; more than {} are needed "
          "for one that is not",
          all.seen.cols(), n, all.seen.cols());
    }
  }
  std::size_t run_size() const { return o.of_run(data.size()); }
  bool in_parts() const { return run_size() < data.size(); }
  // How many samples of a run have their neighbours compared.
  std::size_t ranked() const { return std::min(run_size(), all.rows.size()); }
  static void rank_some(Part& part, std::uint64_t seed) {
    part.rows = subset(part.data->size(), seed);
    part.x_rows = take_rows(part.shown.samples.view(), part.rows);
  }
  // The samples of a run, by the seed of its noise.
  std::unique_ptr<const Part> some(std::uint64_t seed) const {
    std::vector<std::size_t> rows = permutation(data.size(), seed, kPartStream);
    rows.resize(o.run_samples);
    std::sort(rows.begin(), rows.end());
    auto made = std::make_unique<Part>();
    Part& part = *made;
    part.taken = select(data, rows);
    part.data = &part.taken;
    part.shown = select(all.shown, rows);
    part.kernel = make_kernel(all.kernel->expression(), part.shown);  // its widths are those of all samples
    if (all.seen.size() > 0) part.seen = take_rows(all.seen.view(), rows);
    for (const std::size_t row : all.wanted.empty() ? std::vector<std::size_t>{} : rows)
      part.wanted.push_back(all.wanted[row]);
    rank_some(part, seed);
    return made;
  }
  // work(device), on the CPU where the device has no room beside the networks.
  template <class Work>
  auto on_device(const Work& work) const {
    try {
      return work(device);
    } catch (const OutOfDeviceMemory& error) {
      log().warn("computed on the CPU: {}", error.problem());
      return work(Device{});
    }
  }
  // Of the Fréchet distance: those asked for, else the judge's.
  bool has_features() const { return looking || judge; }
  FloatMatrix features_of(const FloatMatrix& samples) {
    return looking ? looking->features(pictures(samples), progress.get()) : judge->network->features(samples.view());
  }
  std::string features_name() const { return looking ? looking->name() : "classifier"; }
  bool can_rank(const Part& part) const { return part.rows.size() > 2 * o.neighbours; }
  Pictures pictures(const FloatMatrix& samples) const {
    return {samples.view(), *facts.image, facts.value_range ? *facts.value_range : picture_range(data)};
  }
  Json measure(FlowModel& model);
  std::optional<GaussianDistance> measure_entropic(const FloatMatrix& y, std::uint64_t seed, Figures& figures,
                                                   bool& failed);
};

Evaluation::Evaluation(const Dataset& data, const ModelFacts& facts, const EvaluationArguments& arguments,
                       const DataOptions& data_options, const SampleArguments& sample, const Context& context,
                       FittedTo fitted_to)
    : impl_(std::make_unique<Impl>(data, facts, arguments, data_options, sample, context, std::move(fitted_to))) {}
Evaluation::~Evaluation() = default;
std::size_t count_known(const Dataset& data, const Dataset& learned) {
  const bool molecules = !data.molecules.empty() && !learned.molecules.empty();
  const auto bytes = [&](const Dataset& of, std::size_t i) {
    if (molecules) return std::string_view(of.molecules[i]);
    const std::span<const float> row = of.samples.row(i);
    return std::string_view(reinterpret_cast<const char*>(row.data()), row.size_bytes());
  };
  std::unordered_set<std::string_view> known;
  for (std::size_t i = 0; i < learned.size(); ++i) known.insert(bytes(learned, i));
  std::size_t count = 0;
  for (std::size_t i = 0; i < data.size(); ++i) count += known.contains(bytes(data, i)) ? 1 : 0;
  return count;
}
DataOptions judge_options(const std::string& source, DataOptions options) {
  const bool same = options.is_source(source);
  options.part = same && options.part == "test" ? "train" : "all";
  options.source = source;
  if (!same) options.read.limit.reset(), options.sample = 0;
  return options;
}
void warn_of_known(const std::string& source, const DataOptions& options, const Dataset& data,
                   const Dataset& originals) {
  const bool same = options.is_source(source);
  if (same && options.part == "test") return;  // kept apart
  if (const std::size_t known = count_known(data, originals); known > 0)
    log().warn("--judge: {} has {} of the {} samples that are measured, and the judge knows them{}", source, known,
               data.size(), same ? "; 'cpfm evaluate --part test' keeps them apart" : "");
}
Dataset judge_originals(const std::string& source, const DataOptions& options, const ModelFacts& facts,
                        const Dataset& data, const Context& context) {
  Dataset originals = judge_options(source, options).load(context);
  match_columns(originals, facts);
  warn_of_known(source, options, data, originals);
  return originals;
}
bool can_judge(const Dataset& originals, const Dataset& data) {
  const std::vector<std::string> learned = classes_of(originals), asked = classes_of(data);
  return learned.size() > 1 &&
         std::any_of(asked.begin(), asked.end(), [&](const std::string& name) { return contains(learned, name); });
}
bool has_coverage(const ModelFacts& facts) { return facts.method == "cpfm" || facts.method == "infodiffusion"; }
Json Evaluation::measure(FlowModel& model) { return impl_->measure(model); }

// One run of the distance as the paper has it, and the exact one of the same samples, where there are not too many. The
// first run that a map far from any Gaussian does not allow ends it for all of them.
std::optional<GaussianDistance> Evaluation::Impl::measure_entropic(const FloatMatrix& y, std::uint64_t seed,
                                                                   Figures& figures, bool& failed) {
  try {
    const EntropicGaussianDistance found = on_device([&](Device where) {
      return entropic_to_gaussian(y.view(), o.gaussian_points, seed, o.entropic_epsilon, {.device = where},
                                  entropic_known ? &*entropic_known : nullptr);
    });
    entropic_known = found;
    figures.add("w2_entropic", found.value.objective);
    figures.add("w2_divergence", found.value.divergence);
    return found.exact;
  } catch (const Error& error) {
    if (error.where() != "epsilon") throw;
    log().warn("no entropic distance: {}", error.problem());
    failed = true;
    figures.forget("w2_entropic");
    figures.forget("w2_divergence");
    return std::nullopt;
  }
}

Json Evaluation::Impl::measure(FlowModel& model) {
  const ModelFacts& made = model.facts();
  // Other methods have no say in the law of their map, and are measured by the usual one.
  const bool gaussian_map = made.latent == "gaussian" || made.method != "cpfm";
  if (o.entropic && !gaussian_map)
    throw Error("--entropic", fmt::format("the map is {}, not gaussian", printable(made.latent)));

  Figures figures;
  Json gaussian;
  std::vector<double> shuffled;  // GWOT of shuffled places
  std::size_t label_neighbours = 0;
  bool no_entropic = false, no_gwot = false;
  for (std::size_t r = 0; r < o.runs; ++r) {
    SampleOptions options = sample.resolve(context, progress.get());
    options.seed = Rng(context.seed, kRunStream, r).bits64();  // runs of no two seeds share their noise
    const std::unique_ptr<const Part> drawn = in_parts() ? some(options.seed) : nullptr;
    const Part& part = drawn ? *drawn : all;
    const FloatMatrix y = model.embed(part.data->samples.view(), 1, options);
    const FloatMatrix back = model.generate(y.view(), options);
    for (const FloatMatrix* numbers : {&y, &back}) {
      for (const float value : numbers->values()) {
        if (!std::isfinite(value))
          throw Error(made.method, "gives numbers that are not finite",
                      "make it again, in another folder and with a smaller --learning-rate");
      }
    }
    figures.add("mse", mean_squared_error(part.data->samples.view(), back.view()));
    if (const auto told = labels_told_by_neighbours(y, *part.data)) {
      figures.add("knn_label", told->share);
      label_neighbours = label_neighbours == 0 ? told->k : std::min(label_neighbours, told->k);
    }
    for (const Property& property : part.data->properties) {
      if (const auto share = told_by_neighbours(y, property)) figures.add("knn_r2." + property.name, *share);
    }
    if (std::any_of(part.wanted.begin(), part.wanted.end(), [](std::int32_t id) { return id >= 0; })) {
      figures.add("label_kept", agreement(judge->network->predict(back.view()), part.wanted));
      figures.add("label_kept_1nn", agreement(judge->nearest(back.view()), part.wanted));
    }
    std::optional<GaussianDistance> distance;
    if (o.entropic && !no_entropic) distance = measure_entropic(y, options.seed, figures, no_entropic);
    if (gaussian_map) {
      if (!distance)
        distance = wasserstein2_to_gaussian(y.view(), o.gaussian_points, options.seed,
                                            gaussian_known ? &*gaussian_known : nullptr);
      gaussian_known = distance;
      figures.add("w2_gaussian", distance->value);
      gaussian = {{"n", distance->n}, {"epsilon", 0}, {"floor", distance->floor}, {"floor_sd", distance->floor_sd}};
    }
    const auto gwot_of = [&](const FloatMatrix& places) {
      return on_device(
          [&](Device where) { return gwot_objective(*part.kernel, places.view(), progress.get(), where); });
    };
    const double gwot = gwot_of(y);
    const double of_shuffled = gwot_of(take_rows(y.view(), permutation(y.rows(), options.seed, kShuffleStream)));
    if (!no_gwot && (of_shuffled == 0 || is_one_place(y))) {
      log().warn("GWOT says nothing: {}",
                 is_one_place(y) ? "all places are one"
                                 : fmt::format("{} joins no two of {} samples",
                                               printable(short_kernel(part.kernel->expression()), 80), y.rows()));
      no_gwot = true;
    }
    figures.add("gwot", gwot);
    if (of_shuffled > 0) figures.add("gwot_share", gwot / of_shuffled);
    shuffled.push_back(of_shuffled);
    if (can_rank(part)) {
      const FloatMatrix y_rows = take_rows(y.view(), part.rows);
      figures.add("trustworthiness", trustworthiness(part.x_rows.view(), y_rows.view(), o.neighbours));
      figures.add("continuity", continuity(part.x_rows.view(), y_rows.view(), o.neighbours));
    }
    if (o.coverage && has_coverage(made)) {
      constexpr std::size_t kPlaces = 200;
      static constexpr double kLevels[] = {0.5, 0.9};
      std::vector<std::size_t> places = part.rows;  // in random order
      places.resize(std::min(places.size(), kPlaces));
      const std::vector<double> inside = model_coverage(model, take_rows(y.view(), places).view(), options, kLevels);
      figures.add("coverage_50", inside[0]);
      figures.add("coverage_90", inside[1]);
    }
    if (perceptual)
      figures.add("lpips",
                  repeated(perceptual->distances(pictures(part.data->samples), pictures(back), progress.get())).mean);
    if (has_features()) figures.add("frechet", frechet_distance(part.seen.view(), features_of(back).view()));
  }

  Json result;
  if (judge) {
    const auto judged = std::count_if(all.wanted.begin(), all.wanted.end(), [](std::int32_t id) { return id >= 0; });
    const auto besides = [&](const char* name, double accuracy) {
      return Json{{"judge", name}, {"judge_accuracy", accuracy}, {"judged", judged}, {"of", data.size()}};
    };
    figures.tell(result, "label_kept", besides(facts.image ? "cnn" : "mlp", judge->network_accuracy));
    figures.tell(result, "label_kept_1nn", besides("1-NN", judge->nearest_accuracy));
  }
  figures.tell(result, "knn_label", {{"k", label_neighbours}});
  for (const Property& property : data.properties)
    figures.tell(result, "knn_r2." + property.name, {{"k", kPropertyNeighbours}, {"property", property.name}});
  figures.tell(result, "w2_gaussian", gaussian);
  if (o.entropic && !no_entropic) {
    const EntropicFloor& floor = entropic_known->floor;
    const auto besides = [&](double mean, double sd) {
      return Json{
          {"n", entropic_known->n}, {"epsilon", entropic_known->value.epsilon}, {"floor", mean}, {"floor_sd", sd}};
    };
    figures.tell(result, "w2_entropic", besides(floor.objective, floor.objective_sd));
    figures.tell(result, "w2_divergence", besides(floor.divergence, floor.divergence_sd));
  }
  if (!no_gwot) {
    figures.tell(result, "gwot", {{"kernel", all.kernel->expression()}, {"random", repeated(shuffled).mean}});
    figures.tell(result, "gwot_share");
  }
  figures.tell(result, "trustworthiness", {{"k", o.neighbours}, {"n", ranked()}});
  figures.tell(result, "continuity", {{"k", o.neighbours}, {"n", ranked()}});
  figures.tell(result, "mse");
  figures.tell(result, "lpips", {{"network", "squeeze"}});
  if (has_features()) {
    figures.tell(result, "frechet",
                 {{"features", features_name()}, {"is_fid", features_name() == "inception"}, {"n", run_size()}});
  }
  figures.tell(result, "coverage_50", {{"nominal", 0.5}});
  figures.tell(result, "coverage_90", {{"nominal", 0.9}});
  return result;
}

void print_evaluation(const Json& figures) {
  const auto line = [&](const char* key, const std::string& what, const auto& note) {
    if (!figures.contains(key)) return;
    const Json &figure = figures[key], &sd = figure["sd"];
    fmt::print("  {:<19} {:.4g}{}{}\n", what, figure["mean"].get<double>(),
               sd.is_null() ? "" : fmt::format(" ± {:.2g}", sd.get<double>()), note(figure));
  };
  const auto number = [](const Json& figure, const char* key) { return figure[key].get<double>(); };
  const auto fixed = [](const char* text) { return [text](const Json&) { return std::string(text); }; };
  const auto floor = [&](const Json& f) {
    const double epsilon = number(f, "epsilon");
    return fmt::format("  at N = {}, {}; floor {:.4g} ± {:.2g}", f["n"].get<std::size_t>(),
                       epsilon > 0 ? fmt::format("ε = {:.3g}", epsilon) : "exact", number(f, "floor"),
                       number(f, "floor_sd"));
  };
  const auto nominal = [&](const Json& f) { return fmt::format("  should be {}", number(f, "nominal")); };
  const auto of_neighbours = [](const Json& f) {
    return fmt::format("  {} neighbours, {} samples", f["k"].get<std::size_t>(), f["n"].get<std::size_t>());
  };
  line("label_kept", "label kept", [&](const Json& f) {
    const std::size_t judged = f.value("judged", std::size_t{0}), of = f.value("of", std::size_t{0});
    return fmt::format("  judged by a network that is right on {:.4f} of the originals{}", number(f, "judge_accuracy"),
                       judged < of ? fmt::format("; {} of {} samples are judged", judged, of) : "");
  });
  line("label_kept_1nn", "  by 1-NN", [&](const Json& f) {
    return fmt::format("  which is right on {:.4f} of the originals", number(f, "judge_accuracy"));
  });
  if (figures.contains("knn_label"))
    line("knn_label", fmt::format("{}-NN label", figures["knn_label"]["k"].get<std::size_t>()), fixed("  on the map"));
  for (const auto& [key, figure] : figures.items()) {
    if (key.starts_with("knn_r2."))
      line(key.c_str(), "10-NN R2", [](const Json& f) {
        return fmt::format("  of {} on the map", printable(f["property"].get<std::string>(), 40));
      });
  }
  line("w2_gaussian", "W2^2 to Gaussian", floor);
  line("w2_entropic", "  as the paper has it", floor);
  line("w2_divergence", "  debiased", floor);
  line("gwot", "GWOT objective", [&](const Json& f) {
    return fmt::format("  {}; places shuffled {:.4g}", printable(short_kernel(f["kernel"].get<std::string>()), 80),
                       number(f, "random"));
  });
  line("gwot_share", "  of shuffled places'", fixed("  whatever the scale of the map"));
  line("trustworthiness", "trustworthiness", of_neighbours);
  line("continuity", "continuity", of_neighbours);
  line("mse", "squared error", fixed("  per value, there and back"));
  line("lpips", "LPIPS", fixed("  there and back"));
  line("frechet", figures.contains("frechet") && figures["frechet"]["is_fid"].get<bool>() ? "FID" : "Frechet distance",
       [](const Json& f) {
         return fmt::format("  {} features of {} samples", f["features"].get<std::string>(), f["n"].get<std::size_t>());
       });
  line("coverage_50", "coverage of p(y|x)", nominal);
  line("coverage_90", "", nominal);
}

}  // namespace cpfm::app
