// Kernel ridge regression, of any kernel.
#pragma once

#include <Eigen/Core>

namespace cpfm {

struct RidgeFit {
  // Of each sample: a prediction is the sum of weights times the kernel.
  Eigen::MatrixXd weights;
  // What would be predicted for each sample had it not been learned from; empty where that was not asked for.
  Eigen::MatrixXd left_out;
};

// Learns `wanted`, a row per sample and a column for each thing to predict, from the kernel matrix of the samples,
// which is overwritten; only its lower half is read.
RidgeFit fit_ridge(Eigen::MatrixXd& kernel, double ridge, const Eigen::MatrixXd& wanted, bool leave_out = false);

}  // namespace cpfm
