// A text as a field of a table that any reader of CSV takes back.
#pragma once

#include <string>

namespace cpfm {

// Quoted where it holds what a reader could take for a separator, a quote or padding. In a table of one column, where
// no comma shows the separator, any space could be one.
inline std::string quoted_if_needed(const std::string& text, bool only_column) {
  const char* const special = only_column ? ",;\t\"\r\n " : ",;\t\"\r\n";
  if (text.find_first_of(special) == std::string::npos && !text.starts_with(' ') && !text.ends_with(' ')) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace cpfm
