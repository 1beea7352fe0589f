// A trained autoencoder of sequences, and its file.
#include "flow/sequence_vae.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "flow/device.hpp"
#include "flow/tensor_bytes.hpp"

namespace cpfm {
namespace {

using torch::Tensor;

constexpr std::size_t kSampleBatch = 512;

std::string weight_name(const std::string& parameter) { return fmt::format("{}.{}", kSequenceFacts, parameter); }

class TorchSequenceVae final : public SequenceVae {
 public:
  TorchSequenceVae(SequenceNet net, torch::Device device) : net_(std::move(net)), device_(device) {
    net_->to(device_);
    net_->eval();
  }

  std::size_t length() const override { return static_cast<std::size_t>(net_->shape.length); }
  std::size_t alphabet() const override { return static_cast<std::size_t>(net_->shape.alphabet); }
  std::size_t latent() const override { return static_cast<std::size_t>(net_->shape.latent); }
  std::size_t features() const override { return static_cast<std::size_t>(net_->shape.features); }
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
    writer.set_metadata(kSequenceFacts, to_json(net_->shape).dump());
    if (alive_.empty()) {
      for (const auto& item : net_->named_parameters())
        alive_.emplace_back(weight_name(item.key()), item.value().detach().to(torch::kCPU).contiguous().clone());
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

}  // namespace

std::unique_ptr<SequenceVae> make_sequence_vae(SequenceNet net, torch::Device device) {
  return std::make_unique<TorchSequenceVae>(std::move(net), device);
}

std::unique_ptr<SequenceVae> load_sequence_vae(const TensorFile& file, const std::string& device) {
  const torch::Device where = find_device(device);
  const SequenceShape shape =
      sequence_shape(nlohmann::ordered_json::parse(file.metadata(kSequenceFacts), nullptr, false));
  // A network far larger than the file cannot be its own.
  if (sizeof(float) * shape.weights() > static_cast<double>(file.file_size()))
    throw Error(kSequenceFacts, "is larger than its file", "the file is damaged");
  SequenceNet net(shape);
  torch::NoGradGuard no_grad;
  for (auto& item : net->named_parameters()) {
    const TensorView& view = file.tensor(weight_name(item.key()));
    const std::vector<std::uint64_t> sizes(item.value().sizes().begin(), item.value().sizes().end());
    if (view.shape != sizes || view.dtype != DType::kF32)
      throw Error(fmt::format("tensor '{}'", weight_name(item.key())), "does not fit its network",
                  "the file is damaged");
    item.value().copy_(from_tensor_view(view));
    if (!torch::isfinite(item.value()).all().item<bool>())
      throw Error(fmt::format("tensor '{}'", weight_name(item.key())), "is not finite", "the file is damaged");
  }
  return make_sequence_vae(net, where);
}

}  // namespace cpfm
