#include "coupling/pair_sums.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "coupling/spatial_order.hpp"
#include "coupling/truncation.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"

namespace cpfm {
namespace {

template <class T>
struct Pairs {
  PairSide<T> source, targets;
};

// Exponents between about -40 and 10, as in a plan.
template <class T>
Pairs<T> random_pairs(std::size_t n, std::size_t m, int dims, std::uint64_t seed = 1) {
  Pairs<T> pairs{PairSide<T>(m, dims), PairSide<T>(n, dims)};
  const auto fill = [&](PairSide<T>& side, std::uint32_t stream) {
    for (std::size_t i = 0; i < side.count(); ++i) {
      Rng rng(seed, stream, i);
      for (int k = 0; k < dims; ++k) side.coord(k)[i] = static_cast<T>(rng.normal());
      side.potential()[i] = static_cast<T>(3 * rng.normal() - 7);
    }
  };
  fill(pairs.source, 1);
  fill(pairs.targets, 2);
  return pairs;
}

template <class T>
double worst_relative(const PairSums& got, const PairSums& want, int dims) {
  double worst = 0;
  for (std::size_t t = 0; t < want.sums.size(); ++t) {
    worst = std::max(worst, std::abs(got.sums[t] / want.sums[t] - 1));
    for (int k = 0; k < dims && !want.values.empty(); ++k) {
      const std::size_t at = t * static_cast<std::size_t>(dims) + static_cast<std::size_t>(k);
      worst = std::max(worst, std::abs(got.values[at] - want.values[at]) / (4 * want.sums[t]));
    }
  }
  return worst;
}

class PairSumsTargets : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_simd_target(GetParam()); }
  void TearDown() override { force_simd_target(""); }
};

template <class T>
void expect_reference(double bound) {
  for (int dims = 2; dims <= kMaxPairDims; ++dims) {
    for (const auto& [n, m] : {std::pair<std::size_t, std::size_t>{1, 1}, {5, 700}, {67, 256}, {130, 1000}}) {
      const auto pairs = random_pairs<T>(n, m, dims);
      PairSums got, want;
      for (const bool values : {false, true}) {
        pair_sums(pairs.source, pairs.targets, TileLists{}, values, got);
        pair_sums_reference(pairs.source, pairs.targets, values, want);
        EXPECT_LE(worst_relative<T>(got, want, dims), bound) << dims << " coordinates, " << n << " × " << m;
      }
    }
  }
}

TEST_P(PairSumsTargets, AgreeWithTheReferenceInFloat) { expect_reference<float>(2e-5); }
TEST_P(PairSumsTargets, AgreeWithTheReferenceInDouble) { expect_reference<double>(1e-13); }

INSTANTIATE_TEST_SUITE_P(All, PairSumsTargets, testing::ValuesIn(simd_targets()));

TEST(PairSums, GiveTheSameBitsForAnyNumberOfThreads) {
  const auto pairs = random_pairs<float>(1000, 900, 3);
  PairSums one, many;
  set_threads(1);
  pair_sums(pairs.source, pairs.targets, TileLists{}, true, one);
  for (const int threads : {2, 4}) {
    set_threads(threads);
    pair_sums(pairs.source, pairs.targets, TileLists{}, true, many);
    EXPECT_EQ(one.sums, many.sums);
    EXPECT_EQ(one.values, many.values);
  }
  set_threads(0);
}

TEST(PairSums, SafeFormSurvivesWhatOverflows) {
  auto pairs = random_pairs<float>(3, 50, 3);
  for (std::size_t s = 0; s < 50; ++s) pairs.source.potential()[s] += 500;
  PairSums want;
  pair_sums_reference(pairs.source, pairs.targets, false, want);  // double holds 2^500
  for (std::size_t t = 0; t < 3; ++t) {
    EXPECT_NEAR(safe_log2_sum(pairs.source, pairs.targets, t), std::log2(want.sums[t]) - pairs.targets.potential()[t],
                1e-6);
  }
}

TEST(SpatialOrder, IsAPermutationThatKeepsNeighboursTogether) {
  for (const std::size_t dim : {1u, 2u, 3u, 8u}) {
    const std::size_t n = 4096;
    std::vector<double> points(n * dim);
    for (std::size_t i = 0; i < n; ++i) {
      Rng rng(3, 0, i);
      for (std::size_t k = 0; k < dim; ++k) points[i * dim + k] = rng.uniform();
    }
    const auto order = spatial_order({points.data(), n, dim});
    std::vector<bool> seen(n);
    double along = 0, random = 0;
    for (std::size_t at = 0; at < n; ++at) {
      ASSERT_FALSE(seen[order[at]]);
      seen[order[at]] = true;
      if (at == 0) continue;
      double a = 0, r = 0;
      for (std::size_t k = 0; k < dim; ++k) {
        a += std::pow(points[order[at] * dim + k] - points[order[at - 1] * dim + k], 2);
        r += std::pow(points[at * dim + k] - points[(at - 1) * dim + k], 2);
      }
      along += std::sqrt(a);
      random += std::sqrt(r);
    }
    EXPECT_LT(along, (dim == 8 ? 0.6 : dim == 3 ? 0.2 : 0.1) * random) << dim;
  }
}

TEST(SpatialOrder, PutsWhatIsNotFiniteLast) {
  const std::vector<double> points{NAN, 1, 0, INFINITY, 2};
  EXPECT_EQ(spatial_order({points.data(), 5, 1}), (std::vector<std::uint32_t>{2, 1, 4, 0, 3}));
}

TEST(Truncation, LeavesOutNoMoreThanItSays) {
  // Rows are blobs of sharpness s around c: exponent F + s|c|² + G - s|y - c|².
  const std::size_t n = 3000, m = 2500;
  const double s = 400;
  std::vector<double> c(n * 2), y(m * 2), f(n), g(m), sharpness(n, s);
  for (std::size_t i = 0; i < n * 2; ++i) c[i] = Rng(1, 1, i).normal();
  for (std::size_t j = 0; j < m * 2; ++j) y[j] = Rng(1, 2, j).normal();
  const auto sorted = [](std::vector<double>& points) {
    const auto order = spatial_order({points.data(), points.size() / 2, 2});
    std::vector<double> copy = points;
    for (std::size_t at = 0; at < order.size(); ++at) std::copy_n(&copy[order[at] * 2], 2, &points[at * 2]);
  };
  sorted(c);
  sorted(y);
  PairSide<double> rows(n, 3), columns(m, 3);
  for (std::size_t i = 0; i < n; ++i) {
    f[i] = -12 - s * (c[2 * i] * c[2 * i] + c[2 * i + 1] * c[2 * i + 1]);
    rows.coord(0)[i] = -s;
    rows.coord(1)[i] = 2 * s * c[2 * i];
    rows.coord(2)[i] = 2 * s * c[2 * i + 1];
    rows.potential()[i] = f[i];
  }
  for (std::size_t j = 0; j < m; ++j) {
    g[j] = -8;
    columns.coord(0)[j] = y[2 * j] * y[2 * j] + y[2 * j + 1] * y[2 * j + 1];
    columns.coord(1)[j] = y[2 * j];
    columns.coord(2)[j] = y[2 * j + 1];
    columns.potential()[j] = g[j];
  }
  for (const double drop : {1e-3, 1e-9}) {
    for (const bool rows_are_targets : {true, false}) {
      const auto row_runs =
          bound_runs(c, 2, f, sharpness, rows_are_targets ? TileLists::kTargets : PairSide<double>::kTile);
      const auto column_runs =
          bound_runs(y, 2, g, {}, rows_are_targets ? PairSide<double>::kTile : TileLists::kTargets);
      const Truncated cut = rows_are_targets ? truncate(row_runs, column_runs, 2, true, drop)
                                             : truncate(column_runs, row_runs, 2, false, drop);
      EXPECT_LE(cut.dropped, drop);
      EXPECT_LT(cut.kept, 0.7);
      const auto& source = rows_are_targets ? columns : rows;
      const auto& targets = rows_are_targets ? rows : columns;
      PairSums all, some;
      pair_sums(source, targets, TileLists{}, false, all);
      pair_sums(source, targets, cut.lists, false, some);
      double missing = 0;
      for (std::size_t t = 0; t < all.sums.size(); ++t) {
        EXPECT_LE(some.sums[t], all.sums[t] * (1 + 1e-12));
        missing += all.sums[t] - some.sums[t];
      }
      EXPECT_LE(missing, cut.dropped + 1e-12);
      EXPECT_GT(missing, 0);
    }
  }
}

TEST(Truncation, KeepsRowsThatAreNoBlobs) {
  std::vector<double> c(128, 0.0), potential(64, -100.0), y(512, 50.0), g(256, -100.0), sharpness(64, 1e6);
  sharpness[7] = 0;
  const auto rows = bound_runs(c, 2, potential, sharpness, 64);
  const auto columns = bound_runs(y, 2, g, {}, 256);
  EXPECT_EQ(truncate(rows, columns, 2, true, 1e-7).kept, 1);
}

}  // namespace
}  // namespace cpfm
