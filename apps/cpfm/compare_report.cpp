#include "compare_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "cpfm/html_report.hpp"
#include "cpfm/random.hpp"
#include "cpfm/report.hpp"
#include "map_view.hpp"
#include "whole_file.hpp"

namespace cpfm::app {
namespace fs = std::filesystem;
namespace {

constexpr std::uint32_t kShownStream = 0x636d7073;  // "cmps"
constexpr std::size_t kMapPoints = 2000, kShownPictures = 100, kGridSide = 10;
constexpr double kGridReach = 1.5;  // as in the paper
constexpr const char *kMap = "map.png", *kBack = "back.png", *kPlaces = "places.png";

// The same samples for every method.
Dataset shown_of(const Dataset& test, std::uint64_t seed) {
  std::vector<std::size_t> rows = permutation(test.size(), seed, kShownStream);
  rows.resize(std::min(rows.size(), kMapPoints));
  return select(test, rows);
}

std::vector<std::byte> strip(MatrixView<const float> samples, ImageShape shape, std::array<float, 2> range,
                             std::size_t columns) {
  GridOptions grid;
  grid.range = range;
  grid.columns = columns;
  return png_grid_bytes(samples, shape, grid);
}

// Maps of one comparison have one dimension.
std::string grid_text(const std::map<std::string, Json>& runs) {
  const int dim = runs.empty() ? 2 : runs.begin()->second.value("latent_dim", 2);
  if (dim == 1) return fmt::format("A sample for each of {0} places of [−{1}, {1}].", kGridSide, kGridReach);
  return fmt::format("A sample for each of {0} × {0} places of [−{1}, {1}]²{2}.", kGridSide, kGridReach,
                     dim > 2 ? " in the first two dimensions of the map, the others 0" : "");
}

}  // namespace

void draw_method(FlowModel& model, const Dataset& test, const std::string& kernel, const fs::path& folder,
                 const SampleOptions& sampling) {
  const ModelFacts& facts = model.facts();
  const Dataset shown = shown_of(test, sampling.seed);
  const FloatMatrix y = model.embed(shown.samples.view(), 1, sampling);
  if (can_draw()) {
    Figure figure;
    figure.panels = {map_scatter(y, shown, kernel, facts.method)};
    write_whole(folder / kMap, png_bytes(figure));
  }
  if (!facts.image) return;
  const auto range = facts.value_range.value_or(std::array<float, 2>{0, 255});
  const std::size_t few = std::min(kShownPictures, shown.size());
  const FloatMatrix back = model.generate({y.data(), few, y.cols()}, sampling);
  write_whole(folder / kBack, strip(back.view(), *facts.image, range, kGridSide));
  const GridBox box{{-kGridReach, kGridReach}, {-kGridReach, kGridReach}};
  const FloatMatrix there = model.generate(grid_places(kGridSide, box, facts.latent_dim).view(), sampling);
  write_whole(folder / kPlaces, strip(there.view(), *facts.image, range, kGridSide));
}

bool has_pictures(const fs::path& folder, bool of_pictures) {
  if (can_draw() && !fs::exists(folder / kMap)) return false;
  return !of_pictures || (fs::exists(folder / kBack) && fs::exists(folder / kPlaces));
}

void write_compare_report(const CompareReport& from, std::uint64_t seed) {
  HtmlReport report;
  report.title = fmt::format("{}: {} methods", printable(from.train.source, 100), from.methods.size());
  report.subtitle = fmt::format("{} samples trained on, {} measured", from.train.size(), from.test.size());
  const bool drawn = from.run_samples < from.test.size();
  report.sections.push_back(
      {.heading = "Figures",
       .text = fmt::format("Mean and standard deviation over draws of the noise{}{}. The best is bold, the second "
                           "underlined; the arrow points to what is better.\n{}",
                           drawn ? fmt::format(" and of {} of the samples", from.run_samples) : "",
                           from.known == 0 ? ", on samples that no method has seen" : "",
                           fmt::join(from.table.notes(), "\n")),
       .blocks = {from.table.table()}});
  const auto section = [&](const char* heading, std::string text, const char* file, double scale) {
    ReportSection made{.heading = heading, .text = std::move(text)};
    for (const std::string& method : from.methods) {
      if (!fs::exists(from.folder / method / file)) continue;
      made.blocks.push_back(
          ReportFigure{.png = bytes_of(from.folder / method / file), .scale = scale, .caption = method});
    }
    return made;
  };
  if (!from.laws.empty()) {
    report.sections.push_back({.heading = "Stage 1",
                               .text = "The same data coupled with maps of several shapes.",
                               .blocks = {ReportFigure{.png = bytes_of(from.laws), .scale = Figure().scale}}});
  }
  if (can_draw())
    report.sections.push_back(
        section("Maps", "Where each method puts samples that it is measured on.", kMap, Figure().scale));
  if (from.test.image) {
    const Dataset shown = shown_of(from.test, seed);
    const std::size_t few = std::min(kShownPictures, shown.size());
    const std::vector<std::byte> originals =
        strip({shown.samples.data(), few, shown.dim()}, *shown.image, picture_range(from.train), kGridSide);
    write_whole(from.folder / "originals.png", originals);
    ReportSection back = section("There and back", "Originals, and what comes back from their place.", kBack, 1);
    back.blocks.insert(back.blocks.begin(), ReportFigure{.png = originals, .scale = 1, .caption = "originals"});
    report.sections.push_back(std::move(back));
    report.sections.push_back(section(
        "Across the map",
        grid_text(from.runs) + " A map without a law may be far larger, or smaller: grid.png in the folder of its "
                               "method covers it whole.",
        kPlaces, 1));
  }
  ReportTable how;
  how.columns = {{.name = "method"}};
  for (const char* name : {"parameters", "steps", "samples seen", "minutes of training", "seconds of stage 1"})
    how.columns.push_back({.name = name, .numeric = true});
  for (const std::string& method : from.methods) {
    const auto known = from.runs.find(method);
    if (known == from.runs.end()) continue;                                   // it failed
    const auto told = [&run = known->second](const char* key, auto&& text) {  // empty where it is not known
      return run.contains(key) && run[key].is_number() ? text(run[key]) : std::string();
    };
    const auto whole = [](const Json& number) { return number.dump(); };
    how.rows.push_back(
        {method, told("parameters", whole), told("steps", whole), told("samples_seen", whole),
         told("seconds", [](const Json& s) { return fmt::format("{:.1f}", s.get<double>() / 60); }),
         told("coupling_seconds", [](const Json& s) { return fmt::format("{:.1f}", s.get<double>()); })});
  }
  report.sections.push_back({.heading = "How it was made",
                             .blocks = {how, ReportListing{.text = from.command, .caption = "The command"},
                                        ReportListing{.text = from.options, .caption = "Its options"}}});
  report.footer = version_text();
  write_html_report(from.folder / "report.html", report);
}

}  // namespace cpfm::app
