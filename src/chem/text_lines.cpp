#include "chem/text_lines.hpp"

#include <fmt/format.h>

#include "cpfm/error.hpp"

namespace cpfm {

Lines::Lines(Reader& reader) : reader_(reader) {
  if (reader_.peek(3) != "\xEF\xBB\xBF") return;
  reader_.buffered();
  reader_.consume(3);
}

bool Lines::next(std::string& line) {
  constexpr std::size_t kLongest = std::size_t{1} << 20;
  line.clear();
  if (reader_.at_end()) return false;
  ++number_;
  const auto fail = [&](const char* problem) {
    throw Error(fmt::format("{}, line {}", reader_.name(), number_), problem, "this is not a file of molecules");
  };
  for (std::string_view window = reader_.buffered(); !window.empty(); window = reader_.buffered()) {
    const std::size_t end = window.find('\n');
    line += window.substr(0, end);
    reader_.consume(end == std::string_view::npos ? window.size() : end + 1);
    if (line.size() > kLongest) fail("is longer than 1 MiB");
    if (end != std::string_view::npos) break;
  }
  if (line.find('\0') != std::string::npos) fail("holds a zero byte");
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

}  // namespace cpfm
