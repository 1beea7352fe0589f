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
CLI::Validator one_of(std::vector<std::string> choices);

// Makes every option and positional of `app` and its commands refuse an empty text.
void refuse_empty_texts(CLI::App& app);

}  // namespace cpfm::app
