// Networks by name and by number, and what makes none.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>

#include "cpfm/error.hpp"
#include "flow/networks.hpp"

namespace cpfm {
namespace {

const DriftShape kPicture{{1, 8, 8}, 2}, kVector{{3}, 2};

std::string complaint(const std::function<void(NetworkOptions&)>& change, const DriftShape& shape = kPicture) {
  NetworkOptions options = small_network();
  change(options);
  try {
    make_drift(options, shape);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(NetworkOptions, AreTheOnesOfThePapersTable) {
  EXPECT_EQ(network_preset("mnist").model_channels, 64);
  EXPECT_EQ(network_preset("cifar10").channel_mult, (std::vector<int>{1, 2, 2, 2}));
  EXPECT_EQ(network_preset("tinyimagenet").attention_resolutions, std::vector<int>{16});
  EXPECT_EQ(network_preset("afhq").model_channels, 192);
  EXPECT_EQ(network_preset("afhq").channel_mult, (std::vector<int>{1, 1, 2, 4}));
  EXPECT_EQ(network_preset("afhq").attention_resolutions, (std::vector<int>{16, 32}));
  for (const char* name : {"mnist", "cifar10", "tinyimagenet", "afhq"}) {
    EXPECT_EQ(network_preset(name).num_res_blocks, 2);
    EXPECT_EQ(network_preset(name).num_heads, 4);
  }
}

TEST(NetworkOptions, OfAnUnknownNameSayWhichThereAre) {
  EXPECT_EQ(network_presets().size(), 7U);
  try {
    network_preset("minst");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'mnist'?"), std::string::npos) << error.what();
  }
}

TEST(NetworkOptions, ThatMakeNoNetworkAreRefused) {
  EXPECT_EQ(complaint([](auto&) {}), "");
  EXPECT_EQ(complaint([](auto&) {}, kVector), "");
  EXPECT_NE(complaint([](auto& o) { o.kind = "unet"; }, kVector).find("vectors"), std::string::npos);
  EXPECT_NE(complaint([](auto& o) { o.kind = "u-net"; }).find("did you mean 'unet'?"), std::string::npos);
  EXPECT_NE(complaint([](auto& o) { o.conditioning = "flim"; }).find("did you mean 'film'?"), std::string::npos);
  EXPECT_NE(complaint([](auto& o) { o.head = "deeep"; }).find("did you mean 'deep'?"), std::string::npos);
  EXPECT_NE(complaint([](auto& o) { o.channel_mult = {}; }).find("channel_mult: is empty"), std::string::npos);
  EXPECT_NE(complaint([](auto& o) { o.num_heads = 3; }).find("3 heads do not divide 16 channels"), std::string::npos);
}

TEST(NetworkOptions, OutOfRangeAreNamed) {
  const auto expect = [](const char* field, const std::function<void(NetworkOptions&)>& change,
                         const DriftShape& shape = kPicture) {
    EXPECT_EQ(complaint(change, shape).rfind(std::string(field) + ": ", 0), 0U) << field << complaint(change, shape);
  };
  expect("model_channels", [](auto& o) { o.model_channels = 0; });
  expect("model_channels", [](auto& o) { o.model_channels = 1 << 30; });
  expect("num_res_blocks", [](auto& o) { o.num_res_blocks = -1; });
  expect("channel_mult", [](auto& o) { o.channel_mult = {1, 0}; });
  expect("channel_mult", [](auto& o) { o.channel_mult = {1, 1 << 30}; });
  expect("channel_mult", [](auto& o) { o.channel_mult.assign(40, 1); });
  expect("attention_resolutions", [](auto& o) { o.attention_resolutions = {-4}; });
  expect("num_heads", [](auto& o) { o.num_heads = 0; });
  expect("dropout", [](auto& o) { o.dropout = 1; });
  expect("dropout", [](auto& o) { o.dropout = std::nan(""); });
  expect("fourier_features", [](auto& o) { o.fourier_features = -1; });
  expect("fourier_scale", [](auto& o) { o.fourier_scale = 0; });
  expect("head_width", [](auto& o) { o.head_width = 0; });
  expect("head_depth", [](auto& o) { o.head_depth = 0; });
  expect(
      "width", [](auto& o) { o.width = 0; }, kVector);
  expect(
      "depth", [](auto& o) { o.depth = -3; }, kVector);
  expect("samples", [](auto&) {}, {{8, 8}, 2});
  expect("samples", [](auto&) {}, {{3, 0, 8}, 2});
  expect("samples", [](auto&) {}, {{1 << 20, 1 << 20, 1 << 30}, 2});
  expect("latent dimensions", [](auto&) {}, {{3}, 0});
}

struct Pinned {
  const char* name;
  DriftShape shape;
  // film with the deep head, film with the paper's, concat with the deep one, concat with the paper's
  std::array<std::uint64_t, 4> counts;
};

void expect_counts(const Pinned& pinned) {
  std::size_t k = 0;
  for (const char* conditioning : {"film", "concat"}) {
    for (const char* head : {"deep", "paper"}) {
      NetworkOptions options = network_preset(pinned.name);
      options.conditioning = conditioning;
      options.head = head;
      EXPECT_EQ(count_parameters(*make_drift(options, pinned.shape)), pinned.counts[k++])
          << pinned.name << " " << conditioning << " " << head;
    }
  }
}

// A usual U-Net of the numbers for CIFAR-10 has 35.7 million (Ho, Jain, Abbeel, "Denoising diffusion probabilistic
// models", 2020); scale and shift in place of a shift are 2.6 million more.
TEST(ParameterCounts, OfThePapersNetworksArePinned) {
  expect_counts({"mnist", {{1, 28, 28}, 2}, {14'795'011, 9'625'539, 14'655'811, 9'486'339}});
  expect_counts({"cifar10", {{3, 32, 32}, 2}, {43'585'989, 38'343'045, 42'136'133, 36'893'189}});
  expect_counts({"tinyimagenet", {{3, 64, 64}, 2}, {43'573'653, 38'343'045, 42'123'797, 36'893'189}});
  expect_counts({"afhq", {{3, 128, 128}, 2}, {162'789'385, 157'298'693, 161'247'433, 155'756'741}});
}

TEST(ParameterCounts, OfTheSmallNetworksArePinned) {
  expect_counts({"tiny", {{1, 8, 8}, 2}, {335'523, 185'059, 327'971, 177'507}});
  expect_counts({"small", {{1, 28, 28}, 2}, {2'338'647, 1'162'179, 2'345'239, 1'168'771}});
  expect_counts({"table", {{40}, 2}, {707'882, 450'730, 668'458, 411'306}});
}

}  // namespace
}  // namespace cpfm
