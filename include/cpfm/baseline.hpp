// Other ways to the same end, to compare with: kernel PCA that can go back, and t-SNE, which cannot. Results are the
// same for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "cpfm/flow.hpp"
#include "cpfm/matrix.hpp"
#include "cpfm/progress.hpp"

namespace cpfm {

struct KernelPcaOptions {
  std::size_t dim = 2;  // of the embedding; from 1 to less than the number of rows
  // Random Fourier features D; 0: twice the columns of the data, from 256 to 4096. With fewer than directions there are
  // some that generate() never reaches.
  std::size_t frequencies = 0;
  // Width of the kernel exp(-|x - x'|² / (2 sigma²)), in units of the data; 0: such that 99 % of all angles are within
  // ±π/2. Larger values make it linear PCA.
  double sigma = 0;
  std::size_t rows = 20000;  // at most so many rows, drawn at random, determine sigma and the components
  std::uint64_t seed = 1;
};

// Kernel PCA of the part of the Gaussian kernel that is odd about the mean, (k(x, x') - k(x, 2 mean - x')) / 2, by
// random Fourier features, which can be inverted (after the idea of Gedon, Ribeiro, Wahlström and Schön, "Invertible
// kernel PCA with random Fourier features", 2023; docs/baselines.md has what differs). A row has the features z_j =
// cos(<w_j, x - mean> + π/2), w_j ~ N(0, I / sigma²); their leading principal components, each at unit variance, are
// the embedding. Back: z from the components, angles by arccos, x by least squares. arccos knows angles within ±π/2
// alone; sigma sees to it that nearly all are, so nothing but y is needed to go back. The features of the other angles
// (1 %) are folded over and come back wrong. Of data with more than 2,048 columns, x - mean is what it is along the 512
// leading principal components of 1,024 rows.
class KernelPca {
 public:
  // `x` has finite numbers and at least two different rows, the options are as they say, else cpfm::Error.
  static KernelPca fit(MatrixView<const float> x, const KernelPcaOptions& options = {}, Progress* progress = nullptr);
  // A file of save(); cpfm::Error that says what is wrong with it otherwise.
  static KernelPca load(const std::filesystem::path& file);
  // `facts`: of the model it is part of (save_kernel_pca_model); empty: none.
  void save(const std::filesystem::path& file, const std::string& facts = {}) const;

  // n × columns → n × dim, and back.
  FloatMatrix embed(MatrixView<const float> x) const;
  FloatMatrix generate(MatrixView<const float> y) const;

  std::size_t dim() const;
  std::size_t columns() const;     // of the data
  std::size_t directions() const;  // in them that are looked at
  std::size_t frequencies() const;
  double sigma() const;
  double explained() const;  // share of the features' variance that the components have

 private:
  struct State;
  explicit KernelPca(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// As a model that the commands take: `facts` say how the data was scaled before it was fitted, its shape and names.
void save_kernel_pca_model(const std::filesystem::path& file, const KernelPca& pca, ModelFacts facts);
// Whether a model is one of these. Both throw cpfm::Error that says what is wrong with the file.
bool is_kernel_pca(const std::filesystem::path& file);
std::unique_ptr<FlowModel> load_kernel_pca_model(const std::filesystem::path& file);

enum class TsneMethod {
  kAuto,       // exact up to kMostExactTsne rows, Barnes–Hut above
  kExact,      // all pairs: O(n²) memory and time per iteration
  kBarnesHut,  // 3 · perplexity exact neighbours attract, a quad tree repels
};
inline constexpr std::size_t kMostExactTsne = 2000;

// The leading d principal components of `x`, each row less the mean: the linear map to compare with. 1 ≤ d ≤ columns.
FloatMatrix first_components(MatrixView<const float> x, std::size_t d, Progress* progress = nullptr);

struct TsneOptions {
  double perplexity = 30;      // effective number of neighbours; above 1 and below (n - 1) / 3
  int iterations = 1000;       // from 1
  int early_iterations = 250;  // of them with exaggerated attraction and momentum 0.5 instead of 0.8
  double exaggeration = 12;    // at least 1
  double learning_rate = 0;    // 0: n / (4 · exaggeration), at least 50
  TsneMethod method = TsneMethod::kAuto;
  double theta = 0.5;  // Barnes–Hut: cells count as one point where width / distance is below it; from 0 to 0.7
};

// t-SNE in the plane (van der Maaten and Hinton 2008; van der Maaten 2014). Starts from the two leading principal
// components at a standard deviation of 1e-4, so nothing is random. cpfm::Error where `x` is not finite or the options
// are not as they say.
FloatMatrix tsne(MatrixView<const float> x, const TsneOptions& options = {}, Progress* progress = nullptr);

// What t-SNE minimises: the Kullback–Leibler divergence of the neighbourhoods of the plane `y` (n × 2) from those of
// `x` at that perplexity. Over all pairs, in O(n²) memory.
double tsne_divergence(MatrixView<const float> x, MatrixView<const float> y, double perplexity = 30);

}  // namespace cpfm
