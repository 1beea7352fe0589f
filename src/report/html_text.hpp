// What may stand in an HTML page: texts that cannot become markup, and bytes as base64.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace cpfm::report {

// `text` for the inside of an element or of a quoted attribute: & < > " ' as entities, and what printable() would not
// let pass as '?', but for line feeds and tabs, which stay.
std::string html_escaped(std::string_view text);

// Appends RFC 4648's base64, padded, without line breaks.
void append_base64(std::string& out, std::span<const std::byte> bytes);

}  // namespace cpfm::report
