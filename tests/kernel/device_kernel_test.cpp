// Kernels, their products and factors on a device against the CPU. How kernels are described is tested everywhere; the
// rest needs a CUDA device and is skipped, loudly, where there is none.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "cpfm/interrupt.hpp"
#include "cuda/device.hpp"
#include "cuda/factor_times.hpp"
#include "cuda/memory.hpp"
#include "kernel/on_device.hpp"
#include "kernel_fixture.hpp"
#include "support/device.hpp"

namespace cpfm {
namespace {

using namespace test;

// What a description says of two samples, in double.
double described(const DeviceDescription& description, std::size_t i, std::size_t j) {
  using Kind = DeviceFactor::Kind;
  double sum = 0;
  for (const DeviceTerm& term : description.terms) {
    double product = term.weight;
    for (const DeviceFactor& factor : term.factors) {
      const bool vectors = factor.kind <= Kind::kTanimoto,
                 scalars = factor.kind != Kind::kDot && factor.kind != Kind::kLabel;
      double dot = 0, a = 0, b = 0;
      if (vectors) {
        const DeviceDescription::Table& table = description.tables.at(factor.table);
        for (std::size_t k = 0; k < table.dim; ++k)
          dot += static_cast<double>(table.values[i * table.dim + k]) * table.values[j * table.dim + k];
      }
      if (scalars) {
        a = description.scalars.at(factor.scalar).at(i);
        b = description.scalars.at(factor.scalar).at(j);
      }
      const double distance2 = i == j ? 0 : std::max(0.0, a + b - 2 * dot), distance = std::abs(a - b);
      switch (factor.kind) {
        case Kind::kHeat:
          product *= std::exp(-distance2 * static_cast<double>(factor.rate));
          break;
        case Kind::kDistance2:
          product *= distance2;
          break;
        case Kind::kDot:
          product *= dot;
          break;
        case Kind::kCosine:
          product *= i == j ? 1 : dot * a * b;
          break;
        case Kind::kTanimoto:
          product *= a + b - dot == 0 ? 1 : dot / (a + b - dot);
          break;
        case Kind::kLabel:
          product *= description.labels.at(factor.labels).at(i) == description.labels.at(factor.labels).at(j) ? 1 : 0;
          break;
        case Kind::kAbs:
          product *= distance;
          break;
        case Kind::kNegAbs:
          product *= -distance;
          break;
        case Kind::kExp:
          product *= std::exp(-distance * static_cast<double>(factor.rate));
          break;
      }
    }
    sum += product;
  }
  return sum;
}

const char* const kExpressions[] = {"heat(1.5)",
                                    "heat(3)*label",
                                    "label",
                                    "linear",
                                    "cosine",
                                    "euclidean2",
                                    "property(mu)",
                                    "property(gap, negabs)",
                                    "property(mu, exp, scale=0.7)",
                                    "-2.5",
                                    "0.5*heat(2)+0.5*property(mu, exp, scale=1)",
                                    "heat(2)*label-0.1*euclidean2",
                                    "(heat(2)+2*cosine)*(label+3*property(gap, negabs))"};

Dataset binary_data(std::size_t n, std::size_t d) {
  Dataset data = random_data(n, d);
  for (std::size_t i = 0; i < n * d; ++i) data.samples.data()[i] = data.samples.data()[i] > 0.6f ? 1.0f : 0.0f;
  for (std::size_t k = 0; k < d; ++k) data.samples(0, k) = data.samples(n / 2, k) = 0;  // two are empty
  return data;
}

void expect_described(const Kernel& kernel) {
  SCOPED_TRACE(kernel.expression());
  const std::optional<DeviceDescription> description = describe_kernel(kernel);
  ASSERT_TRUE(description);
  EXPECT_EQ(description->n, kernel.size());
  EXPECT_TRUE(std::ranges::equal(description->groups, kernel.groups()));
  const Dense k = dense(kernel);
  const Dense found = dense(kernel.size(), [&](std::size_t i, std::size_t j) { return described(*description, i, j); });
  double most = 0;
  for (const double value : k) most = std::max(most, std::abs(value));
  EXPECT_LE(largest_difference(k, found), 1e-5 * most);
}

TEST(DescribeKernel, SaysWhatTheKernelIs) {
  for (const float offset : {0.0f, 20.0f}) {
    const Dataset data = random_data(60, 4, 3, true, offset);
    for (const char* expression : kExpressions) expect_described(*make_kernel(expression, data));
  }
  const Dataset fingerprints = binary_data(50, 70);
  for (const char* expression : {"tanimoto", "0.5*tanimoto+0.5*property(mu)", "tanimoto*heat(4)"})
    expect_described(*make_kernel(expression, fingerprints));
}

TEST(DescribeKernel, NamesEveryTableOnce) {
  const Dataset near = random_data(40, 3), far = random_data(40, 3, 3, false, 50.0f);
  const auto tables = [](const char* expression, const Dataset& data) {
    return describe_kernel(*make_kernel(expression, data))->tables.size();
  };
  EXPECT_EQ(tables("heat(1)*euclidean2+linear*heat(2)", near), 1u);
  EXPECT_EQ(tables("heat(1)*euclidean2+linear*heat(2)", far), 2u);  // distances are taken about the mean
  EXPECT_EQ(tables("label", near), 0u);
}

TEST(DescribeKernel, LeavesOthersToTheCpu) {
  const Dataset data = random_data(40, 3);
  for (const char* expression : {"knn(3)", "heat(1)+knn(3)", "label*knn(3)"})
    EXPECT_FALSE(describe_kernel(*make_kernel(expression, data))) << expression;
  std::string longest = "heat(1)";
  for (int i = 2; i <= 9; ++i) longest += "+heat(" + std::to_string(i) + ")";
  EXPECT_FALSE(describe_kernel(*make_kernel(longest, data)));
  EXPECT_FALSE(describe_kernel(*make_kernel("(1+heat(1))*(1+heat(2))*(1+heat(3))*(1+heat(4))", data)));
  const auto mine = make_kernel(
      3, [](auto, std::size_t, std::size_t, MatrixView<float> out) { std::fill_n(out.data, out.size(), 1.0f); },
      Definiteness::kPositive, "mine");
  EXPECT_FALSE(describe_kernel(*mine));
}

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (!device.is_cuda())
      GTEST_SKIP() << "THERE IS NO CUDA DEVICE (" << cuda_facts().why_none << "): the GPU's kernels are not tested";
  }
  const Device device = test::any_cuda();
};
using DeviceTimes = OnDevice;
using DeviceFactorisation = OnDevice;
using DeviceFactorProduct = OnDevice;

std::vector<double> waves(std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(0.7 * static_cast<double>(i) + 0.3);
  return values;
}

// K M on the device against double loops over the CPU's K: what differs is float rounding of K, relative to the size of
// the entries and of the numbers that these come from.
void expect_times(const Kernel& kernel, std::size_t d, Device device) {
  SCOPED_TRACE(kernel.expression() + ", n " + std::to_string(kernel.size()) + ", d " + std::to_string(d));
  const std::size_t n = kernel.size();
  const std::vector<double> m = waves(n * d);
  const std::vector<double> product = kernel_times(kernel, MatrixView<const double>{m.data(), n, d}, nullptr, device);
  ASSERT_EQ(product.size(), n * d);
  const Dense k = dense(kernel);
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t t = 0; t < d; ++t) {
      double sum = 0, size = std::abs(k[i * n + i]);
      for (std::size_t j = 0; j < n; ++j) {
        sum += k[i * n + j] * m[j * d + t];
        size += std::abs(k[i * n + j] * m[j * d + t]);
      }
      worst = std::max(worst, std::abs(product[i * d + t] - sum) / std::max(size, 1e-30));
    }
  }
  EXPECT_LE(worst, 1e-5);
}

TEST_F(DeviceTimes, EqualsTheCpuForEveryKernel) {
  for (const float offset : {0.0f, 20.0f}) {
    const Dataset data = random_data(300, 5, 3, true, offset);
    for (const char* expression : kExpressions) expect_times(*make_kernel(expression, data), 3, device);
    expect_times(*make_kernel("heat(2)*linear", data), 2, device);  // two tables where the offset is large
  }
  const Dataset fingerprints = binary_data(200, 130);
  for (const char* expression : {"tanimoto", "tanimoto*label", "tanimoto*heat(4)"})
    expect_times(*make_kernel(expression, fingerprints), 2, device);
}

TEST_F(DeviceTimes, EqualsTheCpuForEverySize) {
  for (const std::size_t n : {1u, 2u, 127u, 129u, 1000u}) {
    for (const std::size_t dim : {1u, 2u, 3u, 64u, 785u}) {
      const Dataset data = random_data(n, dim, 3, n == 129);
      const double sigma = std::sqrt(2.0 * static_cast<double>(dim));
      const std::string heat = "heat(" + std::to_string(sigma) + ")";
      expect_times(*make_kernel(heat, data), 1, device);
      expect_times(*make_kernel(heat + "*label", data), 2, device);
    }
  }
}

// A block of threads goes along more than one tile of columns.
TEST_F(DeviceTimes, EqualsTheCpuForManySamples) {
  const Dataset data = random_data(2500, 2, 2, false, 20.0f);
  for (const char* expression : {"heat(2)", "heat(2)*linear", "property(mu, exp, scale=1)", "heat(2)*label"})
    expect_times(*make_kernel(expression, data), 2, device);
}

TEST_F(DeviceTimes, TakesAnyNumberOfColumns) {
  const Dataset data = random_data(150, 3);
  for (const std::size_t d : {1u, 2u, 3u, 4u, 5u, 6u, 8u, 9u, 10u, 20u})
    expect_times(*make_kernel("heat(1)*label+linear", data), d, device);
  EXPECT_TRUE(
      kernel_times(*make_kernel("label", data), MatrixView<const double>{nullptr, 150, 0}, nullptr, device).empty());
}

TEST_F(DeviceTimes, TakesManyGroups) {
  Dataset data = random_data(700, 3, 300, true);
  expect_times(*make_kernel("heat(1)*label", data), 2, device);
  for (int& id : data.labels->ids) id = -1;  // everyone alone
  expect_times(*make_kernel("heat(1)*label", data), 1, device);
  Dataset many = random_data(9000, 1, 1);  // more than one launch takes
  for (int& id : many.labels->ids) id = -1;
  const std::vector<double> m = waves(9000);
  EXPECT_EQ(kernel_times(*make_kernel("label", many), m, nullptr, device), m);
}

TEST_F(DeviceTimes, HasTheSameBytesTwice) {
  const Dataset data = random_data(900, 20, 2);
  const std::vector<double> m = waves(900 * 2);
  for (const char* expression : {"heat(4)", "heat(4)*label"}) {
    const auto kernel = make_kernel(expression, data);
    const auto once = kernel_times(*kernel, MatrixView<const double>{m.data(), 900, 2}, nullptr, device);
    EXPECT_EQ(once, kernel_times(*kernel, MatrixView<const double>{m.data(), 900, 2}, nullptr, device));
  }
}

TEST_F(DeviceTimes, ServesSomeOfTheSamples) {
  const Dataset data = random_data(400, 6, 3, true);
  const auto kernel = make_kernel("heat(2)*label", data);
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < 400; i += 3) rows.push_back(399 - i);
  const DeviceKernel whole(device, *describe_kernel(*kernel)), part(whole, rows);
  ASSERT_EQ(part.size(), rows.size());
  const std::vector<double> m = waves(rows.size() * 2);
  std::vector<double> product(rows.size() * 2);
  part.times(m.data(), 2, product.data());
  const Dense k = dense(*kernel);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t t = 0; t < 2; ++t) {
      double sum = 0;
      for (std::size_t j = 0; j < rows.size(); ++j) sum += k[rows[i] * 400 + rows[j]] * m[j * 2 + t];
      EXPECT_NEAR(product[i * 2 + t], sum, 1e-5 * static_cast<double>(rows.size()));
    }
  }
}

TEST_F(DeviceTimes, RefusesAndEndsAsTheCpuDoes) {
  const Dataset data = random_data(100, 3);
  const auto kernel = make_kernel("heat(1)", data);
  EXPECT_CONTAINS(error_of([&] { kernel_times(*kernel, std::vector<double>(99, 1.0), nullptr, device); }),
                  "99 are given for a kernel on 100 samples");
  EXPECT_CONTAINS(error_of([&] { kernel_times(*kernel, std::vector<double>(100, NAN), nullptr, device); }),
                  "the sum over row 1 of the kernel is nan");
  request_interrupt();
  EXPECT_THROW(kernel_times(*kernel, std::vector<double>(100, 1.0), nullptr, device), Interrupted);
  EXPECT_THROW(factor_kernel(*kernel, {.device = device}), Interrupted);
  clear_interrupt();
}

// The factor reproduces K as well as it says, as the CPU's does, and both say the same.
void expect_factor(const Kernel& kernel, const FactorOptions& wanted, Device device) {
  SCOPED_TRACE(kernel.expression() + ", n " + std::to_string(kernel.size()));
  FactorOptions options = wanted;
  const KernelFactor on_cpu = factor_kernel(kernel, options);
  options.device = device;
  const KernelFactor factor = factor_kernel(kernel, options);
  const std::size_t n = kernel.size();
  EXPECT_EQ(factor.centred, on_cpu.centred);
  EXPECT_EQ(factor.psi.cols(), 0u);
  ASSERT_EQ(factor.phi.rows(), n);
  EXPECT_EQ(factor.pivots.size(), factor.phi.cols());
  if (wanted.max_rank == 0) {
    EXPECT_NEAR(factor.explained, on_cpu.explained, 1e-4 + 0.2 * (1 - on_cpu.explained));
    EXPECT_GE(factor.explained, std::min(options.explained, 1 - 1e-5));
  }
  EXPECT_NEAR(static_cast<double>(factor.phi.cols()), static_cast<double>(on_cpu.phi.cols()),
              2 + 0.05 * static_cast<double>(on_cpu.phi.cols()));

  const Dense k = factor.centred ? centred(dense(kernel)) : dense(kernel), approximation = product(factor);
  double trace = 0, left = 0, most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double residual = k[i * n + i] - approximation[i * n + i];
    trace += k[i * n + i];
    left += residual;
    most = std::max(most, residual);
  }
  EXPECT_NEAR(factor.explained, 1 - left / trace, 1e-5);
  const double slack = 1e-4 * trace / static_cast<double>(n);
  EXPECT_NEAR(factor.max_residual, most, slack);
  EXPECT_LE(largest_difference(k, approximation), most + slack);
  EXPECT_LE(largest_difference(product(on_cpu), approximation), factor.max_residual + on_cpu.max_residual + 2 * slack);
  for (std::size_t a = 0; a < factor.pivots.size(); ++a) {
    EXPECT_GT(factor.phi(factor.pivots[a], a), 0);
    for (std::size_t b = a + 1; b < factor.pivots.size(); ++b) EXPECT_EQ(factor.phi(factor.pivots[a], b), 0);
  }

  // What stays on the device is what came back, and a second run brings the same.
  ASSERT_NE(factor.device_phi, nullptr);
  ASSERT_EQ(factor.device_phi->size(), factor.phi.size());
  const UseDevice use(device);
  const std::vector<float> there = factor.device_phi->values();
  EXPECT_EQ(std::memcmp(there.data(), factor.phi.data(), there.size() * sizeof(float)), 0);
  const KernelFactor again = factor_kernel(kernel, options);
  EXPECT_TRUE(std::ranges::equal(again.phi.values(), factor.phi.values()));
  EXPECT_EQ(again.pivots, factor.pivots);
}

TEST_F(DeviceFactorisation, EqualsTheCpu) {
  const Dataset data = random_data(400, 4, 3, true);
  for (const char* expression : {"heat(2)", "heat(0.7)", "heat(2)*label", "linear", "label", "heat(2)*label+label",
                                 "cosine+0.5*property(mu, exp, scale=1)", "2"}) {
    for (const double share : {0.9, 1.0}) expect_factor(*make_kernel(expression, data), {.explained = share}, device);
  }
  for (const std::size_t n : {1u, 2u, 127u, 129u, 700u})
    expect_factor(*make_kernel("heat(1)", random_data(n, 3)), {.explained = 0.999}, device);
}

TEST_F(DeviceFactorisation, CentresConditionallyPositiveKernels) {
  const Dataset data = random_data(350, 8, 3, false, 2.0f);
  for (const char* expression : {"-euclidean2", "property(mu, negabs)", "heat(3)*label-0.1*euclidean2"})
    expect_factor(*make_kernel(expression, data), {.explained = 0.95}, device);
}

TEST_F(DeviceFactorisation, FindsTheNumericalRank) {
  const auto rank = [&](const char* expression, const Dataset& data) {
    return factor_kernel(*make_kernel(expression, data), {.explained = 1, .device = device}).phi.cols();
  };
  EXPECT_EQ(rank("linear", random_data(500, 10)), 10u);
  EXPECT_EQ(rank("linear", random_data(500, 100)), 100u);
  EXPECT_EQ(rank("linear", random_data(40, 100)), 40u);
  EXPECT_EQ(rank("linear", random_data(900, 3, 2, false, 100.0f)), 3u);
  EXPECT_EQ(rank("-euclidean2", random_data(350, 8, 3, false, 2.0f)), 8u);
}

TEST_F(DeviceFactorisation, StopsAtTheCap) {
  const Dataset data = random_data(300, 5, 3);
  for (const char* expression : {"heat(0.5)", "heat(0.5)*label"}) {
    for (const std::size_t cap : {1u, 7u, 50u}) {
      const auto kernel = make_kernel(expression, data);
      EXPECT_EQ(factor_kernel(*kernel, {.explained = 1, .max_rank = cap, .device = device}).phi.cols(), cap);
      expect_factor(*kernel, {.explained = 1, .max_rank = cap}, device);
    }
  }
}

TEST_F(DeviceFactorisation, LeavesOthersToTheCpu) {
  const Dataset data = random_data(120, 4);
  for (const char* expression : {"knn(5)", "property(mu)-heat(1)"}) {
    const auto kernel = make_kernel(expression, data);
    const KernelFactor factor = factor_kernel(*kernel, {.explained = 0.9, .device = device});
    EXPECT_EQ(factor.device_phi, nullptr);
    EXPECT_NEAR(factor.explained, factor_kernel(*kernel, {.explained = 0.9}).explained, 1e-4);
  }
}

std::vector<float> wave_matrix(std::size_t count, double step) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(std::sin(step * static_cast<double>(i) + 1));
  return values;
}

TEST_F(DeviceFactorProduct, EqualsTheCpu) {
  struct Shape {
    std::size_t n, rank, negative, d;
  };
  for (const Shape& s : {Shape{1, 1, 0, 1}, Shape{2, 3, 1, 2}, Shape{127, 130, 0, 3}, Shape{1000, 64, 5, 9},
                         Shape{3000, 257, 0, 2}, Shape{40, 1, 2, 4}, Shape{333, 31, 33, 5}, Shape{333, 31, 0, 6},
                         Shape{65, 20, 0, 7}, Shape{65, 20, 7, 8}, Shape{100, 0, 9, 2}, Shape{50, 10, 3, 20}}) {
    SCOPED_TRACE("n " + std::to_string(s.n) + ", rank " + std::to_string(s.rank) + " - " + std::to_string(s.negative) +
                 ", d " + std::to_string(s.d));
    const std::vector<float> phi = wave_matrix(s.n * s.rank, 0.37), psi = wave_matrix(s.n * s.negative, 0.21);
    const std::vector<double> m = waves(s.n * s.d);
    std::vector<double> wanted(s.n * s.d, 0.0), size(s.n * s.d, 0.0);
    const auto add = [&](const std::vector<float>& factor, std::size_t rank, double sign) {
      for (std::size_t r = 0; r < rank; ++r) {
        for (std::size_t t = 0; t < s.d; ++t) {
          double a = 0, bound = 0;
          for (std::size_t i = 0; i < s.n; ++i) {
            a += static_cast<double>(factor[i * rank + r]) * m[i * s.d + t];
            bound += std::abs(static_cast<double>(factor[i * rank + r]) * m[i * s.d + t]);
          }
          for (std::size_t i = 0; i < s.n; ++i) {
            wanted[i * s.d + t] += sign * a * static_cast<double>(factor[i * rank + r]);
            size[i * s.d + t] += bound;
          }
        }
      }
    };
    add(phi, s.rank, 1);
    add(psi, s.negative, -1);
    std::vector<double> out(s.n * s.d, NAN), again(s.n * s.d, NAN);
    const DeviceFactorTimes times(device, s.n, {phi.data(), nullptr, s.rank}, {psi.data(), nullptr, s.negative});
    EXPECT_EQ(times.size(), s.n);
    times(m.data(), s.d, out.data());
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_NEAR(out[i], wanted[i], 1e-12 * size[i]) << i;
    times(m.data(), s.d, again.data());
    EXPECT_EQ(out, again);
  }
}

TEST_F(DeviceFactorProduct, TakesAFactorThatIsThereAlready) {
  const Dataset data = random_data(500, 4, 3);
  const auto kernel = make_kernel("heat(2)*label", data);
  const KernelFactor factor = factor_kernel(*kernel, {.explained = 0.99, .device = device});
  ASSERT_NE(factor.device_phi, nullptr);
  const std::vector<double> m = waves(500 * 2);
  std::vector<double> there(500 * 2), copied(500 * 2);
  DeviceFactorTimes(device, 500, {nullptr, factor.device_phi, factor.phi.cols()})(m.data(), 2, there.data());
  DeviceFactorTimes(device, 500, {factor.phi.data(), nullptr, factor.phi.cols()})(m.data(), 2, copied.data());
  EXPECT_EQ(there, copied);
}

}  // namespace
}  // namespace cpfm
