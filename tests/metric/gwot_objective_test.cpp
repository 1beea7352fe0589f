#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cpfm/kernel.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/parallel.hpp"
#include "metric/point_clouds.hpp"

namespace cpfm {
namespace {

using namespace test;

// K(i, j) = entry(i, j), which is symmetric.
std::unique_ptr<Kernel> kernel_of(std::size_t n, const std::function<double(std::size_t, std::size_t)>& entry) {
  return make_kernel(
      n,
      [entry](std::span<const std::size_t> columns, std::size_t begin, std::size_t end, MatrixView<float> out) {
        for (std::size_t c = 0; c < columns.size(); ++c) {
          for (std::size_t i = begin; i < end; ++i) out(c, i - begin) = static_cast<float>(entry(i, columns[c]));
        }
      },
      Definiteness::kUnknown, "test");
}

double by_definition(const std::function<double(std::size_t, std::size_t)>& entry, const FloatMatrix& y) {
  double sum = 0;
  for (std::size_t i = 0; i < y.rows(); ++i) {
    for (std::size_t j = 0; j < y.rows(); ++j) {
      double square = 0;
      for (std::size_t k = 0; k < y.cols(); ++k) square += std::pow(double(y(i, k)) - y(j, k), 2);
      sum += static_cast<float>(entry(i, j)) * square;
    }
  }
  return sum / std::pow(static_cast<double>(y.rows()), 2);
}

TEST(GwotObjective, IsTheSumOverPairs) {
  const auto entry = [](std::size_t i, std::size_t j) { return std::sin(0.3 * double(i * j)) + double(i + j) / 100; };
  for (const std::size_t n : {2u, 3u, 700u}) {
    const FloatMatrix y = normal_points(n, 3, n);
    const double known = by_definition(entry, y);
    EXPECT_NEAR(gwot_objective(*kernel_of(n, entry), y.view()), known, 1e-11 * (1 + std::abs(known)));
  }
}

TEST(GwotObjective, OfAConstantKernelIsTwiceTheVariance) {
  const FloatMatrix y = points_of(2, {1, 0, -1, 0, 0, 2, 0, -2});
  EXPECT_DOUBLE_EQ(gwot_objective(*kernel_of(4, [](auto, auto) { return 3; }), y.view()), 3 * 2 * 2.5);
}

TEST(GwotObjective, KeepsItsDigitsFarFromTheOrigin) {
  const auto entry = [](std::size_t i, std::size_t j) { return 1 / (1 + double(i + j)); };
  FloatMatrix y = normal_points(50, 2, 2), there(50, 2);
  for (std::size_t k = 0; k < y.size(); ++k) {
    y.data()[k] = std::round(y.data()[k] * 64) / 64;
    there.data()[k] = y.data()[k] + 65536;
  }
  const auto kernel = kernel_of(50, entry);
  EXPECT_NEAR(gwot_objective(*kernel, there.view()), gwot_objective(*kernel, y.view()), 1e-9);
}

TEST(GwotObjective, KnowsTheGroupsOfALabelKernel) {
  Dataset data;
  data.samples = normal_points(300, 4, 3);
  data.labels = Labels{{}, {"a", "b", "c"}};
  for (std::size_t i = 0; i < 300; ++i) data.labels->ids.push_back(static_cast<std::int32_t>(i * i % 3));
  const FloatMatrix y = normal_points(300, 2, 4);
  const auto entry = [&](std::size_t i, std::size_t j) {
    return data.labels->ids[i] == data.labels->ids[j] ? 1.0 : 0.0;
  };
  EXPECT_NEAR(gwot_objective(*make_kernel("label", data), y.view()), by_definition(entry, y), 1e-12);
}

TEST(GwotObjective, IsTheSameForAnyNumberOfThreads) {
  const auto kernel = kernel_of(900, [](std::size_t i, std::size_t j) { return std::cos(double(i) - double(j)); });
  const FloatMatrix y = normal_points(900, 2, 5);
  set_threads(1);
  const double one = gwot_objective(*kernel, y.view());
  set_threads(3);
  EXPECT_EQ(gwot_objective(*kernel, y.view()), one);
  set_threads(0);
}

TEST(GwotObjective, RefusesAnEmbeddingOfOtherSamples) {
  const auto kernel = kernel_of(5, [](auto, auto) { return 1; });
  expect_error("y", {"4 rows", "5 samples"}, [&] { gwot_objective(*kernel, normal_points(4, 2, 6).view()); });
  expect_error("y", {"at least two"}, [&] { gwot_objective(*kernel, normal_points(1, 2, 6).view()); });
  FloatMatrix y = normal_points(5, 2, 6);
  y(2, 1) = std::numeric_limits<float>::quiet_NaN();
  expect_error("y", {"row 3"}, [&] { gwot_objective(*kernel, y.view()); });
}

}  // namespace
}  // namespace cpfm
