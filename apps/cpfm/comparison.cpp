#include "comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace cpfm::app {
namespace {

// Every character of the table is as wide as a letter.
std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

struct Comparison::Column {
  const char *key, *name;
  bool more_is_better;
  std::optional<std::size_t> best, second;  // rows
};

void Comparison::add(std::string method, const Json& figures) { rows_.push_back({std::move(method), figures}); }

std::vector<Comparison::Column> Comparison::columns() const {
  std::vector<Column> found;
  for (const Column& known :
       {Column{"w2_gaussian", "W₂² to Gaussian", false, {}, {}}, Column{"w2_entropic", "entropic", false, {}, {}},
        Column{"w2_divergence", "debiased", false, {}, {}}, Column{"gwot", "GWOT", false, {}, {}},
        Column{"gwot_share", "of shuffled", false, {}, {}}, Column{"label_kept", "label kept", true, {}, {}},
        Column{"label_kept_1nn", "by 1-NN", true, {}, {}}, Column{"knn_label", "label on map", true, {}, {}},
        Column{"trustworthiness", "trust", true, {}, {}}, Column{"continuity", "continuity", true, {}, {}},
        Column{"mse", "squared error", false, {}, {}}, Column{"lpips", "LPIPS", false, {}, {}},
        Column{"frechet", "Fréchet", false, {}, {}}}) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].figures.contains(known.key)) order.push_back(i);
    }
    if (order.empty()) continue;
    const auto value = [&](std::size_t i) { return rows_[i].figures[known.key]["mean"].get<double>(); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return known.more_is_better ? value(a) > value(b) : value(a) < value(b);
    });
    found.push_back(known);
    if (order.size() < 2) continue;
    found.back().best = order[0];
    found.back().second = order[1];
    const Json& any = rows_[order[0]].figures[known.key];
    if (any.value("is_fid", false)) found.back().name = "FID";
  }
  return found;
}

std::string Comparison::cell(const Row& row, const Column& column) const {
  if (!row.figures.contains(column.key)) return "";
  const Json& figure = row.figures[column.key];
  const double mean = figure["mean"].get<double>(), sd = figure["sd"].get<double>();
  return figure["runs"].get<std::size_t>() > 1 ? fmt::format("{:.4g} ± {:.1g}", mean, sd) : fmt::format("{:.4g}", mean);
}

std::string Comparison::text(bool terminal) const {
  const std::vector<Column> shown = columns();
  // Two texts per cell: what is printed, and how wide it is.
  std::vector<std::vector<std::pair<std::string, std::size_t>>> lines;
  const auto plain = [](const std::string& text) { return std::pair(text, display_width(text)); };
  lines.push_back({plain("method")});
  for (const Column& column : shown)
    lines.back().push_back(plain(fmt::format("{} {}", column.name, column.more_is_better ? "↑" : "↓")));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    lines.push_back({plain(rows_[i].method)});
    for (const Column& column : shown) {
      std::string text = cell(rows_[i], column);
      const std::size_t width = display_width(text);
      const bool best = column.best == i, second = column.second == i;
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
  return text;
}

std::string Comparison::csv() const {
  std::string text = "method,figure,mean,sd,runs\n";
  for (const Row& row : rows_) {
    for (const Column& column : columns()) {
      if (!row.figures.contains(column.key)) continue;
      const Json& figure = row.figures[column.key];
      text += fmt::format("{},{},{},{},{}\n", row.method, column.key, figure["mean"].get<double>(),
                          figure["sd"].get<double>(), figure["runs"].get<std::size_t>());
    }
  }
  return text;
}

Json Comparison::json() const {
  Json methods = Json::object();
  for (const Row& row : rows_) methods[row.method] = row.figures;
  Json best = Json::object();
  for (const Column& column : columns()) {
    if (column.best) best[column.key] = {rows_[*column.best].method, rows_[*column.second].method};
  }
  return {{"methods", methods}, {"best", best}};
}

ReportTable Comparison::table() const {
  const std::vector<Column> shown = columns();
  ReportTable table;
  table.columns.push_back({.name = "method"});
  for (const Column& column : shown)
    table.columns.push_back(
        {.name = fmt::format("{} {}", column.name, column.more_is_better ? "↑" : "↓"), .numeric = true});
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    table.rows.push_back({rows_[i].method});
    for (std::size_t k = 0; k < shown.size(); ++k) {
      table.rows.back().push_back(cell(rows_[i], shown[k]));
      if (shown[k].best == i) table.bold.emplace_back(i, k + 1);
      if (shown[k].second == i) table.underlined.emplace_back(i, k + 1);
    }
  }
  return table;
}

}  // namespace cpfm::app
