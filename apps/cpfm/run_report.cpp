#include "run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

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
constexpr std::size_t kLabelNeighbours = 15;

// Collects the report while pictures are made, each also as a file of its own.
class Builder {
 public:
  explicit Builder(const Run& run) : run_(run) {}

  ReportFigure picture(const char* name, std::vector<std::byte> png, double scale, std::string caption) {
    write_whole(run_.folder / name, png);
    return {.png = std::move(png), .scale = scale, .caption = std::move(caption)};
  }

 private:
  const Run& run_;
};

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

// Molecules in place of the numbers that stand for them: drawn where they lie, and beside the map that t-SNE makes.
void add_molecules(HtmlReport& report, Builder& build, Json& numbers, const Run& run, FlowModel& model,
                   const Dataset& shown, const FloatMatrix& y, const FloatMatrix& back, const SampleOptions& sampling) {
  constexpr std::size_t kPairs = 24, kColumns = 6, kSide = 8;
  const std::size_t pairs = std::min({kPairs, shown.size(), back.rows()});
  MoleculeSheetOptions sheet;
  sheet.columns = std::min(kColumns, pairs);
  const std::vector<std::string> returned = run.molecules->decode({back.data(), pairs, back.cols()});
  report.sections.push_back(
      {.heading = "Molecules there and back",
       .text = "Rows in turn: molecules, and what comes back from their place on the map.",
       .blocks = {build.picture(
           "reconstructions.png",
           molecule_sheet_png(molecule_pairs(std::span(shown.molecules).first(pairs), returned, sheet.columns), sheet),
           1, "")}});
  const GridBox box = box_around(run.coupling != nullptr ? run.coupling->latent.view() : y.view());
  const FloatMatrix places = grid_places(kSide, box, y.cols());
  const FloatMatrix points = model.generate(places.view(), sampling);
  sheet.columns = kSide;
  sheet.cell_width = 150;
  sheet.cell_height = 120;
  report.sections.push_back(
      {.heading = "Across the map",
       .text = fmt::format("A molecule for every place of a grid, from {:.2g} to {:.2g} across.", box.across[0],
                           box.across[1]),
       .blocks = {build.picture("grid.png", molecule_sheet_png(run.molecules->decode(points.view()), sheet), 1, "")}});
  if (shown.size() < 8 || run.coupling == nullptr) return;
  const Standardizer scale = Standardizer::fit(shown, Standardize::kZscore);
  FloatMatrix scaled = take_rows(shown.samples.view(), some_rows(shown.size(), shown.size(), 0));
  scale.apply(scaled.view());
  TsneOptions options;
  options.perplexity = std::min(options.perplexity, static_cast<double>(shown.size() - 1) / 3.5);
  const FloatMatrix beside = tsne(scaled.view(), options, sampling.progress);
  numbers["knn_r2"]["tsne"] = neighbours_tell(beside, shown);
  numbers["knn_r2"]["pca"] = neighbours_tell(first_components(scaled.view(), 2), shown);
  if (!can_draw()) return;
  Figure maps;
  maps.panels = {map_scatter(beside, shown, run.coupling->summary.kernel, "t-SNE of the points"),
                 map_scatter(y, shown, run.coupling->summary.kernel, "Network")};
  report.sections.push_back(
      {.heading = "Beside t-SNE",
       .text = "The same molecules where t-SNE puts the points that stand for them.",
       .blocks = {build.picture("tsne.png", png_bytes(maps), maps.scale, fmt::format("{} molecules", shown.size()))}});
}

}  // namespace

Json write_run_report(const Run& run, const TrainState& state, const Context& context) {
  const auto model = open_model((run / "model.cpfm").string(), run.options.device);
  const ModelFacts& facts = model->facts();
  const CoupleSummary* const coupled = run.coupling != nullptr ? &run.coupling->summary : nullptr;
  const auto progress = context.progress();
  SampleOptions sampling;
  sampling.seed = context.seed;
  sampling.progress = progress.get();

  // The model wants samples as they are in the file.
  const std::vector<std::size_t> rows = some_rows(run.data.size(), 2000, context.seed);
  Dataset shown = select(run.data, rows);
  run.applied.invert(shown.samples.view());
  const FloatMatrix y = model->embed(shown.samples.view(), 1, sampling);
  // Large pictures take long, and fewer of them fill a page.
  const bool large = facts.image && facts.image->size() > kLargePicture;
  const std::size_t most_back = std::min<std::size_t>(shown.size(), large ? 90 : 500);
  const FloatMatrix back = model->generate({y.data(), most_back, y.cols()}, sampling);

  Json numbers{{"output", run.folder.string()},
               {"model", (run / "model.cpfm").string()},
               {"report", (run / "report.html").string()},
               {"n", run.data.size()},
               {"parameters", facts.parameters},
               {"steps", state.steps},
               {"epochs", state.epoch},
               {"seconds", state.seconds},
               {"loss_x", state.loss_x},
               {"loss_y", state.loss_y},
               {"device", model->device()},
               {"method", facts.method}};
  if (coupled != nullptr) numbers["coupling"] = Json::parse(to_json(*coupled));
  if (state.validation_x)
    numbers.update({{"validation_x", *state.validation_x}, {"validation_y", *state.validation_y}});
  const MatrixView<const float> originals{shown.samples.data(), most_back, shown.dim()};
  const double mse = mean_squared_error(originals, back.view());
  numbers["mse"] = mse;
  if (shown.labels) {
    const std::vector<std::int32_t> judged = nearest_labels(shown.samples.view(), shown.labels->ids, back.view(), 1);
    const std::span<const std::int32_t> own(shown.labels->ids.data(), most_back);
    numbers["label_kept"] = {{"value", agreement(judged, own)}, {"n", most_back}, {"judge", "1-NN on the originals"}};
    const std::size_t k = std::min(kLabelNeighbours, shown.size() - 1);
    const std::vector<std::int32_t> neighbours = nearest_labels(y.view(), shown.labels->ids, y.view(), k, true);
    numbers["knn_label"] = {{"value", agreement(neighbours, shown.labels->ids)}, {"k", k}};
  }
  if (facts.latent == "gaussian") {
    const GaussianDistance distance = wasserstein2_to_gaussian(y.view(), 1000, context.seed);
    numbers["w2_gaussian"] = {{"value", distance.value}, {"n", distance.n}, {"floor", distance.floor}};
  }

  if (!shown.properties.empty()) numbers["knn_r2"]["network"] = neighbours_tell(y, shown);

  Builder build(run);
  HtmlReport report;
  report.title = printable(run.data.source, 100);
  report.subtitle = coupled != nullptr ? fmt::format("{} on a {} map", short_kernel(coupled->kernel), coupled->latent)
                                       : fmt::format("the map that {} makes", facts.method);
  if (can_draw() && coupled == nullptr) {
    Figure map;
    map.panels = {map_scatter(y, shown, "")};
    report.sections.push_back({.heading = "The map",
                               .text = "Where the model puts each sample.",
                               .blocks = {build.picture("embedding.png", png_bytes(map), map.scale,
                                                        fmt::format("{} samples", rows.size()))}});
  } else if (can_draw()) {
    const FloatMatrix all = run.coupling->embed_all(run.coupled(), false, context.seed);
    const FloatMatrix plan = take_rows(all.view(), rows);
    if (!shown.properties.empty()) numbers["knn_r2"]["coupling"] = neighbours_tell(plan, shown);
    Figure maps;
    maps.panels = {map_scatter(plan, shown, coupled->kernel, "Coupling (stage 1)"),
                   map_scatter(y, shown, coupled->kernel, "Network (stage 2)")};
    report.sections.push_back({.heading = "The map",
                               .text = "Left, where the coupling puts each sample; right, where the network does, "
                                       "which sees the sample alone. One draw each.",
                               .blocks = {build.picture("embedding.png", png_bytes(maps), maps.scale,
                                                        fmt::format("{} samples", rows.size()))}});
  }
  if (facts.image) {
    GridOptions grid;
    grid.range = facts.value_range.value_or(std::array<float, 2>{0, 255});
    grid.columns = 15;
    const std::size_t pairs = std::min<std::size_t>(45, most_back);
    const FloatMatrix both = interleave_pairs({shown.samples.data(), pairs, shown.dim()},
                                              {back.data(), pairs, back.cols()}, grid.columns, grid.range);
    report.sections.push_back(
        {.heading = "There and back",
         .text = "Rows in turn: originals, and what comes back from their place on the map.",
         .blocks = {build.picture("reconstructions.png", png_grid_bytes(both.view(), *facts.image, grid), 1, "")}});
    const std::size_t side = large ? 10 : 15;
    const GridBox box = box_around(coupled != nullptr ? run.coupling->latent.view() : y.view());
    const FloatMatrix places = grid_places(side, box, facts.latent_dim);
    const FloatMatrix generated = model->generate(places.view(), sampling);
    grid.columns = side;
    report.sections.push_back(
        {.heading = "Across the map",
         .text = fmt::format(
             "A sample for every place of a grid, from {:.2g} to {:.2g} across{}.", box.across[0], box.across[1],
             facts.latent_dim > 1 ? fmt::format(" and from {:.2g} to {:.2g} upwards", box.up[0], box.up[1]) : ""),
         .blocks = {build.picture("grid.png", png_grid_bytes(generated.view(), *facts.image, grid), 1, "")}});
  }
  if (run.molecules != nullptr) add_molecules(report, build, numbers, run, *model, shown, y, back, sampling);
  if (!facts.image && run.molecules == nullptr) {
    constexpr std::size_t kMostRows = 40;
    const std::vector<double> explained = explained_variance(originals, back.view());
    ReportTable table;
    table.columns = {{.name = "feature"}, {.name = "explained variance", .numeric = true}};
    for (std::size_t k = 0; k < std::min(explained.size(), kMostRows); ++k) {
      table.rows.push_back({k < facts.feature_names.size() ? facts.feature_names[k] : fmt::format("feature {}", k + 1),
                            fmt::format("{:.3f}", explained[k])});
    }
    if (explained.size() > kMostRows) table.caption = fmt::format("The first {} of {}", kMostRows, explained.size());
    report.sections.push_back(
        {.heading = "There and back",
         .text =
             "How much of each feature comes back from a place on the map: 1 is all of it, 0 no more than the mean. "
             "A place stands for many samples, and one of them is drawn.",
         .blocks = {table}});
  }
  if (can_draw() && state.steps > 0) {
    Figure curves;
    curves.panels = {loss_curves(run / "metrics.jsonl", coupled != nullptr)};
    if (coupled != nullptr && !coupled->history.empty()) curves.panels.emplace_back(objective_curve(*coupled));
    report.sections.push_back(
        {.heading = "How it went", .blocks = {build.picture("curves.png", png_bytes(curves), curves.scale, "")}});
  }
  ReportFacts facts_block;
  const auto fact = [&](const char* what, std::string text) { facts_block.facts.emplace_back(what, std::move(text)); };
  fact("Samples", fmt::format("{} of {} features", run.data.size(), run.data.dim()));
  if (coupled != nullptr) {
    fact("Objective of the coupling",
         fmt::format("{} ({:.1f} % of a random coupling's {}), {}", number(coupled->objective),
                     100 * coupled->objective / coupled->objective_random, number(coupled->objective_random),
                     coupled->status));
  }
  fact("Method", facts.method);
  if (state.steps > 0) fact("Network", fmt::format("{}, {} parameters", facts.network.kind, facts.parameters));
  if (state.steps > 0)
    fact("Training", fmt::format("{} steps, {} epochs, {:.1f} min on {}", state.steps, state.epoch, state.seconds / 60,
                                 model->device()));
  if (state.validation_x)
    fact("Loss, held out", fmt::format("x {}, y {}", number(*state.validation_x), number(*state.validation_y)));
  fact("Squared error there and back", fmt::format("{} per value", number(mse)));
  if (numbers.contains("label_kept")) {
    fact("Label kept there and back",
         fmt::format("{:.3f} of {} samples of the training data, judged by 1-NN on the originals",
                     numbers["label_kept"]["value"].get<double>(), most_back));
    fact(fmt::format("{}-NN label on the map", numbers["knn_label"]["k"].get<std::size_t>()).c_str(),
         fmt::format("{:.3f}", numbers["knn_label"]["value"].get<double>()));
  }
  const Json maps = numbers.value("knn_r2", Json::object());
  for (const auto& [map, told] : maps.items()) {
    for (const auto& [property, share] : told.items())
      fact(fmt::format("10-NN R² of {}, {}", printable(property, 60), map).c_str(),
           fmt::format("{:.3f}", share.get<double>()));
  }
  if (numbers.contains("w2_gaussian")) {
    const Json& w2 = numbers["w2_gaussian"];
    fact("W₂² to the Gaussian", fmt::format("{} at N = {} (floor {})", number(w2["value"].get<double>()),
                                            w2["n"].get<std::size_t>(), number(w2["floor"].get<double>())));
  }
  report.sections.push_back({.heading = "Numbers", .blocks = {facts_block}});
  ReportSection again = how_to_make_again(run, context);
  if (!facts.training.empty()) {
    again.blocks.push_back(ReportListing{.text = Json::parse(facts.training).dump(2),
                                         .caption = "What training made of them on this machine"});
  }
  report.sections.push_back(std::move(again));
  report.footer = version_text();
  write_html_report(run / "report.html", report);
  return numbers;
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
  if (shown.labels) {
    const std::size_t k = std::min(kLabelNeighbours, shown.size() - 1);
    const double kept =
        agreement(nearest_labels(places.view(), shown.labels->ids, places.view(), k, true), shown.labels->ids);
    numbers["knn_label"] = {{"value", kept}, {"k", k}};
    facts.facts.emplace_back(fmt::format("{}-NN label on the map", k), fmt::format("{:.3f}", kept));
  }
  HtmlReport report;
  report.title = printable(run.data.source, 100);
  report.subtitle = fmt::format("the map that {} makes", run.options.method);
  if (can_draw()) {
    Figure map;
    map.panels = {map_scatter(places, shown, "")};
    report.sections.push_back({.heading = "The map",
                               .text = "Where each sample is put. There is no model: other samples have no place, and "
                                       "nothing comes back from one.",
                               .blocks = {Builder(run).picture("embedding.png", png_bytes(map), map.scale,
                                                               fmt::format("{} samples", rows.size()))}});
  }
  report.sections.push_back({.heading = "Numbers", .blocks = {facts}});
  report.sections.push_back(how_to_make_again(run, context));
  report.footer = version_text();
  write_html_report(run / "report.html", report);
  return numbers;
}

}  // namespace cpfm::app
