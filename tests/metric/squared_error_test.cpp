#include <gtest/gtest.h>

#include "cpfm/error.hpp"
#include "cpfm/metric.hpp"

namespace cpfm {
namespace {

FloatMatrix matrix(std::size_t rows, std::size_t cols, const std::vector<float>& values) {
  FloatMatrix m(rows, cols);
  std::copy(values.begin(), values.end(), m.data());
  return m;
}

TEST(SquaredError, IsTheMeanOverAllEntries) {
  const FloatMatrix a = matrix(2, 2, {1, 2, 3, 4}), b = matrix(2, 2, {1, 4, 3, 1});
  EXPECT_DOUBLE_EQ(mean_squared_error(a.view(), b.view()), (4 + 9) / 4.0);
  EXPECT_DOUBLE_EQ(mean_squared_error(a.view(), a.view()), 0);
}

TEST(SquaredError, ExplainedVarianceIsPerColumn) {
  // Columns: met exactly; the mean instead; worse than the mean; constant and met; constant and not met.
  const FloatMatrix a = matrix(2, 5, {1, 1, 1, 7, 7, 3, 3, 3, 7, 7});
  const FloatMatrix b = matrix(2, 5, {1, 2, 3, 7, 6, 3, 2, 1, 7, 7});
  EXPECT_EQ(explained_variance(a.view(), b.view()), (std::vector<double>{1, 0, -3, 1, 0}));
}

TEST(SquaredError, RefusesWhatDoesNotCompare) {
  const FloatMatrix a(2, 2), b(2, 3), none(0, 2);
  EXPECT_THROW(mean_squared_error(a.view(), b.view()), Error);
  EXPECT_THROW(explained_variance(none.view(), none.view()), Error);
}

}  // namespace
}  // namespace cpfm
