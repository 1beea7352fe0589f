// A small classifier, trained on the originals, that judges which class a reconstruction is of: a convolutional network
// for pictures, an MLP for vectors. It is a measuring instrument, so its own accuracy on data it has not seen is always
// reported beside what it measures.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <algorithm>

#include "cpfm/error.hpp"
#include "cpfm/flow.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/model.hpp"
#include "cpfm/random.hpp"
#include "flow/device.hpp"
#include "flow/tensor_bytes.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kOrderStream = 0x6a756467;  // "judg"
constexpr const char* kKind = "classifier";

struct PictureNetImpl : torch::nn::Module {
  PictureNetImpl(const ImageShape& shape, std::int64_t classes) {
    const auto conv = [](std::int64_t from, std::int64_t to) {
      return torch::nn::Conv2d(torch::nn::Conv2dOptions(from, to, 3).padding(1));
    };
    a = register_module("a", conv(shape.channels, 32));
    b = register_module("b", conv(32, 32));
    c = register_module("c", conv(32, 64));
    d = register_module("d", conv(64, 64));
    dropout = register_module("dropout", torch::nn::Dropout(0.3));
    hidden = register_module("hidden", torch::nn::Linear(64 * 16, 128));
    out = register_module("out", torch::nn::Linear(128, classes));
  }
  torch::Tensor features(torch::Tensor x) {
    x = torch::relu(b(torch::relu(a(x))));
    if (std::min(x.size(2), x.size(3)) >= 16) x = torch::max_pool2d(x, 2);
    x = torch::relu(d(torch::relu(c(x))));
    x = torch::adaptive_avg_pool2d(x, {4, 4}).flatten(1);
    return torch::relu(hidden(x));
  }
  torch::Tensor forward(const torch::Tensor& x) { return out(dropout(features(x))); }
  torch::nn::Conv2d a{nullptr}, b{nullptr}, c{nullptr}, d{nullptr};
  torch::nn::Dropout dropout{nullptr};
  torch::nn::Linear hidden{nullptr}, out{nullptr};
};
TORCH_MODULE(PictureNet);

struct VectorNetImpl : torch::nn::Module {
  VectorNetImpl(std::int64_t features, std::int64_t classes) {
    a = register_module("a", torch::nn::Linear(features, 256));
    b = register_module("b", torch::nn::Linear(256, 256));
    out = register_module("out", torch::nn::Linear(256, classes));
    dropout = register_module("dropout", torch::nn::Dropout(0.1));
  }
  torch::Tensor features(const torch::Tensor& x) { return torch::relu(b(dropout(torch::relu(a(x))))); }
  torch::Tensor forward(const torch::Tensor& x) { return out(dropout(features(x))); }
  torch::nn::Linear a{nullptr}, b{nullptr}, out{nullptr};
  torch::nn::Dropout dropout{nullptr};
};
TORCH_MODULE(VectorNet);

class TorchClassifier final : public Classifier {
 public:
  TorchClassifier(const Dataset& data, const ClassifierOptions& options, Progress* progress)
      : device_(find_device(options.device)), image_(data.image), dim_(data.dim()) {
    if (!data.labels) throw Error(data.source, "has no labels", "a classifier is trained on classes");
    scale_ = Standardizer::fit(data, data.image && data.value_range ? Standardize::kImage : Standardize::kZscore);
    classes_ = static_cast<std::int64_t>(data.labels->names.size());
    if (classes_ < 2) throw Error(data.source, "has fewer than two classes", "there is nothing to tell apart");
    torch::manual_seed(options.seed);
    if (image_)
      picture_ = PictureNet(*image_, classes_);
    else
      vector_ = VectorNet(static_cast<std::int64_t>(dim_), classes_);
    const std::string key =
        fmt::format("{:016x} {} {} {} {} {}", fingerprint(data), options.epochs, options.seed, to_string(scale_.mode),
                    fmt::join(scale_.shift, ","), fmt::join(scale_.scale, ","));
    if (!options.keep.empty() && load(options.keep, key)) {
      module().to(device_);
      return;
    }
    module().to(device_);
    train(data, options, progress);
    if (!options.keep.empty()) save(options.keep, key);
  }

  std::vector<std::int32_t> predict(MatrixView<const float> samples) override {
    std::vector<std::int32_t> labels;
    for_batches(samples, [&](const torch::Tensor& x, std::size_t) {
      const torch::Tensor best = scores(x).argmax(1).to(torch::kCPU, torch::kInt32).contiguous();
      labels.insert(labels.end(), best.data_ptr<std::int32_t>(), best.data_ptr<std::int32_t>() + best.size(0));
    });
    return labels;
  }

  FloatMatrix features(MatrixView<const float> samples) override {
    FloatMatrix all;
    for_batches(samples, [&](const torch::Tensor& x, std::size_t first) {
      const torch::Tensor seen = (image_ ? picture_->features(x) : vector_->features(x)).to(torch::kCPU).contiguous();
      if (first == 0) all = FloatMatrix(samples.rows, static_cast<std::size_t>(seen.size(1)));
      std::copy_n(seen.data_ptr<float>(), seen.numel(), all.row(first).data());
    });
    return all;
  }

 private:
  // use(batch as the network takes it, its first row)
  template <class Use>
  void for_batches(MatrixView<const float> samples, const Use& use) {
    if (samples.cols != dim_)
      throw Error("samples", fmt::format("have {} features, and the classifier knows {}", samples.cols, dim_));
    torch::NoGradGuard no_grad;
    module().eval();
    constexpr std::size_t kBatch = 1024;
    for (std::size_t first = 0; first < samples.rows; first += kBatch) {
      check_interrupt();
      std::vector<std::size_t> rows(std::min(kBatch, samples.rows - first));
      for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = first + k;
      use(gather(samples, rows), first);
    }
  }
  torch::nn::Module& module() { return image_ ? static_cast<torch::nn::Module&>(*picture_) : *vector_; }
  torch::Tensor scores(const torch::Tensor& x) { return image_ ? picture_(x) : vector_(x); }

  torch::Tensor gather(MatrixView<const float> samples, const std::vector<std::size_t>& rows) const {
    FloatMatrix taken(rows.size(), samples.cols);
    for (std::size_t k = 0; k < rows.size(); ++k)
      std::copy_n(samples.data + rows[k] * samples.cols, samples.cols, taken.row(k).data());
    scale_.apply(taken.view());
    std::vector<std::int64_t> shape{static_cast<std::int64_t>(rows.size())};
    if (image_)
      shape.insert(shape.end(), {image_->channels, image_->height, image_->width});
    else
      shape.push_back(static_cast<std::int64_t>(dim_));
    return torch::from_blob(taken.data(), shape).clone().to(device_);
  }

  void save(const std::filesystem::path& file, const std::string& key) {
    TensorFileWriter writer;
    writer.set_metadata("cpfm.kind", kKind);
    writer.set_metadata("made_of", key);
    std::vector<torch::Tensor> alive;
    for (const auto& item : module().named_parameters()) {
      alive.push_back(item.value().detach().to(torch::kCPU).contiguous());
      add_tensor(writer, item.key(), alive.back());
    }
    writer.save(file);
  }
  // Whether it is there, whole, and was made of the same.
  bool load(const std::filesystem::path& path, const std::string& key) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return false;
    std::optional<TensorFile> opened;
    try {
      opened = TensorFile::open(path);
    } catch (const DamagedFile&) {  // it is made again
      return false;
    }
    try {
      const TensorFile& file = *opened;
      if (file.metadata("cpfm.kind") != kKind || file.metadata("made_of") != key) return false;
      torch::NoGradGuard no_grad;
      std::vector<std::pair<torch::Tensor, torch::Tensor>> weights;
      for (auto& item : module().named_parameters()) {
        weights.emplace_back(item.value(), from_tensor_view(file.tensor(item.key())));
        if (weights.back().first.sizes() != weights.back().second.sizes()) return false;
      }
      for (auto& [to, from] : weights) to.copy_(from);
      return true;
    } catch (const Error&) {  // it is of something else
      return false;
    }
  }

  void train(const Dataset& data, const ClassifierOptions& options, Progress* progress) {
    std::vector<std::size_t> labelled;
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (data.labels->ids[i] >= 0) labelled.push_back(i);
    }
    if (labelled.empty()) {
      throw Error(data.source, fmt::format("none of {} samples has a label", data.size()),
                  "a classifier is trained on classes");
    }
    const std::size_t batch = std::min<std::size_t>(128, labelled.size());
    const std::size_t steps = std::max<std::size_t>(1, labelled.size() / batch);
    constexpr std::size_t kFewestSteps = 150;  // few samples are seen more often: fewer steps teach it nothing
    const std::size_t total = std::max(kFewestSteps, steps * static_cast<std::size_t>(options.epochs));
    torch::optim::Adam optimiser(module().parameters(), torch::optim::AdamOptions(1e-3));
    if (progress != nullptr) progress->start("judge", total, "steps");
    module().train();
    for (std::size_t step = 0; step < total; ++step) {
      check_interrupt();
      if (step % steps == 0) order_ = permutation(labelled.size(), options.seed, kOrderStream, step / steps);
      // The rate falls linearly to a hundredth.
      for (auto& group : optimiser.param_groups()) {
        static_cast<torch::optim::AdamOptions&>(group.options())
            .lr(1e-3 * (1 - 0.99 * static_cast<double>(step) / static_cast<double>(total)));
      }
      std::vector<std::size_t> rows(batch);
      std::vector<std::int64_t> wanted(batch);
      for (std::size_t k = 0; k < batch; ++k) {
        rows[k] = labelled[order_[(step % steps) * batch + k]];
        wanted[k] = data.labels->ids[rows[k]];
      }
      const torch::Tensor target = torch::tensor(wanted, torch::kInt64).to(device_);
      optimiser.zero_grad();
      torch::nll_loss(torch::log_softmax(scores(gather(data.samples.view(), rows)), 1), target).backward();
      optimiser.step();
      if (progress != nullptr) progress->update(step + 1);
    }
    if (progress != nullptr) progress->finish();
  }

  torch::Device device_;
  std::optional<ImageShape> image_;
  std::size_t dim_;
  std::int64_t classes_ = 0;
  Standardizer scale_;
  PictureNet picture_{nullptr};
  VectorNet vector_{nullptr};
  std::vector<std::size_t> order_;
};

}  // namespace

std::unique_ptr<Classifier> train_classifier(const Dataset& data, const ClassifierOptions& options,
                                             Progress* progress) {
  return std::make_unique<TorchClassifier>(data, options, progress);
}

}  // namespace cpfm
