// What a part of a comparison depends on, as text: the options in force, and what the files hold that they name. Where
// the text is the same as before, what was made stays.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace cpfm::app {

using Choice = std::function<bool(const CLI::Option&)>;

// The seed and the options in force that `keep` takes.
std::string config_with(const CLI::App& command, const Choice& keep);

// What tells the files that a value names from others in their place: a file by itself, KIND:FILE, or those of an
// expression, as in points(FILE). Nothing where there are none.
std::string content_key(const std::string& value);
// The same of all values of the options that `keep` takes.
std::string content_keys(const CLI::App& command, const Choice& keep);

}  // namespace cpfm::app
