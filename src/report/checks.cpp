#include "report/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "cpfm/error.hpp"

namespace cpfm::report {
namespace {

constexpr int kLeastSide = 160, kMostSide = 4000;
constexpr double kMostPixels = 1e8;        // of a picture
constexpr double kMostPixelsSide = 32767;  // Cairo's limit
constexpr double kLeastScale = 0.5, kMostScale = 8;

void check_count(const std::string& where, const char* field, std::size_t count, std::size_t points) {
  if (count == points) return;
  throw Error(where + " " + field, fmt::format("{} entries for {} points", count, points), "one per point");
}

void check_panel(const Scatter& scatter, const std::string& where) {
  const MatrixView<const float> points = scatter.points;
  if (points.rows == 0) throw Error(where + " points", "there are none", "one row or more");
  if (points.cols == 0) throw Error(where + " points", "they have no dimensions", "one column or more");
  if (points.data == nullptr) throw Error(where + " points", "they have no data", "a view of rows × columns floats");
  for (std::size_t i = 0; i < points.rows; ++i) {
    for (std::size_t j = 0; j < std::min<std::size_t>(points.cols, 2); ++j) {
      if (!std::isfinite(points(i, j))) {
        throw Error(where + " points", fmt::format("row {}, column {} is {}", i + 1, j + 1, points(i, j)),
                    "finite numbers");
      }
    }
  }
  if (scatter.labels != nullptr && scatter.property != nullptr)
    throw Error(where, "labels and a property are given", "colours can mean one of the two");
  if (scatter.labels != nullptr) {
    const Labels& labels = *scatter.labels;
    check_count(where, "labels", labels.ids.size(), points.rows);
    const auto classes = static_cast<std::int64_t>(labels.names.size());
    for (std::size_t i = 0; i < points.rows; ++i) {
      if (labels.ids[i] < -1 || labels.ids[i] >= classes) {
        throw Error(where + " labels",
                    fmt::format("row {} is of class {}, and there are {}", i + 1, labels.ids[i], classes),
                    "-1 (unlabelled) or a number below that of names");
      }
    }
  }
  if (scatter.property != nullptr) {
    const Property& property = *scatter.property;
    const std::string field = "property '" + printable(property.name) + "'";
    check_count(where, field.c_str(), property.values.size(), points.rows);
    for (std::size_t i = 0; i < points.rows; ++i) {
      if (!std::isfinite(property.values[i])) {
        throw Error(where + " " + field, fmt::format("row {} is {}", i + 1, property.values[i]), "finite numbers");
      }
    }
  }
}

void check_panel(const Lines& lines, const std::string& where) {
  if (lines.series.empty()) throw Error(where + " series", "there are none", "one or more");
  for (std::size_t i = 0; i < lines.series.size(); ++i) {
    const Series& series = lines.series[i];
    if (series.x.size() == series.y.size()) continue;
    throw Error(fmt::format("{} series {} '{}'", where, i + 1, printable(series.name)),
                fmt::format("{} values of x and {} of y", series.x.size(), series.y.size()), "as many of both");
  }
}

}  // namespace

void check(const Figure& figure) {
  if (figure.panels.empty()) throw Error("figure panels", "there are none", "one or more");
  for (const auto& [field, side] :
       {std::pair{"panel_width", figure.panel_width}, {"panel_height", figure.panel_height}}) {
    if (side >= kLeastSide && side <= kMostSide) continue;
    throw Error(fmt::format("figure {}", field), std::to_string(side), fmt::format("{} to {}", kLeastSide, kMostSide));
  }
  if (!(figure.scale >= kLeastScale && figure.scale <= kMostScale))
    throw Error("figure scale", fmt::format("{}", figure.scale), fmt::format("{} to {}", kLeastScale, kMostScale));
  const Grid grid = grid_of(figure);
  const double width = figure.scale * figure.panel_width * static_cast<double>(grid.columns);
  const double height = figure.scale * (figure.panel_height * static_cast<double>(grid.rows) + kHeadHeight);
  if (width > kMostPixelsSide || height > kMostPixelsSide || width * height > kMostPixels) {
    throw Error("figure panels",
                fmt::format("{} of them make a picture of {:.0f} × {:.0f} pixels", figure.panels.size(), width, height),
                fmt::format("at most {} on a side and {:.0f} million in all: fewer panels, or a smaller scale",
                            kMostPixelsSide, kMostPixels / 1e6));
  }
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    const std::string where = fmt::format("figure panel {}", i + 1);
    std::visit([&](const auto& panel) { check_panel(panel, where); }, figure.panels[i]);
  }
}

Grid grid_of(const Figure& figure) {
  const std::size_t count = figure.panels.size();
  std::size_t columns = figure.columns;
  if (columns == 0) columns = count <= 3 ? count : static_cast<std::size_t>(std::ceil(std::sqrt(count)));
  columns = std::min(columns, count);
  return {columns, (count + columns - 1) / columns};
}

}  // namespace cpfm::report
