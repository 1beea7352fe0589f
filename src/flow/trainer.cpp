// Trains a learner on the pairs of a coupling, or on samples alone: batches, AdamW, the averaged weights, checkpoints.
//
// Everything random in a step is a function of (seed, step): a run that is stopped and resumed does what it would have
// done.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <numbers>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/model.hpp"
#include "flow/adamw.hpp"
#include "flow/batches.hpp"
#include "flow/device.hpp"
#include "flow/drift.hpp"
#include "flow/flat_parameters.hpp"
#include "flow/interpolant.hpp"
#include "flow/learner.hpp"
#include "flow/model_file.hpp"
#include "flow/tensor_bytes.hpp"
#include "model/options_json.hpp"

namespace cpfm {
namespace {

constexpr const char* kKind = "checkpoint of training";
// What may change when training is resumed: how long, where, and how often it is saved.
const std::vector<std::string> kMayChange{"epochs", "steps", "minutes", "device", "precision", "checkpoint_minutes"};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// SplitMix64's finaliser: torch's generator gets a seed per step.
std::uint64_t step_seed(std::uint64_t seed, std::uint64_t step) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + step + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

void check(const TrainOptions& o) {
  const auto positive = [](double value, const char* name) {
    if (!(value > 0) || !std::isfinite(value))
      throw Error(name, fmt::format("{} is out of range", value), "a positive number");
  };
  if (!(o.alpha > 0 && o.alpha < 1))
    throw Error("--alpha", fmt::format("{} is out of range", o.alpha), "above 0, below 1");
  if (!(o.validation >= 0 && o.validation < 1))
    throw Error("--validation", fmt::format("{} is out of range", o.validation), "0 to below 1");
  if (o.batch < 2) throw Error("--batch", fmt::format("{} is too small", o.batch), "at least 2, one for each role");
  if (o.y_draws < 1) throw Error("--y-draws", fmt::format("{} is too small", o.y_draws), "at least 1");
  positive(o.learning_rate, "--learning-rate");
  positive(o.clip, "--clip");
  if (!(o.weight_decay >= 0)) throw Error("--weight-decay", fmt::format("{} is negative", o.weight_decay), "0 or more");
  if (!(o.ema >= 0 && o.ema < 1)) throw Error("--ema", fmt::format("{} is out of range", o.ema), "0 to below 1");
  if (o.warmup < 0) throw Error("--warmup", fmt::format("{} is negative", o.warmup), "0 or more");
  if (o.schedule != "constant" && o.schedule != "cosine")
    throw Error("--schedule", fmt::format("'{}' is not known", o.schedule), "constant or cosine");
  if (!(o.epochs >= 0) || !(o.minutes >= 0)) throw Error("--epochs, --minutes", "are negative", "0 or more");
  if (o.epochs == 0 && o.steps == 0 && o.minutes == 0)
    throw Error("training", "has no end", "give --epochs, --steps or --minutes");
}

std::string path_name(const TrainOptions& options) {
  return (options.path ? make_interpolant(*options.path) : make_interpolant(options.interpolant)).name;
}

class TorchTrainer final : public Trainer {
 public:
  TorchTrainer(const TrainData& data, const TrainOptions& options)
      : data_(data),
        options_(options),
        device_(find_device(options.device)),
        precision_(find_precision(options.precision, device_)) {
    check(options_);
    options_.interpolant = path_name(options);
    if (!options_.beta) options_.beta = default_beta(options_.method);
    if (options_.network.kind == "auto") options_.network.kind = data.image ? "unet" : "mlp";
    if (options_.network.head == "paper") options_.y_draws = 1;
    facts_.network = options_.network;
    facts_.image = data.image;
    facts_.dim = data.samples.cols;
    facts_.latent_dim = data.latent.cols;
    torch::manual_seed(options_.seed);
    const DriftShape shape = drift_shape(facts_);
    check_learner(options_, shape);
    learner_ = make_learner(options_, shape);
    learner_->use(precision_);
    parameters_ = std::make_unique<FlatParameters>(learner_->module(), device_, precision_);
    const torch::Tensor& master = parameters_->master();
    adamw_.emplace(master);
    average_ = master.clone();
    batches_ = std::make_unique<Batches>(data_, options_.validation, static_cast<std::size_t>(options_.batch),
                                         options_.seed, device_.is_cuda());
    samples_ = upload(data.samples);
    latent_ = upload(data.latent);
    reset_sums();
  }

  bool step() override {
    if (finished()) return false;
    const double before = now();
    with_memory_errors("--batch", fmt::format("a smaller one than {}, or a smaller network", batches_->batch()),
                       [&] { train_step(); });
    ++state_.steps;
    count_steps();
    // GPU work goes on behind the host's back; reading the loss, about every second, is what waits for it.
    state_.seconds += now() - before;
    if (!device_.is_cuda() || now() - last_read_ > 1) read_losses();
    return !finished();
  }

  void run(const std::filesystem::path& checkpoint, const std::function<void(const TrainState&)>& report,
           Progress* progress) override {
    // What was done before counts for neither the share nor the rate.
    const std::uint64_t total = total_steps(), before = state_.steps;
    if (progress != nullptr) {
      progress->start(before > 0 ? fmt::format("train from step {}", before) : "train",
                      total > before ? total - before : 0, "steps");
    }
    double last_report = now(), last_save = now();
    std::uint64_t reported_steps = state_.steps;
    const auto tell = [&] {
      if (summed_ == 0) return;  // resumed where there was nothing left to do
      read_losses();
      const double time = now();
      state_.images_per_second =
          static_cast<double>((state_.steps - reported_steps) * batches_->batch()) / std::max(1e-9, time - last_report);
      reported_steps = state_.steps;
      last_report = time;
      if (report) report(state_);
      if (progress != nullptr) {
        progress->update(state_.steps - before,
                         fmt::format("loss x {:.4f} y {:.4f}, {:.0f} {}/s{}", state_.loss_x, state_.loss_y,
                                     state_.images_per_second, data_.image ? "images" : "samples", minutes_left()));
      }
      reset_sums();
    };
    try {
      bool more = !finished();
      while (more) {
        check_interrupt();
        more = step();
        if (now() - last_report >= 1 && more) tell();
        if (!checkpoint.empty() && options_.checkpoint_minutes > 0 &&
            now() - last_save >= 60 * options_.checkpoint_minutes) {
          validate();
          save_checkpoint(checkpoint);
          last_save = now();
        }
      }
    } catch (const Interrupted&) {
      if (!checkpoint.empty()) save_checkpoint(checkpoint);
      throw;
    }
    validate();
    tell();
    state_.done = true;
    if (!checkpoint.empty()) save_checkpoint(checkpoint);
    if (progress != nullptr) progress->finish();
  }

  const TrainState& state() const override { return state_; }

  void save_checkpoint(const std::filesystem::path& file) const override {
    if (!torch::isfinite(parameters_->master()).all().item<bool>()) throw_not_finite("the network is");
    TensorFileWriter writer;
    writer.set_metadata("cpfm.kind", kKind);
    writer.set_metadata("options", to_json(options_).dump());
    writer.set_metadata("data", data_identity().dump());
    writer.set_metadata("state", Json{{"steps", state_.steps}, {"seconds", state_.seconds}}.dump());
    std::vector<torch::Tensor> alive;
    alive.reserve(4 * parameters_->entries().size());
    const auto add = [&](const char* prefix, const torch::Tensor& flat) {
      for (const FlatParameters::Entry& entry : parameters_->entries()) {
        alive.push_back(parameters_->part(flat, entry));
        add_tensor(writer, fmt::format("{}.{}", prefix, entry.name), alive.back());
      }
    };
    add("weights", parameters_->master());
    add("first_moment", adamw_->first);
    add("second_moment", adamw_->second);
    add("average", average_);
    writer.save(file);
  }

  void load_checkpoint(const std::filesystem::path& path) override {
    const TensorFile file = TensorFile::open(path);
    const auto kind = file.metadata().find("cpfm.kind");
    if (kind == file.metadata().end() || kind->second != kKind)
      throw Error(path.string(), "is no checkpoint of training", "start without --resume");
    Json theirs = Json::parse(file.metadata("options"), nullptr, false);
    if (theirs.is_object() && !theirs.contains("method")) theirs["method"] = "cpfm";  // older files know no other
    const Json data = Json::parse(file.metadata("data"), nullptr, false);
    const Json state = Json::parse(file.metadata("state"), nullptr, false);
    const std::string differing = other_run(data, theirs);
    if (!differing.empty())
      throw Error(path.string(), "belongs to another run: " + differing,
                  "give the same data and options to go on; to start anew, name another folder or remove this one");
    const auto read = [&](const char* prefix, torch::Tensor& flat) {
      for (const FlatParameters::Entry& entry : parameters_->entries()) {
        const std::string name = fmt::format("{}.{}", prefix, entry.name);
        const TensorView& view = file.tensor(name);
        if (view.dtype != DType::kF32 || view.count() != static_cast<std::uint64_t>(entry.count))
          throw Error(path.string(), fmt::format("tensor '{}' does not fit the network", name), "the file is damaged");
        const torch::Tensor values = from_tensor_view(view);
        if (!torch::isfinite(values).all().item<bool>())
          throw Error(path.string(), fmt::format("tensor '{}' is not finite", name), "the file is damaged");
        parameters_->set_part(flat, entry, values);
      }
    };
    if (!state.is_object() || !state.contains("steps") || !state["steps"].is_number_unsigned() ||
        !state.contains("seconds") || !state["seconds"].is_number())
      throw Error(path.string(), "its state cannot be read", "the file is damaged");
    read("weights", parameters_->master());
    read("first_moment", adamw_->first);
    read("second_moment", adamw_->second);
    read("average", average_);
    parameters_->publish();
    state_.steps = state["steps"].get<std::uint64_t>();
    state_.seconds = state["seconds"].get<double>();
    count_steps();
    reset_sums();
  }

  void save_model(const std::filesystem::path& file, ModelFacts facts) const override {
    facts.method = options_.method;
    TrainOptions used = options_;
    used.network = learner_->network(used.network);
    facts.network = used.network;
    facts.interpolant = options_.interpolant;
    facts.image = data_.image;
    facts.dim = facts_.dim;
    facts.latent_dim = facts_.latent_dim;
    facts.parameters = count_parameters(learner_->module());
    facts.steps = state_.steps;
    facts.training = to_json(used).dump();
    std::map<std::string, torch::Tensor> weights;
    for (const FlatParameters::Entry& entry : parameters_->entries())
      weights[entry.name] = parameters_->part(average_, entry);
    write_model(file, facts, learner_->module(), weights);
  }

 private:
  torch::Tensor upload(MatrixView<const float> values) const {
    const torch::Tensor all =
        torch::from_blob(const_cast<float*>(values.data),
                         {static_cast<std::int64_t>(values.rows), static_cast<std::int64_t>(values.cols)});
    constexpr double kRoom = 16e9;  // what a GPU may hold of the data; more stays where it is
    return device_.is_cuda() && 4.0 * static_cast<double>(values.size()) < kRoom ? all.to(device_) : all;
  }

  torch::Tensor rows(const torch::Tensor& of, const torch::Tensor& which) const {
    return of.index_select(0, which.to(of.device())).to(device_);
  }

  void count_steps() {
    state_.epoch = state_.steps / batches_->steps_per_epoch();
    state_.samples = state_.steps * batches_->batch();
  }

  Learner::Losses losses(const std::vector<Batches::Pair>& pairs) {
    torch::Tensor which = torch::empty({2, static_cast<std::int64_t>(pairs.size())}, torch::kInt64);
    auto* index = which.data_ptr<std::int64_t>();
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      index[k] = pairs[k].first;
      index[pairs.size() + k] = pairs[k].second;
    }
    which = which.to(device_);
    return learner_->losses(rows(samples_, which[0]), rows(latent_, which[1]));
  }

  void train_step() {
    torch::manual_seed(step_seed(options_.seed, state_.steps));
    learner_->module().train();
    const Learner::Losses loss = losses(batches_->at(state_.steps));
    torch::Tensor gradient = parameters_->gradient(loss.total);
    torch::NoGradGuard no_grad;
    sum_x_ += loss.x.detach();
    sum_y_ += loss.y.detach();
    ++summed_;
    const torch::Tensor norm = gradient.norm();
    gradient *= torch::clamp_max(options_.clip / (norm + 1e-6), 1.0);
    adamw_->update(parameters_->master(), gradient, state_.steps, learning_rate(), options_.weight_decay);
    const auto k = static_cast<double>(state_.steps + 1);
    const double decay = std::min(options_.ema, (1 + k) / (10 + k));
    average_.lerp_(parameters_->master(), 1 - decay);
    parameters_->publish();
  }

  double learning_rate() const {
    const auto step = static_cast<double>(state_.steps);
    const double warm = options_.warmup > 0 ? std::min(1.0, (step + 1) / options_.warmup) : 1.0;
    if (options_.schedule == "constant") return options_.learning_rate * warm;
    constexpr double kLeast = 0.01;
    return options_.learning_rate * warm *
           (kLeast + (1 - kLeast) * 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, spent()))));
  }

  // Share of the budget that is used up: of the limit that comes first.
  double spent() const {
    double share = 0;
    const auto steps = static_cast<double>(state_.steps);
    if (options_.steps > 0) share = std::max(share, steps / static_cast<double>(options_.steps));
    if (options_.epochs > 0)
      share = std::max(share, steps / (options_.epochs * static_cast<double>(batches_->steps_per_epoch())));
    if (options_.minutes > 0) share = std::max(share, state_.seconds / (60 * options_.minutes));
    return share;
  }
  bool finished() const { return spent() >= 1; }

  // 0 when only time limits it.
  std::uint64_t total_steps() const {
    double total = options_.steps > 0 ? static_cast<double>(options_.steps) : 0;
    if (options_.epochs > 0) {
      const double by_epochs = std::ceil(options_.epochs * static_cast<double>(batches_->steps_per_epoch()));
      total = total > 0 ? std::min(total, by_epochs) : by_epochs;
    }
    return options_.minutes > 0 ? 0 : static_cast<std::uint64_t>(total);
  }

  std::string minutes_left() const {
    if (options_.minutes == 0) return {};
    const double left = std::max(0.0, state_.seconds * (1 / std::max(1e-9, spent()) - 1));
    return fmt::format(", {}:{:02} left", static_cast<int>(left) / 60, static_cast<int>(left) % 60);
  }

  void reset_sums() {
    sum_x_ = torch::zeros({}, torch::TensorOptions().device(device_).dtype(torch::kFloat32));
    sum_y_ = torch::zeros_like(sum_x_);
    summed_ = 0;
    last_read_ = now();
  }

  void read_losses() {
    if (summed_ == 0) return;
    const double before = now();
    state_.loss_x = sum_x_.item<double>() / static_cast<double>(summed_);
    state_.loss_y = sum_y_.item<double>() / static_cast<double>(summed_);
    last_read_ = now();
    if (device_.is_cuda()) state_.seconds += last_read_ - before;  // the time the GPU needed to catch up
    if (!std::isfinite(state_.loss_x) || !std::isfinite(state_.loss_y)) throw_not_finite("the loss is");
  }

  [[noreturn]] void throw_not_finite(const char* what) const {
    throw Error("training", fmt::format("{} not finite any more at step {}", what, state_.steps),
                "a smaller --learning-rate may help; a checkpoint from before, if there is one, is kept");
  }

  // Losses of held-out pairs under the averaged weights.
  void validate() {
    constexpr std::size_t kMost = 4096;
    if (options_.validation <= 0) return;
    if (held_out_.empty()) held_out_ = batches_->held_out(kMost);
    if (held_out_.size() < 2) return;
    torch::NoGradGuard no_grad;
    learner_->module().eval();
    parameters_->use(average_);
    torch::manual_seed(step_seed(options_.seed, ~std::uint64_t{0}));
    double x = 0, y = 0, weight = 0;
    for (std::size_t first = 0; first + 2 <= held_out_.size(); first += batches_->batch()) {
      const std::size_t end = std::min(held_out_.size(), first + batches_->batch());
      if (end - first < 2) break;
      const Learner::Losses loss = losses({held_out_.begin() + static_cast<std::ptrdiff_t>(first),
                                           held_out_.begin() + static_cast<std::ptrdiff_t>(end)});
      const auto share = static_cast<double>(end - first);
      x += share * loss.x.item<double>();
      y += share * loss.y.item<double>();
      weight += share;
    }
    parameters_->publish();
    state_.validation_x = x / weight;
    state_.validation_y = y / weight;
  }

  Json data_identity() const {
    return {{"data", {{"samples", data_.samples.rows}, {"features", data_.samples.cols}, {"is", data_.identity.data}}},
            {"coupling",
             {{"points", data_.latent.rows}, {"dimensions", data_.latent.cols}, {"is", data_.identity.coupling}}},
            {"pairs", data_.identity.pairs}};
  }

  // In plain words what tells a saved run from this one; empty when nothing does.
  std::string other_run(const Json& data, const Json& options) const {
    if (!data.is_object() || !data.value("data", Json()).is_object()) return "what it was made of cannot be read";
    const Json mine = data_identity();
    const auto differs = [&](const char* key) { return mine.at(key) != data.value(key, Json()); };
    std::string text;
    const auto add = [&](const std::string& more) {
      if (!more.empty()) text += (text.empty() ? "" : ", ") + more;
    };
    if (differs("data"))
      add("it was made of other data");
    else if (differs("coupling"))
      add("it was made of another coupling of this data");
    add(differences({{"pairs", mine.at("pairs")}}, data, {}));
    add(differences(to_json(options_), options, kMayChange));
    return text;
  }

  TrainData data_;
  TrainOptions options_;
  torch::Device device_;
  torch::ScalarType precision_;
  ModelFacts facts_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<FlatParameters> parameters_;
  std::optional<AdamW> adamw_;
  torch::Tensor average_;
  std::unique_ptr<Batches> batches_;
  torch::Tensor samples_, latent_;
  std::vector<Batches::Pair> held_out_;
  torch::Tensor sum_x_, sum_y_;
  std::uint64_t summed_ = 0;
  double last_read_ = 0;
  TrainState state_;
};

}  // namespace

void check_training(const TrainOptions& options, std::size_t dim, const std::optional<ImageShape>& image) {
  check(options);
  path_name(options);
  find_precision(options.precision, find_device(options.device));
  ModelFacts facts;
  facts.network = options.network;
  facts.image = image;
  facts.dim = dim;
  facts.latent_dim = 2;  // any will do: what is checked does not depend on it
  check_learner(options, drift_shape(facts));
}

std::unique_ptr<Trainer> make_trainer(const TrainData& data, const TrainOptions& options) {
  return std::make_unique<TorchTrainer>(data, options);
}

}  // namespace cpfm
