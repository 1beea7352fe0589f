#include <algorithm>

#include "base/memory.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "kernel_fixture.hpp"

namespace cpfm {
namespace {

using namespace test;

// What is left of K on the diagonal, and as a share of the trace.
void expect_as_promised(const Dense& k, const KernelFactor& factor, double tolerance) {
  const std::size_t n = factor.phi.rows();
  const Dense approximation = product(factor);
  double trace = 0, left = 0, most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double residual = k[i * n + i] - approximation[i * n + i];
    trace += k[i * n + i];
    left += residual;
    most = std::max(most, residual);
  }
  EXPECT_NEAR(factor.explained, 1 - left / trace, tolerance);
  EXPECT_NEAR(factor.max_residual, most, tolerance * trace / static_cast<double>(n));
  // |K_ij - (ΦΦᵀ)_ij| ≤ the largest residual, because what is left is positive.
  EXPECT_LE(largest_difference(k, approximation), most + 10 * tolerance * trace / static_cast<double>(n));
}

TEST(KernelTimes, EqualsTheDenseProduct) {
  const Dataset data = random_data(777, 5, 4, true);
  for (const char* expression : {"heat", "heat*label", "label", "heat-property(mu)"}) {
    const auto kernel = make_kernel(expression, data);
    const Dense k = dense(*kernel);
    std::vector<double> m(777 * 3);
    for (std::size_t i = 0; i < m.size(); ++i) m[i] = std::sin(static_cast<double>(i));
    const std::vector<double> product = kernel_times(*kernel, MatrixView<const double>{m.data(), 777, 3});
    const std::vector<double> weights(777, 1.0 / 777), w = kernel_times(*kernel, weights);
    for (std::size_t i = 0; i < 777; ++i) {
      double mean = 0, sums[3] = {};
      for (std::size_t j = 0; j < 777; ++j) {
        mean += k[i * 777 + j] / 777;
        for (std::size_t t = 0; t < 3; ++t) sums[t] += k[i * 777 + j] * m[j * 3 + t];
      }
      ASSERT_NEAR(w[i], mean, 1e-12);
      for (std::size_t t = 0; t < 3; ++t) ASSERT_NEAR(product[i * 3 + t], sums[t], 1e-9);
    }
  }
}

TEST(KernelTimes, RefusesWhatDoesNotFit) {
  const Dataset data = random_data(20, 2);
  const auto kernel = make_kernel("heat", data);
  EXPECT_CONTAINS(error_of([&] { kernel_times(*kernel, std::vector<double>(19, 1.0)); }),
                  "19 are given for a kernel on 20 samples");
  EXPECT_CONTAINS(error_of([&] { kernel_times(*kernel, std::vector<double>(20, NAN)); }),
                  "the sum over row 1 of the kernel is nan");
}

TEST(KernelFactor, ReproducesPositiveKernels) {
  const Dataset data = random_data(400, 4, 3, true);
  for (const char* expression : {"heat", "heat(0.7)", "heat*label", "linear", "cosine+0.5*property(mu, exp)", "label",
                                 "heat*label+label", "2"}) {
    SCOPED_TRACE(expression);
    const auto kernel = make_kernel(expression, data);
    const Dense k = dense(*kernel);
    for (const double share : {0.5, 0.9, 0.99, 1.0}) {
      const KernelFactor factor = factor_kernel(*kernel, {.explained = share});
      EXPECT_FALSE(factor.centred);
      EXPECT_EQ(factor.psi.cols(), 0u);
      EXPECT_GE(factor.explained, std::min(share, 1 - 1e-5));
      EXPECT_EQ(factor.pivots.size(), factor.phi.cols());
      expect_as_promised(k, factor, 3e-6);
      std::vector<std::size_t> pivots = factor.pivots;
      std::sort(pivots.begin(), pivots.end());
      EXPECT_TRUE(std::adjacent_find(pivots.begin(), pivots.end()) == pivots.end()) << "a pivot came twice";
      EXPECT_LE(pivots.back(), 399u);
    }
  }
}

TEST(KernelFactor, IsTriangularOnItsPivots) {
  const Dataset data = random_data(300, 4, 3);
  for (const char* expression : {"heat", "heat*label"}) {
    const KernelFactor factor = factor_kernel(*make_kernel(expression, data), {.explained = 0.98});
    for (std::size_t k = 0; k < factor.pivots.size(); ++k) {
      EXPECT_GT(factor.phi(factor.pivots[k], k), 0);
      for (std::size_t l = k + 1; l < factor.pivots.size(); ++l) EXPECT_EQ(factor.phi(factor.pivots[k], l), 0);
    }
  }
}

TEST(KernelFactor, FindsTheNumericalRank) {
  const auto rank = [](const char* expression, const Dataset& data) {
    return factor_kernel(*make_kernel(expression, data), {.explained = 1}).phi.cols();
  };
  EXPECT_EQ(rank("linear", random_data(500, 10)), 10u);
  EXPECT_EQ(rank("linear", random_data(500, 100)), 100u);
  EXPECT_EQ(rank("linear", random_data(40, 100)), 40u);
  EXPECT_EQ(rank("linear", random_data(900, 3, 2, false, 100.0f)), 3u);
  EXPECT_EQ(rank("linear+5", random_data(300, 7)), 8u);
  EXPECT_EQ(rank("label", random_data(300, 2, 6)), 6u);
  EXPECT_EQ(rank("linear*label", random_data(300, 4, 6)), 24u);
  EXPECT_EQ(rank("2", random_data(300, 4)), 1u);
}

TEST(KernelFactor, NeedsNoMoreColumnsThanOneAtATime) {
  const Dataset data = random_data(600, 6, 3);
  for (const char* expression : {"heat", "heat(1)", "heat*label", "linear"}) {
    SCOPED_TRACE(expression);
    const auto kernel = make_kernel(expression, data);
    Dense k = dense(*kernel);
    const std::size_t n = 600;
    const auto trace = [&] {
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += k[i * n + i];
      return sum;
    };
    const double all = trace();
    std::size_t greedy = 0;
    for (; trace() > 0.05 * all; ++greedy) {
      std::size_t pivot = 0;
      for (std::size_t i = 1; i < n; ++i) pivot = k[i * n + i] > k[pivot * n + pivot] ? i : pivot;
      const std::vector<double> column(k.begin() + static_cast<std::ptrdiff_t>(pivot * n),
                                       k.begin() + static_cast<std::ptrdiff_t>((pivot + 1) * n));
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) k[i * n + j] -= column[i] * column[j] / column[pivot];
      }
    }
    EXPECT_LE(static_cast<double>(factor_kernel(*kernel).phi.cols()), 1.1 * static_cast<double>(greedy) + 1);
  }
}

TEST(KernelFactor, StopsAtTheCap) {
  const Dataset data = random_data(300, 5, 3);
  for (const char* expression : {"heat(0.5)", "heat(0.5)*label"}) {
    const auto kernel = make_kernel(expression, data);
    for (const std::size_t cap : {1u, 7u, 50u}) {
      const KernelFactor factor = factor_kernel(*kernel, {.explained = 1, .max_rank = cap});
      EXPECT_EQ(factor.phi.cols(), cap);
      EXPECT_LT(factor.explained, 1);
      expect_as_promised(dense(*kernel), factor, 3e-6);
    }
  }
  EXPECT_LE(factor_kernel(*make_kernel("euclidean2", data), {.explained = 1, .max_rank = 3}).phi.cols(), 3u);
}

TEST(KernelFactor, CentresConditionallyPositiveKernels) {
  Dataset data = random_data(350, 8, 3, false, 2.0f);
  const KernelFactor factor = factor_kernel(*make_kernel("-euclidean2", data), {.explained = 1});
  EXPECT_TRUE(factor.centred);
  EXPECT_EQ(factor.phi.cols(), 8u);
  EXPECT_EQ(factor.psi.cols(), 0u);
  const Dense twice = centred(dense(350, [&](std::size_t i, std::size_t j) { return 2 * inner(data, i, j); }));
  EXPECT_LE(largest_difference(product(factor), twice), 1e-3);
  expect_as_promised(twice, factor, 1e-5);
  const auto negabs = make_kernel("property(mu, negabs)", data);
  expect_as_promised(centred(dense(*negabs)), factor_kernel(*negabs, {.explained = 0.95}), 1e-5);
  const auto mixed = make_kernel("heat*label-0.1*euclidean2", data);
  expect_as_promised(centred(dense(*mixed)), factor_kernel(*mixed, {.explained = 0.9}), 1e-5);
}

TEST(SignedFactor, ReproducesKernelsOfMixedSign) {
  const Dataset data = random_data(260, 5, 3);
  for (const char* expression :
       {"property(mu)", "0.5*heat+0.5*property(mu)", "euclidean2", "-heat", "knn(6)", "heat-label"}) {
    SCOPED_TRACE(expression);
    const auto kernel = make_kernel(expression, data);
    const Dense k = centred(dense(*kernel));
    double norm2 = 0;
    for (const double value : k) norm2 += value * value;
    for (const double share : {0.8, 0.99, 1.0}) {
      const KernelFactor factor = factor_kernel(*kernel, {.explained = share});
      EXPECT_TRUE(factor.centred);
      EXPECT_TRUE(factor.pivots.empty());
      EXPECT_GE(factor.explained, std::min(share, 1 - 1e-5));
      const Dense approximation = product(factor);
      double left = 0;
      for (std::size_t i = 0; i < k.size(); ++i) left += (k[i] - approximation[i]) * (k[i] - approximation[i]);
      EXPECT_NEAR(factor.explained, 1 - left / norm2, 1e-5);
    }
  }
  const KernelFactor euclidean = factor_kernel(*make_kernel("euclidean2", data), {.explained = 1});
  EXPECT_EQ(euclidean.phi.cols(), 0u);
  EXPECT_EQ(euclidean.psi.cols(), 5u);
}

TEST(SignedFactor, StopsAtTheCap) {
  const Dataset data = random_data(200, 5);
  const KernelFactor factor =
      factor_kernel(*make_kernel("0.5*heat+0.5*property(mu)", data), {.explained = 1, .max_rank = 20});
  EXPECT_LE(factor.phi.cols() + factor.psi.cols(), 20u);
  EXPECT_LT(factor.explained, 1);
}

TEST(KernelFactor, HasTheSameBitsForAnyNumberOfThreads) {
  const Dataset data = random_data(1100, 9, 4, true);
  for (const char* expression : {"heat*label", "heat", "-euclidean2", "property(gap)-heat"}) {
    SCOPED_TRACE(expression);
    std::vector<std::vector<float>> phis, psis;
    std::vector<std::vector<double>> sums;
    for (const int count : {1, 2, 4}) {
      set_threads(count);
      const auto kernel = make_kernel(expression, data);
      sums.push_back(kernel_times(*kernel, std::vector<double>(1100, 1.0 / 1100)));
      const KernelFactor factor = factor_kernel(*kernel, {.explained = 0.9});
      phis.emplace_back(factor.phi.values().begin(), factor.phi.values().end());
      psis.emplace_back(factor.psi.values().begin(), factor.psi.values().end());
    }
    set_threads(0);
    for (int other : {1, 2}) {
      EXPECT_EQ(phis[0], phis[static_cast<std::size_t>(other)]);
      EXPECT_EQ(psis[0], psis[static_cast<std::size_t>(other)]);
      EXPECT_EQ(sums[0], sums[static_cast<std::size_t>(other)]);
    }
  }
}

BlockFunction fills(std::function<float(std::size_t, std::size_t)> value) {
  return [value](std::span<const std::size_t> columns, std::size_t begin, std::size_t end, MatrixView<float> out) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      for (std::size_t i = begin; i < end; ++i) out(c, i - begin) = value(i, columns[c]);
    }
  };
}

// min(i, j) + 1 is the covariance of a random walk.
float walk(std::size_t i, std::size_t j) { return static_cast<float>(std::min(i, j) + 1); }

TEST(UserKernel, IsUsedLikeAnyOther) {
  const auto kernel = make_kernel(333, fills(walk), Definiteness::kPositive, "walk");
  EXPECT_EQ(kernel->expression(), "walk");
  EXPECT_FALSE(kernel->extends());
  const std::vector<double> w = kernel_times(*kernel, std::vector<double>(333, 1.0));
  EXPECT_DOUBLE_EQ(w[0], 333);
  EXPECT_DOUBLE_EQ(w[332], 333.0 * 334 / 2);
  const KernelFactor factor = factor_kernel(*kernel, {.explained = 0.99});
  expect_as_promised(dense(*kernel), factor, 3e-6);
  const KernelFactor of_unknown =
      factor_kernel(*make_kernel(333, fills(walk), Definiteness::kUnknown, "walk"), {.explained = 0.999});
  EXPECT_TRUE(of_unknown.centred);
  EXPECT_EQ(of_unknown.psi.cols(), 0u);
}

// A kernel with groups that knows nothing of the library's own ways.
class Halves final : public Kernel {
 public:
  Halves() {
    for (std::size_t i = 0; i < 200; ++i) groups_.push_back(static_cast<std::int64_t>(i % 2));
  }
  std::size_t size() const override { return 200; }
  void block(std::span<const std::size_t> columns, std::size_t begin, std::size_t end,
             MatrixView<float> out) const override {
    fills([](std::size_t i, std::size_t j) { return i % 2 == j % 2 ? walk(i / 2, j / 2) : 0.0f; })(columns, begin, end,
                                                                                                   out);
  }
  void diagonal(std::span<float> out) const override {
    for (std::size_t i = 0; i < 200; ++i) out[i] = walk(i / 2, i / 2);
  }
  std::string expression() const override { return "halves"; }
  Definiteness definiteness() const override { return Definiteness::kPositive; }
  std::span<const std::int64_t> groups() const override { return groups_; }

 private:
  std::vector<std::int64_t> groups_;
};

TEST(UserKernel, MayHaveGroups) {
  const Halves kernel;
  expect_as_promised(dense(kernel), factor_kernel(kernel, {.explained = 0.99}), 3e-6);
  EXPECT_DOUBLE_EQ(kernel_times(kernel, std::vector<double>(200, 1.0))[1], 100);
}

TEST(KernelFactor, RefusesBadInput) {
  const Dataset data = random_data(30, 3);
  const auto heat = make_kernel("heat", data);
  for (const double share : {0.0, -0.5, 1.5, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    EXPECT_CONTAINS(error_of([&] { factor_kernel(*heat, {.explained = share}); }), "it is above 0 and at most 1");
  }
  const auto problem = [&](const std::string& expression) {
    return error_of([&] { factor_kernel(*make_kernel(expression, data)); });
  };
  EXPECT_CONTAINS(problem("0*heat"), "0*heat(sigma=");
  EXPECT_CONTAINS(problem("0*heat"), "the kernel is zero for all samples");
  EXPECT_CONTAINS(problem("-3"), "the same for all pairs");
  EXPECT_CONTAINS(problem("0*euclidean2"), "the kernel is zero for all samples");
  EXPECT_CONTAINS(problem("0.1-0.2"), "the same for all pairs");
  const auto of_function = [](std::function<float(std::size_t, std::size_t)> value, Definiteness sign) {
    return error_of([&] { factor_kernel(*make_kernel(40, fills(value), sign, "mine")); });
  };
  EXPECT_CONTAINS(
      of_function([](std::size_t i, std::size_t j) { return i == j ? 1.0f : 2.0f; }, Definiteness::kPositive),
      "mine: the kernel is not positive");
  EXPECT_CONTAINS(
      of_function([](std::size_t i, std::size_t j) { return i == j ? -1.0f : 0.0f; }, Definiteness::kPositive),
      "mine: the kernel is");
  EXPECT_CONTAINS(of_function([](std::size_t i, std::size_t j) { return i == j        ? 1.0f
                                                                        : i + j == 20 ? NAN
                                                                                      : 0.0f; },
                              Definiteness::kPositive),
                  "mine: ");
  EXPECT_CONTAINS(of_function([](std::size_t i, std::size_t j) { return i == j        ? 1.0f
                                                                        : i + j == 20 ? NAN
                                                                                      : 0.0f; },
                              Definiteness::kUnknown),
                  "the sum over row 1 of the kernel is nan");
  EXPECT_CONTAINS(
      of_function([](std::size_t i, std::size_t) { return i == 3 ? INFINITY : 1.0f; }, Definiteness::kPositive),
      "sample 4 with itself is inf");
  EXPECT_CONTAINS(of_function([](std::size_t, std::size_t) { return 0.1f; }, Definiteness::kUnknown),
                  "the same for all pairs");
  EXPECT_CONTAINS(error_of([&] { make_kernel(0, fills(walk), Definiteness::kPositive, "mine"); }),
                  "at least one sample");
  EXPECT_CONTAINS(error_of([&] { make_kernel(3, BlockFunction{}, Definiteness::kPositive, "mine"); }), "is empty");
}

TEST(RequireMemory, SaysHowMuchIsMissing) {
  require_memory(1e3, "--kernel", "a small thing");
  EXPECT_CONTAINS(error_of([] { require_memory(1e18, "--kernel", "a factor of 9 × 9", "explain less"); }),
                  "--kernel: a factor of 9 × 9 needs 1000000 TB, and ");
}

TEST(KernelFactor, EndsAtAnInterrupt) {
  const Dataset data = random_data(100, 3);
  const auto kernel = make_kernel("heat", data);
  request_interrupt();
  EXPECT_THROW(kernel_times(*kernel, std::vector<double>(100, 1.0)), Interrupted);
  EXPECT_THROW(factor_kernel(*kernel), Interrupted);
  clear_interrupt();
}

struct Counting final : Progress {
  void start(const std::string& label, std::uint64_t, const std::string&) override { labels.push_back(label); }
  void update(std::uint64_t, const std::string&) override { ++updates; }
  void finish() override { ++finished; }
  std::vector<std::string> labels;
  int updates = 0, finished = 0;
};

TEST(KernelFactor, TellsItsProgress) {
  const Dataset data = random_data(300, 3);
  Counting progress;
  const auto kernel = make_kernel("heat", data, &progress);
  kernel_times(*kernel, std::vector<double>(300, 1.0), &progress);
  factor_kernel(*kernel, {}, &progress);
  EXPECT_EQ(progress.labels, (std::vector<std::string>{"mean distance", "kernel sums", "kernel factor"}));
  EXPECT_GE(progress.updates, 3);
  EXPECT_EQ(progress.finished, 3);
}

}  // namespace
}  // namespace cpfm
