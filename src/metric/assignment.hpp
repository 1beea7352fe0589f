// The linear assignment problem on a dense matrix of costs, solved exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "cpfm/matrix.hpp"

namespace cpfm {

// Row i goes to column column_of[i]. The dual variables prove it, up to rounding: u[i] + v[j] ≤ cost(i, j) everywhere,
// and equal where j = column_of[i].
struct Assignment {
  std::vector<std::uint32_t> column_of;
  std::vector<double> u, v;
};

// `cost` is n × n, n ≥ 1 and below 2^31, of finite numbers.
Assignment solve_assignment(MatrixView<const double> cost);

}  // namespace cpfm
