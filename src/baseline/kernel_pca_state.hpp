// What a fitted KernelPca is made of. D features, c columns of the data, d of the embedding.
#pragma once

#include <Eigen/Dense>

#include "cpfm/baseline.hpp"

namespace cpfm {

struct KernelPca::State {
  Eigen::VectorXd mean;          // c
  Eigen::MatrixXd frequencies;   // D × c, of numbers that are floats
  Eigen::VectorXd feature_mean;  // D
  Eigen::MatrixXd components;    // D × d
  Eigen::VectorXd deviation;     // d, above 0
  double sigma = 0, explained = 0;
  // Of FᵀF for D ≥ c and of FFᵀ otherwise, F the frequencies, with a ridge: the way from angles to x.
  Eigen::LLT<Eigen::MatrixXd> solver;

  // Fills `solver`; cpfm::Error where the frequencies have no inverse.
  void prepare();
};

}  // namespace cpfm
