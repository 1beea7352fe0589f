// One column of values that label or measure samples, from any file that can hold one, and its conversion to classes
// or to a property.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "cpfm/data.hpp"
#include "data/byte_source.hpp"

namespace cpfm {

struct Column {
  std::string name;
  std::variant<std::vector<double>, std::vector<std::string>> values;  // an empty text is "missing"
  std::size_t size() const {
    return std::visit([](const auto& v) { return v.size(); }, values);
  }
};

// Whole numbers become classes ordered by value, text classes ordered by bytes; missing (empty text, NaN, and the whole
// number -1) is unlabelled. Fractions are refused: they are a property, not a class. `where` names the column for
// messages.
Labels to_labels(const Column& column, const std::string& where);
// Numbers only, all finite; names the first row that is not.
Property to_property(const Column& column, const std::string& where);

// A 1-D .npy array (numbers, or numpy's 'U'/'S' text), a one-column csv or text file, or an idx vector, with one value
// for each of `samples` samples. A text file with one line more has a header. `limited`: the samples are the first of
// more, so the file may go on; then a header is text above numbers.
Column read_column_file(const std::string& path, std::size_t samples, bool limited);
void keep_first(Column& column, std::size_t count);
Column parse_npy_column(Reader& reader);

}  // namespace cpfm
