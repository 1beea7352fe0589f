// t-SNE: gradient descent with momentum and gains on the divergence of two neighbourhoods, L. van der Maaten and G.
// Hinton, "Visualizing data using t-SNE", JMLR 9 (2008). Attraction is sparse or over all pairs, the loop is the same;
// repulsion is over all pairs or by a quad tree.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "baseline/principal_components.hpp"
#include "baseline/quad_tree.hpp"
#include "baseline/tsne_affinities.hpp"
#include "cpfm/baseline.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"
#include "metric/point_sets.hpp"

namespace cpfm {
namespace {

using Points = std::vector<double>;  // n × 2

constexpr std::size_t kGrain = 64;
constexpr double kStart = 1e-4;  // standard deviation of the first component at the beginning
constexpr double kEarlyMomentum = 0.5, kMomentum = 0.8, kGain = 0.2, kLoss = 0.8, kLeastGain = 0.01;
constexpr double kLeastRate = 50;
constexpr double kNeighboursPerPerplexity = 3;
constexpr std::uint32_t kStream = 0x74736e65;  // "tsne"

void check_options(MatrixView<const float> x, const TsneOptions& o) {
  check_perplexity(x, o.perplexity);
  if (o.iterations < 1) throw Error("iterations", fmt::format("{} iterations", o.iterations), "at least 1");
  if (o.early_iterations < 0)
    throw Error("early_iterations", fmt::format("{} iterations", o.early_iterations), "from 0");
  if (!(o.exaggeration >= 1) || !std::isfinite(o.exaggeration)) {
    throw Error("exaggeration", fmt::format("{} exaggerates nothing", o.exaggeration), "a finite number from 1");
  }
  if (!(o.learning_rate >= 0) || !std::isfinite(o.learning_rate)) {
    throw Error("learning_rate", fmt::format("{} is no rate", o.learning_rate), "above 0, or 0 for the automatic");
  }
  if (!(o.theta >= 0 && o.theta <= 0.7)) throw Error("theta", fmt::format("{}", o.theta), "from 0 to 0.7");
}

// The two leading principal components. Where the data have no second one, a little noise: on a line nothing would
// ever leave it.
Points start_of(MatrixView<const float> x) {
  std::vector<double> mean(x.cols);
  double largest = 0;
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (std::size_t k = 0; k < x.cols; ++k) mean[k] += x(i, k) / static_cast<double>(x.rows);
  }
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (std::size_t k = 0; k < x.cols; ++k) largest = std::max(largest, std::abs(x(i, k) - mean[k]));
  }
  const double scale = largest > 0 ? 1 / largest : 1;  // no square overflows
  const auto value = [&](std::size_t i, std::size_t k) { return (x(i, k) - mean[k]) * scale; };
  const PrincipalComponents found =
      principal_components(x.rows, x.cols, std::min<std::size_t>(2, x.cols), [&](std::size_t begin, auto block) {
        for (Eigen::Index i = 0; i < block.rows(); ++i) {
          for (Eigen::Index k = 0; k < block.cols(); ++k) {
            block(i, k) = value(begin + static_cast<std::size_t>(i), static_cast<std::size_t>(k));
          }
        }
      });
  Points y(2 * x.rows);
  for (Eigen::Index t = 0; t < 2; ++t) {
    const bool varies = t < found.deviation.size() && found.deviation(t) > 0;
    for (std::size_t i = 0; i < x.rows; ++i) {
      double score = 0;
      for (std::size_t k = 0; varies && k < x.cols; ++k) {
        score += value(i, k) * found.vectors(static_cast<Eigen::Index>(k), t) / found.deviation(0);
      }
      y[2 * i + static_cast<std::size_t>(t)] =
          kStart * (varies ? score : Rng(0, kStream, 2 * i + static_cast<std::size_t>(t)).normal());
    }
  }
  return y;
}

QuadTree::Repulsion repulsion_of_all(const Points& y, std::size_t i) {
  QuadTree::Repulsion result;
  for (std::size_t j = 0; j < y.size() / 2; ++j) {
    const double dx = y[2 * i] - y[2 * j], dy = y[2 * i + 1] - y[2 * j + 1];
    const double q = 1 / (1 + dx * dx + dy * dy);
    result.sum += q;
    result.x += q * q * dx;
    result.y += q * q * dy;
  }
  result.sum -= 1;  // itself
  return result;
}

// ∂ KL / ∂ y with the attraction multiplied by `exaggeration`.
void gradient(const Affinities& p, const Points& y, double exaggeration, bool exact, double theta, Points& out) {
  const std::size_t n = y.size() / 2;
  const std::optional<QuadTree> tree = exact ? std::nullopt : std::optional<QuadTree>(std::in_place, y);
  Points repelled(y.size());
  const double total = parallel_reduce(
      n, kGrain, 0.0,
      [&](std::size_t begin, std::size_t end) {
        double sum = 0;
        for (std::size_t i = begin; i < end; ++i) {
          const QuadTree::Repulsion force =
              exact ? repulsion_of_all(y, i) : tree->repulsion(y[2 * i], y[2 * i + 1], theta);
          repelled[2 * i] = force.x;
          repelled[2 * i + 1] = force.y;
          sum += force.sum;
        }
        return sum;
      },
      [](double a, double b) { return a + b; });
  parallel_for(n, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      double x_sum = 0, y_sum = 0;
      for (std::size_t k = p.begin[i]; k < p.begin[i + 1]; ++k) {
        const double dx = y[2 * i] - y[2 * std::size_t{p.to[k]}], dy = y[2 * i + 1] - y[2 * std::size_t{p.to[k]} + 1];
        const double weight = p.p[k] / (1 + dx * dx + dy * dy);
        x_sum += weight * dx;
        y_sum += weight * dy;
      }
      out[2 * i] = 4 * (exaggeration * x_sum - repelled[2 * i] / total);
      out[2 * i + 1] = 4 * (exaggeration * y_sum - repelled[2 * i + 1] / total);
    }
  });
}

void centre(Points& y) {
  double mean[2] = {0, 0};
  for (std::size_t k = 0; k < y.size(); ++k) mean[k % 2] += y[k] / static_cast<double>(y.size() / 2);
  for (std::size_t k = 0; k < y.size(); ++k) y[k] -= mean[k % 2];
}

}  // namespace

FloatMatrix tsne(MatrixView<const float> x, const TsneOptions& options, Progress* progress) {
  check_options(x, options);
  const std::size_t n = x.rows;
  const bool exact =
      options.method == TsneMethod::kExact || (options.method == TsneMethod::kAuto && n <= kMostExactTsne);
  const auto near = static_cast<std::size_t>(kNeighboursPerPerplexity * options.perplexity);
  const Affinities p = affinities(x, options.perplexity, exact ? n - 1 : near);
  const double rate = options.learning_rate > 0
                          ? options.learning_rate
                          : std::max(static_cast<double>(n) / (4 * options.exaggeration), kLeastRate);
  Points y = start_of(x), slope(y.size()), step(y.size()), gain(y.size(), 1.0);
  if (progress != nullptr) progress->start("t-SNE", static_cast<std::uint64_t>(options.iterations), "iterations");
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    check_interrupt();
    const bool early = iteration < options.early_iterations;
    gradient(p, y, early ? options.exaggeration : 1, exact, options.theta, slope);
    const double momentum = early ? kEarlyMomentum : kMomentum;
    for (std::size_t k = 0; k < y.size(); ++k) {
      // A coordinate that goes on in its direction gains speed, one that turns loses it.
      const bool goes_on = (slope[k] > 0) != (step[k] > 0);
      gain[k] = std::max(kLeastGain, goes_on ? gain[k] + kGain : gain[k] * kLoss);
      step[k] = momentum * step[k] - rate * gain[k] * slope[k];
      y[k] += step[k];
      if (!std::isfinite(y[k]))
        throw Error("learning_rate", fmt::format("the points flew apart at {}", rate), "a smaller one");
    }
    centre(y);
    if (progress != nullptr) progress->update(static_cast<std::uint64_t>(iteration) + 1);
  }
  if (progress != nullptr) progress->finish();
  FloatMatrix result(n, 2);
  std::transform(y.begin(), y.end(), result.data(), [](double value) { return static_cast<float>(value); });
  return result;
}

double tsne_divergence(MatrixView<const float> x, MatrixView<const float> y, double perplexity) {
  check_perplexity(x, perplexity);
  check_points(y, "y");
  if (y.rows != x.rows || y.cols != 2) {
    throw Error("y", fmt::format("{} × {} values", y.rows, y.cols), fmt::format("{} × 2, a row for each of x", x.rows));
  }
  const Affinities p = affinities(x, perplexity, x.rows - 1);
  const Points points(y.data, y.data + y.size());
  const auto add = [](double a, double b) { return a + b; };
  const double total = parallel_reduce(
      x.rows, kGrain, 0.0,
      [&](std::size_t begin, std::size_t end) {
        double sum = 0;
        for (std::size_t i = begin; i < end; ++i) sum += repulsion_of_all(points, i).sum;
        return sum;
      },
      add);
  return parallel_reduce(
      x.rows, kGrain, 0.0,
      [&](std::size_t begin, std::size_t end) {
        double sum = 0;
        for (std::size_t i = begin; i < end; ++i) {
          for (std::size_t k = p.begin[i]; k < p.begin[i + 1]; ++k) {
            const double q = 1 / (1 + squared_distance(y.row(i), y.row(p.to[k]))) / total;
            if (p.p[k] > 0) sum += p.p[k] * std::log(p.p[k] / q);
          }
        }
        return sum;
      },
      add);
}

}  // namespace cpfm
