// Some rows of a matrix, in the order they are named.
#pragma once

#include <algorithm>
#include <vector>

#include "cpfm/matrix.hpp"

namespace cpfm {

inline FloatMatrix take_rows(MatrixView<const float> from, const std::vector<std::size_t>& rows) {
  FloatMatrix taken(rows.size(), from.cols);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(from.data + rows[i] * from.cols, from.cols, taken.row(i).data());
  return taken;
}

}  // namespace cpfm
