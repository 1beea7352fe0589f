// Against a full eigendecomposition, on both sides and where the subspace is not everything.
#include "baseline/principal_components.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"

namespace cpfm {
namespace {

using Eigen::Index;
using Matrix = Eigen::MatrixXd;

// Columns of falling variance, mixed, about a mean.
Matrix rows_of(Index n, Index width) {
  Matrix rows(n, width);
  Rng rng(1, 1);
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < width; ++k) rows(i, k) = rng.normal() * std::pow(0.9, static_cast<double>(k));
  }
  Matrix mix(width, width);
  for (Index k = 0; k < mix.size(); ++k) mix.data()[k] = rng.normal() / std::sqrt(static_cast<double>(width));
  rows = (rows * mix).eval();
  rows.array() += 0.5;
  return rows;
}

PrincipalComponents found_in(const Matrix& rows, std::size_t d) {
  return principal_components(static_cast<std::size_t>(rows.rows()), static_cast<std::size_t>(rows.cols()), d,
                              [&](std::size_t begin, Eigen::Ref<Matrix> block) {
                                block = rows.middleRows(static_cast<Index>(begin), block.rows());
                              });
}

TEST(PrincipalComponents, AreThoseOfTheCovariance) {
  struct Shape {
    Index n, width;
  };
  for (const Shape shape : {Shape{3000, 20}, Shape{40, 90}, Shape{700, 400}, Shape{400, 700}}) {
    SCOPED_TRACE(testing::Message() << shape.n << " x " << shape.width);
    const Matrix rows = rows_of(shape.n, shape.width);
    const PrincipalComponents found = found_in(rows, 4);
    const Matrix centred = rows.rowwise() - rows.colwise().mean();
    const Matrix covariance = centred.transpose() * centred / static_cast<double>(shape.n - 1);
    const Eigen::SelfAdjointEigenSolver<Matrix> known(covariance);
    EXPECT_LT((found.mean - rows.colwise().mean().transpose()).norm(), 1e-10);
    EXPECT_NEAR(found.variance, covariance.trace(), 1e-8 * covariance.trace());
    for (Index t = 0; t < 4; ++t) {
      const Index at = shape.width - 1 - t;
      EXPECT_NEAR(found.deviation(t), std::sqrt(known.eigenvalues()(at)), 1e-8);
      EXPECT_NEAR(std::abs(found.vectors.col(t).dot(known.eigenvectors().col(at))), 1, 1e-8);
      EXPECT_GT(found.vectors.col(t).maxCoeff(), -found.vectors.col(t).minCoeff());
    }
  }
}

TEST(PrincipalComponents, WithoutVarianceAreZero) {
  Matrix rows = Matrix::Zero(50, 3);
  for (Index i = 0; i < 50; ++i) rows(i, 1) = static_cast<double>(i % 7);
  const PrincipalComponents found = found_in(rows, 3);
  EXPECT_GT(found.deviation(0), 1);
  EXPECT_NEAR(found.vectors(1, 0), 1, 1e-12);
  for (Index t = 1; t < 3; ++t) {
    EXPECT_EQ(found.deviation(t), 0);
    EXPECT_EQ(found.vectors.col(t).norm(), 0);
  }
  EXPECT_EQ(found_in(Matrix::Constant(5, 4, 2.0), 1).deviation(0), 0);
}

TEST(PrincipalComponents, AreTheSameForAnyNumberOfThreads) {
  for (const Index n : {200, 1500}) {
    const Matrix rows = rows_of(n, 300);
    set_threads(1);
    const PrincipalComponents one = found_in(rows, 3);
    set_threads(3);
    const PrincipalComponents three = found_in(rows, 3);
    set_threads(0);
    EXPECT_EQ(one.vectors, three.vectors);
    EXPECT_EQ(one.deviation, three.deviation);
  }
}

}  // namespace
}  // namespace cpfm
