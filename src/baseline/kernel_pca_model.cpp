// Kernel PCA behind the interface of a model: scales and shapes of the data around it.
#include <fmt/format.h>

#include <cmath>

#include "cpfm/baseline.hpp"
#include "cpfm/error.hpp"
#include "cpfm/model.hpp"
#include "model/open_tensors.hpp"
#include "model/options_json.hpp"

namespace cpfm {
namespace {

class KernelPcaModel final : public FlowModel {
 public:
  KernelPcaModel(KernelPca pca, ModelFacts facts) : pca_(std::move(pca)), facts_(std::move(facts)) {}

  const ModelFacts& facts() const override { return facts_; }
  std::string device() const override { return "cpu"; }

  // There is one place for a sample: all draws are the same.
  FloatMatrix embed(MatrixView<const float> samples, std::size_t draws, const SampleOptions&) override {
    if (samples.cols != facts_.dim) {
      throw Error("data", fmt::format("has {} features, and the model was made for {}", samples.cols, facts_.dim),
                  "give data of the same kind");
    }
    if (draws < 1) throw Error("draws", "0 are too few", "at least 1");
    FloatMatrix scaled(samples.rows, samples.cols);
    std::copy_n(samples.data, samples.size(), scaled.data());
    facts_.standardizer.apply(scaled.view());
    const FloatMatrix y = pca_.embed(scaled.view());
    FloatMatrix all(y.rows() * draws, y.cols());
    for (std::size_t k = 0; k < all.rows(); ++k) std::copy_n(y.row(k / draws).data(), y.cols(), all.row(k).data());
    return all;
  }

  FloatMatrix generate(MatrixView<const float> y, const SampleOptions&) override {
    if (y.cols != facts_.latent_dim)
      throw Error("y", fmt::format("has {} dimensions, and the model's map has {}", y.cols, facts_.latent_dim));
    FloatMatrix x = pca_.generate(y);
    facts_.standardizer.invert(x.view());
    return x;
  }

  FloatMatrix retrace(MatrixView<const float>, MatrixView<const float>, const SampleOptions&) override {
    throw Error("noise", "a model of this method has none", "models of diffae and infodiffusion have");
  }

  std::vector<double> log_density(MatrixView<const float>, MatrixView<const float>, const SampleOptions&) override {
    throw Error("density", "a model of this method has none", "models of CPFM have");
  }

 private:
  KernelPca pca_;
  ModelFacts facts_;
};

}  // namespace

void save_kernel_pca_model(const std::filesystem::path& file, const KernelPca& pca, ModelFacts facts) {
  facts.method = "kpca";
  facts.dim = pca.columns();
  facts.latent_dim = pca.dim();
  const std::size_t of_basis = pca.directions() < pca.columns() ? pca.directions() * pca.columns() : 0;
  facts.parameters = of_basis + pca.frequencies() * (pca.directions() + pca.dim() + 1) + pca.columns() + pca.dim();
  pca.save(file, to_json(facts).dump());
}

bool is_kernel_pca(const std::filesystem::path& file) {
  const TensorFile opened = open_tensors(file);
  const auto kind = opened.metadata().find("cpfm.kind");
  return kind != opened.metadata().end() && kind->second == "kpca";
}

std::unique_ptr<FlowModel> load_kernel_pca_model(const std::filesystem::path& file) {
  KernelPca pca = KernelPca::load(file);
  try {
    ModelFacts facts = facts_from_json(Json::parse(TensorFile::open(file).metadata("model")));
    const bool grey_or_colour = !facts.image || facts.image->channels == 1 || facts.image->channels == 3;
    if (facts.dim != pca.columns() || facts.latent_dim != pca.dim() || facts.method != "kpca" || !grey_or_colour)
      throw Error("its facts", "do not fit its numbers");
    return std::make_unique<KernelPcaModel>(std::move(pca), std::move(facts));
  } catch (const Error& error) {
    throw Error(file.string(), error.what(), "the model is damaged; make it again");
  } catch (const Json::exception&) {
    throw Error(file.string(), "its metadata cannot be read", "the model is damaged; make it again");
  }
}

}  // namespace cpfm
