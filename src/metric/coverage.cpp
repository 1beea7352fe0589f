#include <fmt/format.h>

#include <cmath>

#include "cpfm/error.hpp"
#include "cpfm/metric.hpp"

namespace cpfm {
namespace {

void check_densities(std::span<const double> places, MatrixView<const double> draws) {
  if (places.empty()) throw Error("places", "there is none", "at least one");
  if (draws.rows != places.size()) {
    throw Error("draws", fmt::format("{} rows for {} places", draws.rows, places.size()), "one row per place");
  }
  if (draws.cols == 0) throw Error("draws", "there is none", "at least one per place");
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (std::isnan(places[i])) throw Error("places", fmt::format("log density {} is no number", i + 1));
    for (const double draw : draws.row(i)) {
      if (std::isnan(draw)) throw Error("draws", fmt::format("a log density of row {} is no number", i + 1));
    }
  }
}

}  // namespace

std::vector<double> coverage(std::span<const double> places, MatrixView<const double> draws,
                             std::span<const double> levels) {
  check_densities(places, draws);
  for (const double level : levels) {
    if (!(level > 0 && level < 1)) throw Error("levels", fmt::format("{} is no level", level), "between 0 and 1");
  }
  std::vector<double> inside(levels.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::size_t denser = 0;
    for (const double draw : draws.row(i)) denser += draw > places[i];
    for (std::size_t l = 0; l < levels.size(); ++l) {
      // Where the law is right, the place is equally likely to have any rank from 0 to K among its K draws.
      inside[l] += static_cast<double>(denser) < levels[l] * static_cast<double>(draws.cols + 1);
    }
  }
  for (double& share : inside) share /= static_cast<double>(places.size());
  return inside;
}

}  // namespace cpfm
