#include "report/canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/text.hpp"

namespace cpfm::report {
namespace {

constexpr std::size_t kMostBytes = 400;  // of one text, before it is cut to its width

void set_color(cairo_t* cairo, Rgb color, double alpha = 1) {
  cairo_set_source_rgba(cairo, color.r, color.g, color.b, alpha);
}

// Without the last character of UTF-8.
void drop_last(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) text.pop_back();
  if (!text.empty()) text.pop_back();
}

}  // namespace

Canvas::Canvas(cairo_t* cairo)
    : cairo_(cairo), pixels_(cairo_surface_get_type(cairo_get_target(cairo)) == CAIRO_SURFACE_TYPE_IMAGE) {
  // Letters keep their true widths at every scale; hinting would round them to whole pixels.
  cairo_font_options_t* const options = cairo_font_options_create();
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
  cairo_set_font_options(cairo_, options);
  cairo_font_options_destroy(options);
  cairo_set_line_join(cairo_, CAIRO_LINE_JOIN_ROUND);
}

void Canvas::choose(Font font) const {
  cairo_select_font_face(cairo_, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                         font.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cairo_, font.size);
}

double Canvas::text_width(std::string_view text, Font font) const {
  choose(font);
  cairo_text_extents_t extents;
  cairo_text_extents(cairo_, printable(text, kMostBytes).c_str(), &extents);
  return extents.x_advance;
}

std::string Canvas::fitted(std::string_view text, Font font, double width) const {
  std::string whole = printable(text, kMostBytes);
  if (text_width(whole, font) <= width) return whole;
  while (!whole.empty() && text_width(whole + "…", font) > width) drop_last(whole);
  while (whole.ends_with(' ')) whole.pop_back();
  return whole + "…";
}

void Canvas::text(double x, double baseline, std::string_view text, Font font, Rgb color, Align align) const {
  if (align != Align::kLeft) x -= text_width(text, font) * (align == Align::kCenter ? 0.5 : 1.0);
  choose(font);
  set_color(cairo_, color);
  cairo_move_to(cairo_, x, baseline);
  cairo_show_text(cairo_, printable(text, kMostBytes).c_str());
  cairo_new_path(cairo_);
}

void Canvas::upward_text(double x, double middle, std::string_view text, Font font, Rgb color) const {
  cairo_save(cairo_);
  cairo_translate(cairo_, x, middle);
  cairo_rotate(cairo_, -std::numbers::pi / 2);
  this->text(0, 0, text, font, color, Align::kCenter);
  cairo_restore(cairo_);
}

void Canvas::line(Point from, Point to, double width, Rgb color) const {
  set_color(cairo_, color);
  if (pixels_) {
    snap(from.x, to.x, width);
    snap(from.y, to.y, width);
  }
  cairo_set_line_width(cairo_, width);
  cairo_move_to(cairo_, from.x, from.y);
  cairo_line_to(cairo_, to.x, to.y);
  cairo_stroke(cairo_);
}

void Canvas::snap(double& from, double& to, double& width) const {
  if (from != to) return;
  double scale = 1, unused = 0;
  cairo_user_to_device_distance(cairo_, &scale, &unused);
  const double pixels = std::max(1.0, std::round(width * scale));
  const double half = std::fmod(pixels, 2) == 1 ? 0.5 : 0;
  from = to = (std::round(from * scale - half) + half) / scale;
  width = pixels / scale;
}

void Canvas::polyline(std::span<const Point> points, std::span<const char> breaks, double width, Rgb color,
                      bool dashed) const {
  set_color(cairo_, color);
  cairo_set_line_width(cairo_, width);
  if (dashed) {
    const std::array<double, 2> dashes{4 * width, 2.5 * width};
    cairo_set_dash(cairo_, dashes.data(), static_cast<int>(dashes.size()), 0);
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i == 0 || breaks[i] != 0)
      cairo_move_to(cairo_, points[i].x, points[i].y);
    else
      cairo_line_to(cairo_, points[i].x, points[i].y);
  }
  cairo_stroke(cairo_);
  cairo_set_dash(cairo_, nullptr, 0, 0);
}

void Canvas::fill(const Rect& rect, Rgb color) const {
  set_color(cairo_, color);
  cairo_rectangle(cairo_, rect.x, rect.y, rect.width, rect.height);
  cairo_fill(cairo_);
}

void Canvas::marker(Marker shape, Point at, double radius, Rgb color, double alpha) const {
  set_color(cairo_, color, alpha);
  const double side = radius * 1.77;  // of a square of the circle's area
  switch (shape) {
    case Marker::kCircle:
      cairo_arc(cairo_, at.x, at.y, radius, 0, 2 * std::numbers::pi);
      break;
    case Marker::kSquare:
      cairo_rectangle(cairo_, at.x - side / 2, at.y - side / 2, side, side);
      break;
    case Marker::kTriangle: {
      const double reach = radius * 1.55;  // from the middle to a corner
      cairo_move_to(cairo_, at.x, at.y - reach);
      cairo_line_to(cairo_, at.x + reach * 0.866, at.y + reach / 2);
      cairo_line_to(cairo_, at.x - reach * 0.866, at.y + reach / 2);
      cairo_close_path(cairo_);
      break;
    }
    case Marker::kDiamond: {
      const double reach = side * 0.7071;
      cairo_move_to(cairo_, at.x, at.y - reach);
      cairo_line_to(cairo_, at.x + reach, at.y);
      cairo_line_to(cairo_, at.x, at.y + reach);
      cairo_line_to(cairo_, at.x - reach, at.y);
      cairo_close_path(cairo_);
      break;
    }
  }
  cairo_fill(cairo_);
}

Canvas::Clip::Clip(const Canvas& canvas, const Rect& rect) : cairo_(canvas.cairo_) {
  cairo_save(cairo_);
  cairo_rectangle(cairo_, rect.x, rect.y, rect.width, rect.height);
  cairo_clip(cairo_);
}

}  // namespace cpfm::report
