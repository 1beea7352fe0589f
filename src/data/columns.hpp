// One column of values that label or measure samples, from any file that can hold one, and its conversion to classes
// or to a property.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cpfm/data.hpp"
#include "data/byte_source.hpp"

namespace cpfm {

struct Column {
  std::string name;
  std::variant<std::vector<double>, std::vector<std::string>> values;
  bool are_names = false;    // texts name classes even where they look like numbers
  bool from_floats = false;  // numbers were 32-bit floats: large whole ones may have been others
  std::size_t size() const {
    return std::visit([](const auto& v) { return v.size(); }, values);
  }
};

// "", "nan", "NaN" and "NA": what tables write where there is no value.
bool is_missing(std::string_view text);

// Whole numbers become classes ordered by value, text classes ordered by bytes. Missing texts, NaN and the whole number
// -1 are unlabelled; where -1 and 1 are the only numbers, both are classes. Fractions are refused: they are a property,
// not a class. `where` names the column for messages.
Labels to_labels(const Column& column, const std::string& where);
// Numbers only, all finite; names the first row that is not.
Property to_property(const Column& column, const std::string& where);

Column column_of_floats(std::string name, std::span<const float> values);

// Whether a SPEC can be read as a file; a pipe counts, a folder does not.
bool names_a_file(const std::string& spec);

// A 1-D .npy array (numbers, or numpy's 'U'/'S' text), an idx vector, or text with one value per line, for each of
// `samples` samples. `limited`: the samples are the first of more, so the file may go on. With kAuto the first line of
// text is a header when it is text above numbers, or when there is a line too many and the first one, being text, never
// comes again.
Column read_column_file(const std::string& path, std::size_t samples, bool limited, Header header);
void keep_first(Column& column, std::size_t count);
Column parse_npy_column(Reader& reader);

}  // namespace cpfm
