// Sheets of molecules: the molecules by RDKit, as pixels through Cairo or as SVG; the captions by us, since RDKit takes
// letters beyond ASCII apart and shrinks long captions until they cannot be read.
#include <GraphMol/MolDraw2D/MolDraw2DCairo.h>
#include <GraphMol/MolDraw2D/MolDraw2DSVG.h>
#include <cairo.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/molecule.hpp"
#include "rdkit/rdkit.hpp"

namespace cpfm {
namespace {

const char* const kWhere = "molecule sheet";
constexpr std::size_t kLongestSide = 16'000, kMostPixels = 100'000'000;
constexpr int kLeastCell = 40, kMostCell = 2'000;
constexpr double kBondPixels = 26;      // a bond is never longer, so that small molecules do not fill their cell
constexpr double kCaptionBand = 20;     // pixels below the molecule
constexpr double kCaption = 12;         // pixels of its letters
constexpr double kLongCaption = 10;     // of those that do not fit so; what still does not fit is cut
constexpr double kLetterWidth = 0.56;   // of a letter, for its size, as sans-serif fonts have it on average
constexpr double kCaptionBaseline = 7;  // above the lower edge of the cell

struct Caption {
  std::string text;
  double middle, baseline, size;  // in pixels of the sheet
};

struct Sheet {
  std::vector<std::unique_ptr<RDKit::RWMol>> molecules;
  std::vector<RDKit::ROMol*> cells;  // null: empty
  std::vector<Caption> captions;
  int width = 0, height = 0;
};

void check_cell(const char* what, int pixels) {
  if (pixels < kLeastCell || pixels > kMostCell)
    throw Error(fmt::format("{}, {}", kWhere, what), fmt::format("{} pixels", pixels),
                fmt::format("{} to {}", kLeastCell, kMostCell));
}

void check_options(std::size_t count, const MoleculeSheetOptions& options) {
  if (count == 0) throw Error(kWhere, "there are no molecules to draw", "one or more");
  if (count > kMostDrawnMolecules)
    throw Error(kWhere, fmt::format("{} molecules", count), fmt::format("at most {}", kMostDrawnMolecules));
  if (!options.captions.empty() && options.captions.size() != count)
    throw Error(kWhere, fmt::format("{} captions for {} molecules", options.captions.size(), count),
                "one for each, or none");
  check_cell("cell_width", options.cell_width);
  check_cell("cell_height", options.cell_height);
}

Caption fitted(const std::string& text, double cell_width) {
  Caption caption{printable(text, 1'000), 0, 0, kCaption};
  const auto letters = [&](double size) { return static_cast<std::size_t>(0.96 * cell_width / (kLetterWidth * size)); };
  if (cut_to_width(caption.text, letters(kCaption)).size() == caption.text.size()) return caption;
  caption.size = kLongCaption;
  if (cut_to_width(caption.text, letters(kLongCaption)).size() < caption.text.size())
    caption.text = std::string(cut_to_width(caption.text, letters(kLongCaption) - 1)) + "…";
  return caption;
}

Sheet lay_out(std::span<const std::string> smiles, const MoleculeSheetOptions& options) {
  check_options(smiles.size(), options);
  const auto cell_width = static_cast<std::size_t>(options.cell_width);
  const auto cell_height = static_cast<std::size_t>(options.cell_height);
  const double square = std::sqrt(static_cast<double>(smiles.size() * cell_height) / options.cell_width);
  const std::size_t columns = std::clamp<std::size_t>(
      options.columns > 0 ? options.columns : static_cast<std::size_t>(std::ceil(square)), 1, smiles.size());
  const std::size_t rows = (smiles.size() - 1) / columns + 1;
  const std::size_t width = columns * cell_width, height = rows * cell_height;
  if (width > kLongestSide || height > kLongestSide || width * height > kMostPixels)
    throw Error(
        kWhere, fmt::format("would be {} × {} pixels (width × height)", width, height),
        fmt::format("at most {} a side and {} million in all: draw fewer molecules, choose the columns, or make "
                    "the cells smaller",
                    kLongestSide, kMostPixels / 1'000'000));
  Sheet sheet;
  sheet.width = static_cast<int>(width);
  sheet.height = static_cast<int>(height);
  for (std::size_t i = 0; i < smiles.size(); ++i) {
    check_interrupt();
    if (smiles[i].empty()) {
      sheet.cells.push_back(nullptr);
      continue;
    }
    try {
      sheet.molecules.push_back(read_molecule(smiles[i]));
    } catch (const Error& error) {
      throw Error(fmt::format("molecule {}, {}", i + 1, error.where()), error.problem(), error.remedy());
    }
    sheet.cells.push_back(sheet.molecules.back().get());
  }
  for (std::size_t i = 0; i < options.captions.size(); ++i) {
    if (options.captions[i].empty()) continue;
    Caption caption = fitted(options.captions[i], options.cell_width);
    caption.middle = (static_cast<double>(i % columns) + 0.5) * options.cell_width;
    caption.baseline = static_cast<double>((i / columns + 1) * cell_height) - kCaptionBaseline;
    sheet.captions.push_back(std::move(caption));
  }
  return sheet;
}

void draw_molecules(RDKit::MolDraw2D& drawer, const Sheet& sheet, int cell_height) {
  RDKit::MolDrawOptions& style = drawer.drawOptions();
  style.drawMolsSameScale = false;
  style.fixedBondLength = kBondPixels;
  style.padding = 0.07;
  style.includeMetadata = false;
  style.legendFraction = kCaptionBand / cell_height;
  // A blank below each molecule keeps the place where its caption goes.
  const std::vector<std::string> blanks(sheet.cells.size(), " ");
  ask_rdkit(kWhere, "draw it", [&] {
    if (sheet.molecules.empty())  // RDKit begins a drawing with its first molecule
      drawer.clearDrawing();
    else
      drawer.drawMolecules(sheet.cells, sheet.captions.empty() ? nullptr : &blanks);
  });
}

struct CairoDelete {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};

void draw_caption(cairo_t* cairo, const Caption& caption) {
  cairo_set_font_size(cairo, caption.size);
  cairo_text_extents_t extents;
  cairo_text_extents(cairo, caption.text.c_str(), &extents);
  cairo_move_to(cairo, caption.middle - extents.x_advance / 2, caption.baseline);
  cairo_show_text(cairo, caption.text.c_str());
}

// RDKit lends nobody the surface it draws on, so its picture is read again.
std::vector<std::byte> with_captions(std::span<const std::byte> png, const std::vector<Caption>& captions) {
  const auto take = [](void* from, unsigned char* data, unsigned length) {
    auto& left = *static_cast<std::span<const std::byte>*>(from);
    if (left.size() < length) return CAIRO_STATUS_READ_ERROR;
    std::memcpy(data, left.data(), length);
    left = left.subspan(length);
    return CAIRO_STATUS_SUCCESS;
  };
  const auto append = [](void* to, const unsigned char* data, unsigned length) {
    const auto part = std::as_bytes(std::span(data, length));
    auto& all = *static_cast<std::vector<std::byte>*>(to);
    all.insert(all.end(), part.begin(), part.end());
    return CAIRO_STATUS_SUCCESS;
  };
  const std::unique_ptr<cairo_surface_t, CairoDelete> surface(cairo_image_surface_create_from_png_stream(take, &png));
  const std::unique_ptr<cairo_t, CairoDelete> cairo(cairo_create(surface.get()));
  cairo_select_font_face(cairo.get(), "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  for (const Caption& caption : captions) draw_caption(cairo.get(), caption);
  std::vector<std::byte> bytes;
  cairo_status_t status = cairo_status(cairo.get());
  if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_write_to_png_stream(surface.get(), append, &bytes);
  if (status == CAIRO_STATUS_NO_MEMORY) throw std::bad_alloc();
  if (status != CAIRO_STATUS_SUCCESS)
    throw Error(kWhere, fmt::format("its captions cannot be drawn: {}", cairo_status_to_string(status)));
  return bytes;
}

std::string xml_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::vector<std::byte> by_rdkit::molecule_sheet_png(std::span<const std::string> smiles,
                                                    const MoleculeSheetOptions& options) {
  const Sheet sheet = lay_out(smiles, options);
  RDKit::MolDraw2DCairo drawer(sheet.width, sheet.height, options.cell_width, options.cell_height);
  draw_molecules(drawer, sheet, options.cell_height);
  drawer.finishDrawing();
  const std::string png = drawer.getDrawingText();
  const auto bytes = std::as_bytes(std::span(png));
  return sheet.captions.empty() ? std::vector(bytes.begin(), bytes.end()) : with_captions(bytes, sheet.captions);
}

std::string by_rdkit::molecule_sheet_svg(std::span<const std::string> smiles, const MoleculeSheetOptions& options) {
  const Sheet sheet = lay_out(smiles, options);
  RDKit::MolDraw2DSVG drawer(sheet.width, sheet.height, options.cell_width, options.cell_height);
  draw_molecules(drawer, sheet, options.cell_height);
  drawer.finishDrawing();
  std::string svg = drawer.getDrawingText();
  std::string captions;
  for (const Caption& caption : sheet.captions)
    captions += fmt::format(
        "<text x='{:.1f}' y='{:.1f}' font-family='sans-serif' font-size='{}' text-anchor='middle'>{}</text>\n",
        caption.middle, caption.baseline, caption.size, xml_escaped(caption.text));
  const std::size_t end = svg.rfind("</svg>");
  CPFM_ASSERT(end != std::string::npos, "RDKit ends its SVG");
  return svg.insert(end, captions);
}

}  // namespace cpfm
