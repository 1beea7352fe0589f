// Kernel ridge regression on the likeness of fingerprints.
#include "cpfm/fingerprint_regressor.hpp"

#include <algorithm>
#include <cmath>

#include "chem/kernel_ridge.hpp"
#include "cpfm/error.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kRowStream = 0x66726567;  // "freg"
constexpr std::size_t kAtOnce = 16;

}  // namespace

FingerprintRegressor::FingerprintRegressor(const Fingerprints& molecules, std::span<const double> values,
                                           const FingerprintRegressorOptions& options) {
  if (values.size() != molecules.size() || values.size() < 2 ||
      !std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); }))
    throw Error("values", "are not one finite number for each of two or more molecules");
  if (options.most < 2 || !(options.ridge > 0)) throw Error("options", "most is below 2, or ridge not above 0");
  std::vector<std::size_t> rows = permutation(molecules.size(), options.seed, kRowStream);
  rows.resize(std::min(rows.size(), options.most));
  const std::size_t n = rows.size();
  known_ = Fingerprints(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::copy(molecules.row(rows[i]).begin(), molecules.row(rows[i]).end(), known_.row(i).begin());
    mean_ += values[rows[i]] / static_cast<double>(n);
  }
  Eigen::MatrixXd kernel(n, n);
  Eigen::MatrixXd wanted(n, 1);
  parallel_for(n, kAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto column = static_cast<Eigen::Index>(i);
      for (std::size_t j = 0; j < n; ++j)
        kernel(static_cast<Eigen::Index>(j), column) = tanimoto(known_.row(i), known_.row(j));
      wanted(column, 0) = values[rows[i]] - mean_;
    }
  });
  const Eigen::VectorXd weights = fit_ridge(kernel, options.ridge, wanted).weights.col(0);
  weights_.assign(weights.begin(), weights.end());
}

std::vector<double> FingerprintRegressor::predict(const Fingerprints& molecules) const {
  std::vector<double> values(molecules.size(), mean_);
  parallel_for(molecules.size(), kAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = 0; j < weights_.size(); ++j)
        values[i] += weights_[j] * tanimoto(molecules.row(i), known_.row(j));
    }
  });
  return values;
}

}  // namespace cpfm
