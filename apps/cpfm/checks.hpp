// What a value on the command line may be. CLI11's own checks wrap negative numbers and read 010 as 8; these name the
// value and what is allowed. Each is without a name of its own, so that the help stays short.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace cpfm::app {

// Digits only, within [least, most]. For transform(): leading zeros go.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
// Between 0 and 1, both excluded.
CLI::Validator proper_fraction();
CLI::Validator positive_number();
// From `least` to `most`, the former excluded if told so.
CLI::Validator number_between(double least, double most, bool above = false);
CLI::Validator one_of(std::vector<std::string> choices);

// Throws cpfm::Error that names `option` unless `file` can be written: long work should not end in a surprise.
void check_writable(const char* option, const std::string& file);
// And unless it ends in one of these (".png").
void check_extension(const char* option, const std::string& file, const std::vector<std::string>& extensions);

// Throws cpfm::Error where two of the files named by these options are the same one; empty names are none.
void check_different(const std::vector<std::pair<std::string, std::string>>& files);

// Makes every option and positional of `app` and its commands refuse an empty text.
void refuse_empty_texts(CLI::App& app);

}  // namespace cpfm::app
