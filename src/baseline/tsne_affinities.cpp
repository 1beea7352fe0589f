#include "baseline/tsne_affinities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/memory.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "metric/lane_distance.hpp"
#include "metric/point_sets.hpp"

namespace cpfm {
namespace {

constexpr std::size_t kGrain = 16;
constexpr int kBisections = 200;
constexpr double kEntropyError = 1e-9;

struct Neighbour {
  double value;  // squared distance, then conditional probability
  std::uint32_t row;
};

// Turns squared distances into probabilities exp(-β distance) / sum with β such that their entropy is `entropy`. Where
// more rows than that are equally near, β has no limit and they share it all.
void make_probabilities(std::span<Neighbour> near, double entropy) {
  double least = near[0].value, mean = 0;
  for (const Neighbour& one : near) least = std::min(least, one.value);
  for (Neighbour& one : near) {
    one.value -= least;
    mean += one.value / static_cast<double>(near.size());
  }
  double beta = mean > 0 ? 1 / mean : 0, low = 0, high = 0;  // high 0: not known yet
  for (int step = 0; step < kBisections && mean > 0; ++step) {
    double sum = 0, weighted = 0;
    for (const Neighbour& one : near) {
      const double weight = std::exp(-beta * one.value);
      sum += weight;
      weighted += weight * one.value;
    }
    const double excess = std::log(sum) + beta * weighted / sum - entropy;
    if (std::abs(excess) < kEntropyError) break;
    (excess > 0 ? low : high) = beta;
    beta = high > 0 ? (low + high) / 2 : 2 * beta;
  }
  double sum = 0;
  for (Neighbour& one : near) {
    one.value = std::exp(-beta * one.value);
    sum += one.value;
  }
  for (Neighbour& one : near) one.value /= sum;
}

// n × count conditional probabilities, each row by column.
std::vector<Neighbour> conditional(MatrixView<const float> x, double perplexity, std::size_t count) {
  const std::size_t n = x.rows;
  std::vector<Neighbour> result(n * count);
  parallel_for(n, kGrain, [&](std::size_t begin, std::size_t end) {
    check_interrupt();
    std::vector<Neighbour> all;
    all.reserve(n);
    for (std::size_t i = begin; i < end; ++i) {
      all.clear();
      for (std::size_t j = 0; j < n; ++j) {
        if (j == i) continue;
        all.push_back({lane_distance(x.row(i).data(), x.row(j).data(), x.cols), static_cast<std::uint32_t>(j)});
      }
      if (count < all.size()) {
        std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count - 1), all.end(),
                         [](const Neighbour& a, const Neighbour& b) {
                           return std::pair(a.value, a.row) < std::pair(b.value, b.row);
                         });
        std::sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count),
                  [](const Neighbour& a, const Neighbour& b) { return a.row < b.row; });
      }
      const std::span<Neighbour> mine(result.data() + i * count, count);
      std::copy_n(all.begin(), count, mine.begin());
      make_probabilities(mine, std::log(perplexity));
    }
  });
  return result;
}

}  // namespace

void check_perplexity(MatrixView<const float> x, double perplexity) {
  check_points(x, "x");
  if (x.rows < 5) throw Error("x", fmt::format("{} rows", x.rows), "at least 5, so that a row can have neighbours");
  if (x.rows > 0xFFFFFFFFu) throw Error("x", fmt::format("{} rows are too many", x.rows), "at most 4294967295");
  const double most = (static_cast<double>(x.rows) - 1) / 3;
  if (!(perplexity > 1 && perplexity < most)) {
    throw Error("perplexity", fmt::format("{} for {} rows", perplexity, x.rows),
                fmt::format("above 1 and below (n - 1) / 3 = {:.6g}", most));
  }
}

Affinities affinities(MatrixView<const float> x, double perplexity, std::size_t neighbours) {
  const std::size_t n = x.rows;
  require_memory(static_cast<double>(n) * static_cast<double>(neighbours) * 5 * sizeof(Neighbour), "x",
                 fmt::format("the neighbourhoods of {} rows", n),
                 "take fewer rows, or a smaller perplexity with Barnes-Hut");
  const std::vector<Neighbour> forward = conditional(x, perplexity, neighbours);
  // The transpose, its rows by column too.
  std::vector<std::size_t> start(n + 1);
  for (const Neighbour& one : forward) ++start[one.row + 1];
  for (std::size_t i = 0; i < n; ++i) start[i + 1] += start[i];
  std::vector<Neighbour> backward(forward.size());
  std::vector<std::size_t> next(start.begin(), start.end() - 1);
  for (std::size_t k = 0; k < forward.size(); ++k) {
    backward[next[forward[k].row]++] = {forward[k].value, static_cast<std::uint32_t>(k / neighbours)};
  }
  Affinities result;
  result.begin.push_back(0);
  const double scale = 1 / (2 * static_cast<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t a = i * neighbours, b = start[i];
    while (a < (i + 1) * neighbours || b < start[i + 1]) {
      const bool has_a = a < (i + 1) * neighbours, has_b = b < start[i + 1];
      const std::uint32_t row =
          has_a && (!has_b || forward[a].row <= backward[b].row) ? forward[a].row : backward[b].row;
      double p = 0;
      if (has_a && forward[a].row == row) p += forward[a++].value;
      if (has_b && backward[b].row == row) p += backward[b++].value;
      result.to.push_back(row);
      result.p.push_back(p * scale);
    }
    result.begin.push_back(result.to.size());
  }
  return result;
}

}  // namespace cpfm
