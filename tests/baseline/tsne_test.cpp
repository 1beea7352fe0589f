#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "baseline/quad_tree.hpp"
#include "baseline/tsne_affinities.hpp"
#include "cpfm/baseline.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/parallel.hpp"
#include "metric/point_clouds.hpp"

namespace cpfm {
namespace {

using namespace test;

struct Clusters {
  FloatMatrix x;
  std::vector<std::int32_t> labels;
};

// Unit normal points in 10 dimensions about centres that are `apart` from the origin.
Clusters clusters(std::size_t n, std::int32_t count, float apart) {
  Clusters result{normal_points(n, 10, n), {}};
  for (std::size_t i = 0; i < n; ++i) {
    const auto label = static_cast<std::int32_t>(i) % count;
    result.x(i, static_cast<std::size_t>(label)) += apart;
    result.labels.push_back(label);
  }
  return result;
}

TEST(TsneAffinities, AreSymmetricAndSumToOne) {
  const FloatMatrix x = normal_points(200, 4, 1);
  for (const std::size_t neighbours : {199u, 60u}) {
    const Affinities p = affinities(x.view(), 20, neighbours);
    double sum = 0;
    for (const double value : p.p) sum += value;
    EXPECT_NEAR(sum, 1, 1e-12);
    ASSERT_EQ(p.begin.size(), 201u);
    std::vector<double> dense(200 * 200);
    for (std::size_t i = 0; i < 200; ++i) {
      for (std::size_t k = p.begin[i]; k < p.begin[i + 1]; ++k) dense[i * 200 + p.to[k]] += p.p[k];
    }
    for (std::size_t i = 0; i < 200; ++i) {
      EXPECT_EQ(dense[i * 200 + i], 0);
      for (std::size_t j = 0; j < i; ++j) EXPECT_EQ(dense[i * 200 + j], dense[j * 200 + i]);
    }
  }
}

// On a circle all rows are alike, so p_j|i is p_ij · n, and its entropy is known.
TEST(TsneAffinities, OfACircleHaveTheEntropyAskedFor) {
  const std::size_t n = 100;
  FloatMatrix x(n, 2);
  for (std::size_t i = 0; i < n; ++i) {
    x(i, 0) = static_cast<float>(std::cos(2 * M_PI * static_cast<double>(i) / n));
    x(i, 1) = static_cast<float>(std::sin(2 * M_PI * static_cast<double>(i) / n));
  }
  for (const double perplexity : {2.0, 10.0, 32.0}) {
    const Affinities p = affinities(x.view(), perplexity, n - 1);
    double entropy = 0;
    for (std::size_t k = p.begin[7]; k < p.begin[8]; ++k) {
      if (p.p[k] > 0) entropy -= p.p[k] * n * std::log(p.p[k] * n);
    }
    EXPECT_NEAR(std::exp(entropy), perplexity, 1e-3 * perplexity);
  }
}

TEST(QuadTree, RepelsAsAllPairsDo) {
  const FloatMatrix points = normal_points(500, 2, 2);
  std::vector<double> y(points.data(), points.data() + points.size());
  for (double& value : y) value *= 5;
  std::copy_n(y.begin(), 2, y.begin() + 10);  // the same point three times
  std::copy_n(y.begin(), 2, y.begin() + 20);
  const QuadTree tree(y);
  double wrong = 0, right = 0, total = 0, total_at_half = 0;
  for (std::size_t i = 0; i < 500; ++i) {
    QuadTree::Repulsion known;
    for (std::size_t j = 0; j < 500; ++j) {
      if (j == i) continue;
      const double dx = y[2 * i] - y[2 * j], dy = y[2 * i + 1] - y[2 * j + 1], q = 1 / (1 + dx * dx + dy * dy);
      known.x += q * q * dx;
      known.y += q * q * dy;
      known.sum += q;
    }
    const QuadTree::Repulsion exact = tree.repulsion(y[2 * i], y[2 * i + 1], 0);
    EXPECT_NEAR(exact.x, known.x, 1e-10);
    EXPECT_NEAR(exact.y, known.y, 1e-10);
    EXPECT_NEAR(exact.sum, known.sum, 1e-10);
    const QuadTree::Repulsion near = tree.repulsion(y[2 * i], y[2 * i + 1], 0.5);
    wrong += std::pow(near.x - known.x, 2) + std::pow(near.y - known.y, 2);
    right += known.x * known.x + known.y * known.y;
    total += known.sum;
    total_at_half += near.sum;
  }
  EXPECT_GT(wrong, 0) << "cells stand for their points";
  EXPECT_LT(std::sqrt(wrong / right), 0.05);
  EXPECT_NEAR(total_at_half / total, 1, 0.02);
}

TEST(QuadTree, HoldsPointsThatAreAllTheSameOrNearlySo) {
  const QuadTree same(std::vector<double>(20, 1.5));
  EXPECT_DOUBLE_EQ(same.repulsion(1.5, 1.5, 0.5).sum, 9);
  const QuadTree near(std::vector<double>{0, 0, 1, 1, 1e-300, 0, 0, 1e-300});
  EXPECT_NEAR(near.repulsion(1, 1, 0).sum, 3.0 / 3, 1e-12);
}

TEST(Tsne, KeepsClustersApart) {
  for (const TsneMethod method : {TsneMethod::kExact, TsneMethod::kBarnesHut}) {
    const Clusters data = clusters(400, 5, 12);
    TsneOptions options;
    options.method = method;
    options.iterations = 500;
    const FloatMatrix y = tsne(data.x.view(), options);
    ASSERT_EQ(y.rows(), 400u);
    ASSERT_EQ(y.cols(), 2u);
    EXPECT_EQ(agreement(nearest_labels(y.view(), data.labels, y.view(), 10, true), data.labels), 1.0);
  }
}

TEST(Tsne, LowersTheDivergence) {
  const Clusters data = clusters(300, 3, 4);
  double last = std::numeric_limits<double>::infinity();
  for (const int iterations : {1, 100, 300, 1000}) {
    TsneOptions options;
    options.iterations = iterations;
    const double divergence = tsne_divergence(data.x.view(), tsne(data.x.view(), options).view());
    EXPECT_LT(divergence, last);
    last = divergence;
  }
  EXPECT_GT(last, 0);
}

TEST(Tsne, ByBarnesHutIsAsGoodAsByAllPairs) {
  const Clusters data = clusters(1000, 6, 4);
  TsneOptions options;
  options.method = TsneMethod::kExact;
  const double exact = tsne_divergence(data.x.view(), tsne(data.x.view(), options).view());
  options.method = TsneMethod::kBarnesHut;
  const double barnes_hut = tsne_divergence(data.x.view(), tsne(data.x.view(), options).view());
  EXPECT_NEAR(barnes_hut, exact, 0.05 * exact);
}

TEST(Tsne, IsTheSameForAnyNumberOfThreads) {
  const Clusters data = clusters(200, 4, 6);
  for (const TsneMethod method : {TsneMethod::kExact, TsneMethod::kBarnesHut}) {
    TsneOptions options;
    options.method = method;
    options.iterations = 60;
    set_threads(1);
    const FloatMatrix one = tsne(data.x.view(), options);
    set_threads(3);
    const FloatMatrix three = tsne(data.x.view(), options);
    set_threads(0);
    EXPECT_TRUE(std::equal(one.values().begin(), one.values().end(), three.values().begin()));
  }
}

TEST(Tsne, LeavesTheLineOfDataWithOneColumnAndBearsRepeatedRows) {
  FloatMatrix x(120, 1);
  for (std::size_t i = 0; i < 120; ++i) x(i, 0) = static_cast<float>(i / 3);
  TsneOptions options;
  options.perplexity = 10;
  for (const TsneMethod method : {TsneMethod::kExact, TsneMethod::kBarnesHut}) {
    options.method = method;
    const FloatMatrix y = tsne(x.view(), options);
    double width = 0;
    for (std::size_t i = 0; i < 120; ++i) width = std::max(width, std::abs(double(y(i, 1))));
    EXPECT_GT(width, 0.1);
  }
  const FloatMatrix same = tsne(points_of(2, std::vector<float>(100, 4)).view(), options);
  for (const float value : same.values()) EXPECT_TRUE(std::isfinite(value));
}

TEST(Tsne, RefusesWhatIsNotAllowed) {
  const FloatMatrix x = normal_points(61, 3, 3);
  const auto with = [&](auto change) {
    TsneOptions options;
    options.perplexity = 10;
    change(options);
    return tsne(x.view(), options);
  };
  for (const double perplexity : {20.0, 21.0, 1.0, 0.0, std::nan("")}) {
    expect_error("perplexity", {"61 rows", "above 1", "= 20"},
                 [&] { with([&](auto& o) { o.perplexity = perplexity; }); });
  }
  EXPECT_NO_THROW(with([](auto& o) { o.perplexity = 19.9, o.iterations = 2; }));
  expect_error("x", {"at least 5"}, [&] { tsne(normal_points(4, 2, 1).view()); });
  expect_error("iterations", {"at least 1"}, [&] { with([](auto& o) { o.iterations = 0; }); });
  expect_error("early_iterations", {"from 0"}, [&] { with([](auto& o) { o.early_iterations = -1; }); });
  expect_error("exaggeration", {"from 1"}, [&] { with([](auto& o) { o.exaggeration = 0.5; }); });
  expect_error("learning_rate", {"above 0"}, [&] { with([](auto& o) { o.learning_rate = -1; }); });
  expect_error("learning_rate", {"flew apart"}, [&] { with([](auto& o) { o.learning_rate = 1e300; }); });
  expect_error("theta", {"from 0 to 0.7"}, [&] { with([](auto& o) { o.theta = 0.8; }); });
  expect_error("y", {"61 × 2"}, [&] { tsne_divergence(x.view(), x.view(), 10); });
}

}  // namespace
}  // namespace cpfm
