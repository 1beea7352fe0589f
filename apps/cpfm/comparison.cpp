#include "comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "data/csv_field.hpp"
#include "map_view.hpp"

namespace cpfm::app {
namespace {

// Every character of the table is as wide as a letter.
std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// Names of properties may hold what ends a cell of Markdown.
std::string in_markdown(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string{c};
  return out;
}

}  // namespace

struct Comparison::Column {
  std::string key, name;
  enum Aim { kLess, kMore, kNominal } aim;
  std::vector<std::size_t> best = {}, second = {};  // rows; several where they read alike

  std::string heading() const { return fmt::format("{} {}", name, aim == kLess ? "↓" : aim == kMore ? "↑" : "→"); }
  bool is_best(std::size_t row) const { return std::find(best.begin(), best.end(), row) != best.end(); }
  bool is_second(std::size_t row) const { return std::find(second.begin(), second.end(), row) != second.end(); }
};

void Comparison::add(std::string method, const Json& figures, const Json& run) {
  rows_.push_back({std::move(method), figures, run});
}

void Comparison::add_failed(std::string method, std::string why) {
  rows_.push_back({.method = std::move(method), .failure = std::move(why)});
}

std::vector<Comparison::Column> Comparison::columns() const {
  std::vector<Column> found, all{Column{"w2_gaussian", "W₂² to Gaussian", Column::kLess},
                                 Column{"w2_entropic", "entropic", Column::kLess},
                                 Column{"w2_divergence", "debiased", Column::kLess},
                                 Column{"gwot", "GWOT", Column::kLess},
                                 Column{"gwot_share", "of shuffled", Column::kLess},
                                 Column{"label_kept", "label kept", Column::kMore},
                                 Column{"label_kept_1nn", "by 1-NN", Column::kMore},
                                 Column{"knn_label", "label on map", Column::kMore},
                                 Column{"trustworthiness", "trust", Column::kMore},
                                 Column{"continuity", "continuity", Column::kMore},
                                 Column{"mse", "squared error", Column::kLess},
                                 Column{"lpips", "LPIPS", Column::kLess},
                                 Column{"frechet", "Fréchet", Column::kLess},
                                 Column{"coverage_50", "covered, of 50 %", Column::kNominal},
                                 Column{"coverage_90", "covered, of 90 %", Column::kNominal}};
  for (const Row& row : rows_) {
    for (const auto& [key, figure] : row.figures.items()) {
      const bool known =
          std::any_of(all.begin(), all.end(), [&, name = key](const Column& c) { return c.key == name; });
      if (key.starts_with("knn_r2.") && !known)
        all.push_back(
            {key, fmt::format("R² of {} on map", printable(figure.value("property", ""), 40)), Column::kMore});
    }
  }
  for (const Column& known : all) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].figures.contains(known.key)) order.push_back(i);
    }
    if (order.empty()) continue;
    found.push_back(known);
    Column& column = found.back();
    const auto figure = [&](std::size_t i) -> const Json& { return rows_[i].figures[known.key]; };
    if (figure(order[0]).value("is_fid", false)) column.name = "FID";
    if (order.size() < 2) continue;
    const auto loss = [&](std::size_t i) {
      const double mean = figure(i)["mean"].get<double>();
      return known.aim == Column::kLess   ? mean
             : known.aim == Column::kMore ? -mean
                                          : std::abs(mean - figure(i).value("nominal", 0.0));
    };
    const auto reads = [&](std::size_t i) { return fmt::format("{:.4g}", loss(i)); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return loss(a) < loss(b); });
    for (const std::size_t i : order) {
      if (column.best.empty() || reads(i) == reads(column.best[0]))
        column.best.push_back(i);
      else if (column.second.empty() || reads(i) == reads(column.second[0]))
        column.second.push_back(i);
    }
  }
  return found;
}

std::vector<std::string> Comparison::notes() const {
  std::vector<std::string> notes = notes_;
  const auto any = [&](const char* key) -> const Json* {
    for (const Row& row : rows_) {
      if (row.figures.contains(key)) return &row.figures[key];
    }
    return nullptr;
  };
  const auto number = [](const Json& figure, const char* key) { return figure.value(key, 0.0); };
  if (const Json* f = any("w2_gaussian")) {
    const auto floor = [&](const Json& of) {
      return fmt::format("floor {:.4g} ± {:.2g}", number(of, "floor"), number(of, "floor_sd"));
    };
    std::string note = fmt::format("W₂² to Gaussian: exact, N = {}, {}", f->value("n", std::size_t{0}), floor(*f));
    if (const Json* e = any("w2_entropic"))
      note += fmt::format("; entropic: ε = {:.3g}, {}", number(*e, "epsilon"), floor(*e));
    if (const Json* e = any("w2_divergence")) note += fmt::format("; debiased: {}", floor(*e));
    notes.push_back(note + ". The floor is what two samples of the Gaussian have between them, ± of one such pair.");
  }
  if (const Json* f = any("gwot"))
    notes.push_back(
        fmt::format("GWOT: kernel {}; it scales with the map, its share of that of shuffled places does not.",
                    short_kernel(f->value("kernel", ""))));
  if (const Json* f = any("label_kept")) {
    const Json* one = any("label_kept_1nn");
    notes.push_back(
        fmt::format("Labels: the network that judges is right on {:.4f} of the originals, 1-NN on {:.4f}. "
                    "Only cpfm's map is told labels, where its kernel has them.",
                    number(*f, "judge_accuracy"), one != nullptr ? number(*one, "judge_accuracy") : 0.0));
    if (const std::size_t judged = f->value("judged", std::size_t{0}), of = f->value("of", std::size_t{0}); judged < of)
      notes.back() += fmt::format(" {} of {} samples are of classes that it has learned, and are judged.", judged, of);
  }
  if (const Json* f = any("frechet"))
    notes.push_back(fmt::format("Fréchet distance: {} features of {} samples.", f->value("features", ""),
                                f->value("n", std::size_t{0})));
  std::vector<std::string> sizes;
  for (const Row& row : rows_) {
    if (!row.run.contains("parameters")) continue;
    sizes.push_back(fmt::format("{} {}", row.method, row.run.value("parameters", std::uint64_t{0})));
    if (row.run.contains("samples_seen"))
      sizes.back() += fmt::format(", {} samples seen", row.run.value("samples_seen", std::uint64_t{0}));
  }
  if (!sizes.empty()) notes.push_back(fmt::format("Parameters: {}.", fmt::join(sizes, "; ")));
  for (const Row& row : rows_) {
    if (!row.failure.empty()) notes.push_back(fmt::format("{} failed: {}.", row.method, row.failure));
  }
  return notes;
}

std::string Comparison::cell(const Row& row, const Column& column) const {
  if (!row.figures.contains(column.key)) return "";
  const Json& figure = row.figures[column.key];
  const double mean = figure["mean"].get<double>();
  if (figure["sd"].is_null()) return fmt::format("{:.4g}", mean);  // of a single run
  return fmt::format("{:.4g} ± {:.2g}", mean, figure["sd"].get<double>());
}

std::string Comparison::text(bool terminal) const {
  const std::vector<Column> shown = columns();
  // Two texts per cell: what is printed, and how wide it is.
  std::vector<std::vector<std::pair<std::string, std::size_t>>> lines;
  const auto plain = [](const std::string& text) { return std::pair(text, display_width(text)); };
  lines.push_back({plain("method")});
  for (const Column& column : shown)
    lines.back().push_back(plain(terminal ? column.heading() : in_markdown(column.heading())));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    lines.push_back({plain(rows_[i].method)});
    for (const Column& column : shown) {
      std::string text = cell(rows_[i], column);
      const std::size_t width = display_width(text);
      const bool best = column.is_best(i), second = column.is_second(i);
      if (terminal && (best || second)) {
        lines.back().emplace_back(fmt::format("\033[{}m{}\033[0m", best ? 1 : 4, text), width);
        continue;
      }
      if (best) text = "**" + text + "**";
      if (second) text = "<u>" + text + "</u>";
      lines.back().push_back(plain(text));
    }
  }
  std::vector<std::size_t> widths(shown.size() + 1, 0);
  for (const auto& line : lines) {
    for (std::size_t k = 0; k < line.size(); ++k) widths[k] = std::max(widths[k], line[k].second);
  }
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t k = 0; k < lines[i].size(); ++k) {
      const std::string gap(widths[k] - lines[i][k].second, ' ');
      text += fmt::format("{}{}{}", terminal ? "  " : k > 0 ? " | " : "| ", lines[i][k].first, gap);
    }
    text += terminal ? "\n" : " |\n";
    if (i > 0 || terminal) continue;
    for (const std::size_t width : widths) text += fmt::format("|{}", std::string(width + 2, '-'));
    text += "|\n";
  }
  if (!terminal) text += "\n";
  for (const std::string& note : notes()) text += fmt::format("{}{}\n", terminal ? "  " : "", note);
  return text;
}

std::string Comparison::csv() const {
  std::string text = "method,figure,mean,sd,runs,n,epsilon,floor,floor_sd\n";
  for (const Row& row : rows_) {
    for (const Column& column : columns()) {
      if (!row.figures.contains(column.key)) continue;
      const Json& figure = row.figures[column.key];
      text += fmt::format("{},{}", row.method, quoted_if_needed(column.key, false));
      for (const char* number : {"mean", "sd", "runs", "n", "epsilon", "floor", "floor_sd"}) {
        const Json value = figure.value(number, Json());
        text += value.is_number() ? "," + value.dump() : ",";
      }
      text += '\n';
    }
  }
  return text;
}

Json Comparison::json() const {
  Json methods = Json::object();
  Json failed = Json::object();
  for (const Row& row : rows_) {
    if (row.failure.empty())
      methods[row.method] = row.figures;
    else
      failed[row.method] = row.failure;
  }
  Json best = Json::object();
  for (const Column& column : columns()) {
    for (const std::size_t i : column.best) best[column.key]["best"].push_back(rows_[i].method);
    for (const std::size_t i : column.second) best[column.key]["second"].push_back(rows_[i].method);
  }
  Json result{{"methods", methods}, {"best", best}};
  if (!failed.empty()) result["failed"] = std::move(failed);
  return result;
}

ReportTable Comparison::table() const {
  const std::vector<Column> shown = columns();
  ReportTable table;
  table.columns.push_back({.name = "method"});
  for (const Column& column : shown) table.columns.push_back({.name = column.heading(), .numeric = true});
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    table.rows.push_back({rows_[i].method});
    for (std::size_t k = 0; k < shown.size(); ++k) {
      table.rows.back().push_back(cell(rows_[i], shown[k]));
      if (shown[k].is_best(i)) table.bold.emplace_back(i, k + 1);
      if (shown[k].is_second(i)) table.underlined.emplace_back(i, k + 1);
    }
  }
  return table;
}

}  // namespace cpfm::app
