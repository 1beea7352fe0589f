#include "cpfm/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cpfm/error.hpp"
#include "cpfm/parallel.hpp"

namespace cpfm {
namespace {

using Block = std::array<std::uint32_t, 4>;

// The known answers published with Random123.
TEST(Philox, GivesThePublishedKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, IsAFunctionOfSeedStreamAndIndexAlone) {
  Rng a(7, 3, 11), b(7, 3, 11);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.bits(), b.bits());
}

TEST(Rng, DiffersInEveryPartOfItsKey) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed : {0ull, 1ull, 1ull << 32})
    for (std::uint32_t stream : {0u, 1u})
      for (std::uint64_t index : {0ull, 1ull, 1ull << 32}) seen.insert(Rng(seed, stream, index).bits64());
  EXPECT_EQ(seen.size(), 18u);
}

TEST(Rng, DrawsTheSameNumbersForAnyNumberOfThreads) {
  const auto draw = [](int threads) {
    set_threads(threads);
    std::vector<double> values(1000);
    parallel_for(values.size(), 7, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) values[i] = Rng(1, 2, i).normal();
    });
    set_threads(0);
    return values;
  };
  const auto one = draw(1);
  EXPECT_EQ(one, draw(2));
  EXPECT_EQ(one, draw(5));
}

TEST(Rng, UniformFillsTheUnitInterval) {
  Rng rng(5, 0);
  double sum = 0, squares = 0, low = 1, high = 0;
  constexpr int kDraws = 200000;
  for (int i = 0; i < kDraws; ++i) {
    const double u = rng.uniform();
    sum += u;
    squares += u * u;
    low = std::min(low, u);
    high = std::max(high, u);
  }
  EXPECT_GE(low, 0);
  EXPECT_LT(high, 1);
  EXPECT_NEAR(sum / kDraws, 0.5, 0.003);
  EXPECT_NEAR(squares / kDraws, 1.0 / 3, 0.003);
}

TEST(Rng, NormalHasTheMomentsOfAStandardGaussian) {
  Rng rng(5, 1);
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
  constexpr int kDraws = 200000;
  for (int i = 0; i < kDraws; ++i) {
    const double z = rng.normal();
    m1 += z / kDraws;
    m2 += z * z / kDraws;
    m3 += z * z * z / kDraws;
    m4 += z * z * z * z / kDraws;
  }
  EXPECT_NEAR(m1, 0, 0.01);
  EXPECT_NEAR(m2, 1, 0.015);
  EXPECT_NEAR(m3, 0, 0.05);
  EXPECT_NEAR(m4, 3, 0.1);
}

TEST(Rng, BelowIsUnbiasedAndInRange) {
  Rng rng(9, 0);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts.at(rng.below(7));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
  EXPECT_EQ(rng.below(1), 0u);
  for (int i = 0; i < 100; ++i) EXPECT_LT(rng.below((1ull << 63) + 1), (1ull << 63) + 1);
}

TEST(Rng, CategoricalFollowsItsWeights) {
  Rng rng(3, 0);
  const std::array<double, 4> weights{1, 0, 3, 0};
  std::array<int, 4> counts{};
  for (int i = 0; i < 40000; ++i) ++counts.at(rng.categorical(weights));
  EXPECT_NEAR(counts[0], 10000, 400);
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[2], 30000, 400);
  EXPECT_EQ(counts[3], 0);
}

TEST(Rng, CategoricalRefusesWeightsThatAreNone) {
  Rng rng(3, 0);
  for (const std::vector<double>& weights :
       {std::vector<double>{}, {0, 0}, {1, -1}, {1, std::nan("")}, {1, INFINITY}, {1e308, 1e308}}) {
    EXPECT_THROW(rng.categorical(weights), Error);
  }
}

TEST(Permutation, HoldsEveryIndexOnceAndDependsOnTheSeed) {
  auto order = permutation(1000, 1, 0);
  EXPECT_EQ(order, permutation(1000, 1, 0));
  EXPECT_NE(order, permutation(1000, 2, 0));
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
  EXPECT_TRUE(permutation(0, 1, 0).empty());
}

TEST(Permutation, IsUniformOverTheOrdersOfThree) {
  std::array<int, 27> counts{};
  for (std::uint64_t i = 0; i < 12000; ++i) {
    const auto p = permutation(3, 1, 0, i);
    ++counts[p[0] * 9 + p[1] * 3 + p[2]];
  }
  EXPECT_EQ(std::count_if(counts.begin(), counts.end(), [](int c) { return c > 0; }), 6);
  for (const int count : counts) {
    if (count > 0) {
      EXPECT_NEAR(count, 2000, 200);
    }
  }
}

}  // namespace
}  // namespace cpfm
