// The leading principal components of rows that come block by block, through the smaller of the two sides.
#pragma once

#include <Eigen/Core>
#include <functional>

#include "cpfm/progress.hpp"

namespace cpfm {

// Fills `block` with as many rows as it has, from row `begin` on. Called from several threads at once.
using FillRows = std::function<void(std::size_t begin, Eigen::Ref<Eigen::MatrixXd> block)>;

struct PrincipalComponents {
  Eigen::VectorXd mean;       // of the rows
  Eigen::MatrixXd vectors;    // width × d, orthonormal, the largest first; the largest entry of each is positive
  Eigen::VectorXd deviation;  // d: standard deviation along each (n - 1 below)
  double variance = 0;        // of the rows in all
};

// n ≥ 2 rows of `width` numbers that are not far from 0 beside their spread; d ≤ min(n, width). Vectors of variance 0
// are zero.
PrincipalComponents principal_components(std::size_t n, std::size_t width, std::size_t d, const FillRows& fill,
                                         Progress* progress = nullptr);

}  // namespace cpfm
