// Training the autoencoder of sequences: the writer is told the symbol before at every step (teacher forcing). Against
// one that does without the latent point: it is told only a share of the symbols, and the KL divergence comes in
// slowly.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/random.hpp"
#include "flow/adamw.hpp"
#include "flow/device.hpp"
#include "flow/flat_parameters.hpp"
#include "flow/sequence_vae.hpp"
#include "flow/tensor_bytes.hpp"

namespace cpfm {
namespace {

using Json = nlohmann::ordered_json;
using torch::Tensor;

constexpr const char* kCheckpoint = "sequence vae checkpoint";
constexpr std::uint32_t kOrderStream = 0x73657175;  // "sequ"
constexpr double kClip = 1, kWeightDecay = 0.01;
constexpr std::uint64_t kWarmup = 50;  // steps

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void check(const SequenceData& data, const SequenceVaeOptions& o) {
  const auto require = [](bool right, const char* where, const char* problem) {
    if (!right) throw Error(where, problem);
  };
  require(data.symbols.rows >= 2 && data.symbols.cols >= 1, "symbols", "there are fewer than two sequences");
  require(data.alphabet >= 2, "alphabet", "has fewer than two symbols");
  for (std::size_t k = 0; k < data.symbols.size(); ++k) {
    require(data.symbols.data[k] >= 0 && data.symbols.data[k] < data.alphabet, "symbols",
            "one is outside the alphabet");
  }
  require(data.features.cols == 0 || data.features.rows == data.symbols.rows, "features", "not a row per sequence");
  require(data.targets.cols == 0 || data.targets.rows == data.symbols.rows, "targets", "not a row per sequence");
  const auto positive = [](const char* where, double value, double least) {
    if (!(value >= least) || !std::isfinite(value))
      throw Error(where, fmt::format("{} is out of range", value), fmt::format("at least {}", least));
  };
  positive("latent", o.latent, 1);
  positive("embedding", o.embedding, 1);
  positive("hidden", o.hidden, 1);
  positive("batch", o.batch, 2);
  positive("beta", o.beta, 0);
  positive("rise", o.rise, 0);
  positive("target_weight", o.target_weight, 0);
  if (data.targets.cols >= static_cast<std::size_t>(o.latent))
    throw Error("latent", fmt::format("{} numbers a point, and {} targets", o.latent, data.targets.cols),
                "more numbers than targets");
  positive("learning_rate", o.learning_rate, 0);
  positive("epochs", o.epochs, 0);
  positive("minutes", o.minutes, 0);
  require(o.forget >= 0 && o.forget < 1, "forget", "is a share below 1");
  if (o.epochs == 0 && o.minutes == 0) throw Error("training", "has no end", "give epochs or minutes");
}

class SequenceTraining {
 public:
  SequenceTraining(const SequenceData& data, const SequenceVaeOptions& options)
      : options_(options), device_(find_device(options.device)) {
    check(data, options);
    SequenceShape shape;
    shape.alphabet = data.alphabet;
    shape.length = static_cast<std::int64_t>(data.symbols.cols);
    shape.features = static_cast<std::int64_t>(data.features.cols);
    shape.targets = static_cast<std::int64_t>(data.targets.cols);
    shape.latent = options.latent;
    shape.embedding = options.embedding;
    shape.hidden = options.hidden;
    torch::manual_seed(options.seed);
    net_ = SequenceNet(shape);
    flat_ = std::make_unique<FlatParameters>(*net_, device_, torch::kFloat32);
    adamw_.emplace(flat_->master());
    sequences_ = to_tensor(data.symbols).to(device_);
    if (shape.features > 0) features_ = to_tensor(data.features).to(device_);
    if (shape.targets > 0) targets_ = to_tensor(data.targets).to(device_);
    count_ = data.symbols.rows;
    // Few sequences want small batches: there have to be some steps in a pass over them.
    constexpr std::size_t kStepsAtLeast = 10, kLeastBatch = 8;
    batch_ = std::min(static_cast<std::size_t>(options.batch), std::max(kLeastBatch, count_ / kStepsAtLeast));
    batch_ = std::min(batch_, count_);
    steps_per_epoch_ = count_ / batch_;
  }

  std::unique_ptr<SequenceVae> run(Progress* progress) {
    if (!options_.checkpoint.empty() && std::filesystem::exists(options_.checkpoint)) load();
    const auto total = static_cast<std::uint64_t>(std::ceil(options_.epochs * static_cast<double>(steps_per_epoch_)));
    const bool by_time = options_.minutes > 0;
    if (progress != nullptr) progress->start("autoencoder", by_time ? 0 : total - std::min(total, step_), "steps");
    const std::uint64_t before = step_;
    double last_told = now(), last_saved = now();
    std::string note;
    constexpr double kSaveEvery = 120;  // seconds
    try {
      while (spent() < 1) {
        check_interrupt();
        const double start = now();
        train_step();
        seconds_ += now() - start;
        ++step_;
        if (now() - last_told > 1) {
          last_told = now();
          require_finite();
          const int left = static_cast<int>(std::min(1e6, seconds_ * (1 / std::max(1e-9, spent()) - 1)));
          note = fmt::format("loss {:.3f} a sequence, KL {:.1f}{}", loss_.item<double>(), kl_.item<double>(),
                             by_time ? fmt::format(", {}:{:02} left", left / 60, left % 60) : "");
        }
        if (progress != nullptr) progress->update(step_ - before, note);
        if (!options_.checkpoint.empty() && now() - last_saved > kSaveEvery) {
          save();
          last_saved = now();
        }
      }
    } catch (const Interrupted&) {
      if (!options_.checkpoint.empty()) save();
      throw;
    }
    if (loss_.defined()) require_finite();
    if (progress != nullptr) progress->finish();
    return make_sequence_vae(net_, device_);
  }

 private:
  double spent() const {
    double share = 0;
    if (options_.epochs > 0)
      share = static_cast<double>(step_) / (options_.epochs * static_cast<double>(steps_per_epoch_));
    if (options_.minutes > 0) share = std::max(share, seconds_ / (60 * options_.minutes));
    return share;
  }

  void require_finite() const {
    if (!torch::isfinite(loss_).item<bool>())
      throw Error("the autoencoder", "its loss is not a number any more", "try a smaller learning rate");
  }

  void train_step() {
    if (step_ % steps_per_epoch_ == 0 || order_.empty())
      order_ = permutation(count_, options_.seed, kOrderStream, step_ / steps_per_epoch_);
    torch::manual_seed(options_.seed + 0x9e3779b97f4a7c15ull * (step_ + 1));
    net_->train();
    std::vector<std::int64_t> rows(batch_);
    for (std::size_t k = 0; k < batch_; ++k)
      rows[k] = static_cast<std::int64_t>(order_[(step_ % steps_per_epoch_) * batch_ + k]);
    const Tensor which = torch::tensor(rows, torch::kInt64).to(device_);
    const Tensor wanted = sequences_.index_select(0, which);
    const auto [mean, log_variance] =
        net_->encode(wanted, features_.defined() ? features_.index_select(0, which) : Tensor());
    const Tensor z = mean + torch::exp(0.5 * log_variance) * torch::randn_like(mean);
    // The symbol before each, from the beginning on; some are not told.
    const std::int64_t unknown = net_->shape.alphabet;
    Tensor told = torch::cat({torch::full_like(wanted.narrow(1, 0, 1), unknown), wanted.slice(1, 0, -1)}, 1);
    told = torch::where(torch::rand(told.sizes(), mean.options()) < options_.forget, torch::full_like(told, unknown),
                        told);
    const Tensor logs = torch::log_softmax(net_->scores(z, told), 1).squeeze(0);
    // The first padding is the end, which is to be learned; what follows is not.
    const Tensor ended = SequenceNetImpl::before_padding(wanted);
    const Tensor counts =
        torch::cat({torch::ones_like(ended.narrow(1, 0, 1)), ended.slice(1, 0, -1)}, 1).to(torch::kFloat32);
    const Tensor symbols =
        -(logs.gather(0, wanted.t().reshape({1, -1})).view_as(counts.t()) * counts.t()).sum(0).mean();
    const Tensor kl = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1).mean();
    const double rise = options_.rise > 0 ? std::min(1.0, spent() / options_.rise) : 1.0;
    Tensor loss = symbols + options_.beta * rise * kl;
    if (targets_.defined()) {
      const Tensor aside = mean.narrow(1, 0, net_->shape.targets) - targets_.index_select(0, which);
      loss = loss + options_.target_weight * aside.square().sum(1).mean();
    }
    Tensor gradient = flat_->gradient(loss);
    torch::NoGradGuard no_grad;
    loss_ = symbols.detach();
    kl_ = kl.detach();
    gradient *= torch::clamp_max(kClip / (gradient.norm() + 1e-6), 1.0);
    const double warm = std::min(1.0, static_cast<double>(step_ + 1) / kWarmup);
    const double fall = 0.01 + 0.99 * 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, spent())));
    adamw_->update(flat_->master(), gradient, step_, options_.learning_rate * warm * fall, kWeightDecay);
    flat_->publish();
  }

  // What a checkpoint must have in common with this training.
  std::string identity() const {
    std::uint64_t hash = 0xcbf29ce484222325ull;
    for (const Tensor& values : {sequences_, features_, targets_}) {
      if (!values.defined()) continue;
      const Tensor all = values.to(torch::kCPU).contiguous();
      const auto* bytes = static_cast<const unsigned char*>(all.data_ptr());
      for (std::size_t k = 0; k < all.nbytes(); ++k) hash = (hash ^ bytes[k]) * 0x100000001b3ull;
    }
    return Json{{"shape", to_json(net_->shape)},
                {"beta", options_.beta},
                {"rise", options_.rise},
                {"forget", options_.forget},
                {"target_weight", options_.target_weight},
                {"batch", options_.batch},
                {"learning_rate", options_.learning_rate},
                {"seed", options_.seed},
                {"epochs", options_.epochs},
                {"minutes", options_.minutes},
                {"data", fmt::format("{:016x}", hash)}}
        .dump();
  }

  void save() const {
    TensorFileWriter writer;
    writer.set_metadata("cpfm.kind", kCheckpoint);
    writer.set_metadata("identity", identity());
    writer.set_metadata("state", Json{{"step", step_}, {"seconds", seconds_}}.dump());
    const Tensor weights = flat_->master().to(torch::kCPU), first = adamw_->first.to(torch::kCPU),
                 second = adamw_->second.to(torch::kCPU);
    add_tensor(writer, "weights", weights);
    add_tensor(writer, "first_moment", first);
    add_tensor(writer, "second_moment", second);
    writer.save(options_.checkpoint);
  }

  void load() {
    const std::string name = options_.checkpoint.string();
    const TensorFile file = TensorFile::open(options_.checkpoint);
    const auto kind = file.metadata().find("cpfm.kind");
    if (kind == file.metadata().end() || kind->second != kCheckpoint || file.metadata("identity") != identity())
      throw Error(name, "belongs to other molecules or other options of the autoencoder",
                  "give the same, or remove it to begin again");
    const Json state = Json::parse(file.metadata("state"), nullptr, false);
    if (!state.is_object() || !state.contains("step") || !state["step"].is_number_unsigned() ||
        !state.contains("seconds") || !state["seconds"].is_number())
      throw Error(name, "its state cannot be read", "remove it to begin again");
    torch::NoGradGuard no_grad;
    const auto read = [&](const char* tensor, Tensor& to) {
      const TensorView& view = file.tensor(tensor);
      if (view.dtype != DType::kF32 || view.count() != static_cast<std::uint64_t>(to.numel()))
        throw Error(name, fmt::format("tensor '{}' does not fit the network", tensor), "remove it to begin again");
      const Tensor values = from_tensor_view(view);
      if (!torch::isfinite(values).all().item<bool>())
        throw Error(name, fmt::format("tensor '{}' is not finite", tensor), "remove it to begin again");
      to.copy_(values.view(to.sizes()));
    };
    read("weights", flat_->master());
    read("first_moment", adamw_->first);
    read("second_moment", adamw_->second);
    flat_->publish();
    step_ = state["step"].get<std::uint64_t>();
    seconds_ = state["seconds"].get<double>();
  }

  SequenceVaeOptions options_;
  torch::Device device_;
  SequenceNet net_{nullptr};
  std::unique_ptr<FlatParameters> flat_;
  std::optional<AdamW> adamw_;
  Tensor sequences_, features_, targets_, loss_, kl_;
  std::size_t count_ = 0, batch_ = 0, steps_per_epoch_ = 0;
  std::vector<std::size_t> order_;
  std::uint64_t step_ = 0;
  double seconds_ = 0;
};

}  // namespace

std::unique_ptr<SequenceVae> train_sequence_vae(const SequenceData& data, const SequenceVaeOptions& options,
                                                Progress* progress) {
  return with_memory_errors("the autoencoder", "a smaller batch, or fewer hidden units",
                            [&] { return SequenceTraining(data, options).run(progress); });
}

}  // namespace cpfm
