#include "kernel/dot_block.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#if CPFM_HAS_HWY
#include <hwy/targets.h>
#endif

namespace cpfm {
namespace {

std::vector<float> random_rows(std::size_t n, std::size_t d, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n * d);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<const float*> pointers(const std::vector<float>& rows, std::size_t n, std::size_t d) {
  std::vector<const float*> result(n);
  for (std::size_t i = 0; i < n; ++i) result[i] = rows.data() + i * d;
  return result;
}

double exact(const float* a, const float* b, std::size_t d) {
  double sum = 0;
  for (std::size_t k = 0; k < d; ++k) sum += static_cast<double>(a[k]) * b[k];
  return sum;
}

// Runs `test` for every instruction set the machine has, the portable loops where Highway is missing.
template <class Test>
void for_every_target(const Test& test) {
#if CPFM_HAS_HWY
  EXPECT_FALSE(dot_block_targets().empty());
  for (const std::int64_t target : dot_block_targets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    test();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
#else
  test();
#endif
}

TEST(DotBlock, AgreesWithTheReferenceForEveryShape) {
  for_every_target([] {
    for (const std::size_t d : {1u, 2u, 3u, 7u, 15u, 16u, 17u, 31u, 64u, 100u, 1024u, 1030u, 2100u}) {
      for (const auto& [na, nb] :
           {std::pair<std::size_t, std::size_t>{1, 1}, {2, 3}, {5, 4}, {6, 65}, {7, 9}, {13, 130}, {0, 3}, {3, 0}}) {
        const std::vector<float> a = random_rows(na, d, 1), b = random_rows(nb, d, 2);
        const auto ap = pointers(a, na, d), bp = pointers(b, nb, d);
        const std::size_t stride = nb + 3;
        std::vector<float> fast(na * stride, 77.0f), slow(na * stride, 77.0f);
        dot_block(ap, bp, d, fast.data(), stride);
        dot_block_reference(ap, bp, d, slow.data(), stride);
        for (std::size_t i = 0; i < na; ++i) {
          for (std::size_t j = 0; j < stride; ++j) {
            if (j >= nb) {
              ASSERT_EQ(fast[i * stride + j], 77.0f) << "written beside the block";
              continue;
            }
            const double bound = 1e-6 * std::sqrt(exact(ap[i], ap[i], d) * exact(bp[j], bp[j], d));
            ASSERT_NEAR(fast[i * stride + j], exact(ap[i], bp[j], d), bound) << "d " << d;
            ASSERT_NEAR(slow[i * stride + j], exact(ap[i], bp[j], d), bound) << "d " << d;
          }
        }
      }
    }
  });
}

TEST(DotBlock, GivesAPairTheSameBitsInEveryBlockAndOrder) {
  for_every_target([] {
    const std::size_t n = 23, d = 1111;
    const std::vector<float> rows = random_rows(n, d, 3);
    const auto all = pointers(rows, n, d);
    std::vector<float> whole(n * n);
    dot_block(all, all, d, whole.data(), n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        float one = 0;
        dot_block(std::span(&all[i], 1), std::span(&all[j], 1), d, &one, 1);
        ASSERT_EQ(one, whole[i * n + j]);
        ASSERT_EQ(whole[j * n + i], whole[i * n + j]);
      }
    }
  });
}

TEST(HeatFromDots, AgreesWithTheReference) {
  for_every_target([] {
    for (const std::size_t n : {1u, 5u, 16u, 33u}) {
      std::vector<float> dots(n), norms(n);
      for (std::size_t j = 0; j < n; ++j) {
        dots[j] = 3.0f - 0.37f * static_cast<float>(j);
        norms[j] = 2.0f + 0.11f * static_cast<float>(j);
      }
      std::vector<float> fast = dots, slow = dots;
      heat_from_dots(fast, 2.5f, norms, 0.8f);
      heat_from_dots_reference(slow, 2.5f, norms, 0.8f);
      for (std::size_t j = 0; j < n; ++j) {
        EXPECT_NEAR(fast[j], slow[j], 1e-6 * slow[j] + 1e-37);
        EXPECT_LE(fast[j], 1.0f);
      }
    }
    std::vector<float> far{-1e20f};
    heat_from_dots(far, 1e20f, std::vector<float>{1e20f}, 1.0f);
    EXPECT_EQ(far[0], 0.0f);
  });
}

}  // namespace
}  // namespace cpfm
