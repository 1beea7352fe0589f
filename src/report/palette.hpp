// Colours and shapes that tell classes apart, also for most people who see few colours, and the scale that shows a
// number as a colour.
#pragma once

#include <cstddef>

namespace cpfm::report {

struct Rgb {
  double r = 0, g = 0, b = 0;  // sRGB, 0 to 1
  bool operator==(const Rgb&) const = default;
};

enum class Marker { kCircle, kSquare, kTriangle, kDiamond };

struct ClassStyle {
  Rgb color;
  Marker marker = Marker::kCircle;
};

// Class `index` of `count`. Up to ten: Okabe and Ito's eight colours and two more, all circles. Beyond: hues around the
// circle, neighbours apart in lightness and shape.
ClassStyle class_style(std::size_t index, std::size_t count);

// 0 is dark violet, 1 light yellow; the lightness rises evenly, so that equal steps look equal, in grey too.
Rgb scale_color(double t);

// A colour by lightness (0 to 100), chroma and hue (degrees) of CIELAB, D65; the chroma is lowered to what a display
// can show.
Rgb lch_color(double lightness, double chroma, double hue);

inline constexpr Rgb kUnlabelled{0.80, 0.80, 0.80};
inline constexpr Rgb kOneColor{0.0, 0.447, 0.698};  // where colour means nothing

}  // namespace cpfm::report
