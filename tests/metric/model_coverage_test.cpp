// A model whose laws are known: what its coverage must be follows from them.
#include <gtest/gtest.h>

#include <cmath>

#include "cpfm/flow.hpp"
#include "cpfm/metric.hpp"
#include "metric/point_clouds.hpp"

namespace cpfm {
namespace {

using namespace test;

// In the plane, y ~ N(0, I) and x = (y + noise / 2) / √1.25, so that p(y | x) = N(x / √1.25, 0.2 I). What it says of
// itself may be wrong: the standard deviation of its p(y | x) is `width` times the right one, and where it is `deaf`
// its samples are those of places of its own.
class JointGaussian final : public FlowModel {
 public:
  explicit JointGaussian(double width = 1, bool deaf = false) : sd_(width * std::sqrt(0.2)), deaf_(deaf) {}

  const ModelFacts& facts() const override { return facts_; }
  std::string device() const override { return "cpu"; }

  FloatMatrix generate(MatrixView<const float> y, const SampleOptions& options) override {
    seed_of_samples = options.seed;
    FloatMatrix x(y.rows, 2);
    for (std::size_t i = 0; i < y.rows; ++i) {
      Rng rng(options.seed, 1, i);
      for (std::size_t k = 0; k < 2; ++k) {
        const double place = deaf_ ? rng.normal() : y(i, k);
        x(i, k) = static_cast<float>((place + 0.5 * rng.normal()) / std::sqrt(1.25));
      }
    }
    return x;
  }

  FloatMatrix embed(MatrixView<const float> x, std::size_t draws, const SampleOptions& options) override {
    seed_of_draws = options.seed;
    FloatMatrix y(x.rows * draws, 2);
    for (std::size_t i = 0; i < y.rows(); ++i) {
      Rng rng(options.seed, 2, i);
      for (std::size_t k = 0; k < 2; ++k) y(i, k) = static_cast<float>(mean(x(i / draws, k)) + sd_ * rng.normal());
    }
    return y;
  }

  std::vector<double> log_density(MatrixView<const float> x, MatrixView<const float> y, const SampleOptions&) override {
    std::vector<double> logs(x.rows);
    for (std::size_t i = 0; i < x.rows; ++i) {
      for (std::size_t k = 0; k < 2; ++k)
        logs[i] -= 0.5 * std::pow((y(i, k) - mean(x(i, k))) / sd_, 2) + std::log(sd_ * std::sqrt(2 * M_PI));
    }
    return logs;
  }

  FloatMatrix retrace(MatrixView<const float>, MatrixView<const float>, const SampleOptions&) override {
    throw Error("noise", "this model has none");
  }

  std::uint64_t seed_of_samples = 0, seed_of_draws = 0;

 private:
  static double mean(double x) { return x / std::sqrt(1.25); }

  double sd_;
  bool deaf_;
  ModelFacts facts_;
};

constexpr std::size_t kPlaces = 4000;
constexpr double kLevels[] = {0.5, 0.9};

std::vector<double> shares_of(JointGaussian model) {
  return model_coverage(model, normal_points(kPlaces, 2, 3).view(), {}, kLevels);
}

TEST(ModelCoverage, OfOneJointLawIsTheLevel) {
  const std::vector<double> shares = shares_of(JointGaussian());
  ASSERT_EQ(shares.size(), 2u);
  for (std::size_t l = 0; l < 2; ++l)
    EXPECT_NEAR(shares[l], kLevels[l], 3 * std::sqrt(kLevels[l] * (1 - kLevels[l]) / kPlaces));
}

// In the plane the region of level L of N(m, s² I) holds 1 - (1 - L)^(s²/t²) of N(m, t² I); few draws blur its border.
double held(double level, double variances) { return 1 - std::pow(1 - level, variances); }

TEST(ModelCoverage, OfAMapThatIsTooSureIsLess) {
  const std::vector<double> shares = shares_of(JointGaussian(0.5));
  EXPECT_NEAR(shares[0], held(0.5, 0.25), 0.03);  // 0.16
  EXPECT_NEAR(shares[1], held(0.9, 0.25), 0.03);  // 0.44
}

// A place is then off by itself and by the mean of another's sample: a variance of 1.8 where 0.2 is expected.
TEST(ModelCoverage, OfSamplesThatDoNotKeepToTheirPlaceIsLess) {
  const std::vector<double> shares = shares_of(JointGaussian(1, true));
  EXPECT_NEAR(shares[0], held(0.5, 1.0 / 9), 0.03);  // 0.07
  EXPECT_NEAR(shares[1], held(0.9, 1.0 / 9), 0.03);  // 0.23
}

TEST(ModelCoverage, DrawsHaveNoiseOfTheirOwn) {
  JointGaussian model;
  SampleOptions options;
  options.seed = 7;
  const FloatMatrix places = normal_points(10, 2, 3);
  const std::vector<double> shares = model_coverage(model, places.view(), options, kLevels);
  EXPECT_EQ(model.seed_of_samples, 7u);
  EXPECT_NE(model.seed_of_draws, 7u);
  const std::uint64_t of_seven = model.seed_of_draws;
  EXPECT_EQ(model_coverage(model, places.view(), options, kLevels), shares);
  EXPECT_EQ(model.seed_of_draws, of_seven);
  options.seed = 8;
  model_coverage(model, places.view(), options, kLevels);
  EXPECT_NE(model.seed_of_draws, of_seven);
}

TEST(ModelCoverage, NeedsAPlaceAndLevels) {
  JointGaussian model;
  const FloatMatrix places = normal_points(3, 2, 3);
  expect_error("places", {"none"}, [&] { model_coverage(model, {places.data(), 0, 2}, {}, kLevels); });
  expect_error("levels", {"between 0 and 1"},
               [&] { model_coverage(model, places.view(), {}, std::vector<double>{1.5}); });
}

}  // namespace
}  // namespace cpfm
