#include "flow/model_file.hpp"

#include <fmt/format.h>

#include "cpfm/error.hpp"
#include "cpfm/model.hpp"
#include "flow/tensor_bytes.hpp"
#include "model/open_tensors.hpp"
#include "model/options_json.hpp"

namespace cpfm {
namespace {

constexpr const char* kKind = "model";

void load_tensor(const TensorFile& file, const std::string& name, torch::Tensor to) {
  const TensorView& from = file.tensor(name);
  const std::vector<std::uint64_t> shape(to.sizes().begin(), to.sizes().end());
  if (from.shape != shape || from.dtype != DType::kF32)
    throw Error(fmt::format("tensor '{}'", name), "does not fit the network of this file", "the file is damaged");
  to.copy_(from_tensor_view(from));
  if (!torch::isfinite(to).all().item<bool>())
    throw Error(fmt::format("tensor '{}'", name), "holds numbers that are not finite", "the file is damaged");
}

}  // namespace

DriftShape drift_shape(const ModelFacts& facts) {
  DriftShape shape;
  if (facts.image && facts.network.kind != "mlp")
    shape.x = {facts.image->channels, facts.image->height, facts.image->width};
  else
    shape.x = {static_cast<std::int64_t>(facts.dim)};
  shape.y = static_cast<std::int64_t>(facts.latent_dim);
  return shape;
}

void write_model(const std::filesystem::path& file, const ModelFacts& facts, const torch::nn::Module& module,
                 const std::map<std::string, torch::Tensor>& weights) {
  TensorFileWriter writer;
  writer.set_metadata("cpfm.kind", kKind);
  writer.set_metadata("model", to_json(facts).dump());
  std::vector<torch::Tensor> alive;
  const auto add = [&](const std::string& name, const torch::Tensor& values) {
    alive.push_back(values.detach().to(torch::kCPU, torch::kFloat32).contiguous());
    add_tensor(writer, name, alive.back());
  };
  for (const auto& [name, values] : weights) add("net." + name, values);
  for (const auto& item : module.named_buffers()) add("buffer." + item.key(), item.value());
  writer.save(file);
}

std::unique_ptr<Learner> make_learner(const ModelFacts& facts) {
  TrainOptions options;
  options.method = facts.method;
  options.network = facts.network;
  options.interpolant = "linear";  // how it was trained does not matter any more
  const DriftShape shape = drift_shape(facts);
  check_learner(options, shape);
  return make_learner(options, shape);
}

LoadedModel read_model(const std::filesystem::path& path) {
  const TensorFile file = open_tensors(path);
  const auto kind = file.metadata().find("cpfm.kind");
  if (kind == file.metadata().end() || kind->second != kKind) {
    throw Error(
        path.string(),
        kind == file.metadata().end() ? "is not a cpfm model" : fmt::format("is a {}, not a model", kind->second),
        "make one with 'cpfm fit' or 'cpfm train'");
  }
  LoadedModel model;
  try {
    model.facts = facts_from_json(Json::parse(file.metadata("model")));
    model.learner = make_learner(model.facts);
    torch::nn::Module& module = model.learner->module();
    torch::NoGradGuard no_grad;
    for (auto& item : module.named_parameters()) load_tensor(file, "net." + item.key(), item.value());
    for (auto& item : module.named_buffers()) load_tensor(file, "buffer." + item.key(), item.value());
    module.eval();
  } catch (const Error& error) {
    throw Error(path.string(), error.what(), "the model is damaged; make it again");
  } catch (const Json::exception&) {
    throw Error(path.string(), "its metadata cannot be read", "the model is damaged; make it again");
  }
  return model;
}

}  // namespace cpfm
