// Reports as a browser would meet them: one file, nothing from elsewhere, no text that becomes markup.
#include <array>
#include <cstring>
#include <limits>

#include "base/text.hpp"
#include "cpfm/data.hpp"
#include "cpfm/html_report.hpp"
#include "report/html_text.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using test::TempDir;

std::string written(const HtmlReport& report) {
  const TempDir dir;
  write_html_report(dir / "report.html", report);
  return test::read_bytes(dir / "report.html");
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++times;
  return times;
}

// A sheet of one picture, `side` pixels on a side.
std::vector<std::byte> picture(int side = 6) {
  FloatMatrix image(1, static_cast<std::size_t>(side * side));
  for (std::size_t i = 0; i < image.size(); ++i) image(0, i) = static_cast<float>(i * 37 % 256);
  return png_grid_bytes(image.view(), {1, side, side}, {.zoom = 1});
}

std::string base64(std::string_view text) {
  std::string out;
  report::append_base64(out, std::as_bytes(std::span(text)));
  return out;
}

// Independent of the encoder: by value of each digit, until the padding.
std::string decoded(std::string_view digits) {
  std::string bytes;
  unsigned bits = 0, held = 0;
  for (const char c : digits) {
    if (c == '=') break;
    const int value = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    EXPECT_GE(value, 0) << c;
    bits = bits << 6 | static_cast<unsigned>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held & 255U);
  }
  return bytes;
}

// The bytes of every picture in a page.
std::vector<std::string> pictures_of(std::string_view page) {
  constexpr std::string_view kBefore = "src=\"data:image/png;base64,";
  std::vector<std::string> pictures;
  for (std::size_t at = page.find(kBefore); at != page.npos; at = page.find(kBefore, at)) {
    at += kBefore.size();
    pictures.push_back(decoded(page.substr(at, page.find('"', at) - at)));
  }
  return pictures;
}

// A report in which every text is `text`.
HtmlReport filled_with(const std::string& text) {
  return {
      .title = text,
      .subtitle = text,
      .sections = {{.heading = text,
                    .text = text,
                    .blocks = {ReportFigure{.png = picture(), .caption = text, .alt = text},
                               ReportTable{.columns = {{text}, {text, true}}, .rows = {{text, text}}, .caption = text},
                               ReportFacts{{{text, text}}}, ReportListing{.text = text, .caption = text}}}},
      .footer = text};
}
constexpr std::size_t kTexts = 17;  // the title is in the head as well

HtmlReport with_sections(std::size_t sections) {
  HtmlReport report{.title = "A run"};
  for (std::size_t i = 1; i <= sections; ++i) report.sections.push_back({.heading = "Part " + std::to_string(i)});
  return report;
}

HtmlReport with_block(ReportBlock block) {
  return {.title = "A run", .sections = {{.heading = "Results", .blocks = {std::move(block)}}}};
}

TEST(Html, Base64IsThatOfTheStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xFF\xEF\xBE"), "/+++");
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(decoded(base64(all)), all);
}

TEST(Html, EscapesMarkupAndNeutralisesWhatIsNoText) {
  EXPECT_EQ(report::html_escaped("<a href=\"x\">'&amp;'"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;amp;&#39;");
  EXPECT_EQ(report::html_escaped("ε = 0.1 → «fein»"), "ε = 0.1 → «fein»");
  EXPECT_EQ(report::html_escaped(std::string("a\0b\x1B\x7F\r", 6)), "a?b???");
  EXPECT_EQ(report::html_escaped("\xFF\xC3 \xC0\xBC\xED\xA0\x80"), "?? ?????");
  EXPECT_EQ(report::html_escaped("one\n\ttwo\n"), "one\n\ttwo\n");
  EXPECT_EQ(report::html_escaped(std::string(500, '<')).size(), 2000u);
}

TEST(Html, NoTextBecomesMarkupWhereverItStands) {
  const std::string page = written(filled_with("</title></style><script>alert(1)</script>\" onerror='x' \x01\xFF"));
  EXPECT_EQ(count(page, "<script"), 0u);
  EXPECT_EQ(count(page, "&lt;script&gt;alert(1)&lt;/script&gt;&quot; onerror=&#39;x&#39; ??"), kTexts);
  EXPECT_EQ(count(page, "</style>"), 1u);
  EXPECT_EQ(count(page, "</title>"), 1u);
  EXPECT_EQ(page.find('\x01'), page.npos);
  EXPECT_TRUE(is_utf8(page));
}

TEST(Html, EmbedsPicturesByteForByte) {
  const std::vector<std::byte> small = picture(5), large = picture(40);
  HtmlReport report = with_block(ReportFigure{.png = small});
  report.sections[0].blocks.push_back(ReportFigure{.png = large, .scale = 2, .caption = "Many", .alt = "A wall"});
  report.sections[0].blocks.push_back(ReportFigure{.png = large, .caption = "Many"});
  const std::string page = written(report);
  EXPECT_EQ(pictures_of(page), (std::vector{test::raw(small), test::raw(large), test::raw(large)}));
  EXPECT_CONTAINS(page, "<img width=\"5\" height=\"5\" alt=\"\" ");
  EXPECT_CONTAINS(page, "<img width=\"20\" height=\"20\" alt=\"A wall\" ");
  EXPECT_CONTAINS(page, "<img width=\"40\" height=\"40\" alt=\"Many\" ");
  EXPECT_EQ(count(page, "<figcaption>Many</figcaption>"), 2u);
}

TEST(Html, LoadsNothingFromElsewhere) {
  HtmlReport report = filled_with("plain");
  for (const ReportSection& section : with_sections(5).sections) report.sections.push_back(section);
  const std::string page = written(report);
  EXPECT_EQ(page.find("://"), page.npos);
  EXPECT_EQ(page.find("url("), page.npos);
  EXPECT_EQ(page.find("@import"), page.npos);
  EXPECT_EQ(page.find("<link"), page.npos);
  EXPECT_EQ(page.find("<script"), page.npos);
  EXPECT_EQ(count(page, "src=\""), count(page, "src=\"data:image/png;base64,"));
  EXPECT_EQ(count(page, "href="), count(page, "href=\"#section-"));
  EXPECT_CONTAINS(page, "default-src 'none'; img-src data:; style-src 'unsafe-inline'");
}

TEST(Html, ShowsEverySectionInOrder) {
  const std::string page = written(with_sections(3));
  std::size_t at = page.find("<h1>A run</h1>");
  for (const char* heading : {"<h2>Part 1</h2>", "<h2>Part 2</h2>", "<h2>Part 3</h2>"}) {
    const std::size_t next = page.find(heading);
    ASSERT_NE(next, page.npos) << heading;
    EXPECT_GT(next, at);
    at = next;
  }
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
}

TEST(Html, HasContentsForMoreThanFourSectionsOnly) {
  EXPECT_EQ(written(with_sections(4)).find("<nav"), std::string::npos);
  const std::string page = written(with_sections(5));
  EXPECT_EQ(count(page, "<nav"), 1u);
  for (int i = 1; i <= 5; ++i) {
    EXPECT_CONTAINS(page, "<a href=\"#section-" + std::to_string(i) + "\">Part " + std::to_string(i) + "</a>");
    EXPECT_EQ(count(page, "id=\"section-" + std::to_string(i) + "\""), 1u);
  }
}

TEST(Html, SetsNumbersFlushRightAndNamesRows) {
  const std::string page = written(with_block(ReportTable{
      .columns = {{"method"}, {"error", true}}, .rows = {{"ours", "0.12"}, {"PCA", ""}}, .caption = "Test"}));
  EXPECT_CONTAINS(page, "<caption>Test</caption>");
  EXPECT_CONTAINS(page, "<th scope=\"col\">method</th><th scope=\"col\" class=\"number\">error</th>");
  EXPECT_CONTAINS(page, "<tr><th scope=\"row\">ours</th><td class=\"number\">0.12</td></tr>");
  EXPECT_CONTAINS(page, "<tr><th scope=\"row\">PCA</th><td class=\"number\"></td></tr>");
  ReportTable ranked;
  ranked.columns = {{"method"}, {"error", true}};
  ranked.rows = {{"ours", "<1>"}, {"PCA", "2"}, {"VAE", "3"}};
  ranked.bold = {{0, 1}};
  ranked.underlined = {{1, 1}};
  const std::string marked = written(with_block(ranked));
  EXPECT_CONTAINS(marked, "<td class=\"number\"><strong>&lt;1&gt;</strong></td>");
  EXPECT_CONTAINS(marked, "<td class=\"number\"><u>2</u></td>");
  EXPECT_CONTAINS(marked, "<td class=\"number\">3</td>");
  EXPECT_CONTAINS(written(with_block(ReportTable{.columns = {{"k", true}}, .rows = {{"1"}}})),
                  "<tr><td class=\"number\">1</td></tr>");
}

TEST(Html, KeepsFactsInOrderAndListingsLineByLine) {
  HtmlReport report = with_block(ReportFacts{{{"seed", "1"}, {"epochs", "300"}}});
  report.sections[0].blocks.push_back(ReportListing{.text = "\ncpfm train digits \\\n\t--seed 1\n"});
  const std::string page = written(report);
  EXPECT_CONTAINS(page, "<div><dt>seed</dt><dd>1</dd></div>\n<div><dt>epochs</dt><dd>300</dd></div>");
  EXPECT_CONTAINS(page, "<code>\ncpfm train digits \\\n\t--seed 1\n</code>");
}

TEST(Html, LeavesOutWhatIsEmpty) {
  const std::string page = written(with_block(ReportFacts{}));
  for (const char* tag : {"<p", "<footer", "<dl", "<figcaption", "<nav"}) EXPECT_EQ(page.find(tag), page.npos) << tag;
}

TEST(Html, RefusesAReportWithoutContent) {
  EXPECT_CONTAINS(test::error_of([] { written({}); }), "report title");
  EXPECT_CONTAINS(test::error_of([] { written({.title = "A run"}); }), "report sections: there are none");
  EXPECT_CONTAINS(test::error_of([] { written({.title = "A run", .sections = {{.text = "x"}}}); }),
                  "section 1 heading");
}

TEST(Html, RefusesBlocksItCannotShowAndNamesThem) {
  const auto refusal = [](ReportBlock block) { return test::error_of([&] { written(with_block(block)); }); };
  EXPECT_CONTAINS(refusal(ReportFigure{}), "report section 'Results' block 1 png");
  EXPECT_CONTAINS(refusal(ReportFigure{.png = std::vector<std::byte>(1000)}), "not a PNG");
  std::vector<std::byte> cut = picture();
  cut.resize(24);
  EXPECT_CONTAINS(refusal(ReportFigure{.png = cut}), "not a PNG");
  std::vector<std::byte> flat = picture();
  std::fill_n(flat.begin() + 20, 4, std::byte{0});
  EXPECT_CONTAINS(refusal(ReportFigure{.png = flat}), "not a PNG");
  for (const double scale : {0.0, -1.0, 9.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_CONTAINS(refusal(ReportFigure{.png = picture(), .scale = scale}), "0.5 to 8");
  EXPECT_CONTAINS(refusal(ReportTable{}), "block 1 columns");
  EXPECT_CONTAINS(refusal(ReportTable{.columns = {{"a"}, {"b"}}, .rows = {{"1", "2"}, {"1"}}}),
                  "row 2: it has 1 cells; 2, one per column");
}

TEST(Html, IsWrittenWholeOrNotAtAll) {
  const TempDir dir;
  const HtmlReport report = with_sections(1);
  EXPECT_CONTAINS(test::error_of([&] { write_html_report(dir / "missing" / "report.html", report); }), "no folder");
  EXPECT_FALSE(std::filesystem::exists(dir / "missing"));
  write_html_report(dir / "report.html", report);
  const std::string before = test::read_bytes(dir / "report.html");
  EXPECT_THROW(write_html_report(dir / "report.html", with_block(ReportFigure{})), Error);
  EXPECT_EQ(test::read_bytes(dir / "report.html"), before);
  write_html_report(dir / "report.html", report);
  EXPECT_EQ(test::read_bytes(dir / "report.html"), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1);
}

}  // namespace
}  // namespace cpfm
