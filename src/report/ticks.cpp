#include "report/ticks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace cpfm::report {
namespace {

// Below this share of its values a range is taken for one value: doubles have 16 digits, marks want some of them.
constexpr double kLeastLength = 1e-9;
constexpr double kTiny = 1e-290;  // below, steps would not be normal numbers

std::string superscript(int exponent) {
  static constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "⁻" : "";
  for (const char digit : std::to_string(std::abs(exponent))) text += kDigits[digit - '0'];
  return text;
}

// With a minus sign in place of the hyphen, which is too short beside digits; 10,000 and more in groups of three.
std::string fixed(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", std::abs(value), decimals);
  const std::size_t whole = std::min(text.find('.'), text.size());
  for (std::size_t at = whole; whole >= 5 && at > 3;) text.insert(at -= 3, ",");
  const bool is_zero = text.find_first_not_of("0.") == std::string::npos;
  return value < 0 && !is_zero ? "−" + text : text;
}

int decimals_for(double step) {
  // A step is 1, 2 or 5 times a power of ten; the small addend keeps 10^-3 from becoming 10^-2.9999….
  return std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
}

std::vector<std::string> linear_labels(const std::vector<double>& ticks, double step) {
  double largest = 0;
  for (const double tick : ticks) largest = std::max(largest, std::abs(tick));
  std::vector<std::string> labels;
  // From eight digits before or three zeros after the point on, powers of ten are easier to read.
  if (largest > 0 && (largest >= 1e7 || largest < 1e-3)) {
    const int exponent = static_cast<int>(std::floor(std::log10(largest) + 1e-9));
    // Divided in two steps: 10^exponent itself may not be a normal number.
    const double half = std::pow(10.0, exponent / 2), rest = std::pow(10.0, exponent - exponent / 2);
    for (const double tick : ticks) {
      if (tick == 0) {
        labels.push_back("0");
        continue;
      }
      labels.push_back(fixed(tick / half / rest, decimals_for(step / half / rest)) + "×10" + superscript(exponent));
    }
    return labels;
  }
  for (const double tick : ticks) labels.push_back(fixed(tick, decimals_for(step)));
  return labels;
}

// The smallest 1, 2 or 5 × 10^k that is not below `least`.
double nice_step(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<std::string> log_labels(const std::vector<double>& ticks, bool powers_only) {
  std::vector<std::string> labels;
  const bool plain = ticks.front() >= 0.00999 && ticks.back() < 10'001;
  for (const double tick : ticks) {
    const int exponent = static_cast<int>(std::floor(std::log10(tick) + 1e-9));
    if (plain)
      labels.push_back(fixed(tick, std::max(0, -exponent)));
    else if (powers_only)
      labels.push_back("10" + superscript(exponent));
    else
      labels.push_back(fixed(tick / std::pow(10.0, exponent), 0) + "×10" + superscript(exponent));
  }
  return labels;
}

}  // namespace

Ticks step_ticks(Range range, double least_step) {
  // Counted, not added up: sums of 0.1 miss the round numbers. What is missing to a mark at the ends may be rounding.
  const double step = nice_step(least_step), slack = 1e-9;
  const double first = std::ceil(range.low / step - slack), last = std::floor(range.high / step + slack);
  Ticks ticks;
  for (double i = first; i <= last; ++i) ticks.major.push_back(i * step + 0.0);  // + 0.0: no negative zero
  ticks.labels = linear_labels(ticks.major, step);
  return ticks;
}

Ticks linear_ticks(Range range, int most) {
  if (!(range.high > range.low)) return {{range.low}, {fmt::format("{:.6g}", range.low)}, {}};
  const double least_step = range.length() / most;
  Ticks ticks = step_ticks(range, least_step);
  // m steps have m + 1 ends.
  if (ticks.major.size() > static_cast<std::size_t>(most)) ticks = step_ticks(range, nice_step(least_step) * 1.1);
  return ticks;
}

Ticks log_ticks(Range range, int most) {
  const double slack = 1e-9;
  const int first = static_cast<int>(std::ceil(std::log10(range.low) - slack));
  const int last = static_cast<int>(std::floor(std::log10(range.high) + slack));
  Ticks ticks;
  const auto collect = [&](std::initializer_list<int> factors, std::vector<double>& into, int stride) {
    for (int exponent = first - 1; exponent <= last; ++exponent) {
      if (exponent % stride != 0) continue;
      for (const int factor : factors) {
        const double value = factor * std::pow(10.0, exponent);
        if (value >= range.low * (1 - slack) && value <= range.high * (1 + slack)) into.push_back(value);
      }
    }
  };
  if (last - first + 1 >= 2) {
    const int count = last - first + 1, stride = (count + most - 1) / std::max(most, 1);
    collect({1}, ticks.major, stride);
    // Between marks that leave powers out, the powers are what the minor marks show.
    if (stride == 1)
      collect({2, 3, 4, 5, 6, 7, 8, 9}, ticks.minor, 1);
    else if (stride < 10)
      collect({1}, ticks.minor, 1);
  } else {
    collect({1, 2, 5}, ticks.major, 1);
    collect({3, 4, 6, 7, 8, 9}, ticks.minor, 1);
  }
  if (ticks.major.size() < 2) return linear_ticks(range, most);
  ticks.labels = log_labels(ticks.major, last - first + 1 >= 2);
  return ticks;
}

Range padded(Range range, double fraction, bool log) {
  if (log) {
    const Range exponents = padded({std::log10(range.low), std::log10(range.high)}, fraction, false);
    // One value on a logarithmic axis stands between its half and its double.
    if (!(range.high > range.low * (1 + kLeastLength))) return {range.low / 2, range.high * 2};
    return {std::pow(10.0, std::max(exponents.low, -305.0)), std::pow(10.0, std::min(exponents.high, 305.0))};
  }
  const double size = std::max(std::abs(range.low), std::abs(range.high));
  if (range.length() <= std::max(kLeastLength * size, kTiny)) {
    const double half = size <= kTiny ? 1 : size / 2;
    return {range.low - half, range.high + half};
  }
  return {range.low - fraction * range.length(), range.high + fraction * range.length()};
}

}  // namespace cpfm::report
