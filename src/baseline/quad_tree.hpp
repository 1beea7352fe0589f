// The repulsion of t-SNE in O(n log n): cells that are small and far count as one point (J. Barnes and P. Hut 1986; L.
// van der Maaten, "Accelerating t-SNE using tree-based algorithms", 2014).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace cpfm {

class QuadTree {
 public:
  // `points` are n × 2 finite numbers, n ≥ 1.
  explicit QuadTree(std::span<const double> points);

  struct Repulsion {
    double x = 0, y = 0;  // Σ_j q² (p - p_j) with q = 1 / (1 + |p - p_j|²)
    double sum = 0;       // Σ_j q
  };
  // On the point p, one of those given, by all others. theta ≤ 0.7, so that no cell counts as one for its own points.
  Repulsion repulsion(double x, double y, double theta) const;

 private:
  struct Cell {
    double x, y, half;                    // its middle and half its width
    double sum_x = 0, sum_y = 0;          // of the points inside
    double at_x = 0, at_y = 0;            // a leaf's points, which are all there
    std::uint32_t count = 0, inside = 0;  // points; the first of four cells inside, 0 for a leaf
  };
  void insert(double x, double y);
  void split(std::uint32_t cell);
  std::uint32_t inside(const Cell& cell, double x, double y) const {
    return cell.inside + (x >= cell.x ? 1u : 0u) + (y >= cell.y ? 2u : 0u);
  }

  std::vector<Cell> cells_;
};

}  // namespace cpfm
