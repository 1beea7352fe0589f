// From a figure to the bytes of a file: cells in a grid, drawn once, on pixels or as vectors.
#include <cairo-svg.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

#include "base/atomic_file.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/report.hpp"
#include "data/image_io.hpp"
#include "report/checks.hpp"
#include "report/panels.hpp"

namespace cpfm {
namespace report {

constexpr double kTitleHeight = 20, kRemarkHeight = 15;

Rect room_below_heading(const Rect& cell, const std::string& title, const std::string& remark) {
  // Half a number stands out above the axes where no title is.
  const double heading = (title.empty() ? 0 : kTitleHeight) + (remark.empty() ? 0 : kRemarkHeight) + 6;
  return {cell.x + kMargins.left, cell.y + kMargins.top + heading, cell.width - kMargins.left - kMargins.right,
          cell.height - kMargins.top - heading - kMargins.bottom};
}

void draw_heading(const Canvas& canvas, const Rect& cell, double left, const std::string& title,
                  const std::string& remark) {
  const double width = cell.right() - kMargins.right - left;
  double y = cell.y + kMargins.top;
  if (!title.empty()) {
    canvas.text(left, y + 12, canvas.fitted(title, kTitleFont, width), kTitleFont, kInk);
    y += kTitleHeight;
  }
  if (!remark.empty()) canvas.text(left, y + 9, canvas.fitted(remark, kRemarkFont, width), kRemarkFont, kSoftInk);
}

namespace {

struct Free {
  void operator()(cairo_t* cairo) const { cairo_destroy(cairo); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
};
using Cairo = std::unique_ptr<cairo_t, Free>;
using Surface = std::unique_ptr<cairo_surface_t, Free>;

// After our checks Cairo can fail for want of memory alone.
void require(cairo_status_t status) {
  if (status == CAIRO_STATUS_NO_MEMORY) throw std::bad_alloc();
  CPFM_ASSERT(status == CAIRO_STATUS_SUCCESS, cairo_status_to_string(status));
}

struct Size {
  double width = 0, height = 0;
};

Size size_of(const Figure& figure) {
  const Grid grid = grid_of(figure);
  return {static_cast<double>(grid.columns) * figure.panel_width,
          static_cast<double>(grid.rows) * figure.panel_height + (figure.title.empty() ? 0 : kHeadHeight)};
}

void draw(const Figure& figure, cairo_surface_t* surface, double scale) {
  require(cairo_surface_status(surface));
  const Cairo cairo(cairo_create(surface));
  cairo_scale(cairo.get(), scale, scale);
  const Canvas canvas(cairo.get());
  const Size size = size_of(figure);
  canvas.fill({0, 0, size.width, size.height}, {1, 1, 1});
  double top = 0;
  if (!figure.title.empty()) {
    const double left = 2 * kMargins.left;
    canvas.text(left, 25, canvas.fitted(figure.title, kHeadFont, size.width - 2 * left), kHeadFont, kInk);
    top = kHeadHeight;
  }
  const std::size_t columns = grid_of(figure).columns;
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    check_interrupt();
    const Rect cell{static_cast<double>(i % columns) * figure.panel_width,
                    top + static_cast<double>(i / columns) * figure.panel_height,
                    static_cast<double>(figure.panel_width), static_cast<double>(figure.panel_height)};
    std::visit([&](const auto& panel) { draw_panel(canvas, panel, cell); }, figure.panels[i]);
  }
  require(cairo_status(cairo.get()));
}

cairo_status_t append(void* closure, const unsigned char* data, unsigned length) {
  try {
    const auto bytes = std::as_bytes(std::span(data, length));
    auto& all = *static_cast<std::vector<std::byte>*>(closure);
    all.insert(all.end(), bytes.begin(), bytes.end());
    return CAIRO_STATUS_SUCCESS;
  } catch (const std::bad_alloc&) {  // Cairo is C; nothing may be thrown through it
    return CAIRO_STATUS_NO_MEMORY;
  }
}

void write_whole(const std::filesystem::path& file, const std::vector<std::byte>& bytes) {
  AtomicFile output(file);
  output.write(bytes);
  output.commit();
}

}  // namespace
}  // namespace report

bool can_draw() { return true; }

std::vector<std::byte> png_bytes(const Figure& figure) {
  report::check(figure);
  const report::Size size = report::size_of(figure);
  // The checks keep both below what Cairo can count.
  const int width = static_cast<int>(std::lround(size.width * figure.scale));
  const int height = static_cast<int>(std::lround(size.height * figure.scale));
  const report::Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height));
  report::draw(figure, surface.get(), figure.scale);
  cairo_surface_flush(surface.get());

  const unsigned char* const data = cairo_image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface.get()));
  std::vector<std::uint8_t> pixels;
  pixels.reserve(static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    const auto* const row = reinterpret_cast<const std::uint32_t*>(data + y * stride);
    for (std::size_t x = 0; x < static_cast<std::size_t>(width); ++x) {
      for (const unsigned shift : {16U, 8U, 0U}) pixels.push_back(static_cast<std::uint8_t>(row[x] >> shift & 255U));
    }
  }
  return encode_png(width, height, 3, pixels);
}

std::vector<std::byte> svg_bytes(const Figure& figure) {
  report::check(figure);
  const report::Size size = report::size_of(figure);
  std::vector<std::byte> bytes;
  const report::Surface surface(cairo_svg_surface_create_for_stream(report::append, &bytes, size.width, size.height));
  report::draw(figure, surface.get(), 1);
  cairo_surface_finish(surface.get());
  report::require(cairo_surface_status(surface.get()));
  return bytes;
}

void write_png(const std::filesystem::path& file, const Figure& figure) {
  report::write_whole(file, png_bytes(figure));
}

void write_svg(const std::filesystem::path& file, const Figure& figure) {
  report::write_whole(file, svg_bytes(figure));
}

}  // namespace cpfm
