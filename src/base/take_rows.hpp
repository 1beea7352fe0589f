// Rows of a matrix, in the order they are named.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "cpfm/matrix.hpp"

namespace cpfm {

inline FloatMatrix take_rows(MatrixView<const float> from, const std::vector<std::size_t>& rows) {
  FloatMatrix taken(rows.size(), from.cols);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(from.data + rows[i] * from.cols, from.cols, taken.row(i).data());
  return taken;
}

inline std::vector<std::size_t> all_rows(std::size_t n) {
  std::vector<std::size_t> rows(n);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

}  // namespace cpfm
