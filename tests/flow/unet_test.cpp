// What is special to the U-Net: margins, attention, layouts; and how t and y are put.
#include "flow/unet.hpp"

#include <gtest/gtest.h>

#include <numbers>
#include <set>

#include "flow/attention.hpp"
#include "flow/compat.hpp"
#include "flow/networks.hpp"

namespace cpfm {
namespace {

using Names = std::set<std::string>;

Names attention_of(const NetworkOptions& options, const std::vector<std::int64_t>& shape) {
  const Unet unet(options, shape, 4);
  Names names;
  for (const auto& child : unet.named_children()) {
    const std::string& name = child.key();
    const std::size_t at = name.find("_attention");
    if (at != std::string::npos) names.insert(name.substr(0, at));
  }
  return names;
}

TEST(Unet, HasAttentionExactlyAtTheListedSizesAndInTheMiddle) {
  NetworkOptions options = network_preset("mnist");
  options.model_channels = 4;
  // 28 is padded to 32: levels of 32, 16, 8, 4.
  EXPECT_EQ(attention_of(options, {1, 28, 28}), (Names{"down1_0", "down1_1", "middle_0", "up1_0", "up1_1", "up1_2"}));
  EXPECT_EQ(attention_of(options, {3, 64, 64}), (Names{"down2_0", "down2_1", "middle_0", "up2_0", "up2_1", "up2_2"}));
  options.attention_resolutions = {28, 14, 7};
  EXPECT_EQ(attention_of(options, {1, 28, 28}), Names{"middle_0"});
  options.attention_resolutions = {32, 4};
  options.num_res_blocks = 1;
  EXPECT_EQ(attention_of(options, {1, 28, 28}),
            (Names{"down0_0", "down3_0", "middle_0", "up0_0", "up0_1", "up3_0", "up3_1"}));
  options.attention_resolutions = {16};
  EXPECT_EQ(attention_of(options, {1, 8, 16}), (Names{"down0_0", "middle_0", "up0_0", "up0_1"}));
}

TEST(Unet, PadsPicturesThatItsLevelsDoNotDivide) {
  const auto sum = [](const Margins& m) { return std::pair(m.top + m.bottom, m.left + m.right); };
  EXPECT_EQ(sum(margins(28, 28, 4)), std::pair(std::int64_t{4}, std::int64_t{4}));
  EXPECT_EQ(margins(28, 28, 4).top, 2);
  EXPECT_EQ(sum(margins(32, 64, 4)), std::pair(std::int64_t{0}, std::int64_t{0}));
  EXPECT_EQ(sum(margins(5, 7, 3)), std::pair(std::int64_t{3}, std::int64_t{1}));
  torch::NoGradGuard no_grad;
  NetworkOptions options = small_network();
  options.channel_mult = {1, 2, 2, 2};
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{1, 28, 28}, {1, 8, 8}, {3, 32, 32}, {2, 5, 7}, {1, 1, 1}}) {
    const auto drift = stirred_drift(options, {shape, 2});
    const torch::Tensor x = noise(2, shape);
    EXPECT_EQ(drift->drift_x(x, torch::randn({2, 2}), torch::rand({2})).sizes(), x.sizes());
  }
}

TEST(Unet, GivesTheSameForChannelsLast) {
  torch::NoGradGuard no_grad;
  const auto drift = stirred_drift(small_network(), {{3, 8, 8}, 2});
  const torch::Tensor x = noise(2, {3, 8, 8}), y = torch::randn({2, 2}), t = torch::rand({2});
  const torch::Tensor plain = drift->drift_x(x, y, t), features = drift->features(x);
  const torch::Tensor last = x.contiguous(torch::MemoryFormat::ChannelsLast);
  EXPECT_TRUE(torch::allclose(drift->drift_x(last, y, t), plain, 1e-4, 1e-5));
  EXPECT_TRUE(torch::allclose(drift->features(last), features, 1e-4, 1e-5));
  for (torch::Tensor& parameter : drift->parameters()) {
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(torch::MemoryFormat::ChannelsLast));
  }
  EXPECT_TRUE(torch::allclose(drift->drift_x(last, y, t), plain, 1e-4, 1e-5));
}

TEST(Unet, NormsHaveThirtyTwoGroupsOrFewerOfAtLeastTwoChannels) {
  EXPECT_EQ(norm_groups(64), 32);
  EXPECT_EQ(norm_groups(192), 32);
  EXPECT_EQ(norm_groups(32), 16);
  EXPECT_EQ(norm_groups(20), 10);
  EXPECT_EQ(norm_groups(48), 24);
  EXPECT_EQ(norm_groups(7), 1);
  EXPECT_EQ(norm_groups(1), 1);
}

TEST(Attention, IsAWeightedMeanOfTheValues) {
  const torch::Tensor q = torch::randn({2, 3, 5, 4}), k = torch::randn({2, 3, 5, 4}), v = torch::randn({2, 3, 5, 4});
  const torch::Tensor weights = torch::softmax(torch::einsum("bhic,bhjc->bhij", {q, k}) / 2, -1);
  const torch::Tensor expected = torch::einsum("bhij,bhjc->bhic", {weights, v});
  EXPECT_TRUE(torch::allclose(dot_product_attention(q, k, v), expected, 1e-5, 1e-6));
}

TEST(Dense, IsWhatTheLinearLayerSays) {
  torch::nn::Linear layer(6, 4), unbiased(torch::nn::LinearOptions(6, 4).bias(false));
  for (const torch::Tensor& x : {torch::randn({5, 6}), torch::randn({2, 6, 3}).transpose(1, 2), torch::randn({0, 6})}) {
    EXPECT_EQ(dense(layer, x).sizes(), layer->forward(x).sizes());
    EXPECT_TRUE(torch::allclose(dense(layer, x), layer->forward(x), 1e-5, 1e-6));
    EXPECT_TRUE(torch::allclose(dense(unbiased, x), unbiased->forward(x), 1e-5, 1e-6));
  }
}

TEST(LatentFeatures, AreYAndWavesUpToTheHighestFrequency) {
  LatentFeatures features(2, 64, 4);
  EXPECT_EQ(features.size(), 2 + 2 * 64);
  const torch::Tensor y = torch::randn({5, 2}), out = features.forward(y);
  EXPECT_EQ(out.sizes(), (std::vector<std::int64_t>{5, 130}));
  EXPECT_TRUE(torch::equal(out.narrow(1, 0, 2), y));
  EXPECT_LE(largest(out.narrow(1, 2, 128)), 1);
  const torch::Tensor turns = features.named_buffers()["frequencies"].norm(2, 0) / (2 * std::numbers::pi);
  EXPECT_NEAR(turns.max().item<double>(), 4, 0.05);
  EXPECT_NEAR(turns.min().item<double>(), 4.0 / 64, 0.001);
  EXPECT_TRUE(torch::equal(LatentFeatures(2, 64, 4).forward(y), out));
  EXPECT_TRUE(torch::equal(LatentFeatures(2, 0, 4).forward(y), y));
}

TEST(LatentFeatures, KeepTheirAnglesWhenTheNetworkIsConverted) {
  LatentFeatures features(2, 64, 4);
  TimeFeatures times;
  const torch::Tensor y = 3 * torch::randn({50, 2}), t = torch::rand({50});
  const torch::Tensor waves = features.forward(y), clock = times.forward(t);
  features.to(torch::kBFloat16);
  times.to(torch::kBFloat16);
  EXPECT_TRUE(torch::equal(features.forward(y), waves));
  EXPECT_TRUE(torch::equal(times.forward(t), clock));
}

}  // namespace
}  // namespace cpfm
