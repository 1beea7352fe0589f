// Kernel PCA as a tensor file. The way back is computed again from the frequencies.
#include <fmt/format.h>

#include "baseline/kernel_pca_state.hpp"
#include "cpfm/error.hpp"
#include "cpfm/model.hpp"
#include "model/tensor_values.hpp"

namespace cpfm {
namespace {

using Eigen::Index;
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using FloatRows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using FloatColumns = Eigen::MatrixXf;
constexpr const char* kKind = "kpca";

void require(bool right, const std::string& what) {
  if (!right) throw Error(what, "does not fit the rest");
}

std::vector<double> values_of(const Vector& vector) { return {vector.data(), vector.data() + vector.size()}; }

Vector read_vector(const TensorFile& file, const std::string& name, Index size) {
  const std::vector<double> values = read_values<double>(file, name);
  require(static_cast<Index>(values.size()) == size, name);
  Vector vector = Eigen::Map<const Vector>(values.data(), size);
  require(vector.allFinite(), name);
  return vector;
}

}  // namespace

void KernelPca::save(const std::filesystem::path& file, const std::string& facts) const {
  const State& s = *state_;
  const FloatRows frequencies = s.frequencies.cast<float>();
  const std::vector<double> mean = values_of(s.mean), feature_mean = values_of(s.feature_mean),
                            deviation = values_of(s.deviation), about = {s.sigma, s.explained};
  // By columns, which are the components: d × D in the file.
  const std::vector<double> components(s.components.data(), s.components.data() + s.components.size());
  TensorFileWriter writer;
  writer.set_metadata("cpfm.kind", kKind);
  if (!facts.empty()) writer.set_metadata("model", facts);
  writer.add("frequencies", {KernelPca::frequencies(), directions()},
             std::span(frequencies.data(), static_cast<std::size_t>(frequencies.size())));
  const FloatColumns basis = s.basis.cast<float>();  // by columns, which are the directions: k × c in the file
  if (basis.size() > 0)
    writer.add("basis", {directions(), columns()}, std::span(basis.data(), static_cast<std::size_t>(basis.size())));
  add_values(writer, "mean", {columns()}, mean);
  add_values(writer, "feature_mean", {KernelPca::frequencies()}, feature_mean);
  add_values(writer, "components", {dim(), KernelPca::frequencies()}, components);
  add_values(writer, "deviation", {dim()}, deviation);
  add_values(writer, "sigma_and_explained", {2}, about);
  writer.save(file);
}

KernelPca KernelPca::load(const std::filesystem::path& path) {
  const TensorFile file = TensorFile::open(path);
  const auto kind = file.metadata().find("cpfm.kind");
  if (kind == file.metadata().end() || kind->second != kKind) throw Error(path.string(), "is no kernel PCA");
  try {
    auto state = std::make_shared<State>();
    const std::vector<std::uint64_t>& shape = file.tensor("frequencies").shape;
    const std::vector<std::uint64_t>& down = file.tensor("components").shape;
    require(shape.size() == 2 && shape[0] > 0 && shape[1] > 0, "frequencies");
    require(down.size() == 2 && down[0] > 0 && down[0] <= down[1] && down[1] == shape[0], "components");
    const auto count = static_cast<Index>(shape[0]), directions = static_cast<Index>(shape[1]);
    Index columns = directions;
    const auto dim = static_cast<Index>(down[0]);
    const std::vector<float> frequencies = read_values<float>(file, "frequencies");
    state->frequencies = Eigen::Map<const FloatRows>(frequencies.data(), count, directions).cast<double>();
    require(state->frequencies.allFinite(), "frequencies");
    if (file.tensors().contains("basis")) {  // older files look at all columns
      const std::vector<std::uint64_t>& across = file.tensor("basis").shape;
      require(across.size() == 2 && across[0] == shape[1] && across[1] >= across[0], "basis");
      columns = static_cast<Index>(across[1]);
      const std::vector<float> basis = read_values<float>(file, "basis");
      state->basis = Eigen::Map<const FloatColumns>(basis.data(), columns, directions).cast<double>();
      require(state->basis.allFinite(), "basis");
    }
    const Vector components = read_vector(file, "components", dim * count);
    state->components = Eigen::Map<const Matrix>(components.data(), count, dim);
    state->mean = read_vector(file, "mean", columns);
    state->feature_mean = read_vector(file, "feature_mean", count);
    state->deviation = read_vector(file, "deviation", dim);
    require(state->deviation.minCoeff() > 0, "deviation");
    const Vector about = read_vector(file, "sigma_and_explained", 2);
    state->sigma = about(0);
    state->explained = about(1);
    state->prepare();
    return KernelPca(std::move(state));
  } catch (const Error& error) {
    throw Error(path.string(), error.what(), "the file is damaged; make it again");
  }
}

}  // namespace cpfm
