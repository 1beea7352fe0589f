// Small things error messages are made of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cpfm {

// The candidate nearest to `name` by edit distance, or empty when none is near enough to be a slip of the hand.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// "did you mean 'nearest'?" when one is near, else "there are: a, b, c, … (12 in all)".
std::string suggest(std::string_view name, const std::vector<std::string>& candidates);

// Control characters (C0, DEL and C1) and what is not well-formed UTF-8 (overlong forms and surrogates too) become '?',
// and what is longer than `most` bytes is cut with "…": safe to print in one line whatever a file held.
std::string printable(std::string_view text, std::size_t most = 60);

// The same for a whole message, which may have lines of its own: they are indented by two spaces, as the source and the
// caret below an expression's error are. So a line feed stays where two spaces follow, and nothing from outside can
// begin a line.
std::string printable_message(std::string_view text);

// `text` cut to `columns` characters, taking each for one column wide.
std::string_view cut_to_width(std::string_view text, std::size_t columns);

bool is_utf8(std::string_view text);

// "1.5 MB" (decimal units).
std::string human_bytes(double bytes);

std::string lower(std::string_view text);
std::string_view trim(std::string_view text);

// The whole of `text` (trimmed) as a finite or non-finite double; false when it is not a number.
bool parse_number(std::string_view text, double& value);

}  // namespace cpfm
