// How a map is looked at: its points in the colours that tell what the kernel looked at, and grids of places over it.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "cpfm/data.hpp"
#include "cpfm/matrix.hpp"
#include "cpfm/report.hpp"

namespace cpfm::app {

// One point per sample, coloured by the property that the kernel names, else by class, else by the first property.
// Borrows `y` and `data`.
Scatter map_scatter(const FloatMatrix& y, const Dataset& data, const std::string& kernel, std::string title = "");

// A kernel for a heading: its numbers with four digits.
std::string short_kernel(const std::string& kernel);

// The mean place of each of n samples, of equally many draws each that follow each other.
FloatMatrix take_means(const FloatMatrix& draws, std::size_t n);

// How much of a property the 10 nearest places tell of each (R²), itself left out; nothing where there are too few
// samples or it is the same for all.
inline constexpr std::size_t kPropertyNeighbours = 10;
std::optional<double> told_by_neighbours(const FloatMatrix& y, const Property& property);

// How many samples have a label.
std::size_t labelled(const Dataset& data);

// The share of the labelled samples whose 15 nearest places of labelled ones, itself left out, are mostly of their
// class; k is less where fewer have a label, and there is nothing where fewer than two have.
struct LabelsTold {
  double share = 0;
  std::size_t k = 15;
};
std::optional<LabelsTold> labels_told_by_neighbours(const FloatMatrix& y, const Dataset& data);

// Where a grid lies: from its left end to its right, and from its lower end to its upper.
struct GridBox {
  std::array<double, 2> across, up;
};
// The box that holds nearly all of some places, without the outermost hundredth at each end.
GridBox box_around(MatrixView<const float> places);
// side × side places, row by row from the top; further dimensions stay 0. One row where the map has one dimension.
FloatMatrix grid_places(std::size_t side, const GridBox& box, std::size_t dim);

}  // namespace cpfm::app
