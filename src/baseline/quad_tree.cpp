#include "baseline/quad_tree.hpp"

#include <algorithm>

namespace cpfm {
namespace {

// Points that are nearer to each other than 2^-48 of the width of all are one.
constexpr int kMostDepth = 48;

}  // namespace

QuadTree::QuadTree(std::span<const double> points) {
  double low_x = points[0], high_x = points[0], low_y = points[1], high_y = points[1];
  for (std::size_t k = 0; k < points.size(); k += 2) {
    low_x = std::min(low_x, points[k]);
    high_x = std::max(high_x, points[k]);
    low_y = std::min(low_y, points[k + 1]);
    high_y = std::max(high_y, points[k + 1]);
  }
  cells_.reserve(2 * points.size());
  cells_.push_back({(low_x + high_x) / 2, (low_y + high_y) / 2, std::max(high_x - low_x, high_y - low_y) / 2});
  for (std::size_t k = 0; k < points.size(); k += 2) insert(points[k], points[k + 1]);
}

void QuadTree::split(std::uint32_t cell) {
  const auto first = static_cast<std::uint32_t>(cells_.size());
  const Cell parent = cells_[cell];
  const double half = parent.half / 2;
  for (int quarter = 0; quarter < 4; ++quarter) {
    cells_.push_back(
        {parent.x + (quarter % 2 == 1 ? half : -half), parent.y + (quarter / 2 == 1 ? half : -half), half});
  }
  cells_[cell].inside = first;
  Cell& heir = cells_[inside(cells_[cell], parent.at_x, parent.at_y)];
  heir.sum_x = parent.sum_x;
  heir.sum_y = parent.sum_y;
  heir.at_x = parent.at_x;
  heir.at_y = parent.at_y;
  heir.count = parent.count;
}

void QuadTree::insert(double x, double y) {
  std::uint32_t at = 0;
  for (int depth = 0;; ++depth) {
    const Cell& here = cells_[at];
    const bool stays = here.count == 0 || (here.at_x == x && here.at_y == y) || depth == kMostDepth;
    if (here.inside == 0 && !stays) split(at);
    Cell& cell = cells_[at];
    cell.sum_x += x;
    cell.sum_y += y;
    ++cell.count;
    if (cell.inside == 0) {
      if (cell.count == 1) {
        cell.at_x = x;
        cell.at_y = y;
      }
      return;
    }
    at = inside(cell, x, y);
  }
}

QuadTree::Repulsion QuadTree::repulsion(double x, double y, double theta) const {
  Repulsion result;
  std::array<std::uint32_t, 4 * (kMostDepth + 2)> open;
  std::size_t left = 1;
  open[0] = 0;
  while (left > 0) {
    const Cell& cell = cells_[open[--left]];
    if (cell.count == 0) continue;
    const bool leaf = cell.inside == 0;
    double count = cell.count, dx = x - cell.at_x, dy = y - cell.at_y;
    if (!leaf) {
      dx = x - cell.sum_x / count;
      dy = y - cell.sum_y / count;
    }
    const double square = dx * dx + dy * dy;
    if (!leaf && 4 * cell.half * cell.half >= theta * theta * square) {
      for (std::uint32_t quarter = 0; quarter < 4; ++quarter) open[left++] = cell.inside + quarter;
      continue;
    }
    if (leaf && square == 0) --count;  // the point itself
    const double q = 1 / (1 + square);
    result.sum += count * q;
    result.x += count * q * q * dx;
    result.y += count * q * q * dy;
  }
  return result;
}

}  // namespace cpfm
