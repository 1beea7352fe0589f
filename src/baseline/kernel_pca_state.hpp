// What a fitted KernelPca is made of. D features, c columns of the data, k directions in them that are looked at, d
// dimensions of the embedding.
#pragma once

#include <Eigen/Dense>

#include "cpfm/baseline.hpp"

namespace cpfm {

struct KernelPca::State {
  Eigen::VectorXd mean;          // c
  Eigen::MatrixXd basis;         // c × k, orthonormal, of numbers that are floats; empty: all columns, k = c
  Eigen::MatrixXd frequencies;   // D × k, of numbers that are floats
  Eigen::VectorXd feature_mean;  // D
  Eigen::MatrixXd components;    // D × d
  Eigen::VectorXd deviation;     // d, above 0
  double sigma = 0, explained = 0;
  // Of FᵀF for D ≥ k and of FFᵀ otherwise, F the frequencies, with a ridge: the way from angles to x.
  Eigen::LLT<Eigen::MatrixXd> solver;

  Eigen::Index directions() const { return basis.size() > 0 ? basis.cols() : mean.size(); }

  // Fills `solver`; cpfm::Error where the frequencies have no inverse.
  void prepare();
};

}  // namespace cpfm
