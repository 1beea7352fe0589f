#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "cpfm/error.hpp"
#include "cpfm/metric.hpp"

namespace cpfm {

Repeated repeated(std::vector<double> values) {
  if (values.empty()) throw Error("values", "there is no run to take the mean of", "at least one");
  const auto runs = static_cast<double>(values.size());
  Repeated result;
  for (std::size_t r = 0; r < values.size(); ++r) {
    if (!std::isfinite(values[r])) throw Error("values", fmt::format("run {} gave {}", r + 1, values[r]));
    result.mean += values[r] / runs;
  }
  if (values.size() > 1) {
    double squares = 0;
    for (const double value : values) squares += (value - result.mean) * (value - result.mean);
    result.sd = std::sqrt(squares / (runs - 1));
  }
  result.values = std::move(values);
  return result;
}

}  // namespace cpfm
