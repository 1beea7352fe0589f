// Kernels of unknown sign: J K J ≈ ΦΦᵀ - ΨΨᵀ by its eigenvalues of largest magnitude, either sign. Subspace iteration
// with Rayleigh–Ritz: for an orthonormal Q, T = Qᵀ(JKJ)Q gives the best approximation Q T Qᵀ in that subspace, and
// |JKJ - QTQᵀ|² = |JKJ|² - |T|² in the Frobenius norm says exactly how good it is. So no eigenvalue needs to converge:
// the subspace turns towards the large ones and grows until it explains enough.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/memory.hpp"
#include "cpfm/error.hpp"
#include "cpfm/random.hpp"
#include "kernel/dot_block.hpp"
#include "kernel/factor.hpp"
#include "kernel/sample_kernel.hpp"
#include "kernel/stream.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kStartStream = 0x6b736774;  // "ksgt"
constexpr std::size_t kFirstRank = 16;
constexpr std::size_t kCautiousRank = 256;  // doubles up to here, then grows by half: time goes with the cube
constexpr int kPassesPerRank = 3;           // before the subspace grows
constexpr int kMostPasses = 30;             // at the largest rank allowed
constexpr double kReachable = 1 - 1e-6;     // what float columns can show of the whole
constexpr std::size_t kRows = 128, kOthers = 512;

using Matrix = Eigen::MatrixXd;

// Calls use(mine, first, block) for blocks of JKJ, block(c, r) = (JKJ)(mine.begin + c, first + r); parallel over
// `mine`.
template <class Use>
void stream_centred(const Kernel& kernel, const Centring& centring, Progress* progress, const char* label,
                    const Use& use) {
  const std::size_t n = kernel.size();
  for_row_chunks(n, kRows, progress, label, [&](std::size_t begin, std::size_t end) {
    std::vector<std::size_t> mine(end - begin), others;
    std::iota(mine.begin(), mine.end(), begin);
    std::vector<float> block(mine.size() * kOthers);
    for (std::size_t first = 0; first < n; first += kOthers) {
      check_interrupt();
      others.resize(std::min(kOthers, n - first));
      std::iota(others.begin(), others.end(), first);
      const MatrixView<float> view{block.data(), mine.size(), others.size()};
      evaluate_rows(kernel, mine, others, view);
      for (std::size_t c = 0; c < mine.size(); ++c) {
        for (std::size_t r = 0; r < others.size(); ++r)
          view(c, r) = static_cast<float>(centring(view(c, r), mine[c], others[r]));
      }
      use(begin, first, view);
    }
  });
}

double squared_norm(const Kernel& kernel, const Centring& centring, Progress* progress) {
  std::vector<double> sums(kernel.size(), 0.0);
  stream_centred(kernel, centring, progress, "kernel norm",
                 [&](std::size_t begin, std::size_t, MatrixView<float> block) {
                   for (std::size_t c = 0; c < block.rows; ++c) {
                     double sum = 0;
                     for (const float value : block.row(c)) sum += static_cast<double>(value) * value;
                     sums[begin + c] += sum;
                   }
                 });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// (JKJ) Q: products in float within a block, sums over blocks in double.
Matrix times(const Kernel& kernel, const Centring& centring, const Matrix& q, Progress* progress) {
  const std::size_t n = kernel.size(), rank = static_cast<std::size_t>(q.cols());
  FloatMatrix columns(rank, n);  // Qᵀ
  for (std::size_t t = 0; t < rank; ++t) {
    for (std::size_t i = 0; i < n; ++i)
      columns(t, i) = static_cast<float>(q(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(t)));
  }
  Matrix result = Matrix::Zero(q.rows(), q.cols());
  stream_centred(kernel, centring, progress, "kernel eigenvalues",
                 [&](std::size_t begin, std::size_t first, MatrixView<float> block) {
                   std::vector<const float*> rows(block.rows), vectors(rank);
                   for (std::size_t c = 0; c < block.rows; ++c) rows[c] = block.data + c * block.cols;
                   for (std::size_t t = 0; t < rank; ++t) vectors[t] = columns.data() + t * n + first;
                   std::vector<float> product(block.rows * rank);
                   dot_block(rows, vectors, block.cols, product.data(), rank);
                   for (std::size_t c = 0; c < block.rows; ++c) {
                     for (std::size_t t = 0; t < rank; ++t)
                       result(static_cast<Eigen::Index>(begin + c), static_cast<Eigen::Index>(t)) +=
                           product[c * rank + t];
                   }
                 });
  return result;
}

// An orthonormal basis of the columns of `y` and of as many random ones as make `rank`.
Matrix basis(const Matrix& y, Eigen::Index n, Eigen::Index rank, std::uint64_t seed) {
  Matrix columns(n, rank);
  columns.leftCols(y.cols()) = y;
  for (Eigen::Index t = y.cols(); t < rank; ++t) {
    Rng rng(seed, kStartStream, static_cast<std::uint64_t>(t));
    for (Eigen::Index i = 0; i < n; ++i) columns(i, t) = rng.normal();
  }
  const Eigen::HouseholderQR<Matrix> qr(columns);
  return qr.householderQ() * Matrix::Identity(n, rank);
}

// Qᵀ(JKJ)Q from Y = (JKJ)Q, symmetric to the bit.
Matrix projected(const Matrix& q, const Matrix& y) {
  constexpr std::size_t kColumns = 64;
  Matrix t(q.cols(), q.cols());
  parallel_for(static_cast<std::size_t>(q.cols()), kColumns, [&](std::size_t begin, std::size_t end) {
    const auto first = static_cast<Eigen::Index>(begin), count = static_cast<Eigen::Index>(end - begin);
    t.middleCols(first, count).noalias() = q.transpose() * y.middleCols(first, count);
  });
  return 0.5 * (t + t.transpose());
}

}  // namespace

KernelFactor signed_factor(const Kernel& kernel, const Centring& centring, const FactorOptions& options,
                           Progress* progress) {
  const std::size_t n = kernel.size();
  const std::size_t cap = options.max_rank == 0 ? n : std::min(options.max_rank, n);
  const double norm2 = squared_norm(kernel, centring, progress);
  double scale = std::abs(centring.all);
  for (const double mean : centring.mean) scale = std::max(scale, std::abs(mean));
  if (!std::isfinite(norm2)) throw Error(kernel.expression(), "kernel values must be finite");
  // Rounding errors of float entries of size `scale`, which are all that is left of a constant kernel.
  if (std::sqrt(norm2) <= 1e-6 * scale * static_cast<double>(n)) {
    throw Error(kernel.expression(), "the kernel is the same for all pairs of samples",
                "it tells nothing apart; choose another");
  }
  const double target = std::min(options.explained, kReachable) * norm2;

  const auto rows = static_cast<Eigen::Index>(n);
  std::size_t rank = std::min(cap, kFirstRank);
  Matrix q, t;
  double reached = 0;
  for (int pass = 0;; ++pass) {
    // Q, (JKJ)Q and the basis in the making, in double, and Qᵀ in float.
    require_memory(28.0 * static_cast<double>(n) * static_cast<double>(rank), kernel.expression(),
                   fmt::format("a signed factor of {} × {}", n, rank), "explain less, or limit the rank");
    if (q.cols() == 0) q = basis(Matrix(rows, 0), rows, static_cast<Eigen::Index>(rank), options.seed);
    const Matrix y = times(kernel, centring, q, progress);
    t = projected(q, y);
    const double gained = t.squaredNorm() - reached;
    reached += gained;
    if (reached >= target || rank == n) break;
    const bool settled = gained < 1e-4 * (norm2 - reached);
    // The first pass at a rank sees new random columns; the second shows what turning the subspace brings.
    const bool hopeless = pass > 0 && target - reached > 2 * gained;
    if (rank < cap && (settled || hopeless || pass >= kPassesPerRank)) {
      rank = std::min(cap, rank < kCautiousRank ? 2 * rank : rank + rank / 2);
      pass = -1;
    } else if (rank == cap && (settled || pass >= kMostPasses)) {
      break;
    }
    q = basis(y, rows, static_cast<Eigen::Index>(rank), options.seed);
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(t);
  if (solver.info() != Eigen::Success) {
    throw Error(kernel.expression(), "the eigenvalues of the kernel could not be found");
  }
  const Eigen::VectorXd values = solver.eigenvalues();
  const Matrix ritz_vectors = solver.eigenvectors();

  // The largest eigenvalues that reach the target, by magnitude.
  std::vector<Eigen::Index> order(static_cast<std::size_t>(values.size()));
  std::iota(order.begin(), order.end(), Eigen::Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Eigen::Index a, Eigen::Index b) { return std::abs(values[a]) > std::abs(values[b]); });
  std::vector<Eigen::Index> positive, negative;
  double kept = 0;
  for (const Eigen::Index k : order) {
    if (kept >= target || values[k] == 0) break;
    kept += values[k] * values[k];
    (values[k] > 0 ? positive : negative).push_back(k);
  }
  const auto scaled = [&](const std::vector<Eigen::Index>& chosen) {
    FloatMatrix columns(n, chosen.size());
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      const Eigen::VectorXd column = q * ritz_vectors.col(chosen[c]) * std::sqrt(std::abs(values[chosen[c]]));
      for (std::size_t i = 0; i < n; ++i) columns(i, c) = static_cast<float>(column[static_cast<Eigen::Index>(i)]);
    }
    return columns;
  };
  KernelFactor factor;
  factor.phi = scaled(positive);
  factor.psi = scaled(negative);
  factor.centred = true;
  factor.explained = std::min(1.0, kept / norm2);
  return factor;
}

}  // namespace cpfm
