// The options of stage 2, shared by every command that trains, and those of sampling.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "base/text.hpp"
#include "checks.hpp"
#include "cli.hpp"
#include "cpfm/error.hpp"

namespace cpfm::app {
namespace {

constexpr std::uint64_t kMost = 1000000000;
constexpr const char *kNetwork = "Network", *kTraining = "Training";  // groups of options

// "1,2,2" → {1, 2, 2}
std::vector<int> number_list(const char* option, const std::string& text) {
  std::vector<int> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    double value = 0;
    if (!parse_number(text.substr(at, end - at), value) || value < 1 || value > 65536 || value != int(value))
      throw Error(option, fmt::format("'{}' is no list of whole numbers", printable(text)), "as in 1,2,2");
    numbers.push_back(static_cast<int>(value));
    at = end + 1;
  }
  return numbers;
}

// The network for data of this kind: small ones for a CPU, the paper's for a GPU.
std::string default_preset(const Dataset& data, bool gpu) {
  if (!data.image) return "table";
  const int side = std::max(data.image->height, data.image->width);
  if (side <= 12) return "tiny";
  if (!gpu) return "small";
  return side <= 28 ? "mnist" : side <= 32 ? "cifar10" : side <= 64 ? "tinyimagenet" : "afhq";
}

// Small networks bear, and want, larger steps; at 5e-4 that of tinyimagenet comes apart after some hundred of them.
double default_learning_rate(const std::string& preset) {
  if (preset == "tiny") return 4e-3;
  if (preset == "small" || preset == "table") return 2e-3;
  if (preset == "mnist") return 1e-3;
  return preset == "cifar10" ? 5e-4 : 2e-4;
}

}  // namespace

void TrainArguments::add_to(CLI::App& command) {
  command_ = &command;
  const char* net = kNetwork;
  NetworkOptions& network = options.network;
  const auto whole = [&](const char* name, int& value, std::uint64_t least, std::uint64_t most, const char* what,
                         const char* group) {
    command.add_option(name, value, what)->transform(whole_number(least, most))->type_name("N")->group(group);
  };
  command
      .add_option("--preset", preset_, "auto, tiny, small, table, or the paper's mnist, cifar10, tinyimagenet, afhq")
      ->option_text("NAME=auto")
      ->group(net);
  whole("--model-channels", network.model_channels, 1, 65536, "U-Net: base width", net);
  whole("--num-res-blocks", network.num_res_blocks, 1, 64, "U-Net: residual blocks per level", net);
  command.add_option("--channel-mult", channel_mult_, "U-Net: width of each level in units of the base, as in 1,2,2")
      ->option_text("LIST")
      ->group(net);
  command.add_option("--attention-resolutions", attention_resolutions_, "U-Net: sizes with attention, or none")
      ->option_text("LIST")
      ->group(net);
  whole("--num-heads", network.num_heads, 1, 1024, "U-Net: attention heads", net);
  whole("--width", network.width, 1, 65536, "MLP: hidden width", net);
  whole("--depth", network.depth, 1, 256, "MLP: residual blocks of the encoder, and of the decoder", net);
  command.add_option("--dropout", network.dropout, "Dropout")->check(number_between(0, 0.99))->group(net);
  command.add_option("--conditioning", network.conditioning, "How t, y and the role enter: film, or concat as printed")
      ->check(one_of({"film", "concat"}))
      ->option_text("film|concat")
      ->group(net);
  command.add_option("--head", network.head, "Where the drift of y comes from: deep, or paper")
      ->check(one_of({"deep", "paper"}))
      ->option_text("deep|paper")
      ->group(net);
  whole("--fourier-features", network.fourier_features, 0, 65536, "Random Fourier features of y; 0: y itself", net);
  command.add_option("--fourier-scale", network.fourier_scale, "Their frequencies")
      ->check(positive_number())
      ->group(net);

  const char* how = kTraining;
  command.add_option("--epochs", options.epochs, "Passes over the pairs")->check(positive_number())->group(how);
  command.add_option("--steps", options.steps, "Steps")->transform(whole_number(1, kMost))->type_name("N")->group(how);
  command.add_option("--minutes", options.minutes, "Minutes of training; the first limit reached ends it")
      ->check(positive_number())
      ->group(how);
  whole("--batch", options.batch, 2, 1 << 20, "Pairs per step (default: 128, on a GPU 512)", how);
  command.add_option("--learning-rate", options.learning_rate, "Of AdamW (default: by the preset)")
      ->check(positive_number())
      ->group(how);
  command.add_option("--schedule", options.schedule, "Of the learning rate")
      ->check(one_of({"constant", "cosine"}))
      ->option_text("constant|cosine=cosine")
      ->capture_default_str()
      ->group(how);
  whole("--warmup", options.warmup, 0, 1 << 30, "Steps to the full learning rate", how);
  command.add_option("--weight-decay", options.weight_decay, "Of AdamW")
      ->check(number_between(0, 1))
      ->capture_default_str()
      ->group(how);
  command.add_option("--ema", options.ema, "Decay of the averaged weights")
      ->check(number_between(0, 0.9999999))
      ->capture_default_str()
      ->group(how);
  command.add_option("--clip", options.clip, "Largest norm of the gradient")
      ->check(positive_number())
      ->capture_default_str()
      ->group(how);
  command.add_option("--alpha", options.alpha, "Share of the role y given x")
      ->check(proper_fraction())
      ->capture_default_str()
      ->group(how);
  command.add_option("--interpolant", options.interpolant, "Path from noise to data")
      ->check(one_of({"linear", "trigonometric", "variance-preserving"}))
      ->option_text("linear|trigonometric|variance-preserving=linear")
      ->capture_default_str()
      ->group(how);
  whole("--y-draws", options.y_draws, 1, 4096, "Noise draws per sample for the deep head", how);
  command.add_option("--pairs", pairs, "From the plan, its interpolation to all samples, or half of each")
      ->check(one_of({"exact", "interpolated", "mixture"}))
      ->option_text("exact|interpolated|mixture=exact")
      ->capture_default_str()
      ->group(how);
  command.add_option("--validation", options.validation, "Share of the samples held out to measure the loss")
      ->check(number_between(0, 0.9))
      ->capture_default_str()
      ->group(how);
  command.add_option("--device", options.device, "auto, cpu, cuda or cuda:N")
      ->option_text("DEVICE=auto")
      ->capture_default_str()
      ->group(how);
  command.add_option("--precision", options.precision, "auto: bfloat16 on a GPU")
      ->check(one_of({"auto", "float32", "bfloat16"}))
      ->option_text("auto|float32|bfloat16=auto")
      ->capture_default_str()
      ->group(how);
  command.add_option("--checkpoint-minutes", options.checkpoint_minutes, "Minutes between checkpoints")
      ->check(positive_number())
      ->capture_default_str()
      ->group(how);
}

bool TrainArguments::owns(const CLI::Option& option) {
  return option.get_group() == kNetwork || option.get_group() == kTraining;
}

void TrainArguments::add_methods_to(CLI::App& command) {
  const char* group = "Method";
  command.add_option("--method", options.method, "cpfm, or one to compare it with, with the same network")
      ->check(one_of({"cpfm", "vae", "diffae", "infodiffusion", "kpca", "tsne"}))
      ->option_text("cpfm|vae|diffae|infodiffusion|kpca|tsne=cpfm")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--beta", options.beta,
                  "vae: weight of the KL divergence (1); infodiffusion: of the distance to the prior (0.1)")
      ->check(number_between(0, 1e6))
      ->type_name("B")
      ->group(group);
  command.add_option("--perplexity", perplexity, "tsne: effective number of neighbours (30, or less of few samples)")
      ->check(positive_number())
      ->type_name("P")
      ->group(group);
  command
      .add_option("--sigma", sigma,
                  "kpca: width of its kernel, of samples as it sees them (such that 99 % of all angles come back)")
      ->check(positive_number())
      ->type_name("S")
      ->group(group);
}

TrainOptions TrainArguments::resolve(const Context& context, const Dataset& data, FlowEntry& flow) const {
  TrainOptions resolved = options;
  const bool gpu = options.device != "cpu" && flow.devices().size() > 1;
  const std::string preset = preset_ == "auto" ? default_preset(data, gpu) : preset_;
  const auto given = [&](const char* name) { return command_->get_option(name)->count() > 0; };
  NetworkOptions& network = resolved.network;
  network = flow.network_preset(preset);
  if (network.kind == "unet" && !data.image) {
    throw Error("--preset",
                fmt::format("{} is for pictures, and {} holds vectors of {}", preset, data.source, data.dim()),
                "--preset table, or --image CxHxW where rows are pictures");
  }
  const bool unet = network.kind == "unet";
  const std::vector<const char*> of_mlp{"--width", "--depth"};
  const std::vector<const char*> of_unet{"--model-channels", "--num-res-blocks", "--channel-mult",
                                         "--attention-resolutions", "--num-heads"};
  for (const char* name : unet ? of_mlp : of_unet) {
    if (given(name)) {
      throw Error(name, fmt::format("means nothing for a network of kind {} (preset {})", network.kind, preset),
                  fmt::format("its size is set by {}", fmt::join(unet ? of_unet : of_mlp, ", ")));
    }
  }
  const auto take = [&](const char* name, auto NetworkOptions::*field) {
    if (given(name)) network.*field = options.network.*field;
  };
  take("--model-channels", &NetworkOptions::model_channels);
  take("--num-res-blocks", &NetworkOptions::num_res_blocks);
  take("--num-heads", &NetworkOptions::num_heads);
  take("--width", &NetworkOptions::width);
  take("--depth", &NetworkOptions::depth);
  take("--dropout", &NetworkOptions::dropout);
  take("--conditioning", &NetworkOptions::conditioning);
  take("--head", &NetworkOptions::head);
  take("--fourier-features", &NetworkOptions::fourier_features);
  take("--fourier-scale", &NetworkOptions::fourier_scale);
  if (given("--channel-mult")) network.channel_mult = number_list("--channel-mult", channel_mult_);
  if (given("--attention-resolutions")) {
    network.attention_resolutions = attention_resolutions_ == "none"
                                        ? std::vector<int>{}
                                        : number_list("--attention-resolutions", attention_resolutions_);
  }
  if (!given("--learning-rate")) resolved.learning_rate = default_learning_rate(preset);
  if (!given("--batch") && gpu) resolved.batch = 512;  // fewer would leave it waiting for work
  resolved.seed = context.seed;
  constexpr double kDefaultEpochs = 200;  // the paper's
  if (resolved.epochs == 0 && resolved.steps == 0 && resolved.minutes == 0) resolved.epochs = kDefaultEpochs;
  flow.check_training(resolved, data.dim(), data.image);
  return resolved;
}

void SampleArguments::add_to(CLI::App& command, bool generates) {
  const char* group = "Sampling";
  command.add_option("--method", options.method, "Solver of the flow")
      ->check(one_of({"euler", "midpoint", "heun", "rk4", "dopri5"}))
      ->option_text(fmt::format("euler|midpoint|heun|rk4|dopri5={}", options.method))
      ->capture_default_str()
      ->group(group);
  command.add_option("--steps", options.steps, "Steps of the solver; dopri5 chooses its own")
      ->transform(whole_number(1, 1000000))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--grid-times", options.grid, "Times of the steps: uniform, or quadratic (finer towards the data)")
      ->check(one_of({"uniform", "quadratic"}))
      ->option_text("uniform|quadratic=uniform")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--temperature", options.temperature,
                  "Of the noise: below 1 samples are more typical, at 0 there is one for each input")
      ->check(number_between(0, 10))
      ->capture_default_str()
      ->group(group);
  command.add_option("--ode-tolerance", options.tolerance, "Of dopri5")
      ->check(positive_number())
      ->capture_default_str()
      ->group(group);
  command.add_option("--batch", options.batch, "Samples at a time (default: what memory allows)")
      ->transform(whole_number(1, 1 << 24))
      ->type_name("N")
      ->group(group);
  command.add_option("--device", device, "auto, cpu, cuda or cuda:N")
      ->option_text("DEVICE=auto")
      ->capture_default_str()
      ->group(group);
  if (!generates) return;
  command.add_option("--precision", options.precision, "Of what is generated; auto: bfloat16 on a GPU")
      ->check(one_of({"auto", "float32", "bfloat16"}))
      ->option_text("auto|float32|bfloat16=auto")
      ->capture_default_str()
      ->group(group);
}

SampleOptions SampleArguments::resolve(const Context& context, Progress* progress) const {
  SampleOptions resolved = options;
  resolved.seed = context.seed;
  resolved.progress = progress;
  return resolved;
}

}  // namespace cpfm::app
