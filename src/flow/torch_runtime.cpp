// libtorch as a whole: its version, devices and threads, the library's entry, and what its builds do differently.
#include <torch/torch.h>
#include <torch/version.h>

#include "flow/compat.hpp"
#include "flow/entry.hpp"

namespace cpfm {

namespace {

bool slow_blas(const torch::Tensor& x) {
  return x.is_cpu() && x.scalar_type() == torch::kFloat32 && !at::hasMKL() && at::hasMKLDNN();
}

}  // namespace

torch::Tensor dense_columns(torch::nn::Linear& layer, const torch::Tensor& x) {
  if (slow_blas(x)) return torch::conv1d(x, layer->weight.unsqueeze(-1), layer->bias);
  return torch::addmm(layer->bias.unsqueeze(1), layer->weight, x.squeeze(0)).unsqueeze(0);
}

torch::Tensor dense(torch::nn::Linear& layer, const torch::Tensor& x) {
  if (!slow_blas(x)) return layer->forward(x);
  const torch::Tensor& weight = layer->weight;
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  const torch::Tensor rows = x.reshape({-1, weight.size(1), 1, 1});
  return torch::conv2d(rows, weight.unsqueeze(-1).unsqueeze(-1), layer->bias).view(sizes);
}

namespace {

class TorchRuntime final : public FlowEntry {
 public:
  std::string torch_version() const override { return TORCH_VERSION; }

  std::vector<std::string> devices() const override {
    std::vector<std::string> names{"cpu"};
    if (!torch::cuda::is_available()) return names;
    const auto count = static_cast<int>(torch::cuda::device_count());
    for (int i = 0; i < count; ++i) names.push_back("cuda:" + std::to_string(i));
    return names;
  }

  void set_threads(int count) override { at::set_num_threads(count); }

  void check_training(const TrainOptions& options, std::size_t dim, const std::optional<ImageShape>& image) override {
    cpfm::check_training(options, dim, image);
  }
  std::unique_ptr<Trainer> make_trainer(const TrainData& data, const TrainOptions& options) override {
    return cpfm::make_trainer(data, options);
  }
  std::unique_ptr<FlowModel> load_model(const std::filesystem::path& file, const std::string& device) override {
    return cpfm::load_model(file, device);
  }
  std::unique_ptr<Classifier> train_classifier(const Dataset& data, const ClassifierOptions& options,
                                               Progress* progress) override {
    return cpfm::train_classifier(data, options, progress);
  }
  std::unique_ptr<PictureFeatures> load_inception(const std::filesystem::path& file,
                                                  const std::string& device) override {
    return cpfm::load_inception(file, device);
  }
  std::unique_ptr<PictureFeatures> load_squeezenet(const std::filesystem::path& file,
                                                   const std::string& device) override {
    return cpfm::load_squeezenet(file, device);
  }
  std::unique_ptr<PerceptualDistance> load_lpips(const std::filesystem::path& file,
                                                 const std::string& device) override {
    return cpfm::load_lpips(file, device);
  }
  NetworkOptions network_preset(const std::string& name) override { return cpfm::network_preset(name); }
  std::unique_ptr<SequenceVae> train_sequence_vae(const SequenceData& data, const SequenceVaeOptions& options,
                                                  Progress* progress) override {
    return cpfm::train_sequence_vae(data, options, progress);
  }
  std::unique_ptr<SequenceVae> load_sequence_vae(const TensorFile& file, const std::string& device) override {
    return cpfm::load_sequence_vae(file, device);
  }
};

}  // namespace
}  // namespace cpfm

cpfm::FlowEntry* cpfm_flow_entry() {
  static cpfm::TorchRuntime runtime;
  return &runtime;
}
