#include "kernel/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/log.hpp"
#include "base/memory.hpp"
#include "cpfm/error.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"
#include "kernel/dot_block.hpp"
#include "kernel/on_device.hpp"
#include "kernel/stream.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kPairStream = 0x6b706172;  // "kpar"
constexpr std::size_t kGrain = 1024;
// Centre when the mean is this much further from the origin, squared, than the points are from their mean.
constexpr double kFarFromOrigin = 16;

struct Moments {
  std::vector<double> sum;
  double squares = 0;
};

Moments moments(const FloatMatrix& samples) {
  const std::size_t d = samples.cols();
  return parallel_reduce(
      samples.rows(), kGrain, Moments{std::vector<double>(d), 0},
      [&](std::size_t begin, std::size_t end) {
        Moments part{std::vector<double>(d), 0};
        for (std::size_t i = begin; i < end; ++i) {
          const float* x = samples.data() + i * d;
          for (std::size_t k = 0; k < d; ++k) {
            part.sum[k] += x[k];
            part.squares += static_cast<double>(x[k]) * x[k];
          }
        }
        return part;
      },
      [](Moments a, const Moments& b) {
        for (std::size_t k = 0; k < a.sum.size(); ++k) a.sum[k] += b.sum[k];
        a.squares += b.squares;
        return a;
      });
}

}  // namespace

Points::Points(const Dataset& data, Use use, const char* what) : values_(data.samples.view()), squares_(data.size()) {
  if (use == Use::kDistances) {
    const Moments m = moments(data.samples);
    const double n = static_cast<double>(data.size());
    double mean2 = 0;
    for (const double s : m.sum) mean2 += (s / n) * (s / n);
    if (mean2 > kFarFromOrigin * (m.squares / n - mean2)) {
      require_memory(static_cast<double>(data.samples.size()) * sizeof(float), what,
                     "a copy of the samples about their mean");
      centred_ = FloatMatrix(data.size(), data.dim());
      parallel_for(data.size(), kGrain, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          for (std::size_t k = 0; k < data.dim(); ++k) {
            centred_(i, k) = static_cast<float>(static_cast<double>(data.samples(i, k)) - m.sum[k] / n);
          }
        }
      });
      values_ = static_cast<const FloatMatrix&>(centred_).view();
    }
  }
  parallel_for(size(), kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      double square = 0;
      for (std::size_t k = 0; k < dim(); ++k) square += static_cast<double>(row(i)[k]) * row(i)[k];
      squares_[i] = static_cast<float>(std::min(square, 1e38));
    }
  });
  for (std::size_t i = 0; i < size(); ++i) {
    if (!(squares_[i] <= 1e37f)) {
      throw Error(
          data.source,
          fmt::format("row {}: the values are too large for {}, their squares add up to more than 1e37", i + 1, what),
          "scale them first: --standardize");
    }
  }
}

void Points::dots(std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                  MatrixView<float> out) const {
  static thread_local std::vector<const float*> a, b;
  a.resize(columns.size());
  b.resize(rows.size());
  for (std::size_t c = 0; c < columns.size(); ++c) a[c] = row(columns[c]);
  for (std::size_t r = 0; r < rows.size(); ++r) b[r] = row(rows[r]);
  dot_block(a, b, dim(), out.data, out.cols);
}

void Points::distances2(std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                        MatrixView<float> out) const {
  dots(columns, rows, out);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const float square = squares_[columns[c]];
    float* values = out.data + c * out.cols;
    for (std::size_t r = 0; r < rows.size(); ++r)
      values[r] = std::max(0.0f, square + squares_[rows[r]] - 2 * values[r]);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (rows[r] == columns[c]) values[r] = 0;
    }
  }
}

std::size_t Points::describe(DeviceDescription& description) const {
  return add_table(description, values_.data, values_.cols);
}

namespace {

double exact_mean_distance(const Points& points, Progress* progress) {
  constexpr std::size_t kTile = 256;
  const std::size_t n = points.size();
  std::vector<double> sums((n + kTile - 1) / kTile);
  for_row_chunks(n, kTile, progress, "mean distance", [&](std::size_t begin, std::size_t end) {
    std::vector<float> block(kTile * kTile);
    std::vector<std::size_t> columns(end - begin), rows;
    std::iota(columns.begin(), columns.end(), begin);
    double sum = 0;
    for (std::size_t first = begin; first < n; first += kTile) {  // pairs i < j only
      rows.resize(std::min(kTile, n - first));
      std::iota(rows.begin(), rows.end(), first);
      points.distances2(columns, rows, {block.data(), columns.size(), rows.size()});
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const std::size_t from = first == begin ? c + 1 : 0;
        const float* values = block.data() + c * rows.size();
        double part = 0;
        for (std::size_t r = from; r < rows.size(); ++r) part += std::sqrt(values[r]);
        sum += part;
      }
    }
    sums[begin / kTile] = sum;
  });
  const double pairs = 0.5 * static_cast<double>(n) * static_cast<double>(n - 1);
  return std::accumulate(sums.begin(), sums.end(), 0.0) / pairs;
}

double sampled_mean_distance(const Points& points, Progress* progress) {
  constexpr std::size_t kPairs = 1 << 18, kChunk = 1 << 10;
  const std::size_t n = points.size();
  std::vector<double> sums(kPairs / kChunk), squares(kPairs / kChunk);
  for_row_chunks(kPairs, kChunk, progress, "mean distance", [&](std::size_t begin, std::size_t end) {
    Rng rng(1, kPairStream, begin / kChunk);
    double sum = 0, square = 0;
    for (std::size_t pair = begin; pair < end; ++pair) {
      const std::size_t i = rng.below(n), other = rng.below(n - 1), j = other + (other >= i ? 1 : 0);
      const float *x = points.row(i), *y = points.row(j);
      float lane[8] = {};
      std::size_t k = 0;
      for (; k + 8 <= points.dim(); k += 8) {
        for (std::size_t l = 0; l < 8; ++l) lane[l] += (x[k + l] - y[k + l]) * (x[k + l] - y[k + l]);
      }
      for (; k < points.dim(); ++k) lane[0] += (x[k] - y[k]) * (x[k] - y[k]);
      const double distance = std::sqrt(std::accumulate(lane, lane + 8, 0.0));
      sum += distance;
      square += distance * distance;
    }
    sums[begin / kChunk] = sum;
    squares[begin / kChunk] = square;
  });
  const double mean = std::accumulate(sums.begin(), sums.end(), 0.0) / kPairs;
  const double variance = std::max(0.0, std::accumulate(squares.begin(), squares.end(), 0.0) / kPairs - mean * mean);
  log().info("mean distance {:.6g} ± {:.2g}, estimated from {} of {:.3g} pairs", mean, std::sqrt(variance / kPairs),
             kPairs, 0.5 * static_cast<double>(n) * static_cast<double>(n - 1));
  return mean;
}

}  // namespace

double mean_distance(const Points& points, Progress* progress, std::size_t exact_up_to, double exact_numbers) {
  const auto n = static_cast<double>(points.size());
  const bool few = points.size() <= exact_up_to && 0.5 * n * n * static_cast<double>(points.dim()) <= exact_numbers;
  return few ? exact_mean_distance(points, progress) : sampled_mean_distance(points, progress);
}

}  // namespace cpfm
