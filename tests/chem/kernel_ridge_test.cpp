#include "chem/kernel_ridge.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "cpfm/error.hpp"

namespace cpfm {
namespace {

// More samples than are done at once.
constexpr Eigen::Index kSamples = 150;

Eigen::MatrixXd kernel_of(const Eigen::MatrixXd& x) {
  Eigen::MatrixXd kernel(x.rows(), x.rows());
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    for (Eigen::Index j = 0; j < x.rows(); ++j) kernel(i, j) = std::exp(-(x.row(i) - x.row(j)).squaredNorm());
  }
  return kernel;
}

TEST(KernelRidge, LeavesOutAsIfASampleHadNotBeenThere) {
  std::srand(1);
  const Eigen::MatrixXd x = Eigen::MatrixXd::Random(kSamples, 3), wanted = Eigen::MatrixXd::Random(kSamples, 2);
  const Eigen::MatrixXd kernel = kernel_of(x);
  Eigen::MatrixXd work = kernel;
  const RidgeFit fit = fit_ridge(work, 0.2, wanted, true);
  const Eigen::MatrixXd exact =
      (kernel + 0.2 * Eigen::MatrixXd::Identity(kSamples, kSamples)).partialPivLu().solve(wanted);
  EXPECT_LT((fit.weights - exact).cwiseAbs().maxCoeff(), 1e-9);
  for (const Eigen::Index out : {Eigen::Index{0}, Eigen::Index{63}, Eigen::Index{64}, Eigen::Index{149}}) {
    std::vector<Eigen::Index> others;
    for (Eigen::Index i = 0; i < kSamples; ++i) {
      if (i != out) others.push_back(i);
    }
    Eigen::MatrixXd rest = kernel(others, others);
    const RidgeFit without = fit_ridge(rest, 0.2, wanted(others, Eigen::all));
    const Eigen::RowVectorXd said = kernel(out, others) * without.weights;
    EXPECT_LT((fit.left_out.row(out) - said).cwiseAbs().maxCoeff(), 1e-9) << out;
    EXPECT_EQ(without.left_out.size(), 0);
  }
}

TEST(KernelRidge, RefusesWhatIsNoKernel) {
  Eigen::MatrixXd kernel = -Eigen::MatrixXd::Identity(3, 3);
  EXPECT_THROW(fit_ridge(kernel, 0.5, Eigen::MatrixXd::Zero(3, 1)), Error);
}

}  // namespace
}  // namespace cpfm
