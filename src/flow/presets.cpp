// Networks by name: the four of the paper's table "Default hyperparameter settings", and small ones for machines
// without a GPU.
#include <fmt/format.h>

#include <utility>

#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/flow.hpp"

namespace cpfm {
namespace {

NetworkOptions unet(int channels, int blocks, std::vector<int> mult, std::vector<int> attention) {
  NetworkOptions options;
  options.kind = "unet";
  options.model_channels = channels;
  options.num_res_blocks = blocks;
  options.channel_mult = std::move(mult);
  options.attention_resolutions = std::move(attention);
  options.num_heads = 4;
  return options;
}

NetworkOptions with_head(NetworkOptions options, int width, int depth, int fourier_features) {
  options.head_width = width;
  options.head_depth = depth;
  options.fourier_features = fourier_features;
  return options;
}

NetworkOptions table() {
  NetworkOptions options;
  options.kind = "mlp";
  options.width = 128;
  options.depth = 3;
  return with_head(std::move(options), 128, 3, 64);
}

const std::vector<std::pair<std::string, NetworkOptions>>& presets() {
  static const std::vector<std::pair<std::string, NetworkOptions>> all{
      {"mnist", unet(64, 2, {1, 2, 2, 2}, {16})},
      {"cifar10", unet(128, 2, {1, 2, 2, 2}, {16})},
      {"tinyimagenet", unet(128, 2, {1, 2, 2, 2}, {16})},
      {"afhq", unet(192, 2, {1, 1, 2, 4}, {16, 32})},
      {"tiny", with_head(unet(16, 1, {1, 2}, {}), 96, 2, 32)},       // 8×8 on a CPU
      {"small", with_head(unet(32, 1, {1, 2, 2}, {}), 256, 3, 64)},  // 28×28 on a CPU
      {"table", table()},                                            // rows of numbers
  };
  return all;
}

}  // namespace

NetworkOptions network_preset(const std::string& name) {
  for (const auto& [known, options] : presets()) {
    if (known == name) return options;
  }
  throw Error("--preset", fmt::format("there is no '{}'", printable(name)), suggest(name, network_presets()));
}

std::vector<std::string> network_presets() {
  std::vector<std::string> names;
  for (const auto& preset : presets()) names.push_back(preset.first);
  return names;
}

}  // namespace cpfm
