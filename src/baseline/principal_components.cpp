// More rows than columns: the covariance is summed up over blocks of rows, tile by tile, so that every entry is a sum
// in a fixed order. Fewer: the products of rows. Either way few eigenvectors are wanted of a matrix that may have
// thousands of rows: subspace iteration with some vectors to spare, which costs a product per step.
#include "baseline/principal_components.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>

#include "base/memory.hpp"
#include "cpfm/baseline.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"

namespace cpfm {
namespace {

using Eigen::Index;
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr std::size_t kRows = 1024, kFill = 64, kTile = 128;
// Up to here, or where so large a share is wanted, the subspace is everything, and one step does.
constexpr Index kSmall = 256, kShare = 4;
constexpr Index kSpare = 16;
constexpr int kMostSteps = 1000;
constexpr double kResidual = 1e-11;            // beside the largest eigenvalue
constexpr std::uint32_t kStream = 0x62706361;  // "bpca"

Matrix filled(std::size_t begin, std::size_t count, std::size_t width, const FillRows& fill) {
  Matrix block(static_cast<Index>(count), static_cast<Index>(width));
  parallel_for(count, kFill, [&](std::size_t first, std::size_t last) {
    fill(begin + first, block.middleRows(static_cast<Index>(first), static_cast<Index>(last - first)));
  });
  return block;
}

// sum += blockᵀ block, below and on the diagonal tiles.
void add_products(const Matrix& block, Matrix& sum) {
  const auto width = static_cast<std::size_t>(block.cols());
  parallel_for(width, kTile, [&](std::size_t begin, std::size_t end) {
    const auto first = static_cast<Index>(begin), count = static_cast<Index>(end - begin), rest = sum.rows() - first;
    sum.block(first, first, rest, count).noalias() +=
        block.rightCols(rest).transpose() * block.middleCols(first, count);
  });
}

Matrix times(const Matrix& symmetric, const Matrix& q) {
  Matrix product(symmetric.rows(), q.cols());
  parallel_for(static_cast<std::size_t>(symmetric.rows()), kTile, [&](std::size_t begin, std::size_t end) {
    const auto first = static_cast<Index>(begin), count = static_cast<Index>(end - begin);
    // Columns instead of rows: the matrix is symmetric and stored by columns.
    product.middleRows(first, count).noalias() = symmetric.middleCols(first, count).transpose() * q;
  });
  return product;
}

struct Eigenpairs {
  Matrix vectors;
  Vector values;
};

Eigenpairs leading_eigenpairs(const Matrix& symmetric, Index d) {
  const Index side = symmetric.rows();
  const Index block = side <= kSmall || kShare * d > side ? side : std::min(side, d + kSpare);
  Matrix q(side, block);
  for (Index t = 0; t < block; ++t) {
    Rng rng(0, kStream, static_cast<std::uint64_t>(t));
    for (Index i = 0; i < side; ++i) q(i, t) = rng.normal();
  }
  Eigenpairs found;
  for (int step = 0; step < kMostSteps; ++step) {
    check_interrupt();
    q = Eigen::HouseholderQR<Matrix>(q).householderQ() * Matrix::Identity(side, block);
    Matrix product = times(symmetric, q);
    Matrix inner = q.transpose() * product;
    inner = (inner + inner.transpose()).eval() / 2;
    const Eigen::SelfAdjointEigenSolver<Matrix> solver(inner);
    const Matrix turn = solver.eigenvectors().rowwise().reverse().leftCols(d);  // largest first
    found.values = solver.eigenvalues().reverse().head(d);
    found.vectors = q * turn;
    const Matrix residual = product * turn - found.vectors * found.values.asDiagonal();
    if (residual.colwise().norm().maxCoeff() <= kResidual * std::max(found.values(0), 0.0)) break;
    q = std::move(product);
  }
  return found;
}

void make_signs_definite(Matrix& vectors) {
  for (Index t = 0; t < vectors.cols(); ++t) {
    Index largest = 0;
    vectors.col(t).cwiseAbs().maxCoeff(&largest);
    if (vectors(largest, t) < 0) vectors.col(t) *= -1;
  }
}

}  // namespace

PrincipalComponents principal_components(std::size_t n, std::size_t width, std::size_t d, const FillRows& fill,
                                         Progress* progress) {
  const double side = static_cast<double>(std::min(n, width));
  // Rows at a time; all of them, turned over, and the vectors where the products are those of rows.
  const double held = static_cast<double>(n <= width ? 2 * n + d : std::min(n, kRows));
  require_memory(sizeof(double) * (2 * side * side + held * static_cast<double>(width)), "principal components",
                 "the products of rows or columns");
  const auto columns = static_cast<Index>(width), wanted = static_cast<Index>(d);
  const double freedom = static_cast<double>(n - 1);
  if (progress != nullptr) progress->start("principal components", n, "rows");
  PrincipalComponents result;
  if (n <= width) {
    Matrix rows = filled(0, n, width, fill);
    result.mean = rows.colwise().mean().transpose();
    rows.rowwise() -= result.mean.transpose();
    Matrix products = Matrix::Zero(rows.rows(), rows.rows());
    rows.transposeInPlace();
    add_products(rows, products);
    products.triangularView<Eigen::StrictlyUpper>() = products.transpose();
    result.variance = products.trace() / freedom;
    const Eigenpairs found = leading_eigenpairs(products, wanted);
    result.vectors = rows * found.vectors;
    for (Index t = 0; t < wanted; ++t) {
      const double norm = result.vectors.col(t).norm();
      if (norm > 0) result.vectors.col(t) /= norm;
    }
    result.deviation = (found.values.cwiseMax(0.0) / freedom).cwiseSqrt();
  } else {
    Matrix products = Matrix::Zero(columns, columns);
    Vector sum = Vector::Zero(columns);
    for (std::size_t begin = 0; begin < n; begin += kRows) {
      check_interrupt();
      const Matrix rows = filled(begin, std::min(kRows, n - begin), width, fill);
      sum += rows.colwise().sum().transpose();
      add_products(rows, products);
      if (progress != nullptr) progress->update(begin + static_cast<std::size_t>(rows.rows()));
    }
    result.mean = sum / static_cast<double>(n);
    products.triangularView<Eigen::StrictlyUpper>() = products.transpose();
    products.noalias() -= sum * result.mean.transpose();
    result.variance = products.trace() / freedom;
    Eigenpairs found = leading_eigenpairs(products, wanted);
    result.vectors = std::move(found.vectors);
    result.deviation = (found.values.cwiseMax(0.0) / freedom).cwiseSqrt();
  }
  for (Index t = 0; t < wanted; ++t) {
    // What rounding alone has left is no direction.
    if (result.deviation(t) <= 1e-7 * result.deviation(0)) {
      result.deviation(t) = 0;
      result.vectors.col(t).setZero();
    }
  }
  make_signs_definite(result.vectors);
  if (progress != nullptr) progress->finish();
  return result;
}

FloatMatrix first_components(MatrixView<const float> x, std::size_t d, Progress* progress) {
  if (x.rows < 2 || d < 1 || d > std::min(x.rows, x.cols))
    throw Error("d", fmt::format("{} components of {} x {} numbers", d, x.rows, x.cols), "1 to the columns");
  const PrincipalComponents found = principal_components(
      x.rows, x.cols, d,
      [&](std::size_t begin, Eigen::Ref<Eigen::MatrixXd> block) {
        for (Eigen::Index i = 0; i < block.rows(); ++i) {
          for (Eigen::Index k = 0; k < block.cols(); ++k)
            block(i, k) = x(begin + static_cast<std::size_t>(i), static_cast<std::size_t>(k));
        }
      },
      progress);
  FloatMatrix places(x.rows, d);
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (std::size_t c = 0; c < d; ++c) {
      double sum = 0;
      for (std::size_t k = 0; k < x.cols; ++k) {
        const auto row = static_cast<Eigen::Index>(k);
        sum += (x(i, k) - found.mean(row)) * found.vectors(row, static_cast<Eigen::Index>(c));
      }
      places(i, c) = static_cast<float>(sum);
    }
  }
  return places;
}

}  // namespace cpfm
