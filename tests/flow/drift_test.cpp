// The contract of Drift, for every kind of network, conditioning and head.
#include "flow/drift.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <functional>
#include <tuple>

#include "flow/networks.hpp"

namespace cpfm {
namespace {

using Sizes = std::vector<std::int64_t>;

struct Network {
  Sizes x;
  NetworkOptions options;
  bool deep;

  DriftShape shape(std::int64_t latent = 2) const { return {x, latent}; }
  torch::Tensor samples(std::int64_t count) const { return noise(count, x); }
};

// Loops rather than a test for each: starting a program with libtorch takes longer than most of these.
void for_every_network(const std::function<void(const Network&)>& check) {
  for (const Sizes& x : {Sizes{1, 8, 8}, Sizes{3, 5, 7}, Sizes{3}, Sizes{40}}) {
    for (const char* conditioning : {"film", "concat"}) {
      for (const char* head : {"deep", "paper"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", fmt::join(x, "x"), conditioning, head));
        torch::manual_seed(11);
        check({x, small_network(conditioning, head), std::string(head) == "deep"});
      }
    }
  }
}

TEST(EveryDrift, HasTheShapesOfWhatItMoves) {
  for_every_network([](const Network& network) {
    torch::NoGradGuard no_grad;
    for (const std::int64_t latent : {1, 2, 8}) {
      const auto drift = stirred_drift(network.options, network.shape(latent));
      const torch::Tensor x = network.samples(3), y = torch::randn({3, latent}), t = torch::rand({3});
      EXPECT_EQ(drift->drift_x(x, y, t).sizes(), x.sizes());
      EXPECT_EQ(drift->drift_y(drift->features(x), y, t).sizes(), (Sizes{3, latent}));
    }
  });
}

TEST(EveryDrift, IsExactlyZeroBeforeTraining) {
  for_every_network([](const Network& network) {
    const auto drift = make_drift(network.options, network.shape());
    const auto [v_x, v_y] = drift->both(network.samples(2), torch::randn({2, 2}), torch::rand({2}), network.samples(3),
                                        torch::randn({3, 2}), torch::rand({3}));
    EXPECT_EQ(largest(v_x), 0);
    EXPECT_EQ(largest(v_y), 0);
  });
}

TEST(EveryDrift, BothRolesAtOnceEqualTheRolesOneByOne) {
  for_every_network([](const Network& network) {
    torch::NoGradGuard no_grad;
    const auto drift = stirred_drift(network.options, network.shape());
    for (const std::int64_t draws : {1, 4}) {
      if (draws > 1 && !network.deep) continue;
      const torch::Tensor x_t = network.samples(2), y = torch::randn({2, 2}), t = torch::rand({2});
      const torch::Tensor x = network.samples(3), y_t = torch::randn({3 * draws, 2}), s = torch::rand({3 * draws});
      const auto [v_x, v_y] = drift->both(x_t, y, t, x, y_t, s);
      EXPECT_TRUE(torch::allclose(v_x, drift->drift_x(x_t, y, t), 1e-5, 1e-5));
      const torch::Tensor features = drift->features(x);
      EXPECT_TRUE(torch::allclose(v_y, drift->drift_y(features, y_t, s), 1e-5, 1e-5));
      // Row b·K + k belongs to sample b.
      const torch::Tensor repeated = features.repeat_interleave(draws, 0);
      EXPECT_TRUE(torch::allclose(v_y, drift->drift_y(repeated, y_t, s), 1e-5, 1e-5));
    }
  });
}

TEST(EveryDrift, DoesNotMixTheSamplesOfABatch) {
  for_every_network([](const Network& network) {
    torch::NoGradGuard no_grad;
    const auto drift = stirred_drift(network.options, network.shape());
    const torch::Tensor x = network.samples(5), y = torch::randn({5, 2}), t = torch::rand({5});
    const torch::Tensor v_x = drift->drift_x(x, y, t), v_y = drift->drift_y(drift->features(x), y, t);
    for (std::int64_t k = 0; k < 5; ++k) {
      const auto row = [&](const torch::Tensor& of) { return of.narrow(0, k, 1); };
      EXPECT_TRUE(torch::allclose(drift->drift_x(row(x), row(y), row(t)), row(v_x), 1e-5, 1e-5));
      EXPECT_TRUE(torch::allclose(drift->drift_y(drift->features(row(x)), row(y), row(t)), row(v_y), 1e-5, 1e-5));
    }
  });
}

TEST(EveryDrift, DependsOnEverythingItIsTold) {
  for_every_network([](const Network& network) {
    torch::NoGradGuard no_grad;
    const auto drift = stirred_drift(network.options, network.shape());
    const torch::Tensor x = network.samples(2), y = torch::randn({2, 2}), t = torch::rand({2}) / 2;
    const torch::Tensor other = network.samples(2);
    const torch::Tensor v_x = drift->drift_x(x, y, t), v_y = drift->drift_y(drift->features(x), y, t);
    EXPECT_GT(largest(v_x - drift->drift_x(other, y, t)), 1e-3);
    EXPECT_GT(largest(v_x - drift->drift_x(x, y + 0.5, t)), 1e-3);
    EXPECT_GT(largest(v_x - drift->drift_x(x, y, t + 0.5)), 1e-3);
    EXPECT_GT(largest(v_y - drift->drift_y(drift->features(other), y, t)), 1e-3);
    EXPECT_GT(largest(v_y - drift->drift_y(drift->features(x), y + 0.5, t)), 1e-3);
    EXPECT_GT(largest(v_y - drift->drift_y(drift->features(x), y, t + 0.5)), 1e-3);
  });
}

TEST(EveryDrift, ARoleLeavesTheOtherHeadAlone) {
  for_every_network([](const Network& network) {
    const auto drift = stirred_drift(network.options, network.shape());
    const auto is_y_head = [](const std::string& name) { return name.rfind("y_head.", 0) == 0; };
    const auto is_decoder = [](const std::string& name) {
      for (const char* prefix : {"backbone.up", "backbone.norm_out", "backbone.conv_out", "backbone.out"}) {
        if (name.rfind(prefix, 0) == 0) return true;
      }
      return false;
    };
    for (const int role : {0, 1}) {
      for (torch::Tensor& parameter : drift->parameters()) parameter.mutable_grad() = torch::Tensor();
      const auto [v_x, v_y] = drift->both(network.samples(2), torch::randn({2, 2}), torch::rand({2}),
                                          network.samples(3), torch::randn({3, 2}), torch::rand({3}));
      (role == 0 ? v_x : v_y).square().sum().backward();
      int heads = 0, shared = 0;
      for (const auto& item : drift->named_parameters()) {
        const bool reached = item.value().grad().defined() && largest(item.value().grad()) > 0;
        if (role == 0 ? is_y_head(item.key()) : is_decoder(item.key())) {
          EXPECT_FALSE(reached) << item.key();
        } else if (role == 0 ? is_decoder(item.key()) : is_y_head(item.key())) {
          heads += reached;
        } else {
          shared += reached;
        }
      }
      EXPECT_GT(heads, 3);
      EXPECT_GT(shared, 3);
    }
  });
}

TEST(EveryDrift, IsNearlyTheSameInBfloat16) {
  for_every_network([](const Network& network) {
    torch::NoGradGuard no_grad;
    const auto drift = stirred_drift(network.options, network.shape());
    const torch::Tensor x = network.samples(64), y = torch::randn({64, 2}), t = torch::rand({64});
    const torch::Tensor v_x = drift->drift_x(x, y, t), v_y = drift->drift_y(drift->features(x), y, t);
    drift->to(torch::kBFloat16);
    // t and y may stay in float32.
    const auto [b_x, b_y] = drift->both(x.to(torch::kBFloat16), y, t, x.to(torch::kBFloat16), y, t);
    EXPECT_EQ(b_x.scalar_type(), torch::kBFloat16);
    EXPECT_EQ(b_y.scalar_type(), torch::kBFloat16);
    // Over many samples: what the roundings of one come to depends on the instructions that the CPU has.
    EXPECT_LT((b_x.to(torch::kFloat32) - v_x).norm().item<double>(), 0.05 * v_x.norm().item<double>());
    EXPECT_LT((b_y.to(torch::kFloat32) - v_y).norm().item<double>(), 0.05 * v_y.norm().item<double>());
  });
}

TEST(EveryDrift, LearnsOneSmallBatchByHeartInBothRoles) {
  for_every_network([](const Network& network) {
    if (network.x == Sizes{3, 5, 7} || network.x == Sizes{40}) return;  // nothing new, and it takes seconds
    const auto drift = make_drift(network.options, network.shape());
    const torch::Tensor x_t = network.samples(8), y = torch::randn({8, 2}), t = torch::rand({8});
    const torch::Tensor target_x = network.samples(8), target_y = torch::randn({8, 2});
    torch::optim::Adam adam(drift->parameters(), torch::optim::AdamOptions(4e-3));
    double first_x = 0, first_y = 0, last_x = 0, last_y = 0;
    for (int step = 0; step < 200; ++step) {
      const auto [v_x, v_y] = drift->both(x_t, y, t, x_t, y, t);
      const torch::Tensor loss_x = (v_x - target_x).square().mean(), loss_y = (v_y - target_y).square().mean();
      adam.zero_grad();
      (loss_x + loss_y).backward();
      adam.step();
      last_x = loss_x.item<double>();
      last_y = loss_y.item<double>();
      if (step == 0) std::tie(first_x, first_y) = std::tie(last_x, last_y);
    }
    EXPECT_LT(last_x, 0.1 * first_x);
    EXPECT_LT(last_y, 0.1 * first_y);
  });
}

TEST(Drift, WorksInPlaceOnlyWhereNoGradientIsWanted) {
  const auto drift = stirred_drift(small_network(), {{1, 8, 8}, 2});
  const torch::Tensor x = noise(2, {1, 8, 8}), y = torch::randn({2, 2}), t = torch::rand({2});
  const torch::Tensor kept = x.clone();
  const torch::Tensor with = drift->drift_x(x, y, t);
  torch::NoGradGuard no_grad;
  EXPECT_TRUE(torch::equal(with, drift->drift_x(x, y, t)));
  EXPECT_TRUE(torch::equal(x, kept));
}

TEST(Drift, DropsNothingOutOnceItIsTrained) {
  torch::NoGradGuard no_grad;
  NetworkOptions options = small_network();
  options.dropout = 0.5;
  for (const DriftShape& shape : {DriftShape{{1, 8, 8}, 2}, DriftShape{{3}, 2}}) {
    const auto drift = stirred_drift(options, shape);
    const torch::Tensor x = noise(2, shape.x), y = torch::randn({2, 2}), t = torch::rand({2});
    EXPECT_FALSE(torch::equal(drift->drift_x(x, y, t), drift->drift_x(x, y, t)));
    drift->eval();
    EXPECT_TRUE(torch::equal(drift->drift_x(x, y, t), drift->drift_x(x, y, t)));
  }
}

TEST(Drift, IsTheSameForTheSameSeed) {
  torch::manual_seed(9);
  const auto a = make_drift(small_network(), {{3, 8, 8}, 2});
  torch::manual_seed(9);
  const auto b = make_drift(small_network(), {{3, 8, 8}, 2});
  const auto first = a->named_parameters(), second = b->named_parameters();
  ASSERT_EQ(first.size(), second.size());
  for (const auto& item : first) EXPECT_TRUE(torch::equal(item.value(), second[item.key()])) << item.key();
}

TEST(Drift, AnMlpTakesPicturesAsVectors) {
  torch::NoGradGuard no_grad;
  NetworkOptions options = small_network();
  options.kind = "mlp";
  const auto drift = stirred_drift(options, {{3, 4, 5}, 2});
  EXPECT_EQ(drift->drift_x(noise(2, {3, 4, 5}), torch::randn({2, 2}), torch::rand({2})).sizes(), (Sizes{2, 3, 4, 5}));
}

TEST(Drift, HasAGradientInYForDensities) {
  const auto drift = stirred_drift(small_network(), {{3}, 2});
  torch::Tensor y = torch::randn({4, 2}).requires_grad_();
  drift->drift_y(drift->features(noise(4, {3})), y, torch::rand({4})).select(1, 0).sum().backward();
  EXPECT_GT(largest(y.grad()), 0);
}

}  // namespace
}  // namespace cpfm
