#include "run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include "base/take_rows.hpp"
#include "base/text.hpp"
#include "cpfm/baseline.hpp"
#include "cpfm/html_report.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/molecule.hpp"
#include "cpfm/random.hpp"
#include "cpfm/report.hpp"
#include "map_view.hpp"
#include "model_input.hpp"
#include "whole_file.hpp"

namespace cpfm::app {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLargePicture = 3 * 48 * 48;
constexpr std::uint32_t kShownStream = 0x73686f77;  // "show"

// A picture of the report, which is also a file of its own.
ReportFigure picture(const Run& run, const char* name, std::vector<std::byte> png, double scale, std::string caption) {
  write_whole(run.folder / name, png);
  return {.png = std::move(png), .scale = scale, .caption = std::move(caption)};
}

Lines loss_curves(const fs::path& metrics, bool cpfm) {
  Lines lines;
  lines.title = "Loss";
  lines.x_label = "step";
  lines.y_label = cpfm ? "mean squared error of the drift" : "loss";
  lines.log_y = true;
  Series x{.name = cpfm ? "x given y" : "samples"}, y{.name = cpfm ? "y given x" : "map"};
  Series held_x{.name = x.name + ", held out", .markers = true, .dashed = true};
  Series held_y{.name = y.name + ", held out", .markers = true, .dashed = true};
  std::ifstream in(metrics);
  for (std::string line; std::getline(in, line);) {
    const Json entry = Json::parse(line, nullptr, false);
    if (!entry.is_object()) continue;  // a line that a kill cut short
    const double step = entry.value("step", 0.0);
    const auto add = [&](Series& series, const char* key) {
      if (!entry.contains(key)) return;
      const double value = entry[key].get<double>();
      if (!(value > 0)) return;  // no place on a logarithmic axis
      series.x.push_back(step);
      series.y.push_back(value);
    };
    add(x, "loss_x");
    add(y, "loss_y");
    // A held-out loss is repeated until it is measured again.
    const bool fresh =
        entry.contains("validation_x") && (held_x.y.empty() || held_x.y.back() != entry["validation_x"].get<double>());
    if (fresh) add(held_x, "validation_x");
    if (fresh) add(held_y, "validation_y");
  }
  for (Series* series : {&x, &y, &held_x, &held_y}) {
    if (!series->x.empty() || series == &x) lines.series.push_back(*series);  // a figure has at least one
  }
  return lines;
}

Lines objective_curve(const CoupleSummary& summary) {
  Lines lines;
  lines.title = "Objective of the coupling";
  lines.x_label = "half-iterations";
  lines.y_label = "share of a random coupling's";
  Series series;
  for (const CoupleSummary::Moment& moment : summary.history) {
    series.x.push_back(moment.half_iterations);
    series.y.push_back(moment.objective / summary.objective_random);
  }
  lines.series = {series};
  return lines;
}

// At most `most` rows, the same ones every time, in the order of the data.
std::vector<std::size_t> some_rows(std::size_t n, std::size_t most, std::uint64_t seed) {
  std::vector<std::size_t> rows = permutation(n, seed, kShownStream);
  rows.resize(std::min(n, most));
  std::sort(rows.begin(), rows.end());
  return rows;
}

ReportSection how_to_make_again(const Run& run, const Context& context) {
  return {.heading = "How to make it again",
          .blocks = {ReportListing{.text = context.command_line, .caption = "The command"},
                     ReportListing{.text = run.config, .caption = "Its options: config.toml"}}};
}

std::string number(double value) { return fmt::format("{:.4g}", value); }

// How much of each property the places on a map tell.
Json neighbours_tell(const FloatMatrix& y, const Dataset& data) {
  Json result = Json::object();
  for (const Property& property : data.properties) {
    if (const auto share = told_by_neighbours(y, property)) result[property.name] = *share;
  }
  return result;
}

// How well the properties of molecules are guessed from the others: about what can be told of new ones.
Json guesses_tell(const MoleculeCoder& coder, const Dataset& data) {
  Json result = Json::object();
  const FloatMatrix guesses = coder.guesses(data.molecules);
  for (std::size_t p = 0; p < guesses.cols(); ++p) {
    const std::vector<double> actual(data.properties[p].values.begin(), data.properties[p].values.end());
    const double n = static_cast<double>(actual.size());
    const double mean = std::accumulate(actual.begin(), actual.end(), 0.0) / n;
    double square = 0;
    for (const double value : actual) square += (value - mean) * (value - mean) / n;
    if (square == 0) continue;
    std::vector<double> guessed(actual.size());
    for (std::size_t i = 0; i < guessed.size(); ++i) guessed[i] = mean + std::sqrt(square) * guesses(i, p);
    result[data.properties[p].name] = r_squared(guessed, actual);
  }
  return result;
}

// The report of a model, in the order of its sections; what the model makes of some samples is shared by all of them.
class ModelReport {
 public:
  ModelReport(const Run& run, const TrainState& state, const Context& context)
      : run_(run),
        state_(state),
        context_(context),
        model_(open_model((run / "model.cpfm").string(), run.options.device)),
        facts_(model_->facts()),
        coupled_(run.coupling != nullptr ? &run.coupling->summary : nullptr),
        progress_(context.progress()),
        sampling_(run.sampling),
        // Large pictures take long, and fewer of them fill a page.
        large_(facts_.image && facts_.image->size() > kLargePicture),
        rows_(some_rows(run.data.size(), 2000, context.seed)),
        shown_(select(run.data, rows_)) {
    sampling_.seed = context.seed;
    sampling_.progress = progress_.get();
    run.applied.invert(shown_.samples.view());  // the model wants samples as they are in the file
    y_ = model_->embed(shown_.samples.view(), 1, sampling_);
    back_ =
        model_->generate({y_.data(), std::min<std::size_t>(shown_.size(), large_ ? 90 : 500), y_.cols()}, sampling_);
  }

  Json write() {
    measure();
    report_.title = printable(run_.data.source, 100);
    report_.subtitle = coupled_ != nullptr
                           ? fmt::format("{} on a {} map", short_kernel(coupled_->kernel), coupled_->latent)
                           : fmt::format("the map that {} makes", facts_.method);
    add_map();
    if (facts_.image) {
      add_pictures();
    } else if (run_.molecules != nullptr) {
      add_molecules();
      add_tsne_of_molecules();
    } else {
      add_features();
    }
    add_curves();
    add_numbers();
    add_how_to_make_again();
    report_.footer = version_text();
    write_html_report(run_ / "report.html", report_);
    return std::move(numbers_);
  }

 private:
  MatrixView<const float> originals() const { return {shown_.samples.data(), back_.rows(), shown_.dim()}; }

  void measure();
  void add_map();
  void add_pictures();
  void add_molecules();
  void add_tsne_of_molecules();
  void add_features();
  void add_curves();
  void add_numbers();
  void add_how_to_make_again();

  void add(ReportSection section) { report_.sections.push_back(std::move(section)); }
  ReportFigure png(const char* name, const Figure& figure, std::string caption) const {
    return picture(run_, name, png_bytes(figure), figure.scale, std::move(caption));
  }
  ReportFigure png(const char* name, std::vector<std::byte> bytes) const {
    return picture(run_, name, std::move(bytes), 1, "");
  }
  // Where the map is, all of it.
  GridBox whole_map() const { return box_around(run_.coupling != nullptr ? run_.coupling->latent.view() : y_.view()); }

  const Run& run_;
  const TrainState& state_;
  const Context& context_;
  const std::unique_ptr<FlowModel> model_;
  const ModelFacts& facts_;
  const CoupleSummary* const coupled_;  // null for methods that need no coupling
  const std::unique_ptr<Progress> progress_;
  SampleOptions sampling_;
  const bool large_;
  const std::vector<std::size_t> rows_;  // of the data, that are shown
  Dataset shown_;
  FloatMatrix plan_;      // where the coupling puts what is shown
  FloatMatrix y_, back_;  // the places of all that is shown, and what comes back from the first of them
  Json numbers_;
  HtmlReport report_;
};

void ModelReport::measure() {
  numbers_ = {{"output", run_.folder.string()},
              {"model", (run_ / "model.cpfm").string()},
              {"report", (run_ / "report.html").string()},
              {"n", run_.data.size()},
              {"parameters", facts_.parameters},
              {"steps", state_.steps},
              {"epochs", state_.epoch},
              {"seconds", state_.seconds},
              {"loss_x", state_.loss_x},
              {"loss_y", state_.loss_y},
              {"device", model_->device()},
              {"method", facts_.method}};
  if (coupled_ != nullptr) numbers_["coupling"] = Json::parse(to_json(*coupled_));
  if (state_.validation_x)
    numbers_.update({{"validation_x", *state_.validation_x}, {"validation_y", *state_.validation_y}});
  numbers_["mse"] = mean_squared_error(originals(), back_.view());
  if (shown_.labels) {
    const std::vector<std::int32_t>& labels = shown_.labels->ids;
    const std::span<const std::int32_t> own(labels.data(), back_.rows());
    const auto labelled = std::count_if(own.begin(), own.end(), [](std::int32_t id) { return id >= 0; });
    if (labelled > 0) {
      const std::vector<std::int32_t> judged = nearest_labels(shown_.samples.view(), labels, back_.view(), 1);
      numbers_["label_kept"] = {{"value", agreement(judged, own)}, {"n", labelled}, {"judge", "1-NN on the originals"}};
    }
  }
  if (const auto told = labels_told_by_neighbours(y_, shown_))
    numbers_["knn_label"] = {{"value", told->share}, {"k", told->k}};
  if (facts_.latent == "gaussian") {
    const GaussianDistance distance = wasserstein2_to_gaussian(y_.view(), 1000, context_.seed);
    numbers_["w2_gaussian"] = {
        {"value", distance.value}, {"n", distance.n}, {"floor", distance.floor}, {"floor_sd", distance.floor_sd}};
  }
  if (!shown_.properties.empty()) numbers_["knn_r2"]["network"] = neighbours_tell(y_, shown_);
  if (run_.molecules != nullptr) numbers_["guess_r2"] = guesses_tell(*run_.molecules, run_.data);
}

void ModelReport::add_map() {
  if (!can_draw()) return;
  const std::string caption = fmt::format("{} samples", rows_.size());
  Figure maps;
  if (coupled_ == nullptr) {
    maps.panels = {map_scatter(y_, shown_, "")};
    add({.heading = "The map",
         .text = "Where the model puts each sample.",
         .blocks = {png("embedding.png", maps, caption)}});
    return;
  }
  const FloatMatrix all = run_.coupling->embed_all(run_.coupled(), false, context_.seed);
  plan_ = take_rows(all.view(), rows_);
  if (!shown_.properties.empty()) numbers_["knn_r2"]["coupling"] = neighbours_tell(plan_, shown_);
  maps.panels = {map_scatter(plan_, shown_, coupled_->kernel, "Coupling (stage 1)"),
                 map_scatter(y_, shown_, coupled_->kernel, "Network (stage 2)")};
  add({.heading = "The map",
       .text = fmt::format("Left, where the coupling puts each sample; right, where the network does, which sees {}. "
                           "One draw each.",
                           run_.molecules == nullptr ? "the sample alone" : "the molecule and its properties"),
       .blocks = {png("embedding.png", maps, caption)}});
}

void ModelReport::add_pictures() {
  GridOptions grid;
  grid.range = facts_.value_range.value_or(std::array<float, 2>{0, 255});
  grid.columns = 15;
  const std::size_t pairs = std::min<std::size_t>(45, back_.rows());
  const FloatMatrix both = interleave_pairs({shown_.samples.data(), pairs, shown_.dim()},
                                            {back_.data(), pairs, back_.cols()}, grid.columns, grid.range);
  add({.heading = "There and back",
       .text = "Rows in turn: originals, and what comes back from their place on the map.",
       .blocks = {png("reconstructions.png", png_grid_bytes(both.view(), *facts_.image, grid))}});
  const std::size_t side = large_ ? 10 : 15;
  const GridBox box = whole_map();
  const FloatMatrix places = grid_places(side, box, facts_.latent_dim);
  const FloatMatrix generated = model_->generate(places.view(), sampling_);
  grid.columns = side;
  add({.heading = "Across the map",
       .text = fmt::format(
           "A sample for every place of a grid, from {:.2g} to {:.2g} across{}.", box.across[0], box.across[1],
           facts_.latent_dim > 1 ? fmt::format(" and from {:.2g} to {:.2g} upwards", box.up[0], box.up[1]) : ""),
       .blocks = {png("grid.png", png_grid_bytes(generated.view(), *facts_.image, grid))}});
}

// Molecules in place of the numbers that stand for them, drawn where they lie.
void ModelReport::add_molecules() {
  constexpr std::size_t kPairs = 24, kColumns = 6, kSide = 8;
  const std::size_t pairs = std::min({kPairs, shown_.size(), back_.rows()});
  MoleculeSheetOptions sheet;
  sheet.columns = std::min(kColumns, pairs);
  const std::vector<std::string> returned = run_.molecules->decode({back_.data(), pairs, back_.cols()});
  const std::vector<std::string> both =
      molecule_pairs(std::span(shown_.molecules).first(pairs), returned, sheet.columns);
  add({.heading = "Molecules there and back",
       .text = "Rows in turn: molecules, and what comes back from their place on the map.",
       .blocks = {png("reconstructions.png", molecule_sheet_png(both, sheet))}});
  const GridBox box = whole_map();
  const FloatMatrix places = grid_places(kSide, box, y_.cols());
  const FloatMatrix points = model_->generate(places.view(), sampling_);
  sheet.columns = kSide;
  sheet.cell_width = 150;
  sheet.cell_height = 120;
  add({.heading = "Across the map",
       .text = fmt::format("A molecule for every place of a grid, from {:.2g} to {:.2g} across.", box.across[0],
                           box.across[1]),
       .blocks = {png("grid.png", molecule_sheet_png(run_.molecules->decode(points.view()), sheet))}});
}

void ModelReport::add_tsne_of_molecules() {
  if (shown_.size() < 8 || coupled_ == nullptr) return;
  const Standardizer scale = Standardizer::fit(shown_, Standardize::kZscore);
  FloatMatrix scaled = take_rows(shown_.samples.view(), some_rows(shown_.size(), shown_.size(), 0));
  scale.apply(scaled.view());
  TsneOptions options;
  options.perplexity = std::min(options.perplexity, static_cast<double>(shown_.size() - 1) / 3.5);
  const FloatMatrix beside = tsne(scaled.view(), options, sampling_.progress);
  numbers_["knn_r2"]["tsne"] = neighbours_tell(beside, shown_);
  numbers_["knn_r2"]["pca"] = neighbours_tell(first_components(scaled.view(), 2), shown_);
  if (!can_draw()) return;
  Figure maps;
  maps.panels = {map_scatter(beside, shown_, coupled_->kernel, "t-SNE of the points"),
                 map_scatter(plan_, shown_, coupled_->kernel, "Coupling"),
                 map_scatter(y_, shown_, coupled_->kernel, "Network")};
  add({.heading = "Beside t-SNE",
       .text = "The same molecules where t-SNE puts the points that stand for them.",
       .blocks = {png("tsne.png", maps, fmt::format("{} molecules", shown_.size()))}});
}

void ModelReport::add_features() {
  constexpr std::size_t kMostRows = 40;
  const std::vector<double> explained = explained_variance(originals(), back_.view());
  ReportTable table;
  table.columns = {{.name = "feature"}, {.name = "explained variance", .numeric = true}};
  for (std::size_t k = 0; k < std::min(explained.size(), kMostRows); ++k) {
    table.rows.push_back({k < facts_.feature_names.size() ? facts_.feature_names[k] : fmt::format("feature {}", k + 1),
                          fmt::format("{:.3f}", explained[k])});
  }
  if (explained.size() > kMostRows) table.caption = fmt::format("The first {} of {}", kMostRows, explained.size());
  add({.heading = "There and back",
       .text = "How much of each feature comes back from a place on the map: 1 is all of it, 0 no more than the mean. "
               "A place stands for many samples, and one of them is drawn.",
       .blocks = {table}});
}

void ModelReport::add_curves() {
  if (!can_draw() || state_.steps == 0) return;
  Figure curves;
  curves.panels = {loss_curves(run_ / "metrics.jsonl", coupled_ != nullptr)};
  if (coupled_ != nullptr && !coupled_->history.empty()) curves.panels.emplace_back(objective_curve(*coupled_));
  add({.heading = "How it went", .blocks = {png("curves.png", curves, "")}});
}

void ModelReport::add_numbers() {
  ReportFacts block;
  const auto fact = [&](std::string what, std::string text) {
    block.facts.emplace_back(std::move(what), std::move(text));
  };
  fact("Samples", fmt::format("{} of {} features", run_.data.size(), run_.data.dim()));
  if (coupled_ != nullptr) {
    fact("Objective of the coupling",
         fmt::format("{} ({:.1f} % of a random coupling's {}), {}", number(coupled_->objective),
                     100 * coupled_->objective / coupled_->objective_random, number(coupled_->objective_random),
                     coupled_->status));
  }
  fact("Method", facts_.method);
  if (state_.steps > 0) fact("Network", fmt::format("{}, {} parameters", facts_.network.kind, facts_.parameters));
  if (state_.steps > 0)
    fact("Training", fmt::format("{} steps, {} epochs, {:.1f} min on {}", state_.steps, state_.epoch,
                                 state_.seconds / 60, model_->device()));
  if (state_.validation_x)
    fact("Loss, held out", fmt::format("x {}, y {}", number(*state_.validation_x), number(*state_.validation_y)));
  fact("Squared error there and back", fmt::format("{} per value", number(numbers_["mse"].get<double>())));
  if (numbers_.contains("label_kept")) {
    fact("Label kept there and back",
         fmt::format("{:.3f} of {} samples of the training data, judged by 1-NN on the originals",
                     numbers_["label_kept"]["value"].get<double>(), numbers_["label_kept"]["n"].get<std::size_t>()));
  }
  if (numbers_.contains("knn_label")) {
    fact(fmt::format("{}-NN label on the map", numbers_["knn_label"]["k"].get<std::size_t>()),
         fmt::format("{:.3f}", numbers_["knn_label"]["value"].get<double>()));
  }
  const Json guesses = numbers_.value("guess_r2", Json::object());
  for (const auto& [property, share] : guesses.items())
    fact(fmt::format("R² of {} guessed from other molecules", printable(property, 60)),
         fmt::format("{:.3f}", share.get<double>()));
  const Json maps = numbers_.value("knn_r2", Json::object());
  for (const auto& [map, told] : maps.items()) {
    for (const auto& [property, share] : told.items())
      fact(fmt::format("10-NN R² of {}, {}", printable(property, 60), map), fmt::format("{:.3f}", share.get<double>()));
  }
  if (numbers_.contains("w2_gaussian")) {
    const Json& w2 = numbers_["w2_gaussian"];
    fact("W₂² to the Gaussian",
         fmt::format("{} at N = {} (floor {} ± {:.2g})", number(w2["value"].get<double>()), w2["n"].get<std::size_t>(),
                     number(w2["floor"].get<double>()), w2["floor_sd"].get<double>()));
  }
  add({.heading = "Numbers", .blocks = {block}});
}

void ModelReport::add_how_to_make_again() {
  ReportSection again = how_to_make_again(run_, context_);
  if (!facts_.training.empty()) {
    again.blocks.push_back(ReportListing{.text = Json::parse(facts_.training).dump(2),
                                         .caption = "What training made of them on this machine"});
  }
  add(std::move(again));
}

}  // namespace

Json write_run_report(const Run& run, const TrainState& state, const Context& context) {
  return ModelReport(run, state, context).write();
}

Json write_map_report(const Run& run, const FloatMatrix& y, double seconds, const Context& context) {
  constexpr std::size_t kNeighbours = 10, kMost = 2000;
  const std::vector<std::size_t> rows = some_rows(run.data.size(), kMost, context.seed);
  const Dataset shown = select(run.data, rows);
  const FloatMatrix places = take_rows(y.view(), rows);
  Json numbers{{"output", run.folder.string()},
               {"embedding", (run / "embedding.csv").string()},
               {"report", (run / "report.html").string()},
               {"n", run.data.size()},
               {"seconds", seconds},
               {"method", run.options.method}};
  ReportFacts facts;
  facts.facts = {{"Samples", fmt::format("{} of {} features", run.data.size(), run.data.dim())},
                 {"Method", run.options.method},
                 {"Seconds", fmt::format("{:.1f}", seconds)}};
  if (rows.size() > 2 * kNeighbours) {
    const double trust = trustworthiness(shown.samples.view(), places.view(), kNeighbours);
    numbers["trustworthiness"] = {{"value", trust}, {"k", kNeighbours}, {"n", rows.size()}};
    facts.facts.emplace_back("Trustworthiness", fmt::format("{:.4f} of {} neighbours", trust, kNeighbours));
  }
  if (const auto told = labels_told_by_neighbours(places, shown)) {
    numbers["knn_label"] = {{"value", told->share}, {"k", told->k}};
    facts.facts.emplace_back(fmt::format("{}-NN label on the map", told->k), fmt::format("{:.3f}", told->share));
  }
  HtmlReport report;
  report.title = printable(run.data.source, 100);
  report.subtitle = fmt::format("the map that {} makes", run.options.method);
  if (can_draw()) {
    Figure map;
    map.panels = {map_scatter(places, shown, "")};
    report.sections.push_back(
        {.heading = "The map",
         .text = "Where each sample is put. There is no model: other samples have no place, and "
                 "nothing comes back from one.",
         .blocks = {picture(run, "embedding.png", png_bytes(map), map.scale, fmt::format("{} samples", rows.size()))}});
  }
  report.sections.push_back({.heading = "Numbers", .blocks = {facts}});
  report.sections.push_back(how_to_make_again(run, context));
  report.footer = version_text();
  write_html_report(run / "report.html", report);
  return numbers;
}

}  // namespace cpfm::app
