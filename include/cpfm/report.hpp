// Pictures of results: embeddings as scatter plots, losses and timings as lines, one or more panels in a figure, as PNG
// or SVG. Drawn with Cairo where the build has it; without it every drawing call is a cpfm::Error that says so.
//
//   const cpfm::Scatter scatter{.title = "digits", .points = y.view(), .labels = &labels};
//   cpfm::write_png("embedding.png", {.panels = {scatter}});
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "cpfm/data.hpp"
#include "cpfm/matrix.hpp"

namespace cpfm {

// Points in the plane, both axes to one scale. Everything is borrowed and has to live until the figure is drawn.
struct Scatter {
  std::string title = {};
  // n × d, finite, n ≥ 1, d ≥ 1. d = 1 is a strip whose thickness shows the density; of d ≥ 3 the first two are drawn,
  // and a remark says so.
  MatrixView<const float> points = {};
  // What the colours mean: classes (unlabelled points are light grey and lie below), or a property (finite values; a
  // few that lie far from all others have the colours of the ends, and a remark counts them), or nothing. At most one
  // of the two; one entry per point.
  const Labels* labels = nullptr;
  const Property* property = nullptr;
};

// One curve. x and y have the same length. NaN and infinity (and what is beyond 1e300) leave a gap; on a logarithmic
// axis so do values that are not positive, and a remark counts them.
struct Series {
  std::string name = {};  // in the legend; empty: not there
  std::vector<double> x = {}, y = {};
  bool markers = false;  // a dot at every value; one without neighbours always has one
  bool dashed = false;
};

struct Lines {
  std::string title = {}, x_label = {}, y_label = {};
  bool log_x = false, log_y = false;
  std::vector<Series> series = {};  // at least one
};

using Panel = std::variant<Scatter, Lines>;

struct Figure {
  std::string title = {};          // above all panels; empty: none
  std::vector<Panel> panels = {};  // at least one; row by row
  std::size_t columns = 0;         // panels side by side; 0: up to three in one row, else as square as possible
  // Of one panel with its title, axes and legend, in units of about 1/96 inch; 160 to 4000. Text has a fixed size in
  // these units, so a larger panel has more room for points.
  int panel_width = 480, panel_height = 400;
  double scale = 2;  // pixels per unit of a PNG, 0.5 to 8; 2 is crisp on today's displays
};

// Whether this build can draw.
bool can_draw();

// The bytes of a file. The same figure gives the same PNG on the same machine (text depends on its fonts).
std::vector<std::byte> png_bytes(const Figure& figure);
// Every point is an element of its own: a scatter plot of 60,000 is a file of some twenty megabytes.
std::vector<std::byte> svg_bytes(const Figure& figure);

// Written to a temporary file first and renamed, so a failure leaves what was there before.
void write_png(const std::filesystem::path& file, const Figure& figure);
void write_svg(const std::filesystem::path& file, const Figure& figure);

}  // namespace cpfm
