#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "cpfm/flow.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/model.hpp"
#include "cpfm/random.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using namespace test;

// y = (x1 + x2) / 2 + noise of deviation 0.5, x ~ N(0, I): both conditionals are known.
struct JointGaussian {
  FloatMatrix x, y;

  explicit JointGaussian(std::size_t n) : x(n, 2), y(n, 1) {
    for (std::size_t i = 0; i < n; ++i) {
      Rng rng(3, 1, i);
      x(i, 0) = static_cast<float>(rng.normal());
      x(i, 1) = static_cast<float>(rng.normal());
      y(i, 0) = static_cast<float>(0.5 * (x(i, 0) + x(i, 1)) + 0.5 * rng.normal());
    }
  }
  TrainData data() const {
    TrainData data;
    data.samples = x.view();
    data.latent = y.view();
    data.pairs = [n = x.rows()](std::uint64_t) {
      std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
      for (std::uint32_t i = 0; i < n; ++i) pairs.emplace_back(i, i);
      return pairs;
    };
    data.identity = {"joint Gaussian", "drawn jointly", "exact"};
    return data;
  }
};

TrainOptions small_options() {
  TrainOptions options;
  options.network.kind = "mlp";
  options.network.width = 48;
  options.network.depth = 2;
  options.network.head_width = 48;
  options.network.head_depth = 2;
  options.network.fourier_features = 8;
  options.network.fourier_scale = 1;
  options.device = "cpu";
  options.batch = 64;
  options.steps = 30;
  options.warmup = 5;
  options.learning_rate = 2e-3;
  return options;
}

ModelFacts plain_facts() {
  ModelFacts facts;
  facts.latent = "gaussian";
  facts.kernel = "heat";
  return facts;
}

struct Moments {
  double mean = 0, variance = 0;
};
Moments moments(const std::vector<double>& values) {
  Moments m;
  for (const double v : values) m.mean += v / double(values.size());
  for (const double v : values) m.variance += (v - m.mean) * (v - m.mean) / double(values.size());
  return m;
}

class BothHeads : public ::testing::TestWithParam<const char*> {};

TEST_P(BothHeads, LearnBothConditionalsOfAJointGaussian) {
  const TempDir dir;
  const JointGaussian joint(4000);
  TrainOptions options = small_options();
  options.network.head = GetParam();
  options.steps = 1200;
  options.batch = 192;
  options.ema = 0.99;
  const auto trainer = make_trainer(joint.data(), options);
  while (trainer->step()) {
  }
  trainer->save_model(dir / "m.cpfm", plain_facts());
  const auto model = load_model(dir / "m.cpfm", "cpu");
  SampleOptions sampling;
  sampling.method = "rk4";
  // y | x ~ N((x1 + x2) / 2, 1/4).
  for (const auto& [a, b] : {std::pair{0.0f, 0.0f}, {1.0f, 1.0f}, {-1.0f, 0.5f}}) {
    FloatMatrix x(1, 2);
    x(0, 0) = a;
    x(0, 1) = b;
    const FloatMatrix y = model->embed(x.view(), 2000, sampling);
    const Moments found = moments({y.data(), y.data() + y.size()});
    EXPECT_NEAR(found.mean, 0.5 * (a + b), 0.12) << a << ", " << b;
    EXPECT_NEAR(found.variance, 0.25, 0.08) << a << ", " << b;
  }
  // x | y: mean (2/3, 2/3) y, covariance I - (1/3) 11ᵀ.
  for (const float at : {0.0f, 1.0f, -0.8f}) {
    FloatMatrix y(2000, 1);
    std::fill_n(y.data(), y.size(), at);
    const FloatMatrix x = model->generate(y.view(), sampling);
    std::vector<double> first, second, product;
    for (std::size_t i = 0; i < x.rows(); ++i) {
      first.push_back(x(i, 0));
      second.push_back(x(i, 1));
    }
    const Moments m1 = moments(first), m2 = moments(second);
    for (std::size_t i = 0; i < x.rows(); ++i) product.push_back((first[i] - m1.mean) * (second[i] - m2.mean));
    EXPECT_NEAR(m1.mean, 2 * at / 3, 0.15);
    EXPECT_NEAR(m2.mean, 2 * at / 3, 0.15);
    EXPECT_NEAR(m1.variance, 2.0 / 3, 0.15);
    EXPECT_NEAR(m2.variance, 2.0 / 3, 0.15);
    EXPECT_NEAR(moments(product).mean, -1.0 / 3, 0.12);
  }
  // log p(y | x) of the exact Gaussian, near its middle.
  FloatMatrix x(3, 2), y(3, 1);
  std::fill_n(x.data(), x.size(), 0.5f);
  y(0, 0) = 0.5f;
  y(1, 0) = 0.0f;
  y(2, 0) = 1.0f;
  const std::vector<double> logs = model->log_density(x.view(), y.view(), sampling);
  for (std::size_t i = 0; i < 3; ++i) {
    const double z = (y(i, 0) - 0.5) / 0.5;
    EXPECT_NEAR(logs[i], -0.5 * z * z - std::log(0.5 * std::sqrt(2 * M_PI)), 0.3);
  }
  // Places of what is generated for places lie in the regions of p(y | x) as often as these say.
  constexpr double kLevels[] = {0.5, 0.9};
  FloatMatrix places(400, 1);
  for (std::size_t i = 0; i < places.rows(); ++i) places(i, 0) = joint.y(i, 0);
  const std::vector<double> inside = model_coverage(*model, places.view(), sampling, kLevels);
  EXPECT_NEAR(inside[0], 0.5, 0.12);
  EXPECT_NEAR(inside[1], 0.9, 0.08);
}
INSTANTIATE_TEST_SUITE_P(, BothHeads, ::testing::Values("deep", "paper"));

TEST(Trainer, ResumedAtAnyStepIsBitForBitWhatItWouldHaveBeen) {
  const TempDir dir;
  const JointGaussian joint(300);
  TrainOptions options = small_options();
  options.network.dropout = 0.1;
  const auto whole = make_trainer(joint.data(), options);
  while (whole->step()) {
  }
  whole->save_checkpoint(dir / "whole.cpfm");
  whole->save_model(dir / "whole_model.cpfm", plain_facts());
  const auto tensors = [](const std::filesystem::path& file) {  // all but the seconds in the metadata
    std::vector<std::byte> bytes;
    const TensorFile read = TensorFile::open(file);
    for (const auto& [name, tensor] : read.tensors())
      bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
    return bytes;
  };
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    const std::uint64_t stop = Rng(9, 9, trial).below(30);
    const auto first = make_trainer(joint.data(), options);
    while (first->state().steps < stop) first->step();
    first->save_checkpoint(dir / "part.cpfm");
    const auto second = make_trainer(joint.data(), options);
    second->load_checkpoint(dir / "part.cpfm");
    EXPECT_EQ(second->state().steps, stop);
    while (second->step()) {
    }
    second->save_checkpoint(dir / "resumed.cpfm");
    EXPECT_EQ(tensors(dir / "resumed.cpfm"), tensors(dir / "whole.cpfm")) << "stopped at " << stop;
    second->save_model(dir / "resumed_model.cpfm", plain_facts());
    EXPECT_EQ(tensors(dir / "resumed_model.cpfm"), tensors(dir / "whole_model.cpfm"));
  }
}

TEST(FlowModel, ATemperatureScalesTheNoise) {
  const TempDir dir;
  const JointGaussian joint(300);
  TrainOptions options = small_options();
  options.steps = 300;
  options.ema = 0.99;
  const auto trainer = make_trainer(joint.data(), options);
  while (trainer->step()) {
  }
  trainer->save_model(dir / "m.cpfm", plain_facts());
  const auto model = load_model(dir / "m.cpfm", "cpu");
  FloatMatrix x(1, 2);
  x(0, 0) = x(0, 1) = 0.3f;
  const auto variance_at = [&](double temperature) {
    SampleOptions sampling;
    sampling.temperature = temperature;
    const FloatMatrix y = model->embed(x.view(), 500, sampling);
    return moments({y.data(), y.data() + y.size()}).variance;
  };
  const double usual = variance_at(1);
  EXPECT_GT(usual, 0.1);
  EXPECT_LT(variance_at(0), 1e-10);
  EXPECT_NEAR(variance_at(0.5) / usual, 0.25, 0.08);  // a Gaussian's flow is linear in the noise
  SampleOptions wrong;
  wrong.temperature = -1;
  EXPECT_CONTAINS(error_of([&] { model->embed(x.view(), 1, wrong); }), "--temperature");
}

TEST(Trainer, AnInterruptSavesWhatWasReached) {
  const TempDir dir;
  const JointGaussian joint(300);
  TrainOptions options = small_options();
  options.steps = 100000;
  const auto trainer = make_trainer(joint.data(), options);
  int reports = 0;
  EXPECT_THROW(trainer->run(
                   dir / "c.cpfm",
                   [&](const TrainState&) {
                     if (++reports == 1) request_interrupt();
                   },
                   nullptr),
               Interrupted);
  clear_interrupt();
  const auto again = make_trainer(joint.data(), options);
  again->load_checkpoint(dir / "c.cpfm");
  EXPECT_GT(again->state().steps, 0u);
  EXPECT_EQ(again->state().steps, trainer->state().steps);
}

TEST(Trainer, TakesAPathOfOnesOwnAndRemembersIt) {
  const TempDir dir;
  const JointGaussian joint(300);
  const auto options_with = [](double power) {
    TrainOptions options = small_options();
    options.path = FlowPath{.name = "bent",
                            .a = [](double t) { return 1 - t; },
                            .b = [power](double t) { return std::pow(t, power); },
                            .da = [](double) { return -1.0; },
                            .db = [power](double t) { return power * std::pow(t, power - 1); }};
    return options;
  };
  // The power 1 is the linear path: the same losses, up to rounding.
  const auto bent = make_trainer(joint.data(), options_with(1)), linear = make_trainer(joint.data(), small_options());
  const auto other = make_trainer(joint.data(), options_with(2));
  for (int k = 0; k < 3; ++k) {
    bent->step();
    linear->step();
    other->step();
  }
  EXPECT_NEAR(bent->state().loss_x, linear->state().loss_x, 1e-6);
  EXPECT_NEAR(bent->state().loss_y, linear->state().loss_y, 1e-6);
  EXPECT_GT(std::abs(other->state().loss_x - linear->state().loss_x), 1e-3);
  bent->save_checkpoint(dir / "c.cpfm");
  make_trainer(joint.data(), options_with(1))->load_checkpoint(dir / "c.cpfm");
  EXPECT_CONTAINS(error_of([&] { make_trainer(joint.data(), options_with(2))->load_checkpoint(dir / "c.cpfm"); }),
                  "path");
  bent->save_model(dir / "m.cpfm", plain_facts());
  EXPECT_EQ(load_model(dir / "m.cpfm", "cpu")->facts().interpolant, "bent");
  // What is wrong with a path is said before anything is trained.
  TrainOptions wrong = options_with(2);
  wrong.path->db = [](double) { return 1.0; };
  EXPECT_CONTAINS(error_of([&] { make_trainer(joint.data(), wrong); }), "db(t)");
  wrong = options_with(2);
  wrong.path->a = [](double t) { return 1 - t / 2; };
  EXPECT_CONTAINS(error_of([&] { make_trainer(joint.data(), wrong); }), "a(t)");
  wrong = options_with(2);
  wrong.path->da = nullptr;
  EXPECT_CONTAINS(error_of([&] { make_trainer(joint.data(), wrong); }), "no such function");
}

TEST(Trainer, ResumingWithOtherOptionsOrDataNamesThem) {
  const TempDir dir;
  const JointGaussian joint(300);
  const auto trainer = make_trainer(joint.data(), small_options());
  trainer->step();
  trainer->save_checkpoint(dir / "c.cpfm");
  TrainOptions other = small_options();
  other.batch = 32;
  other.network.width = 64;
  other.steps = 60;  // more of the same is fine
  const std::string refusal = error_of([&] { make_trainer(joint.data(), other)->load_checkpoint(dir / "c.cpfm"); });
  EXPECT_CONTAINS(refusal, "batch is 32 here and was 64");
  EXPECT_CONTAINS(refusal, "width is 64 here and was 48");
  other = small_options();
  other.steps = 60;
  make_trainer(joint.data(), other)->load_checkpoint(dir / "c.cpfm");
  TrainData changed = joint.data();
  const auto refused = [&] {
    return error_of([&] { make_trainer(changed, small_options())->load_checkpoint(dir / "c.cpfm"); });
  };
  changed.identity.data = changed.identity.coupling = "something else";
  EXPECT_CONTAINS(refused(), "it was made of other data; ");
  changed.identity.data = joint.data().identity.data;
  EXPECT_CONTAINS(refused(), "it was made of another coupling of this data; ");
  EXPECT_CONTAINS(refused(), "name another folder or remove this one");
  changed.identity = joint.data().identity;
  changed.identity.pairs = "mixture";
  EXPECT_CONTAINS(refused(), "pairs is mixture here and was exact");
}

// What a user would see of progress.
struct Watched : Progress {
  std::string label, note;
  std::uint64_t total = 0, done = 0;

  void start(const std::string& what, std::uint64_t of, const std::string&) override {
    label = what;
    total = of;
  }
  void update(std::uint64_t now, const std::string& text) override {
    done = now;
    note = text;
  }
};

TEST(Trainer, ProgressCountsTheStepsOfThisRunAlsoWhenTimeEndsIt) {
  const TempDir dir;
  const JointGaussian joint(300);
  TrainOptions options = small_options();
  options.steps = 12;
  Watched first;
  make_trainer(joint.data(), options)->run(dir / "c.cpfm", {}, &first);
  EXPECT_EQ(first.label, "train");
  EXPECT_EQ(first.total, 12u);
  EXPECT_EQ(first.done, 12u);
  EXPECT_CONTAINS(first.note, " samples/s");

  options.steps = 20;
  Watched more;
  auto trainer = make_trainer(joint.data(), options);
  trainer->load_checkpoint(dir / "c.cpfm");
  trainer->run({}, {}, &more);
  EXPECT_EQ(more.label, "train from step 12");
  EXPECT_EQ(more.total, 8u);
  EXPECT_EQ(more.done, 8u);

  options.steps = 0;
  options.minutes = 0.002;
  Watched timed;
  trainer = make_trainer(joint.data(), options);
  trainer->run({}, {}, &timed);
  EXPECT_EQ(timed.total, 0u);
  EXPECT_GT(timed.done, 0u);
  EXPECT_EQ(timed.done, trainer->state().steps);
}

TEST(Trainer, DamagedCheckpointsAreRefusedOrHarmless) {
  const TempDir dir;
  const JointGaussian joint(100);
  const auto trainer = make_trainer(joint.data(), small_options());
  trainer->step();
  trainer->save_checkpoint(dir / "c.cpfm");
  const std::string whole = without_checksum(read_bytes(dir / "c.cpfm"));
  const auto victim = make_trainer(joint.data(), small_options());
  std::size_t refused = 0;
  for (std::size_t k = 0; k < 60; ++k) {
    std::string bytes = whole;
    if (k % 2 == 0)
      bytes.resize(Rng(1, 2, k).below(bytes.size()));
    else
      bytes[Rng(1, 2, k).below(std::min<std::size_t>(bytes.size(), 4000))] ^= static_cast<char>(1 << (k % 8));
    write_bytes(dir / "x.cpfm", bytes);
    try {
      victim->load_checkpoint(dir / "x.cpfm");
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GE(refused, 30u);
}

TEST(Trainer, ALossThatIsNotFiniteEndsItAndKeepsTheCheckpoint) {
  const TempDir dir;
  JointGaussian joint(300);
  TrainOptions options = small_options();
  const auto trainer = make_trainer(joint.data(), options);
  trainer->step();
  trainer->save_checkpoint(dir / "c.cpfm");
  const std::string before = read_bytes(dir / "c.cpfm");
  joint.x(5, 0) = std::numeric_limits<float>::infinity();
  std::fill_n(joint.x.data(), joint.x.size(), std::numeric_limits<float>::infinity());
  const auto broken = make_trainer(joint.data(), options);
  broken->load_checkpoint(dir / "c.cpfm");
  EXPECT_CONTAINS(error_of([&] { broken->run(dir / "c.cpfm", {}, nullptr); }), "the loss is not finite");
  EXPECT_EQ(read_bytes(dir / "c.cpfm"), before);
}

TEST(Trainer, RefusesOptionsThatMakeNoSense) {
  const JointGaussian joint(50);
  const auto refusal = [&](auto change) {
    TrainOptions options = small_options();
    change(options);
    return error_of([&] { make_trainer(joint.data(), options); });
  };
  EXPECT_CONTAINS(refusal([](TrainOptions& o) { o.alpha = 1; }), "--alpha");
  EXPECT_CONTAINS(refusal([](TrainOptions& o) { o.batch = 1; }), "--batch");
  EXPECT_CONTAINS(refusal([](TrainOptions& o) { o.steps = 0; }), "has no end");
  EXPECT_CONTAINS(refusal([](TrainOptions& o) { o.learning_rate = -1; }), "--learning-rate");
  EXPECT_CONTAINS(refusal([](TrainOptions& o) { o.device = "cuda:77"; }), "cuda:77");
  EXPECT_CONTAINS(refusal([](TrainOptions& o) { o.interpolant = "linaer"; }), "linear");
  EXPECT_CONTAINS(refusal([](TrainOptions& o) { o.validation = 0.99; }), "--validation");
}

TEST(Trainer, HoldsSamplesOutAndMeasuresThem) {
  const JointGaussian joint(400);
  TrainOptions options = small_options();
  options.validation = 0.25;
  const auto trainer = make_trainer(joint.data(), options);
  trainer->run({}, {}, nullptr);
  ASSERT_TRUE(trainer->state().validation_x.has_value());
  EXPECT_GT(*trainer->state().validation_x, 0);
  EXPECT_TRUE(trainer->state().done);
  options.validation = 0;
  const auto none = make_trainer(joint.data(), options);
  none->run({}, {}, nullptr);
  EXPECT_FALSE(none->state().validation_x.has_value());
}

std::unique_ptr<FlowModel> trained_on(const JointGaussian& joint) {
  const TempDir dir;
  const auto trainer = make_trainer(joint.data(), small_options());
  while (trainer->step()) {
  }
  trainer->save_model(dir / "m.cpfm", plain_facts());
  return load_model(dir / "m.cpfm", "cpu");
}

TEST(FlowModel, ASampleDoesNotDependOnItsBatch) {
  const JointGaussian joint(300);
  const auto model = trained_on(joint);
  for (const char* method : {"euler", "midpoint", "heun", "rk4", "dopri5"}) {
    SampleOptions options;
    options.method = method;
    options.tolerance = 1e-5;
    options.batch = 60;
    const MatrixView<const float> x{joint.x.data(), 60, 2}, y{joint.y.data(), 60, 1};
    const FloatMatrix together = model->embed(x, 2, options);
    const FloatMatrix generated = model->generate(y, options);
    options.batch = 7;
    const FloatMatrix apart = model->embed(x, 2, options);
    const FloatMatrix generated_apart = model->generate(y, options);
    // Rounding may turn a step of dopri5 that is just accepted into one that is not.
    const double allowed = options.method == "dopri5" ? 3e-3 : 2e-4;
    for (std::size_t k = 0; k < together.size(); ++k)
      EXPECT_NEAR(together.data()[k], apart.data()[k], allowed) << method;
    for (std::size_t k = 0; k < generated.size(); ++k)
      EXPECT_NEAR(generated.data()[k], generated_apart.data()[k], allowed) << method;
  }
}

TEST(FlowModel, GeneratesInBfloat16WhatItGeneratesInFloat32) {
  const JointGaussian joint(300);
  const auto model = trained_on(joint);
  const MatrixView<const float> x{joint.x.data(), 60, 2}, y{joint.y.data(), 60, 1};
  SampleOptions options;
  const FloatMatrix exact = model->generate(y, options), places = model->embed(x, 1, options);
  options.precision = "bfloat16";
  const FloatMatrix rounded = model->generate(y, options);
  double off = 0;
  for (std::size_t k = 0; k < exact.size(); ++k)
    off = std::max(off, std::abs(double(rounded.data()[k]) - exact.data()[k]));
  EXPECT_GT(off, 1e-6);
  EXPECT_LT(off, 0.05);
  // Places are of float32 whatever is generated, and what was in float32 stays so.
  const auto same = [](const FloatMatrix& a, const FloatMatrix& b) {
    return std::equal(a.values().begin(), a.values().end(), b.values().begin(), b.values().end());
  };
  EXPECT_TRUE(same(model->embed(x, 1, options), places));
  options.precision = "float32";
  EXPECT_TRUE(same(model->generate(y, options), exact));
  options.precision = "half";
  EXPECT_CONTAINS(error_of([&] { model->generate(y, options); }), "auto, float32 or bfloat16");
}

TEST(FlowModel, KnowsTheUnitsOfTheData) {
  const TempDir dir;
  const JointGaussian joint(300);
  const auto trainer = make_trainer(joint.data(), small_options());
  trainer->step();
  ModelFacts facts = plain_facts();
  trainer->save_model(dir / "plain.cpfm", facts);
  facts.standardizer.mode = Standardize::kZscore;
  facts.standardizer.shift = {100, -7};
  facts.standardizer.scale = {10, 0.5};
  facts.label_names = {"a", "b"};
  trainer->save_model(dir / "scaled.cpfm", facts);
  const auto plain = load_model(dir / "plain.cpfm", "cpu"), scaled = load_model(dir / "scaled.cpfm", "cpu");
  const FloatMatrix x = plain->generate(joint.y.view(), {}), raw = scaled->generate(joint.y.view(), {});
  EXPECT_NEAR(raw(4, 0), 100 + 10 * x(4, 0), 1e-3);
  EXPECT_NEAR(raw(4, 1), -7 + 0.5 * x(4, 1), 1e-4);
  const FloatMatrix y = plain->embed(x.view(), 1, {}), from_raw = scaled->embed(raw.view(), 1, {});
  EXPECT_NEAR(y(9, 0), from_raw(9, 0), 1e-3);
  EXPECT_EQ(scaled->facts().label_names, facts.label_names);
  EXPECT_EQ(scaled->facts().steps, 1u);
}

TEST(FlowModel, SaysWhatDoesNotFit) {
  const TempDir dir;
  const JointGaussian joint(100);
  const auto trainer = make_trainer(joint.data(), small_options());
  trainer->save_model(dir / "m.cpfm", plain_facts());
  trainer->save_checkpoint(dir / "c.cpfm");
  const auto model = load_model(dir / "m.cpfm", "cpu");
  FloatMatrix wide(3, 5);
  std::fill_n(wide.data(), wide.size(), 0.0f);
  EXPECT_CONTAINS(error_of([&] { model->embed(wide.view(), 1, {}); }), "has 5 features, and the model was made for 2");
  EXPECT_CONTAINS(error_of([&] { model->generate(wide.view(), {}); }), "has 5 dimensions, and the model's map has 1");
  EXPECT_CONTAINS(error_of([&] { load_model(dir / "c.cpfm", "cpu"); }), "is a checkpoint of training, not a model");
  const std::string whole = without_checksum(read_bytes(dir / "m.cpfm"));
  for (std::size_t k = 0; k < 60; ++k) {  // never a crash
    std::string bytes = whole;
    if (k % 2 == 0)
      bytes.resize(Rng(1, 4, k).below(bytes.size()));
    else
      bytes[Rng(1, 4, k).below(std::min<std::size_t>(bytes.size(), 4000))] ^= static_cast<char>(1 << (k % 8));
    write_bytes(dir / "x.cpfm", bytes);
    try {
      load_model(dir / "x.cpfm", "cpu")->embed(joint.x.view(), 1, {.steps = 1});
    } catch (const Error&) {
    }
  }
}

// As a split can leave them, where few are labelled.
TEST(Classifier, RefusesSamplesNoneOfWhichHasALabel) {
  Dataset data;
  data.source = "clusters";
  data.samples = std::move(JointGaussian(5).x);
  data.labels = Labels{std::vector<std::int32_t>(5, -1), {"left", "right"}};
  EXPECT_CONTAINS(error_of([&] { train_classifier(data, {.epochs = 1, .device = "cpu"}); }),
                  "clusters: none of 5 samples has a label");
}

TEST(Classifier, IsKeptInAFileForTheSameData) {
  const TempDir dir;
  Dataset data;
  data.source = "clusters";
  data.samples = std::move(JointGaussian(60).x);
  data.labels = Labels{std::vector<std::int32_t>(60), {"left", "right"}};
  for (std::size_t i = 0; i < 60; ++i) data.labels->ids[i] = data.samples(i, 0) > 0;
  ClassifierOptions options{.epochs = 2, .device = "cpu", .keep = dir / "judge"};
  const auto features = [&] { return train_classifier(data, options)->features(data.samples.view()); };
  const auto same = [](const FloatMatrix& a, const FloatMatrix& b) {
    return std::equal(a.values().begin(), a.values().end(), b.values().begin(), b.values().end());
  };
  const FloatMatrix first = features();
  const std::string kept = read_bytes(dir / "judge");
  const auto written = std::filesystem::last_write_time(dir / "judge");
  EXPECT_TRUE(same(features(), first));
  EXPECT_EQ(std::filesystem::last_write_time(dir / "judge"), written);
  // What the file holds is what is used.
  {
    const TensorFile file = TensorFile::open(dir / "judge");
    TensorFileWriter writer;
    for (const auto& [key, value] : file.metadata()) writer.set_metadata(key, value);
    std::vector<std::byte> bytes;
    for (const auto& [name, tensor] : file.tensors()) {
      if (tensor.bytes.size() > bytes.size()) bytes.assign(tensor.bytes.begin(), tensor.bytes.end());
    }
    bytes[0] ^= std::byte{1};  // a digit of a weight
    for (const auto& [name, tensor] : file.tensors())
      writer.add(name, tensor.dtype, tensor.shape, tensor.bytes.size() == bytes.size() ? bytes : tensor.bytes);
    writer.save(dir / "other");
  }
  const std::string other = read_bytes(dir / "other");
  write_bytes(dir / "judge", other);
  features();
  EXPECT_EQ(read_bytes(dir / "judge"), other);
  // A damaged one is made again, one of another seed or of other data replaced.
  std::string flipped = kept;
  flipped[flipped.size() - 1] ^= 1;
  write_bytes(dir / "judge", flipped);
  EXPECT_TRUE(same(features(), first));
  EXPECT_EQ(read_bytes(dir / "judge"), kept);
  write_bytes(dir / "judge", kept.substr(0, kept.size() / 2));
  EXPECT_TRUE(same(features(), first));
  EXPECT_EQ(read_bytes(dir / "judge"), kept);
  options.seed = 2;
  EXPECT_FALSE(same(features(), first));
  EXPECT_NE(read_bytes(dir / "judge"), kept);
  options.seed = 1;
  data.labels->ids[3] = 1 - data.labels->ids[3];
  EXPECT_FALSE(same(features(), first));
}

TEST(Classifier, LearnsWhatCanBeToldApart) {
  Dataset data;
  data.source = "two clusters";
  data.samples = FloatMatrix(400, 2);
  data.labels = Labels{{}, {"left", "right"}};
  for (std::size_t i = 0; i < 400; ++i) {
    Rng rng(1, 1, i);
    data.samples(i, 0) = static_cast<float>((i % 2 == 0 ? -3 : 3) + rng.normal());
    data.samples(i, 1) = static_cast<float>(rng.normal());
    data.labels->ids.push_back(static_cast<std::int32_t>(i % 2));
  }
  const auto judge = train_classifier(data, {.epochs = 10, .device = "cpu"});
  const std::vector<std::int32_t> found = judge->predict(data.samples.view());
  std::size_t right = 0;
  for (std::size_t i = 0; i < 400; ++i) right += found[i] == data.labels->ids[i] ? 1 : 0;
  EXPECT_GE(right, 392u);
  // What its last layer sees tells them apart, too, and is the same every time.
  const FloatMatrix seen = judge->features(data.samples.view());
  ASSERT_EQ(seen.rows(), 400u);
  ASSERT_EQ(seen.cols(), 256u);
  double difference = 0;
  for (std::size_t k = 0; k < seen.cols(); ++k) {
    double left = 0, other = 0;
    for (std::size_t i = 0; i < 400; i += 2) {
      left += seen(i, k) / 200.0;
      other += seen(i + 1, k) / 200.0;
    }
    difference += std::abs(left - other);
  }
  EXPECT_GT(difference, 5);
  const FloatMatrix again = judge->features(data.samples.view());
  EXPECT_TRUE(std::equal(again.data(), again.data() + again.size(), seen.data()));
  const FloatMatrix narrow(3, 1);
  EXPECT_THROW(judge->features(narrow.view()), Error);
}

}  // namespace
}  // namespace cpfm
