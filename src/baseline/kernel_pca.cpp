#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/checked.hpp"
#include "base/memory.hpp"
#include "baseline/kernel_pca_state.hpp"
#include "baseline/principal_components.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"
#include "metric/point_sets.hpp"

namespace cpfm {
namespace {

using Eigen::Index;
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using FloatRows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::size_t kFewestFrequencies = 256, kMostFrequencies = 4096;
// Angles are solved for x with twice as many frequencies as x has directions. Of more columns than that allows, the
// leading directions of some rows are taken.
constexpr std::size_t kMostColumns = kMostFrequencies / 2, kDirections = 512, kDirectionRows = 1024;
constexpr std::size_t kAngleRows = 1000;  // whose angles determine sigma
constexpr double kInvertible = 0.99;      // share of angles within ±π/2
constexpr double kRidge = 1e-8;
constexpr std::size_t kBlock = 128;
constexpr double kHalfPi = std::numbers::pi / 2;
constexpr std::uint32_t kRowStream = 0x6b706372, kFrequencyStream = 0x6b706366;  // "kpcr", "kpcf"

void check_options(MatrixView<const float> x, const KernelPcaOptions& options) {
  check_points(x, "x");
  if (x.rows < 2) throw Error("x", "one row has no components", "at least two rows");
  if (!(options.sigma >= 0) || !std::isfinite(options.sigma)) {
    throw Error("sigma", fmt::format("{} is no width", options.sigma),
                "a finite number above 0, or 0 for the automatic");
  }
  if (options.rows < 2) throw Error("rows", fmt::format("{} rows", options.rows), "at least 2");
  if (options.frequencies > 0xFFFFFF) {
    throw Error("frequencies", fmt::format("{} are too many", options.frequencies), "at most 16777215");
  }
}

std::size_t choose_frequencies(std::size_t columns, const KernelPcaOptions& options) {
  if (options.frequencies > 0) return options.frequencies;
  return columns >= kMostColumns ? kMostFrequencies : std::max(kFewestFrequencies, 2 * columns);
}

// Those rows of x about the mean.
Matrix centred(MatrixView<const float> x, std::span<const std::size_t> rows, const Vector& mean) {
  Matrix block(static_cast<Index>(rows.size()), static_cast<Index>(x.cols));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t k = 0; k < x.cols; ++k) {
      block(static_cast<Index>(r), static_cast<Index>(k)) = x(rows[r], k) - mean(static_cast<Index>(k));
    }
  }
  return block;
}

// Along the directions that are looked at.
Matrix along(const Matrix& basis, Matrix rows) { return basis.size() == 0 ? std::move(rows) : Matrix(rows * basis); }

// The leading principal components of rows of many columns, as many as there are and numbers that are floats; nothing
// where all columns are looked at.
Matrix choose_basis(MatrixView<const float> x, std::span<const std::size_t> rows, const Vector& mean) {
  if (x.cols <= kMostColumns) return {};
  const std::size_t used = std::min(rows.size(), kDirectionRows);
  const PrincipalComponents found = principal_components(
      used, x.cols, std::min(kDirections, used - 1), [&](std::size_t begin, Eigen::Ref<Matrix> block) {
        block = centred(x, rows.subspan(begin, static_cast<std::size_t>(block.rows())), mean);
      });
  const Index there = (found.deviation.array() > 0).count();  // the others come last
  if (there == 0) throw Error("x", fmt::format("{} rows at random are all the same", used), "rows that differ");
  return found.vectors.leftCols(there).cast<float>().cast<double>();
}

// The 99 % quantile of all |<w, x - mean>| of some rows, w of unit variance, becomes π/2.
double choose_sigma(MatrixView<const float> x, std::span<const std::size_t> rows, const Vector& mean,
                    const Matrix& basis, const Matrix& frequencies) {
  constexpr std::size_t kRows = 32;
  const std::size_t used = std::min(rows.size(), kAngleRows), width = static_cast<std::size_t>(frequencies.rows());
  std::vector<double> sizes(used * width);
  parallel_for(used, kRows, [&](std::size_t begin, std::size_t end) {
    check_interrupt();
    const Matrix angles = frequencies * along(basis, centred(x, rows.subspan(begin, end - begin), mean)).transpose();
    for (std::size_t k = 0; k < (end - begin) * width; ++k) sizes[begin * width + k] = std::abs(angles.data()[k]);
  });
  const auto at = static_cast<std::ptrdiff_t>(kInvertible * static_cast<double>(sizes.size() - 1));
  std::nth_element(sizes.begin(), sizes.begin() + at, sizes.end());
  return sizes[static_cast<std::size_t>(at)] / kHalfPi;
}

// cos(angle + π/2), which arccos takes back for angles within ±π/2.
Matrix features_of(const Matrix& rows, const Matrix& frequencies) {
  return -(rows * frequencies.transpose()).array().sin();
}

}  // namespace

void KernelPca::State::prepare() {
  const bool through_columns = frequencies.rows() >= frequencies.cols();
  const Matrix wide = through_columns ? frequencies : Matrix(frequencies.transpose());
  require_memory(2.0 * sizeof(double) * static_cast<double>(wide.cols()) * static_cast<double>(wide.cols()),
                 "kernel PCA", "the way back from the features");
  Matrix products(wide.cols(), wide.cols());
  parallel_for(static_cast<std::size_t>(wide.cols()), kBlock, [&](std::size_t begin, std::size_t end) {
    check_interrupt();
    const auto first = static_cast<Index>(begin), count = static_cast<Index>(end - begin);
    products.middleCols(first, count).noalias() = wide.transpose() * wide.middleCols(first, count);
  });
  const double ridge = kRidge * products.trace() / static_cast<double>(products.rows());
  products.diagonal().array() += ridge;
  solver.compute(products);
  if (!(ridge > 0) || !std::isfinite(ridge) || solver.info() != Eigen::Success) {
    throw Error("frequencies", "they cannot be solved for x");
  }
}

KernelPca KernelPca::fit(MatrixView<const float> x, const KernelPcaOptions& options, Progress* progress) {
  check_options(x, options);
  const std::size_t n = std::min(x.rows, options.rows), count = choose_frequencies(x.cols, options);
  if (options.dim >= n && options.dim <= count) {
    throw Error("dim", fmt::format("{} rows are too few for {} dimensions", n, options.dim),
                fmt::format("{} rows, or at most {} dimensions", options.dim + 1, n - 1));
  }
  if (options.dim < 1 || options.dim >= n || options.dim > count) {
    throw Error("dim", fmt::format("{} dimensions of {} rows and {} frequencies", options.dim, n, count),
                fmt::format("from 1 to {}", std::min(n - 1, count)));
  }
  require_memory(
      sizeof(double) * (static_cast<double>(count) * static_cast<double>(std::min(x.cols, kMostColumns)) * 2 +
                        static_cast<double>(count) * static_cast<double>(std::min(n, kAngleRows)) * 2),
      "frequencies", fmt::format("{} frequencies over {} columns", count, x.cols), "fewer frequencies");
  std::vector<std::size_t> rows = permutation(x.rows, options.seed, kRowStream);
  rows.resize(n);
  const auto as_first = [&](std::size_t row) { return std::ranges::equal(x.row(row), x.row(rows[0])); };
  if (std::all_of(rows.begin(), rows.end(), as_first)) {
    throw Error("x", "all rows are the same", "at least two different ones");
  }

  auto state = std::make_shared<State>();
  state->mean = Vector::Zero(static_cast<Index>(x.cols));
  for (const std::size_t row : rows) {
    for (std::size_t k = 0; k < x.cols; ++k) {
      state->mean(static_cast<Index>(k)) += static_cast<double>(x(row, k)) / static_cast<double>(n);
    }
  }
  state->basis = choose_basis(x, rows, state->mean);
  state->frequencies.resize(static_cast<Index>(count), state->directions());
  parallel_for(count, kBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) {
      Rng rng(options.seed, kFrequencyStream, j);
      for (Index k = 0; k < state->frequencies.cols(); ++k) state->frequencies(static_cast<Index>(j), k) = rng.normal();
    }
  });
  state->sigma =
      options.sigma > 0 ? options.sigma : choose_sigma(x, rows, state->mean, state->basis, state->frequencies);
  state->frequencies = (state->frequencies / state->sigma).cast<float>().cast<double>();  // as a file has them
  if (!(state->sigma > 0) || !state->frequencies.allFinite() || state->frequencies.cwiseAbs().maxCoeff() == 0) {
    throw Error("sigma", fmt::format("{} leaves no frequency that is a number", state->sigma),
                "bring the data to a scale near 1");
  }

  const PrincipalComponents found = principal_components(
      n, count, options.dim,
      [&](std::size_t begin, Eigen::Ref<Matrix> block) {
        const auto some = std::span(rows).subspan(begin, static_cast<std::size_t>(block.rows()));
        block = features_of(along(state->basis, centred(x, some, state->mean)), state->frequencies);
      },
      progress);
  for (Index k = 0; k < found.deviation.size(); ++k) {
    if (found.deviation(k) <= 0) {
      throw Error("dim", fmt::format("{} dimensions, and the data vary in {}", options.dim, k),
                  fmt::format("at most {}", k));
    }
  }
  state->feature_mean = found.mean;
  state->components = found.vectors;
  state->deviation = found.deviation;
  state->explained = found.deviation.squaredNorm() / found.variance;
  state->prepare();
  return KernelPca(std::move(state));
}

FloatMatrix KernelPca::embed(MatrixView<const float> x) const {
  const State& s = *state_;
  if (x.cols != columns()) {
    throw Error("x", fmt::format("rows of {} values", x.cols), fmt::format("{}, as the data had", columns()));
  }
  if (x.rows == 0) return FloatMatrix(0, dim());
  check_points(x, "x");
  FloatMatrix y(x.rows, dim());
  parallel_for(x.rows, kBlock, [&](std::size_t begin, std::size_t end) {
    check_interrupt();
    const auto count = static_cast<Index>(end - begin);
    Matrix rows = Eigen::Map<const FloatRows>(x.row(begin).data(), count, s.mean.size()).cast<double>();
    rows.rowwise() -= s.mean.transpose();
    Matrix features = features_of(along(s.basis, std::move(rows)), s.frequencies);
    features.rowwise() -= s.feature_mean.transpose();
    const Matrix scores = features * s.components * s.deviation.cwiseInverse().asDiagonal();
    Eigen::Map<FloatRows>(y.row(begin).data(), count, scores.cols()) = scores.cast<float>();
  });
  return y;
}

FloatMatrix KernelPca::generate(MatrixView<const float> y) const {
  const State& s = *state_;
  if (y.cols != dim()) {
    throw Error("y", fmt::format("rows of {} values", y.cols), fmt::format("{}, as the embedding has", dim()));
  }
  if (y.rows == 0) return FloatMatrix(0, columns());
  check_points(y, "y");
  FloatMatrix x(y.rows, columns());
  parallel_for(y.rows, kBlock, [&](std::size_t begin, std::size_t end) {
    check_interrupt();
    const auto count = static_cast<Index>(end - begin);
    const Matrix scores = Eigen::Map<const FloatRows>(y.row(begin).data(), count, s.deviation.size()).cast<double>();
    // Columns are samples from here on.
    Matrix angles = s.components * (s.deviation.asDiagonal() * scores.transpose());
    angles.colwise() += s.feature_mean;
    angles = angles.array().min(1.0).max(-1.0).acos() - kHalfPi;
    Matrix samples = s.frequencies.rows() >= s.frequencies.cols()
                         ? Matrix(s.solver.solve(s.frequencies.transpose() * angles))
                         : Matrix(s.frequencies.transpose() * s.solver.solve(angles));
    if (s.basis.size() > 0) samples = (s.basis * samples).eval();
    samples.colwise() += s.mean;
    Eigen::Map<FloatRows>(x.row(begin).data(), count, s.mean.size()) = samples.transpose().cast<float>();
  });
  return x;
}

std::size_t KernelPca::dim() const { return static_cast<std::size_t>(state_->components.cols()); }
std::size_t KernelPca::columns() const { return static_cast<std::size_t>(state_->mean.size()); }
std::size_t KernelPca::directions() const { return static_cast<std::size_t>(state_->directions()); }
std::size_t KernelPca::frequencies() const { return static_cast<std::size_t>(state_->frequencies.rows()); }
double KernelPca::sigma() const { return state_->sigma; }
double KernelPca::explained() const { return state_->explained; }

}  // namespace cpfm
