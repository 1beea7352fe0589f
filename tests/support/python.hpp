// Tests that ask other programs for their values.
#pragma once

#include <exception>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "base/subprocess.hpp"
#include "cpfm/matrix.hpp"

namespace cpfm::test {

// A python3 that can import `module`; empty where there is none.
inline std::string python_with(const std::string& module) {
  std::string program = "import ";  // g++ 13 sees ghosts in "import " + module
  program += module;
  for (const char* candidate : {"python3", "/usr/bin/python3"}) {
    try {
      if (run_process({candidate, "-c", program}).exit_code == 0) return candidate;
    } catch (const std::exception&) {  // there is none of that name
    }
  }
  return {};
}

// What read(fields, record) makes of each line; those it does not take, such as warnings, are skipped.
template <class Record, class Read>
std::vector<Record> records_of(const std::string& text, const Read& read) {
  std::vector<Record> records;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    Record record;
    if (read(fields, record)) records.push_back(record);
  }
  return records;
}

// entry(row, column), as a script can compute it too.
inline FloatMatrix matrix_of(std::size_t rows, std::size_t cols,
                             const std::function<double(double, std::size_t)>& entry) {
  FloatMatrix matrix(rows, cols);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < cols; ++k) matrix(i, k) = static_cast<float>(entry(static_cast<double>(i), k));
  }
  return matrix;
}

}  // namespace cpfm::test
