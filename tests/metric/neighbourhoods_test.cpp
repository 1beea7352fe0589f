// Trustworthiness and continuity against values from the definition, stored, and against scikit-learn where it is.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "base/subprocess.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/parallel.hpp"
#include "metric/point_clouds.hpp"
#include "support/python.hpp"

namespace cpfm {
namespace {

using namespace test;

// Made by: python3 tests/metric/trustworthiness_reference.py
constexpr const char* kStored = R"(
7 3 0.690476190476 0.666666666667
40 1 0.577631578947 0.578289473684
40 5 0.646875000000 0.665468750000
40 19 0.666148325359 0.651794258373
150 12 0.611947613012 0.585449936629
)";

struct Reference {
  std::size_t n = 0, k = 0;
  double trustworthiness = 0, continuity = 0;
};

std::vector<Reference> parse(const std::string& text) {
  return records_of<Reference>(text, [](std::istream& fields, Reference& r) {
    return bool(fields >> r.n >> r.k >> r.trustworthiness >> r.continuity);
  });
}

void expect_agreement(const std::vector<Reference>& references) {
  ASSERT_EQ(references.size(), 5u);
  for (const Reference& known : references) {
    SCOPED_TRACE(testing::Message() << known.n << " points, k = " << known.k);
    const FloatMatrix x = matrix_of(known.n, 3, [](double i, std::size_t k) {
      return k == 0 ? std::sin(1.3 * i + 0.2) + 0.02 * i : k == 1 ? std::cos(2.1 * i) : std::sin(0.7 * i * i + 0.5);
    });
    const FloatMatrix y = matrix_of(known.n, 2, [](double i, std::size_t k) {
      return k == 0 ? std::sin(1.3 * i + 0.2) : std::cos(1.7 * i + 0.3) + 0.01 * i;
    });
    EXPECT_NEAR(trustworthiness(x.view(), y.view(), known.k), known.trustworthiness, 1e-11);
    EXPECT_NEAR(continuity(x.view(), y.view(), known.k), known.continuity, 1e-11);
  }
}

TEST(Neighbourhoods, StoredValuesAreMet) { expect_agreement(parse(kStored)); }

TEST(Neighbourhoods, ValuesOfScikitLearnAreMet) {
  const std::string python = python_with("sklearn.manifold");
  if (python.empty()) GTEST_SKIP() << "NOT CHECKED: no python3 here has scikit-learn (Debian: python3-sklearn)";
  const ProcessResult run =
      run_process({python, CPFM_TEST_SOURCE_DIR "/metric/trustworthiness_reference.py", "--sklearn"});
  ASSERT_EQ(run.exit_code, 0) << run.output;
  expect_agreement(parse(run.output));
}

TEST(Neighbourhoods, ThatAreTheSameAreTrusted) {
  const FloatMatrix x = normal_points(60, 5, 1);
  FloatMatrix turned(60, 5);
  for (std::size_t i = 0; i < 60; ++i) {
    for (std::size_t k = 0; k < 5; ++k) turned(i, k) = -2 * x(i, (k + 1) % 5);
  }
  for (const std::size_t k : {1u, 7u, 29u}) {
    EXPECT_EQ(trustworthiness(x.view(), turned.view(), k), 1);
    EXPECT_EQ(continuity(x.view(), turned.view(), k), 1);
  }
}

// In y the last two points have changed places.
TEST(Neighbourhoods, AreCountedByHand) {
  const FloatMatrix x = points_of(1, {0, 1, 3, 6}), y = points_of(1, {0, 1, 6, 3});
  // Nearest in y: 0→1, 1→0, 2→3, 3→1. Ranks in x: 1, 1; from 2 the order is 1 (2), 0 and 3 (3 each, earlier first):
  // 3 has rank 3; from 3 it is 2, 1, 0: 1 has rank 2. Excess (3 - 1) + (2 - 1) = 3 of n k (2n - 3k - 1) / 2 = 8.
  EXPECT_DOUBLE_EQ(trustworthiness(x.view(), y.view(), 1), 1 - 3.0 / 8);
  // Nearest in x: 0→1, 1→0, 2→1, 3→2. From 2 in y the order is 3, 1, 0: rank 2; from 3 it is 1 (2), 0 (3), 2 (3): 3.
  EXPECT_DOUBLE_EQ(continuity(x.view(), y.view(), 1), 1 - 3.0 / 8);
}

// What is torn apart is still trusted; what is folded together is not.
TEST(Neighbourhoods, TellTearingFromFolding) {
  const std::size_t n = 200;
  const FloatMatrix line = matrix_of(n, 1, [](double i, std::size_t) { return i; });
  const FloatMatrix torn = matrix_of(n, 1, [](double i, std::size_t) { return i < 100 ? i + 5000 : i; });
  const FloatMatrix folded = matrix_of(n, 1, [](double i, std::size_t) { return i < 100 ? i : 199.3 - i; });
  EXPECT_GT(trustworthiness(line.view(), torn.view(), 10), 0.99);
  EXPECT_LT(trustworthiness(line.view(), folded.view(), 10), 0.8);
  EXPECT_GT(continuity(line.view(), folded.view(), 10), 0.97);
  EXPECT_LT(continuity(line.view(), torn.view(), 10), trustworthiness(line.view(), torn.view(), 10));
}

TEST(Neighbourhoods, AreTheSameForAnyNumberOfThreads) {
  const FloatMatrix x = normal_points(150, 20, 2), y = normal_points(150, 2, 3);
  set_threads(1);
  const double one = trustworthiness(x.view(), y.view(), 8);
  set_threads(3);
  EXPECT_EQ(trustworthiness(x.view(), y.view(), 8), one);
  set_threads(0);
  EXPECT_NEAR(one, 0.5, 0.1);  // of no relation
}

TEST(Neighbourhoods, NeedMoreThanTwiceAsManySamplesAsNeighbours) {
  const FloatMatrix x = normal_points(20, 3, 4), y = normal_points(20, 2, 5), fewer = normal_points(19, 2, 5);
  EXPECT_NO_THROW(trustworthiness(x.view(), y.view(), 9));
  expect_error("k", {"10 neighbours", "20 samples", "at least 21"}, [&] { trustworthiness(x.view(), y.view(), 10); });
  expect_error("k", {"20 samples"}, [&] { continuity(x.view(), y.view(), std::numeric_limits<std::size_t>::max()); });
  expect_error("k", {"at least 1"}, [&] { continuity(x.view(), y.view(), 0); });
  expect_error("y", {"19 rows", "20"}, [&] { trustworthiness(x.view(), fewer.view(), 3); });
}

}  // namespace
}  // namespace cpfm
