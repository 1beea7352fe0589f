// From a report's data to one HTML file. All markup is written here and every text goes through html_escaped(). A
// content security policy in the head says it once more: no scripts, and nothing from anywhere else.
#include "cpfm/html_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "report/html_style.hpp"
#include "report/html_text.hpp"

namespace cpfm {
namespace report {
namespace {

constexpr std::size_t kMostWithoutContents = 4;  // sections
constexpr double kLeastScale = 0.5, kMostScale = 8;

struct PixelSize {
  std::uint32_t width = 0, height = 0;
};

// From the header a PNG begins with: 8 bytes of signature, 4 of length, "IHDR", width, height. Nothing where it is
// none.
std::optional<PixelSize> png_size(std::span<const std::byte> png) {
  constexpr std::string_view kSignature = "\x89PNG\r\n\x1A\n", kHeader = "IHDR";
  constexpr std::size_t kHeaderAt = 12, kSizeAt = 16, kLeastLength = 57;  // signature, IHDR, an empty IDAT, IEND
  if (png.size() < kLeastLength) return {};
  const auto text = [&](std::size_t at, std::size_t length) {
    return std::string_view(reinterpret_cast<const char*>(png.data()) + at, length);
  };
  if (text(0, kSignature.size()) != kSignature || text(kHeaderAt, kHeader.size()) != kHeader) return {};
  const auto number = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = at; i < at + 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(png[i]);
    return value;
  };
  const PixelSize size{number(kSizeAt), number(kSizeAt + 4)};
  if (size.width == 0 || size.height == 0) return {};
  return size;
}

void check_block(const ReportFigure& figure, const std::string& where) {
  if (!png_size(figure.png)) throw Error(where + " png", "the bytes are not a PNG picture");
  if (!(figure.scale >= kLeastScale && figure.scale <= kMostScale))
    throw Error(where + " scale", fmt::format("{}", figure.scale), fmt::format("{} to {}", kLeastScale, kMostScale));
}

void check_block(const ReportTable& table, const std::string& where) {
  if (table.columns.empty()) throw Error(where + " columns", "there are none", "one or more");
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (table.rows[i].size() == table.columns.size()) continue;
    throw Error(fmt::format("{} row {}", where, i + 1), fmt::format("it has {} cells", table.rows[i].size()),
                fmt::format("{}, one per column", table.columns.size()));
  }
}

void check_block(const ReportFacts&, const std::string&) {}
void check_block(const ReportListing&, const std::string&) {}

void check(const HtmlReport& report) {
  if (report.title.empty()) throw Error("report title", "it is empty", "a name for the page");
  if (report.sections.empty()) throw Error("report sections", "there are none", "one or more");
  for (std::size_t i = 0; i < report.sections.size(); ++i) {
    const ReportSection& section = report.sections[i];
    if (section.heading.empty()) throw Error(fmt::format("report section {} heading", i + 1), "it is empty");
    for (std::size_t j = 0; j < section.blocks.size(); ++j) {
      const std::string where = fmt::format("report section '{}' block {}", printable(section.heading), j + 1);
      std::visit([&](const auto& block) { check_block(block, where); }, section.blocks[j]);
    }
  }
}

// <tag attributes>text</tag> and a line feed; nothing where there is no text.
void add_element(std::string& page, std::string_view tag, std::string_view attributes, std::string_view text) {
  if (text.empty()) return;
  page += fmt::format("<{0}{1}>{2}</{0}>\n", tag, attributes, html_escaped(text));
}

void add_block(std::string& page, const ReportFigure& figure) {
  const PixelSize size = png_size(figure.png).value();
  const auto on_page = [&](std::uint32_t pixels) { return std::max(std::lround(pixels / figure.scale), 1L); };
  const long width = on_page(size.width), height = on_page(size.height);
  // The figure has the picture's width, so that a long caption does not widen it.
  page +=
      fmt::format("<figure class=\"picture\" style=\"width:{0}px\">\n<img width=\"{0}\" height=\"{1}\" alt=\"{2}\" ",
                  width, height, html_escaped(figure.alt.empty() ? figure.caption : figure.alt));
  page += "src=\"data:image/png;base64,";
  append_base64(page, figure.png);
  page += "\">\n";
  add_element(page, "figcaption", "", figure.caption);
  page += "</figure>\n";
}

void add_block(std::string& page, const ReportTable& table) {
  // A box that scrolls can be reached from the keyboard.
  page += "<div class=\"scroll\" tabindex=\"0\">\n<table>\n";
  add_element(page, "caption", "", table.caption);
  const auto add_cell = [&](std::string_view tag, const char* scope, bool numeric, const std::string& text,
                            const char* mark = "") {
    std::string content = html_escaped(text);
    if (*mark != 0) content = fmt::format("<{0}>{1}</{0}>", mark, content);
    page += fmt::format("<{0}{1}{2}>{3}</{0}>", tag, scope, numeric ? " class=\"number\"" : "", content);
  };
  const auto has = [](const std::vector<std::pair<std::size_t, std::size_t>>& cells, std::size_t i, std::size_t j) {
    return std::find(cells.begin(), cells.end(), std::pair(i, j)) != cells.end();
  };
  page += "<thead>\n<tr>";
  for (const ReportColumn& column : table.columns) add_cell("th", " scope=\"col\"", column.numeric, column.name);
  page += "</tr>\n</thead>\n<tbody>\n";
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const std::vector<std::string>& row = table.rows[i];
    page += "<tr>";
    for (std::size_t j = 0; j < row.size(); ++j) {
      const bool numeric = table.columns[j].numeric;
      const bool names_row = j == 0 && !numeric;
      add_cell(names_row ? "th" : "td", names_row ? " scope=\"row\"" : "", numeric, row[j],
               has(table.bold, i, j)         ? "strong"
               : has(table.underlined, i, j) ? "u"
                                             : "");
    }
    page += "</tr>\n";
  }
  page += "</tbody>\n</table>\n</div>\n";
}

void add_block(std::string& page, const ReportFacts& facts) {
  if (facts.facts.empty()) return;
  page += "<dl>\n";
  for (const auto& [name, value] : facts.facts)
    page += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_escaped(name), html_escaped(value));
  page += "</dl>\n";
}

void add_block(std::string& page, const ReportListing& listing) {
  page += "<figure class=\"listing\">\n";
  add_element(page, "figcaption", "", listing.caption);
  page += fmt::format("<pre tabindex=\"0\"><code>{}</code></pre>\n</figure>\n", html_escaped(listing.text));
}

// Sections are linked by number, which is safe whatever their headings hold.
void add_contents(std::string& page, const HtmlReport& report) {
  page += "<nav aria-label=\"Contents\">\n<ol>\n";
  for (std::size_t i = 0; i < report.sections.size(); ++i)
    page += fmt::format("<li><a href=\"#section-{}\">{}</a></li>\n", i + 1, html_escaped(report.sections[i].heading));
  page += "</ol>\n</nav>\n";
}

void add_section(std::string& page, const ReportSection& section, std::size_t number) {
  page += fmt::format("<section id=\"section-{}\">\n", number);
  add_element(page, "h2", "", section.heading);
  add_element(page, "p", " class=\"text\"", section.text);
  if (!section.blocks.empty()) {
    page += "<div class=\"blocks\">\n";
    for (const ReportBlock& block : section.blocks) std::visit([&](const auto& it) { add_block(page, it); }, block);
    page += "</div>\n";
  }
  page += "</section>\n";
}

std::string page_of(const HtmlReport& report) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n";
  add_element(page, "title", "", report.title);
  page += fmt::format("<style>{}</style>\n</head>\n<body>\n<header>\n", kHtmlStyle);
  add_element(page, "h1", "", report.title);
  add_element(page, "p", " class=\"subtitle\"", report.subtitle);
  page += "</header>\n";
  if (report.sections.size() > kMostWithoutContents) add_contents(page, report);
  page += "<main>\n";
  for (std::size_t i = 0; i < report.sections.size(); ++i) add_section(page, report.sections[i], i + 1);
  page += "</main>\n";
  add_element(page, "footer", "", report.footer);
  return page + "</body>\n</html>\n";
}

}  // namespace
}  // namespace report

void write_html_report(const std::filesystem::path& file, const HtmlReport& report) {
  report::check(report);
  const std::string page = report::page_of(report);
  AtomicFile output(file);
  output.write(page);
  output.commit();
}

}  // namespace cpfm
