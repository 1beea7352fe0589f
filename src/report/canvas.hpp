// The few things we ask of Cairo, in its own units, with colours and text in one call each. Text is made safe here: any
// bytes may come as a class name, and Cairo stops drawing altogether after one that is not UTF-8.
#pragma once

#include <cairo.h>

#include <span>
#include <string>
#include <string_view>

#include "report/palette.hpp"

namespace cpfm::report {

struct Point {
  double x = 0, y = 0;
};

struct Rect {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

struct Font {
  double size = 10;
  bool bold = false;
};

enum class Align { kLeft, kCenter, kRight };

// The house's inks, from text to the faintest line.
inline constexpr Rgb kInk{0.13, 0.13, 0.13}, kSoftInk{0.36, 0.36, 0.36}, kSpine{0.68, 0.68, 0.68},
    kGrid{0.93, 0.93, 0.93};
inline constexpr Font kTitleFont{13, true}, kHeadFont{16, true}, kLabelFont{11}, kTickFont{10}, kRemarkFont{9.5};

class Canvas {
 public:
  explicit Canvas(cairo_t* cairo);  // borrowed

  // `text` as it is drawn: control characters and bad UTF-8 replaced, cut with "…" to at most `width`.
  std::string fitted(std::string_view text, Font font, double width) const;
  double text_width(std::string_view text, Font font) const;
  // `x` is the left end, middle or right end of the text, `baseline` the line it stands on.
  void text(double x, double baseline, std::string_view text, Font font, Rgb color, Align align = Align::kLeft) const;
  // Reads upwards, centred on `middle`; letters stand on the line `x`.
  void upward_text(double x, double middle, std::string_view text, Font font, Rgb color) const;

  void line(Point from, Point to, double width, Rgb color) const;
  // Unconnected where a break was asked for: `breaks[i]` says that nothing leads to point i.
  void polyline(std::span<const Point> points, std::span<const char> breaks, double width, Rgb color,
                bool dashed) const;
  void fill(const Rect& rect, Rgb color) const;
  // `radius` is that of the circle; other shapes have about its area.
  void marker(Marker shape, Point at, double radius, Rgb color, double alpha) const;

  // Until the end of its life nothing is drawn outside `rect`.
  class Clip {
   public:
    Clip(const Canvas& canvas, const Rect& rect);
    ~Clip() { cairo_restore(cairo_); }
    Clip(const Clip&) = delete;
    Clip& operator=(const Clip&) = delete;

   private:
    cairo_t* cairo_;
  };

 private:
  void choose(Font font) const;
  // Where both ends of a line have the same coordinate: moves it, and rounds the width, such that the line covers whole
  // pixels.
  void snap(double& from, double& to, double& width) const;

  cairo_t* cairo_;
  bool pixels_;  // drawn on pixels, not as vectors
};

}  // namespace cpfm::report
