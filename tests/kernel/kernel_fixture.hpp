// Small random datasets and the dense matrix of a kernel, for comparing with loops in double.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cpfm/kernel.hpp"
#include "support/files.hpp"

namespace cpfm::test {

// n points around `offset`, with labels 0..classes-1 (every seventh unlabelled where `unlabelled`) and properties mu,
// gap.
inline Dataset random_data(std::size_t n, std::size_t d, int classes = 3, bool unlabelled = false, float offset = 0) {
  std::mt19937 random(static_cast<unsigned>(n * 31 + d));
  std::normal_distribution<float> normal;
  Dataset data;
  data.source = "test";
  data.samples = FloatMatrix(n, d);
  for (std::size_t i = 0; i < n * d; ++i) data.samples.data()[i] = offset + normal(random);
  data.labels.emplace();
  for (int c = 0; c < classes; ++c) data.labels->names.push_back(std::to_string(c));
  data.properties = {{"mu", {}}, {"gap", {}}};
  for (std::size_t i = 0; i < n; ++i) {
    data.labels->ids.push_back(unlabelled && i % 7 == 0 ? -1
                                                        : static_cast<int>(random() % static_cast<unsigned>(classes)));
    data.properties[0].values.push_back(normal(random));
    data.properties[1].values.push_back(5 + 2 * normal(random));
  }
  return data;
}

// Row-major n × n doubles.
using Dense = std::vector<double>;

inline Dense dense(const Kernel& kernel) {
  const std::size_t n = kernel.size();
  std::vector<std::size_t> columns(n);
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  std::vector<float> values(n * n, NAN);  // block() may be given garbage
  kernel.block(columns, 0, n, {values.data(), n, n});
  return {values.begin(), values.end()};
}

inline Dense dense(std::size_t n, const std::function<double(std::size_t, std::size_t)>& value) {
  Dense k(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) k[i * n + j] = value(i, j);
  }
  return k;
}

inline double distance2(const Dataset& data, std::size_t i, std::size_t j) {
  double sum = 0;
  for (std::size_t k = 0; k < data.dim(); ++k) {
    const double delta = static_cast<double>(data.samples(i, k)) - data.samples(j, k);
    sum += delta * delta;
  }
  return sum;
}

inline double inner(const Dataset& data, std::size_t i, std::size_t j) {
  double sum = 0;
  for (std::size_t k = 0; k < data.dim(); ++k) sum += static_cast<double>(data.samples(i, k)) * data.samples(j, k);
  return sum;
}

inline bool same_class(const Dataset& data, std::size_t i, std::size_t j) {
  return i == j || (data.labels->ids[i] >= 0 && data.labels->ids[i] == data.labels->ids[j]);
}

inline double largest_difference(const Dense& a, const Dense& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::abs(a[i] - b[i]) <= most ? most : std::abs(a[i] - b[i]);
  return most;
}

// J K J.
inline Dense centred(const Dense& k) {
  const auto n = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(k.size()))));
  std::vector<double> mean(n, 0.0);
  double all = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) mean[i] += k[i * n + j] / static_cast<double>(n);
    all += mean[i] / static_cast<double>(n);
  }
  return dense(n, [&](std::size_t i, std::size_t j) { return k[i * n + j] - mean[i] - mean[j] + all; });
}

// ΦΦᵀ - ΨΨᵀ.
inline Dense product(const KernelFactor& factor) {
  const auto sum = [](const FloatMatrix& m, std::size_t i, std::size_t j) {
    double total = 0;
    for (std::size_t k = 0; k < m.cols(); ++k) total += static_cast<double>(m(i, k)) * m(j, k);
    return total;
  };
  return dense(factor.phi.rows(),
               [&](std::size_t i, std::size_t j) { return sum(factor.phi, i, j) - sum(factor.psi, i, j); });
}

}  // namespace cpfm::test
