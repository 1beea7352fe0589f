// Stage 2: dual conditional flow matching. One network u(x, y, t, r) learns from the pairs of a coupling to flow both
// ways: y ~ p(y | x) embeds, x ~ p(x | y) generates. Torch stays behind this header; what implements it is cpfm::flow.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cpfm/data.hpp"
#include "cpfm/matrix.hpp"
#include "cpfm/progress.hpp"

namespace cpfm {

// The drift network. A U-Net for pictures, a residual MLP for vectors.
struct NetworkOptions {
  std::string kind = "auto";  // unet, mlp; auto: unet where samples are pictures
  // U-Net: base width, residual blocks per level, width of each level in units of the base, true spatial sizes that get
  // attention, its heads.
  int model_channels = 64, num_res_blocks = 2;
  std::vector<int> channel_mult = {1, 2, 2, 2};
  std::vector<int> attention_resolutions = {16};
  int num_heads = 4;
  double dropout = 0;
  // MLP: hidden width, residual blocks of the encoder and again of the decoder.
  int width = 256, depth = 4;
  // How t, y and r reach the blocks: film scales and shifts the normalised features; concat is the paper's form.
  std::string conditioning = "film";
  // Where v_y comes from: deep (a residual MLP on what the encoder makes of x alone) or paper (y(t) and t go through
  // the encoder too, a linear layer at the bottleneck).
  std::string head = "deep";
  int head_width = 512, head_depth = 4;
  // Random Fourier features of y, at most this frequency; 0 features: y itself, as in the paper.
  int fourier_features = 64;
  double fourier_scale = 4;
};

// The paper's configurations (mnist, cifar10, tinyimagenet, afhq) and small ones (tiny, small, table); throws
// cpfm::Error with the names there are.
NetworkOptions network_preset(const std::string& name);
std::vector<std::string> network_presets();

// A path of one's own from noise to data, z(t) = a(t) z(0) + b(t) z(1) with a(0) = b(1) = 1 and a(1) = b(0) = 0, and
// its derivatives. Boundary values and derivatives are checked before they are used.
struct FlowPath {
  std::string name;
  std::function<double(double)> a, b, da, db;
};

struct TrainOptions {
  // cpfm, or what it is compared with, with the same network: vae, diffae, infodiffusion. Those make latent points of
  // their own; of the fields below that speak of paths, roles and pairs nothing is asked.
  std::string method = "cpfm";
  std::optional<double> beta;  // vae: weight of the KL divergence (1); infodiffusion: of the discrepancy (0.1)
  NetworkOptions network;
  std::string interpolant = "linear";  // linear, trigonometric, variance-preserving
  std::optional<FlowPath> path;        // in place of these
  double alpha = 0.5;                  // share of role 1 (y given x) in a batch and in the loss; in (0, 1)
  int batch = 128;
  int y_draws = 8;  // (y(0), t) per x of role 1 with the deep head; 1 with the paper's
  // The rate rises over `warmup` steps, then stays (constant) or falls to nothing with the budget (cosine). The paper
  // has 1e-4, constant.
  double learning_rate = 5e-4, weight_decay = 0.01;
  std::string schedule = "cosine";
  int warmup = 200;
  double ema = 0.9999, clip = 1;
  // What ends training; the first one reached. 0: no limit of that kind; at least one is needed.
  double epochs = 0;
  std::uint64_t steps = 0;
  double minutes = 0;
  double validation = 0.05;  // share of the samples held out to measure the loss; 0: none
  std::uint64_t seed = 1;
  std::string device = "auto";     // auto, cpu, cuda, cuda:1 …
  std::string precision = "auto";  // float32, bfloat16; auto: bfloat16 on a GPU that has it
  double checkpoint_minutes = 3;
};

// What training learns from.
struct TrainData {
  MatrixView<const float> samples;  // n × D, already standardised
  std::optional<ImageShape> image;
  MatrixView<const float> latent;  // m × d
  // Pairs (sample, latent point) of an epoch; called from another thread while the previous epoch runs.
  std::function<std::vector<std::pair<std::uint32_t, std::uint32_t>>(std::uint64_t epoch)> pairs;
  // Texts that tell these samples, their coupling and the way pairs are drawn from it from others, so that a checkpoint
  // is not continued with those.
  struct Identity {
    std::string data, coupling, pairs;
  };
  Identity identity;
};

// What a model remembers besides its weights.
struct ModelFacts {
  std::string method = "cpfm";
  NetworkOptions network;
  std::string interpolant, latent, kernel;
  std::optional<ImageShape> image;
  std::optional<std::array<float, 2>> value_range;  // black and white of the samples as they were
  std::size_t dim = 0, latent_dim = 0;
  Standardizer standardizer;  // from the units of the file to those of the network
  Standardizer data_scale;    // the part of it that kernels saw: --standardize
  std::vector<std::string> label_names, feature_names;
  std::uint64_t parameters = 0, steps = 0;
  std::string training;  // the options of training, as JSON
};

struct SampleOptions {
  std::string method = "midpoint";  // euler, midpoint, heun, rk4, dopri5
  int steps = 20;                   // of the fixed-step methods
  std::string grid = "uniform";     // times of the steps: uniform, quadratic (finer towards the data)
  double tolerance = 1e-4;          // of dopri5, relative and absolute
  double temperature = 1;           // scales the noise: below 1 samples are more typical, at 0 there is one per input
  // Of what is generated: auto (bfloat16 on a GPU, but for dopri5), float32, bfloat16. Places, densities and what is
  // retraced are always of float32.
  std::string precision = "auto";
  std::size_t batch = 0;  // 0: chosen by memory
  std::uint64_t seed = 1;
  Progress* progress = nullptr;
};

// A trained model. Sample i depends on (seed, i, its input) alone, not on the batch it is in.
class FlowModel {
 public:
  virtual ~FlowModel() = default;
  virtual const ModelFacts& facts() const = 0;
  virtual std::string device() const = 0;
  // y ~ p(y | x) for raw samples (as they are in the data file): draws × d for each, (n · draws) × d in all.
  virtual FloatMatrix embed(MatrixView<const float> samples, std::size_t draws, const SampleOptions& options) = 0;
  // x ~ p(x | y), in the units of the data file.
  virtual FloatMatrix generate(MatrixView<const float> y, const SampleOptions& options) = 0;
  // Samples to their noise by the diffusion run backwards, told y, and from that noise to samples again: what comes
  // back when the noise is kept beside the place. Throws cpfm::Error where a method has no such noise.
  virtual FloatMatrix retrace(MatrixView<const float> samples, MatrixView<const float> y,
                              const SampleOptions& options) = 0;
  // log p(y | x) of given pairs, by the change of variables.
  virtual std::vector<double> log_density(MatrixView<const float> samples, MatrixView<const float> y,
                                          const SampleOptions& options) = 0;
};

struct TrainState {
  std::uint64_t steps = 0, epoch = 0, samples = 0;   // samples: seen, the same one in two epochs counts twice
  double loss_x = 0, loss_y = 0;                     // means since the last report
  std::optional<double> validation_x, validation_y;  // of the averaged weights, last time they were measured
  double images_per_second = 0, seconds = 0;         // of training alone, all runs together
  bool done = false;
};

// Training as an object: step it, look at it, save it, go on.
class Trainer {
 public:
  virtual ~Trainer() = default;
  virtual bool step() = 0;  // false when the budget is spent
  // Steps until done. `report` is called about every second; a checkpoint is written to `checkpoint` every few minutes
  // and on an interrupt. A loss that is not finite ends it with cpfm::Error, the last good checkpoint kept.
  virtual void run(const std::filesystem::path& checkpoint, const std::function<void(const TrainState&)>& report,
                   Progress* progress) = 0;
  virtual const TrainState& state() const = 0;
  virtual void save_checkpoint(const std::filesystem::path& file) const = 0;
  // Throws cpfm::Error naming what differs when the options or the data are others.
  virtual void load_checkpoint(const std::filesystem::path& file) = 0;
  // The averaged weights and everything needed to use them; `facts` is completed by what training knows.
  virtual void save_model(const std::filesystem::path& file, ModelFacts facts) const = 0;
};

// A judge of classes, trained on labelled data: what a reconstruction is of, by a network that never saw the model.
struct ClassifierOptions {
  int epochs = 6;  // or 150 steps of 128 samples, if that is more
  std::uint64_t seed = 1;
  std::string device = "auto";
  // A file that keeps it: read where it is there and was made of the same data and options, else written. Two trainings
  // on a GPU end in two networks.
  std::filesystem::path keep = {};
};
class Classifier {
 public:
  virtual ~Classifier() = default;
  // Class of each raw sample, as an index into the names of the training data's labels.
  virtual std::vector<std::int32_t> predict(MatrixView<const float> samples) = 0;
  // What its last layer sees of each: 128 numbers of a picture, 256 of a vector. For a Fréchet distance.
  virtual FloatMatrix features(MatrixView<const float> samples) = 0;
};
std::unique_ptr<Classifier> train_classifier(const Dataset& data, const ClassifierOptions& options = {},
                                             Progress* progress = nullptr);

// Throws what make_trainer would throw of these options for samples of this kind, before there is a coupling.
void check_training(const TrainOptions& options, std::size_t dim, const std::optional<ImageShape>& image);
std::unique_ptr<Trainer> make_trainer(const TrainData& data, const TrainOptions& options);
std::unique_ptr<FlowModel> load_model(const std::filesystem::path& file, const std::string& device = "auto");

}  // namespace cpfm
