#include "report/html_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/text.hpp"

namespace cpfm::report {
namespace {

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (;;) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    append_escaped(out, printable(text.substr(0, end), std::string::npos));
    if (end == text.size()) return out;
    out += text[end];
    text.remove_prefix(end + 1);
  }
}

void append_base64(std::string& out, std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(bytes.size() - i, 3);
    std::uint32_t group = 0;  // three bytes, those that are missing as 0
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < count ? std::to_integer<std::uint32_t>(bytes[i + j]) : 0);
    std::array<char, 4> digits{'=', '=', '=', '='};
    for (std::size_t j = 0; j <= count; ++j) digits[j] = kDigits[group >> (18 - 6 * j) & 63U];
    out.append(digits.data(), digits.size());
  }
}

}  // namespace cpfm::report
