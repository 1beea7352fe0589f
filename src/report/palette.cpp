#include "report/palette.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace cpfm::report {
namespace {

constexpr Rgb hex(unsigned value) {
  return {static_cast<double>(value >> 16 & 255U) / 255, static_cast<double>(value >> 8 & 255U) / 255,
          static_cast<double>(value & 255U) / 255};
}

// Okabe and Ito's eight (Color Universal Design, 2008), the yellow late because it is faint on white; then a brown and
// a dark violet, which differ from the others by lightness as well.
constexpr std::array<Rgb, 10> kFew{hex(0x0072B2), hex(0xE69F00), hex(0x009E73), hex(0xD55E00), hex(0xCC79A7),
                                   hex(0x56B4E9), hex(0x000000), hex(0xF0E442), hex(0x8C5A2B), hex(0x5A2A82)};

// Linear light of CIELAB colours relative to D65 white; outside 0..1 where no display can show them.
Rgb linear_rgb(double lightness, double a, double b) {
  const auto inverse = [](double t) { return t > 6.0 / 29 ? t * t * t : 3 * 36.0 / 841 * (t - 4.0 / 29); };
  const double level = (lightness + 16) / 116;
  const double x = 0.95047 * inverse(level + a / 500), y = inverse(level), z = 1.08883 * inverse(level - b / 200);
  return {3.2406 * x - 1.5372 * y - 0.4986 * z, -0.9689 * x + 1.8758 * y + 0.0415 * z,
          0.0557 * x - 0.2040 * y + 1.0570 * z};
}

double gamma_encoded(double light) {
  light = std::clamp(light, 0.0, 1.0);
  return light <= 0.0031308 ? 12.92 * light : 1.055 * std::pow(light, 1 / 2.4) - 0.055;
}

// The stations of the scale, evenly spaced in t and in lightness: violet, blue, teal, green, yellow.
struct Station {
  double chroma, hue;
};
constexpr std::array<Station, 8> kStations{
    {{46, 322}, {44, 298}, {34, 272}, {28, 236}, {30, 198}, {43, 160}, {60, 128}, {77, 103}}};
constexpr double kDarkest = 16, kLightest = 91;

}  // namespace

Rgb lch_color(double lightness, double chroma, double hue) {
  const double angle = hue * std::numbers::pi / 180;
  const auto color = [&](double c) { return linear_rgb(lightness, c * std::cos(angle), c * std::sin(angle)); };
  const auto shown = [](Rgb c) {
    const auto [least, most] = std::minmax({c.r, c.g, c.b});
    return least >= -1e-3 && most <= 1 + 1e-3;
  };
  Rgb linear = color(chroma);
  if (!shown(linear)) {
    double low = 0, high = chroma;
    for (int i = 0; i < 20; ++i) (shown(color((low + high) / 2)) ? low : high) = (low + high) / 2;
    linear = color(low);
  }
  return {gamma_encoded(linear.r), gamma_encoded(linear.g), gamma_encoded(linear.b)};
}

ClassStyle class_style(std::size_t index, std::size_t count) {
  if (count <= kFew.size()) return {kFew[index], Marker::kCircle};
  constexpr std::array<double, 3> kLightness{50, 72, 34};
  constexpr std::array<Marker, 4> kMarkers{Marker::kCircle, Marker::kTriangle, Marker::kSquare, Marker::kDiamond};
  const double hue = 360.0 * static_cast<double>(index) / static_cast<double>(count) + 20;
  return {lch_color(kLightness[index % kLightness.size()], 62, hue), kMarkers[index % kMarkers.size()]};
}

Rgb scale_color(double t) {
  t = std::clamp(t, 0.0, 1.0);
  const double at = t * (kStations.size() - 1);
  const auto from = std::min(static_cast<std::size_t>(at), kStations.size() - 2);
  const double part = at - static_cast<double>(from);
  const Station &a = kStations[from], &b = kStations[from + 1];
  return lch_color(std::lerp(kDarkest, kLightest, t), std::lerp(a.chroma, b.chroma, part),
                   std::lerp(a.hue, b.hue, part));
}

}  // namespace cpfm::report
