#include "chem/kernel_ridge.hpp"

#include <Eigen/Cholesky>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"

namespace cpfm {

RidgeFit fit_ridge(Eigen::MatrixXd& kernel, double ridge, const Eigen::MatrixXd& wanted, bool leave_out) {
  kernel.diagonal().array() += ridge;
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(kernel);
  if (factor.info() != Eigen::Success) throw Error("ridge", "is too small for these samples", "a larger one");
  RidgeFit fit;
  fit.weights = factor.solve(wanted);
  if (!leave_out) return fit;
  // Without sample i its prediction is off by weight i over entry i of the inverse's diagonal. That entry is the
  // squared length of column i of the factor's inverse, which is 0 above i.
  constexpr std::size_t kColumns = 64;
  Eigen::VectorXd diagonal(kernel.rows());
  parallel_for(static_cast<std::size_t>(kernel.rows()), kColumns, [&](std::size_t begin, std::size_t end) {
    check_interrupt();
    const auto first = static_cast<Eigen::Index>(begin), count = static_cast<Eigen::Index>(end - begin);
    const Eigen::Index left = kernel.rows() - first;
    Eigen::MatrixXd columns = Eigen::MatrixXd::Identity(left, count);
    kernel.bottomRightCorner(left, left).triangularView<Eigen::Lower>().solveInPlace(columns);
    diagonal.segment(first, count) = columns.colwise().squaredNorm();
  });
  fit.left_out = wanted - (fit.weights.array().colwise() / diagonal.array()).matrix();
  return fit;
}

}  // namespace cpfm
