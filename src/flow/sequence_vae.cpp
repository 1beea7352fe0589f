// The autoencoder of sequences: convolutions read a sequence, a gated recurrent unit writes it, told the symbol before
// at every step while it learns (teacher forcing). Against a decoder that does without the latent point: it is
// told only a share of the symbols, and the KL divergence comes in slowly.
#include "cpfm/sequence_vae.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/random.hpp"
#include "flow/adamw.hpp"
#include "flow/compat.hpp"
#include "flow/device.hpp"
#include "flow/flat_parameters.hpp"
#include "flow/tensor_bytes.hpp"

namespace cpfm {
namespace {

using Json = nlohmann::ordered_json;
using torch::Tensor;

constexpr const char *kFacts = "sequence_vae", *kPrefix = "sequence_vae.", *kCheckpoint = "sequence vae checkpoint";
constexpr std::uint32_t kOrderStream = 0x73657175;  // "sequ"
constexpr std::int64_t kFeatureWidth = 256, kReaders = 128, kReach = 5;
constexpr double kFeatureDropout = 0.3;
constexpr double kClip = 1, kWeightDecay = 0.01;
constexpr std::uint64_t kWarmup = 50;  // steps
constexpr std::size_t kSampleBatch = 512;

struct Shape {
  std::int64_t alphabet = 0, length = 0, features = 0, targets = 0, latent = 0, embedding = 0, hidden = 0;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// One step at a time; what the inputs contribute is computed for all steps together. Samples are columns (1 × width ×
// n): that is the form in which small products are fastest where there is no good BLAS.
struct GruImpl : torch::nn::Module {
  torch::nn::Linear input{nullptr}, state{nullptr};

  GruImpl(std::int64_t in, std::int64_t hidden)
      : input(register_module("input", torch::nn::Linear(in, 3 * hidden))),
        state(register_module("state", torch::nn::Linear(hidden, 3 * hidden))) {}

  Tensor step(const Tensor& from_input, const Tensor& before) {
    const std::vector<Tensor> x = from_input.chunk(3, 1), h = dense_columns(state, before).chunk(3, 1);
    const Tensor reset = torch::sigmoid(x[0] + h[0]), keep = torch::sigmoid(x[1] + h[1]);
    return torch::lerp(torch::tanh(x[2] + reset * h[2]), before, keep);
  }
};
TORCH_MODULE(Gru);

struct SequenceNetImpl : torch::nn::Module {
  Shape shape;
  torch::nn::Embedding symbols{nullptr};  // the last one: a beginning, or a symbol that is not told
  torch::nn::Conv1d near{nullptr}, far{nullptr};
  Gru writer{nullptr};
  torch::nn::Linear from_places{nullptr}, from_features{nullptr}, to_mean{nullptr}, to_log_variance{nullptr},
      to_state{nullptr}, to_writer{nullptr}, to_symbol{nullptr}, to_target_hidden{nullptr}, to_target{nullptr};

  explicit SequenceNetImpl(const Shape& s) : shape(s) {
    symbols = register_module("symbols", torch::nn::Embedding(s.alphabet + 1, s.embedding));
    const auto reader = [](std::int64_t in, std::int64_t out) {
      return torch::nn::Conv1d(torch::nn::Conv1dOptions(in, out, kReach).padding(kReach / 2));
    };
    near = register_module("near", reader(s.embedding, kReaders));
    far = register_module("far", reader(kReaders, kReaders));
    from_places = register_module("from_places", torch::nn::Linear(kReaders * s.length, s.hidden));
    const std::int64_t seen = s.hidden + (s.features > 0 ? kFeatureWidth : 0);
    if (s.features > 0) from_features = register_module("from_features", torch::nn::Linear(s.features, kFeatureWidth));
    to_mean = register_module("to_mean", torch::nn::Linear(seen, s.latent));
    to_log_variance = register_module("to_log_variance", torch::nn::Linear(seen, s.latent));
    to_state = register_module("to_state", torch::nn::Linear(s.latent, s.hidden));
    writer = register_module("writer", Gru(s.embedding, s.hidden));
    to_writer = register_module("to_writer", torch::nn::Linear(s.latent, 3 * s.hidden));
    to_symbol = register_module("to_symbol", torch::nn::Linear(s.hidden, s.alphabet));
    if (s.targets > 0) {
      to_target_hidden = register_module("to_target_hidden", torch::nn::Linear(s.latent, s.hidden));
      to_target = register_module("to_target", torch::nn::Linear(s.hidden, s.targets));
    }
  }

  // Mean and logarithm of the variance of each sequence's latent point.
  std::pair<Tensor, Tensor> encode(const Tensor& sequences, const Tensor& features) {
    const Tensor counts = before_padding(sequences).to(torch::kFloat32);
    const Tensor inputs = symbols->forward(sequences).transpose(1, 2) * counts.unsqueeze(1);
    const Tensor read = torch::relu(far->forward(torch::relu(near->forward(inputs)))) * counts.unsqueeze(1);
    std::vector<Tensor> seen{torch::relu(dense(from_places, read.flatten(1)))};
    if (shape.features > 0) {
      seen.push_back(torch::dropout(torch::relu(dense(from_features, features)), kFeatureDropout, is_training()));
    }
    const Tensor all = torch::cat(seen, 1);
    return {dense(to_mean, all), dense(to_log_variance, all).clamp(-12, 4)};
  }

  static Tensor as_columns(const Tensor& rows) { return rows.t().unsqueeze(0).contiguous(); }
  Tensor first_state(const Tensor& point) { return torch::tanh(dense_columns(to_state, point)); }

  // Scores of every symbol at every place, told the symbols before: 1 × alphabet × (length · n), place by place.
  Tensor scores(const Tensor& z, const Tensor& told) {
    const std::int64_t n = z.size(0);
    const Tensor point = as_columns(z), from_point = dense_columns(to_writer, point);
    const Tensor from_input = dense_columns(writer->input, as_columns(symbols->forward(told.t().reshape({-1}))));
    Tensor state = first_state(point);
    std::vector<Tensor> states;
    for (std::int64_t t = 0; t < shape.length; ++t) {
      state = writer->step(from_input.narrow(2, t * n, n) + from_point, state);
      states.push_back(state);
    }
    return dense_columns(to_symbol, torch::cat(states, 2));
  }

  Tensor write(const Tensor& z) {
    const Tensor point = as_columns(z), from_point = dense_columns(to_writer, point);
    Tensor state = first_state(point);
    Tensor last =
        torch::full({z.size(0)}, shape.alphabet, torch::TensorOptions().dtype(torch::kInt64).device(z.device()));
    Tensor open = torch::ones_like(last);
    std::vector<Tensor> written;
    for (std::int64_t t = 0; t < shape.length; ++t) {
      state = writer->step(dense_columns(writer->input, as_columns(symbols->forward(last))) + from_point, state);
      last = dense_columns(to_symbol, state).squeeze(0).argmax(0) * open;
      open = open * (last != 0).to(torch::kInt64);
      written.push_back(last);
    }
    return torch::stack(written, 1);
  }

  Tensor targets(const Tensor& z) { return dense(to_target, torch::silu(dense(to_target_hidden, z))); }

  // 1 up to the first padding, 0 from there on.
  static Tensor before_padding(const Tensor& sequences) {
    return torch::cumprod((sequences != 0).to(torch::kInt64), 1);
  }
};
TORCH_MODULE(SequenceNet);

Tensor to_tensor(MatrixView<const std::int32_t> values) {
  const Tensor all =
      torch::from_blob(const_cast<std::int32_t*>(values.data),
                       {static_cast<std::int64_t>(values.rows), static_cast<std::int64_t>(values.cols)}, torch::kInt32);
  return all.to(torch::kInt64);
}

Tensor to_tensor(MatrixView<const float> values) {
  return torch::from_blob(const_cast<float*>(values.data),
                          {static_cast<std::int64_t>(values.rows), static_cast<std::int64_t>(values.cols)})
      .clone();
}

Json to_json(const Shape& s) {
  return {{"alphabet", s.alphabet}, {"length", s.length}, {"features", s.features},  {"targets", s.targets},
          {"latent", s.latent},     {"hidden", s.hidden}, {"embedding", s.embedding}};
}

Shape shape_from_json(const Json& json) {
  Shape s;
  const auto read = [&](const char* name, std::int64_t least, std::int64_t most) {
    if (!json.is_object() || !json.contains(name) || !json[name].is_number_integer())
      throw Error(kFacts, fmt::format("says nothing of {}", name), "the file is damaged");
    const auto value = json[name].get<std::int64_t>();
    if (value < least || value > most) throw Error(kFacts, fmt::format("{} is {}", name, value), "the file is damaged");
    return value;
  };
  constexpr std::int64_t kMost = 1 << 16;
  s.alphabet = read("alphabet", 2, kMost);
  s.length = read("length", 1, kMost);
  s.features = read("features", 0, kMost);
  s.targets = read("targets", 0, kMost);
  s.latent = read("latent", 1, kMost);
  s.hidden = read("hidden", 1, kMost);
  s.embedding = read("embedding", 1, kMost);
  return s;
}

class TorchSequenceVae final : public SequenceVae {
 public:
  TorchSequenceVae(SequenceNet net, torch::Device device) : net_(std::move(net)), device_(device) {
    net_->to(device_);
    net_->eval();
  }

  std::size_t length() const override { return static_cast<std::size_t>(net_->shape.length); }
  std::size_t alphabet() const override { return static_cast<std::size_t>(net_->shape.alphabet); }
  std::size_t latent() const override { return static_cast<std::size_t>(net_->shape.latent); }
  std::string device() const override { return device_text(device_); }

  FloatMatrix encode(MatrixView<const std::int32_t> symbols, MatrixView<const float> features) override {
    if (symbols.cols != length())
      throw Error("symbols", fmt::format("sequences of {} where {} are known", symbols.cols, length()));
    const bool has_features = net_->shape.features > 0;
    if (has_features &&
        (features.rows != symbols.rows || features.cols != static_cast<std::size_t>(net_->shape.features)))
      throw Error("features", fmt::format("{} x {} for {} sequences", features.rows, features.cols, symbols.rows),
                  fmt::format("{} a sequence", net_->shape.features));
    FloatMatrix points(symbols.rows, latent());
    torch::NoGradGuard no_grad;
    for_batches(symbols.rows, [&](std::size_t first, std::size_t count) {
      const Tensor sequences = to_tensor({symbols.data + first * symbols.cols, count, symbols.cols}).to(device_);
      if (sequences.min().item<std::int64_t>() < 0 || sequences.max().item<std::int64_t>() > net_->shape.alphabet)
        throw Error("symbols", "one is outside the alphabet");
      Tensor besides;
      if (has_features) besides = to_tensor({features.data + first * features.cols, count, features.cols}).to(device_);
      const Tensor mean = net_->encode(sequences, besides).first.to(torch::kCPU).contiguous();
      std::copy_n(mean.data_ptr<float>(), mean.numel(), points.row(first).data());
    });
    return points;
  }

  std::vector<std::int32_t> decode(MatrixView<const float> points) override {
    if (points.cols != latent())
      throw Error("points", fmt::format("have {} numbers, and latent points have {}", points.cols, latent()));
    std::vector<std::int32_t> sequences(points.rows * length());
    torch::NoGradGuard no_grad;
    for_batches(points.rows, [&](std::size_t first, std::size_t count) {
      const Tensor z = to_tensor({points.data + first * points.cols, count, points.cols}).to(device_);
      const Tensor written = net_->write(z).to(torch::kCPU, torch::kInt32).contiguous();
      std::copy_n(written.data_ptr<std::int32_t>(), written.numel(), sequences.data() + first * length());
    });
    return sequences;
  }

  void add_to(TensorFileWriter& writer) override {
    writer.set_metadata(kFacts, to_json(net_->shape).dump());
    if (alive_.empty()) {
      for (const auto& item : net_->named_parameters())
        alive_.emplace_back(kPrefix + item.key(), item.value().detach().to(torch::kCPU).contiguous().clone());
    }
    for (const auto& [name, values] : alive_) add_tensor(writer, name, values);
  }

 private:
  template <class Work>
  static void for_batches(std::size_t count, const Work& work) {
    for (std::size_t first = 0; first < count; first += kSampleBatch) {
      check_interrupt();
      work(first, std::min(kSampleBatch, count - first));
    }
  }

  SequenceNet net_;
  torch::Device device_;
  std::vector<std::pair<std::string, Tensor>> alive_;
};

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
    Shape shape;
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
    return std::make_unique<TorchSequenceVae>(net_, device_);
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
      loss = loss +
             options_.target_weight * (net_->targets(mean) - targets_.index_select(0, which)).square().sum(1).mean();
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

std::unique_ptr<SequenceVae> load_sequence_vae(const TensorFile& file, const std::string& device) {
  const torch::Device where = find_device(device);
  const Shape shape = shape_from_json(Json::parse(file.metadata(kFacts), nullptr, false));
  // A network far larger than the file cannot be its own.
  const auto product = [](std::int64_t a, std::int64_t b) { return static_cast<double>(a) * static_cast<double>(b); };
  const double weights = product(shape.alphabet, shape.embedding) + product(shape.alphabet, shape.hidden) +
                         product(kReaders * shape.length, shape.hidden) + product(3 * shape.hidden, shape.hidden) +
                         product(3 * shape.hidden, shape.embedding) + product(5 * shape.latent, shape.hidden) +
                         product(shape.features, kFeatureWidth) + product(shape.targets, shape.hidden);
  if (sizeof(float) * weights > static_cast<double>(file.file_size()))
    throw Error(kFacts, "is larger than its file", "the file is damaged");
  SequenceNet net(shape);
  torch::NoGradGuard no_grad;
  for (auto& item : net->named_parameters()) {
    const TensorView& view = file.tensor(kPrefix + item.key());
    const std::vector<std::uint64_t> sizes(item.value().sizes().begin(), item.value().sizes().end());
    if (view.shape != sizes || view.dtype != DType::kF32)
      throw Error(fmt::format("tensor '{}{}'", kPrefix, item.key()), "does not fit its network", "the file is damaged");
    item.value().copy_(from_tensor_view(view));
    if (!torch::isfinite(item.value()).all().item<bool>())
      throw Error(fmt::format("tensor '{}{}'", kPrefix, item.key()), "is not finite", "the file is damaged");
  }
  return std::make_unique<TorchSequenceVae>(net, where);
}

}  // namespace cpfm
