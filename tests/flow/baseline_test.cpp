#include <gtest/gtest.h>

#include <cmath>

#include "baseline/latent_network.hpp"
#include "cpfm/flow.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/random.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using namespace test;

// Ten numbers, each of variance about one, that are a smooth function of two hidden ones, uniform on a square: a map of
// two dimensions can hold all there is to know.
FloatMatrix curved(std::size_t n, std::uint64_t stream) {
  FloatMatrix x(n, 10);
  for (std::size_t i = 0; i < n; ++i) {
    Rng rng(5, static_cast<std::uint32_t>(stream), i);
    const double a = 2 * rng.uniform() - 1, b = 2 * rng.uniform() - 1;
    const double values[] = {1.7 * a,
                             1.7 * b,
                             1.2 * (a + b),
                             1.2 * (a - b),
                             std::sin(3 * a) * 1.4,
                             std::cos(3 * b) * 1.4,
                             3 * a * b,
                             3 * (a * a - 0.33),
                             1.2 * std::sin(3 * (a + b)),
                             1.7 * a};
    for (std::size_t k = 0; k < 10; ++k) x(i, k) = static_cast<float>(values[k]);
  }
  return x;
}

// Sixty-four numbers, each of variance about one, that are waves along the sides of the same square; the first two have
// the signs of the hidden ones. So many outweigh a whole divergence.
FloatMatrix waves(std::size_t n, std::uint64_t stream) {
  FloatMatrix x(n, 64);
  for (std::size_t i = 0; i < n; ++i) {
    Rng rng(5, static_cast<std::uint32_t>(stream), i);
    const double sides[] = {2 * rng.uniform() - 1, 2 * rng.uniform() - 1};
    for (std::size_t k = 0; k < 64; ++k)
      x(i, k) = static_cast<float>(1.4 * std::sin(3 * sides[k % 2] + 0.7 * static_cast<double>(k / 2)));
  }
  return x;
}

TrainData alone(const FloatMatrix& x, const FloatMatrix& none) {
  TrainData data;
  data.samples = x.view();
  data.latent = none.view();
  data.pairs = [n = x.rows()](std::uint64_t) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t i = 0; i < n; ++i) pairs.emplace_back(i, 0);
    return pairs;
  };
  data.identity = {"curved", "", "none"};
  return data;
}

TrainOptions options_of(const std::string& method) {
  TrainOptions options;
  options.method = method;
  options.network.kind = "mlp";
  options.network.width = 96;
  options.network.depth = 2;
  options.device = "cpu";
  options.batch = 128;
  options.steps = 600;
  options.warmup = 20;
  options.learning_rate = 3e-3;
  options.ema = 0.99;
  return options;
}

std::unique_ptr<FlowModel> trained(const TempDir& dir, const TrainOptions& options, const FloatMatrix& x) {
  const FloatMatrix none(1, 2);
  const auto trainer = make_trainer(alone(x, none), options);
  while (trainer->step()) {
  }
  ModelFacts facts;
  facts.latent = "gaussian";
  trainer->save_model(dir / "m.cpfm", facts);
  return load_model(dir / "m.cpfm", "cpu");
}

// Mean squared error there and back, on samples the model has not seen.
double error_there_and_back(FlowModel& model, const FloatMatrix& x) {
  SampleOptions sampling;
  const FloatMatrix y = model.embed(x.view(), 1, sampling);
  return mean_squared_error(x.view(), model.generate(y.view(), sampling).view());
}

// The same, from the places of other samples: what is lost when the place says nothing.
double error_from_other_places(FlowModel& model, const FloatMatrix& x) {
  SampleOptions sampling;
  FloatMatrix y = model.embed(x.view(), 1, sampling);
  std::rotate(y.data(), y.data() + y.size() / 2, y.data() + y.size());
  return mean_squared_error(x.view(), model.generate(y.view(), sampling).view());
}

// Whether neighbours stay neighbours: how often the places nearest to that of a sample tell the signs of its first two
// numbers.
double quadrants_told_by_neighbours(FlowModel& model, const FloatMatrix& x) {
  SampleOptions mean;
  mean.temperature = 0;
  const FloatMatrix y = model.embed(x.view(), 1, mean);
  std::vector<std::int32_t> quadrant;
  for (std::size_t i = 0; i < x.rows(); ++i) quadrant.push_back((x(i, 0) > 0 ? 1 : 0) + (x(i, 1) > 0 ? 2 : 0));
  return agreement(nearest_labels(y.view(), quadrant, y.view(), 5, true), quadrant);
}

class Baseline : public ::testing::TestWithParam<const char*> {};

TEST_P(Baseline, PlacesSayWhatSamplesAre) {
  const TempDir dir;
  const std::string method = GetParam();
  const FloatMatrix x = curved(4000, 1), fresh = curved(400, 2);
  TrainOptions options = options_of(method);
  if (method == "vae") options.beta = 0.1;  // ten numbers are too few to outweigh a whole divergence
  const auto model = trained(dir, options, x);
  EXPECT_EQ(model->facts().method, method);
  EXPECT_EQ(model->facts().latent_dim, 2u);
  const double right = error_there_and_back(*model, fresh), wrong = error_from_other_places(*model, fresh);
  // Variances are about one: from a place that is not its own a sample is off by one or two.
  EXPECT_LT(right, 0.4) << method;
  EXPECT_GT(wrong, 0.9) << method;
  // The noise that leads to a sample brings back what its place does not say; a VAE knows of none.
  SampleOptions sampling;
  const FloatMatrix places = model->embed(fresh.view(), 1, sampling);
  const auto retraced = [&] { return model->retrace(fresh.view(), places.view(), sampling); };
  if (method == "vae") {
    EXPECT_CONTAINS(error_of(retraced), "diffae");
  } else {
    EXPECT_LT(mean_squared_error(fresh.view(), retraced().view()), right / 4) << method;
  }
  EXPECT_GT(quadrants_told_by_neighbours(*model, fresh), 0.75) << method;
}

INSTANTIATE_TEST_SUITE_P(Methods, Baseline, ::testing::Values("vae", "diffae", "infodiffusion"),
                         [](const auto& info) { return std::string(info.param); });

// A posterior that has collapsed to the prior gives back the mean of all samples, from any place: an error of about one
// both ways.
TEST(Baselines, AVaeOfTheDefaultWeightTellsSamplesApart) {
  const TempDir dir;
  const FloatMatrix x = waves(4000, 1), fresh = waves(400, 2);
  TrainOptions options = options_of("vae");
  options.steps = 300;
  const auto model = trained(dir, options, x);
  EXPECT_LT(error_there_and_back(*model, fresh), 0.3);
  EXPECT_GT(error_from_other_places(*model, fresh), 1.5);
  EXPECT_GT(quadrants_told_by_neighbours(*model, fresh), 0.85);
}

// In d dimensions, with c = 2 d s for each scale s, the kernel of points at a squared distance D is c / (c + D).
TEST(Baselines, TheDiscrepancyOfTwoPointsIsTheClosedForm) {
  const torch::Tensor here = torch::tensor({{1.0, -2.0}}), there = torch::tensor({{4.0, 2.0}});
  double expected = 0;
  for (const double scale : {0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0}) expected += 2 * 25 / (4 * scale + 25);
  EXPECT_NEAR(discrepancy(here.repeat({30, 1}), there.repeat({30, 1})).item<double>(), expected, 1e-5);
  EXPECT_NEAR(discrepancy(here.repeat({30, 1}), here.repeat({30, 1})).item<double>(), 0, 1e-5);
}

// Without the pairs of a point with itself it errs to neither side, however few points there are.
TEST(Baselines, TheDiscrepancyOfTwoSamplesOfOneLawIsZeroOnAverage) {
  torch::manual_seed(4);
  const auto of_shifted = [](double shift) {
    std::vector<double> values;
    for (int k = 0; k < 200; ++k)
      values.push_back(discrepancy(torch::randn({20, 2}), torch::randn({20, 2}) + shift).item<double>());
    return repeated(values);
  };
  const Repeated same = of_shifted(0), other = of_shifted(0.5);
  const double error = *same.sd / std::sqrt(200.0);
  EXPECT_NEAR(same.mean, 0, 3 * error);
  EXPECT_GT(other.mean, 20 * error);
}

TEST(Baselines, APriorShapesTheMapWhereThereIsOne) {
  const FloatMatrix x = curved(4000, 1), fresh = curved(1000, 2);
  const auto distance = [&](const std::string& method, std::optional<double> beta) {
    const TempDir dir;
    TrainOptions options = options_of(method);
    options.steps = 500;
    options.beta = beta;
    const auto model = trained(dir, options, x);
    return wasserstein2_to_gaussian(model->embed(fresh.view(), 1, {}).view(), 1000, 1).value;
  };
  const double held = distance("infodiffusion", 1.0), loose = distance("infodiffusion", 0.0);
  EXPECT_LT(held, 0.25);  // the floor is 0.04
  EXPECT_GT(loose, 2 * held);
  EXPECT_LT(distance("vae", std::nullopt), 0.4);
}

TEST(Baselines, ALawHasADensityAndAPlaceHasNone) {
  const TempDir dir;
  const FloatMatrix x = curved(500, 1);
  TrainOptions options = options_of("vae");
  options.steps = 30;
  auto model = trained(dir, options, x);
  // The density of q(y | x) integrates to one over a fine grid.
  SampleOptions mean;
  mean.temperature = 0;
  const FloatMatrix centre = model->embed({x.data(), 1, x.cols()}, 1, mean);
  constexpr std::size_t kSide = 121;
  constexpr float kStep = 0.1f;
  FloatMatrix same(kSide * kSide, x.cols()), y(kSide * kSide, 2);
  for (std::size_t k = 0; k < y.rows(); ++k) {
    std::copy_n(x.data(), x.cols(), same.row(k).data());
    y(k, 0) = centre(0, 0) + kStep * (float(k % kSide) - float(kSide / 2));
    y(k, 1) = centre(0, 1) + kStep * (float(k / kSide) - float(kSide / 2));
  }
  double mass = 0;
  for (const double log_density : model->log_density(same.view(), y.view(), {})) mass += std::exp(log_density);
  EXPECT_NEAR(mass * kStep * kStep, 1, 1e-3);

  options = options_of("diffae");
  options.steps = 5;
  model = trained(dir, options, x);
  const FloatMatrix places = model->embed(x.view(), 1, {});
  EXPECT_CONTAINS(error_of([&] { model->log_density(x.view(), places.view(), {}); }), "method");
}

TEST(Baselines, UnknownMethodsAndWeightsAreRefused) {
  const FloatMatrix x = curved(50, 1), none(1, 2);
  TrainOptions options = options_of("vea");
  EXPECT_CONTAINS(error_of([&] { make_trainer(alone(x, none), options); }), "'vea'");
  options = options_of("vae");
  options.beta = -1;
  EXPECT_CONTAINS(error_of([&] { make_trainer(alone(x, none), options); }), "--beta");
}

TEST(Baselines, PicturesGoThroughTheUnetOfCpfm) {
  FloatMatrix x(40, 64), none(1, 2);
  for (std::size_t k = 0; k < x.size(); ++k) x.data()[k] = static_cast<float>(std::sin(0.37 * double(k)));
  for (const char* method : {"vae", "diffae", "infodiffusion"}) {
    const TempDir dir;
    TrainOptions options = options_of(method);
    options.network.kind = "unet";
    options.network.model_channels = 8;
    options.network.channel_mult = {1, 2};
    options.network.attention_resolutions = {};
    options.batch = 8;
    options.steps = 3;
    TrainData data = alone(x, none);
    data.image = ImageShape{1, 8, 8};
    const auto trainer = make_trainer(data, options);
    while (trainer->step()) {
    }
    trainer->save_model(dir / "m.cpfm", {});
    const auto model = load_model(dir / "m.cpfm", "cpu");
    SampleOptions sampling;
    sampling.steps = 3;
    const FloatMatrix y = model->embed(x.view(), 2, sampling);
    ASSERT_EQ(y.rows(), 80u) << method;
    const FloatMatrix back = model->generate(y.view(), sampling);
    EXPECT_EQ(back.cols(), 64u) << method;
    for (const float v : back.values()) ASSERT_TRUE(std::isfinite(v)) << method;
  }
}

}  // namespace
}  // namespace cpfm
