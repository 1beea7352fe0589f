#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace cpfm {
namespace {

// Insertions, deletions, substitutions and swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, previous);
    std::swap(previous, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// Length of the well-formed UTF-8 sequence at the start of `text` (Unicode's table 3-7), 0 when there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80       ? 1
                             : byte(0) >> 5 == 6  ? 2
                             : byte(0) >> 4 == 14 ? 3
                             : byte(0) >> 3 == 30 ? 4
                                                  : 0;
  if (length == 0 || length > text.size() || (length == 2 && byte(0) < 0xC2)) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 2) return 0;
  }
  const bool overlong = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
  const bool surrogate = byte(0) == 0xED && byte(1) >= 0xA0;
  const bool beyond = byte(0) > 0xF4 || (byte(0) == 0xF4 && byte(1) >= 0x90);
  return overlong || surrogate || beyond ? 0 : length;
}

// Whether the sequence of `length` bytes at the start of `text` may reach a terminal.
bool is_harmless(std::string_view text, std::size_t length) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (length == 0 || first < 0x20 || first == 0x7F) return false;
  return !(first == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0);  // U+0080 to U+009F
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 64;
  if (name.empty() || name.size() > kLongest) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = edit_distance(lower(name), lower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggest(std::string_view name, const std::vector<std::string>& candidates) {
  if (candidates.empty()) return "there are none";
  const std::string nearest = nearest_name(name, candidates);
  if (!nearest.empty()) return fmt::format("did you mean '{}'?", printable(nearest));
  constexpr std::size_t kShown = 12;
  std::string list;
  for (std::size_t i = 0; i < std::min(kShown, candidates.size()); ++i) {
    list += (i == 0 ? "" : ", ") + printable(candidates[i]);
  }
  if (candidates.size() > kShown) list += fmt::format(", … ({} in all)", candidates.size());
  return "there are: " + list;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (out.size() + std::max<std::size_t>(length, 1) > most) return out + "…";
    if (is_harmless(text, length))
      out += text.substr(0, length);
    else
      out += '?';
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string printable_message(std::string_view text) {
  constexpr std::string_view kOwnLine = "\n  ";
  std::string out;
  for (;;) {
    const std::size_t end = text.find(kOwnLine);
    out += printable(text.substr(0, end), std::string::npos);
    if (end == std::string_view::npos) return out;
    out += kOwnLine;
    text.remove_prefix(end + kOwnLine.size());
  }
}

std::string_view cut_to_width(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (; end < text.size() && columns > 0; --columns) end += std::max<std::size_t>(utf8_length(text.substr(end)), 1);
  return text.substr(0, end);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string human_bytes(double bytes) {
  constexpr std::array<const char*, 5> kUnit{"bytes", "kB", "MB", "GB", "TB"};
  std::size_t power = 0;
  while (bytes >= 999.5 && power + 1 < kUnit.size()) {
    bytes /= 1000;
    ++power;
  }
  return fmt::format("{:.{}f} {}", bytes, power == 0 || bytes >= 99.95 ? 0 : 1, kUnit[power]);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool parse_number(std::string_view text, double& value) {
  text = trim(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || text.empty()) return false;
  if (problem == std::errc::result_out_of_range) {
    // from_chars leaves the value alone; strtod tells overflow from underflow, however the digits are spread.
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", locale_t{});
    value = strtod_l(std::string(text).c_str(), nullptr, plain);
    return true;
  }
  return problem == std::errc{};
}

}  // namespace cpfm
