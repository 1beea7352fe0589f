#include "flow/learner.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "cpfm/error.hpp"

namespace cpfm {
namespace {

struct Entry {
  std::string name;
  std::unique_ptr<Learner> (*make)(const TrainOptions&, const DriftShape&);
};
const std::vector<Entry>& entries() {
  static const std::vector<Entry> all{{"cpfm", make_coupled_flow},
                                      {"vae", make_vae},
                                      {"diffae", make_diffusion_autoencoder},
                                      {"infodiffusion", make_diffusion_autoencoder}};
  return all;
}

const Entry& entry(const std::string& name) {
  std::vector<std::string> names;
  for (const Entry& one : entries()) {
    if (one.name == name) return one;
    names.push_back(one.name);
  }
  throw Error("method", fmt::format("there is no '{}'", printable(name)), suggest(name, names));
}

}  // namespace

torch::Tensor Learner::shaped(const torch::Tensor& flat) const {
  std::vector<std::int64_t> shape{flat.size(0)};
  shape.insert(shape.end(), sample_shape_.begin(), sample_shape_.end());
  return flat.to(precision_).view(shape);
}

torch::Tensor Learner::noise_of(const torch::Tensor&, const torch::Tensor&, const OdeOptions&) {
  throw Error("noise", "a model of this method does not find that of a sample",
              "models of diffae and infodiffusion do");
}

torch::Tensor Learner::log_density(const torch::Tensor&, const torch::Tensor&, const OdeOptions&) {
  throw Error("density", "a model of this method has none", "models of CPFM have");
}

std::optional<double> default_beta(const std::string& method) {
  if (method == "vae") return 1.0;
  if (method == "infodiffusion") return 0.1;
  return std::nullopt;
}

std::unique_ptr<Learner> make_learner(const TrainOptions& options, const DriftShape& shape) {
  return entry(options.method).make(options, shape);
}

void check_learner(const TrainOptions& options, const DriftShape& shape) {
  entry(options.method);
  if (options.beta && !(*options.beta >= 0))
    throw Error("--beta", fmt::format("{} is out of range", *options.beta), "0 or more");
  check_drift(options.network, shape);
}

}  // namespace cpfm
