#include "map_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.hpp"
#include "cpfm/metric.hpp"

namespace cpfm::app {

Scatter map_scatter(const FloatMatrix& y, const Dataset& data, const std::string& kernel, std::string title) {
  Scatter scatter;
  scatter.title = std::move(title);
  scatter.points = y.view();
  const auto named = std::find_if(data.properties.begin(), data.properties.end(), [&](const Property& property) {
    for (const std::string quote : {"", "\"", "'"}) {
      const std::string start = "property(" + quote + property.name + quote;
      for (const char end : {')', ','}) {
        if (kernel.find(start + end) != std::string::npos) return true;
      }
    }
    return false;
  });
  if (named != data.properties.end())
    scatter.property = &*named;
  else if (data.labels)
    scatter.labels = &*data.labels;
  else if (!data.properties.empty())
    scatter.property = &data.properties[0];
  return scatter;
}

std::string short_kernel(const std::string& kernel) {
  std::string text;
  for (std::size_t at = 0; at < kernel.size();) {
    const bool starts = std::isdigit(static_cast<unsigned char>(kernel[at])) &&
                        (at == 0 || std::string_view("=(,+-*").find(kernel[at - 1]) != std::string_view::npos);
    std::size_t end = at + 1;
    if (starts) end = std::min(kernel.find_first_not_of("0123456789.e", at), kernel.size());
    const std::string word = kernel.substr(at, end - at);
    double value = 0;
    text += starts && word.size() > 6 && parse_number(word, value) ? fmt::format("{:.4g}", value) : word;
    at = end;
  }
  return text;
}

FloatMatrix take_means(const FloatMatrix& draws, std::size_t n) {
  const std::size_t k = draws.rows() / n;
  FloatMatrix means(n, draws.cols());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < draws.cols(); ++c) {
      double sum = 0;
      for (std::size_t r = 0; r < k; ++r) sum += draws(i * k + r, c);
      means(i, c) = static_cast<float>(sum / static_cast<double>(k));
    }
  }
  return means;
}

std::optional<double> told_by_neighbours(const FloatMatrix& y, const Property& property) {
  const std::vector<double> values(property.values.begin(), property.values.end());
  if (values.size() <= kPropertyNeighbours || std::equal(values.begin() + 1, values.end(), values.begin()))
    return std::nullopt;
  return r_squared(nearest_mean(y.view(), values, y.view(), kPropertyNeighbours, true), values);
}

std::size_t labelled(const Dataset& data) {
  if (!data.labels) return 0;
  const std::vector<std::int32_t>& ids = data.labels->ids;
  return static_cast<std::size_t>(std::count_if(ids.begin(), ids.end(), [](std::int32_t id) { return id >= 0; }));
}

std::optional<LabelsTold> labels_told_by_neighbours(const FloatMatrix& y, const Dataset& data) {
  const std::size_t known = labelled(data);
  if (known < 2) return std::nullopt;
  const std::vector<std::int32_t>& ids = data.labels->ids;
  LabelsTold told;
  told.k = std::min(told.k, known - 1);
  told.share = agreement(nearest_labels(y.view(), ids, y.view(), told.k, true), ids);
  return told;
}

GridBox box_around(MatrixView<const float> places) {
  const auto ends = [&](std::size_t column) -> std::array<double, 2> {
    if (column >= places.cols || places.rows == 0) return {0, 0};
    std::vector<float> values(places.rows);
    for (std::size_t i = 0; i < places.rows; ++i) values[i] = places(i, column);
    std::sort(values.begin(), values.end());
    const std::size_t out = places.rows / 100;
    return {values[out], values[places.rows - 1 - out]};
  };
  return {ends(0), ends(1)};
}

FloatMatrix grid_places(std::size_t side, const GridBox& box, std::size_t dim) {
  const std::size_t rows = dim == 1 ? 1 : side;
  FloatMatrix places(rows * side, dim);
  std::fill_n(places.data(), places.size(), 0.0f);
  const auto at = [&](const std::array<double, 2>& ends, std::size_t k) {
    const double share = side == 1 ? 0.5 : static_cast<double>(k) / static_cast<double>(side - 1);
    return static_cast<float>(ends[0] + share * (ends[1] - ends[0]));
  };
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < side; ++c) {
      places(r * side + c, 0) = at(box.across, c);
      if (dim > 1) places(r * side + c, 1) = at(box.up, side - 1 - r);
    }
  }
  return places;
}

}  // namespace cpfm::app
