// How much two rows of the data attract each other in t-SNE.
#pragma once

#include <cstdint>
#include <vector>

#include "cpfm/matrix.hpp"

namespace cpfm {

// A symmetric sparse matrix whose entries sum to 1. Row i has the entries from begin[i] up to begin[i + 1], by column.
struct Affinities {
  std::vector<std::size_t> begin;
  std::vector<std::uint32_t> to;
  std::vector<double> p;
};

// Gaussian neighbourhoods whose entropy is log(perplexity), of the `neighbours` nearest rows of each row (n - 1: of
// all), made symmetric: p_ij = (p_j|i + p_i|j) / 2n. The caller has checked `x` and the perplexity. O(n · neighbours)
// memory.
Affinities affinities(MatrixView<const float> x, double perplexity, std::size_t neighbours);

// Throws cpfm::Error unless `x` is finite and has enough rows for the perplexity.
void check_perplexity(MatrixView<const float> x, double perplexity);

}  // namespace cpfm
