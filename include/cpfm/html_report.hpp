// What a run did, on one page: a report.html that opens anywhere, offline, because the pictures are inside it and
// nothing is loaded or run. Commands fill the plain data below; any text is allowed and shows as it is. Needs no Cairo.
//
//   cpfm::HtmlReport report{.title = "digits", .subtitle = "300 epochs, seed 1"};
//   report.sections.push_back({.heading = "Embedding",
//                              .text = "Every point is a picture, coloured by its class.",
//                              .blocks = {cpfm::ReportFigure{.png = cpfm::png_bytes(figure), .scale = figure.scale,
//                                                            .caption = "Training data"}}});
//   cpfm::write_html_report("report.html", report);
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cpfm {

// Texts are UTF-8. A line feed or tab stays where lines show (`text`, `footer`, listings) and is a space elsewhere;
// other control characters and bytes that are not UTF-8 show as '?'.

// Figures that follow each other stand side by side where there is room, and shrink where there is not.
struct ReportFigure {
  std::vector<std::byte> png = {};  // of a file: png_bytes() or png_grid_bytes()
  // Pixels of the picture per unit of about 1/96 inch on the page, 0.5 to 8: that of the Figure; 1 for a contact sheet,
  // or 2 with twice its zoom, which is crisp on today's displays.
  double scale = 1;
  std::string caption = {};  // below it; empty: none
  std::string alt = {};      // what it shows, for those who cannot see it; empty: the caption
};

struct ReportColumn {
  std::string name = {};
  bool numeric = false;  // numbers are set flush right with digits of one width
};

struct ReportTable {
  std::vector<ReportColumn> columns = {};           // at least one; one that is not numeric and comes first names rows
  std::vector<std::vector<std::string>> rows = {};  // one cell per column; a cell may be empty
  std::string caption = {};                         // above it; empty: none
  // Cells set in bold and underlined, as (row, column).
  std::vector<std::pair<std::size_t, std::size_t>> bold = {}, underlined = {};
};

// Names and their values, in this order: what was set, what came out.
struct ReportFacts {
  std::vector<std::pair<std::string, std::string>> facts = {};
};

// Text in a fixed-width font, line by line as it is: the exact command, a configuration file.
struct ReportListing {
  std::string text = {};
  std::string caption = {};  // above it; empty: none
};

using ReportBlock = std::variant<ReportFigure, ReportTable, ReportFacts, ReportListing>;

struct ReportSection {
  std::string heading = {};              // not empty
  std::string text = {};                 // below the heading; empty: none
  std::vector<ReportBlock> blocks = {};  // from top to bottom
};

struct HtmlReport {
  std::string title = {};                    // not empty
  std::string subtitle = {};                 // empty: none
  std::vector<ReportSection> sections = {};  // at least one; of more than four there is a table of contents
  std::string footer = {};                   // versions and the like, at the end; empty: none
};

// Throws cpfm::Error, naming the place, where something is missing, a table's row is not as long as its header or a
// figure is not a PNG. The same report gives the same bytes. Written to a temporary file first and renamed, so a
// failure leaves what was there before.
void write_html_report(const std::filesystem::path& file, const HtmlReport& report);

}  // namespace cpfm
