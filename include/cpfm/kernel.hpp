// What matters in the data: a symmetric kernel K over the samples, as columns on demand. Expressions name it
// ("heat*label", "0.5*tanimoto+0.5*property(mu)"); in C++ anyone can give a function that fills columns. The n × n
// matrix is never formed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cpfm/data.hpp"
#include "cpfm/device.hpp"
#include "cpfm/matrix.hpp"
#include "cpfm/progress.hpp"

namespace cpfm {

// What is known of a kernel's sign. Latent points are centred, so only J K J (J = I - 11ᵀ/n) matters for the quadratic
// part of the objective: a conditionally positive kernel, such as -|x - x'|², serves as well as a positive one.
enum class Definiteness { kPositive, kConditionallyPositive, kUnknown };

class Kernel {
 public:
  virtual ~Kernel() = default;

  virtual std::size_t size() const = 0;
  // out(k, i - begin) = K(i, columns[k]) for begin ≤ i < end. Called from several threads at once; `out` may hold
  // garbage.
  virtual void block(std::span<const std::size_t> columns, std::size_t begin, std::size_t end,
                     MatrixView<float> out) const = 0;
  // out[i] = K(i, i).
  virtual void diagonal(std::span<float> out) const = 0;
  // With every parameter resolved to a number ("heat(sigma=9.21)*label"): building it again, on other points, gives the
  // same function.
  virtual std::string expression() const = 0;
  virtual Definiteness definiteness() const { return Definiteness::kUnknown; }
  // Where K(i, j) = 0 unless groups()[i] == groups()[j]: the group of each sample (group -1 - i for a sample alone).
  // Empty when there is no such structure.
  virtual std::span<const std::int64_t> groups() const { return {}; }
  // False for kernels that are defined on the given samples only (gram, knn): new points cannot be placed.
  virtual bool extends() const { return true; }
};

// Builds the kernel an expression names over the samples of `data` (which must outlive it). Names:
// heat(sigma=auto|number), label, property(name, form=abs|negabs|exp, scale=auto|number), tanimoto, linear, cosine,
// euclidean2, knn(k), gram(FILE), and numbers; sums, products, scalings.
std::unique_ptr<Kernel> make_kernel(const std::string& expression, const Dataset& data, Progress* progress = nullptr);

// A kernel from one function that fills a block, as Kernel::block does.
using BlockFunction = std::function<void(std::span<const std::size_t> columns, std::size_t begin, std::size_t end,
                                         MatrixView<float> out)>;
std::unique_ptr<Kernel> make_kernel(std::size_t n, BlockFunction block, Definiteness definiteness, std::string name);

// Σ_j K(i, j) weights[j] for every i, in double: the w of the paper when the weights are the masses.
// On a CUDA device the kernels that an expression names are computed there, except knn and gram; others on the CPU. The
// samples are copied to the device in every call.
std::vector<double> kernel_times(const Kernel& kernel, std::span<const double> weights, Progress* progress = nullptr,
                                 Device device = {});
// K · M for M n × d, exact, by streaming blocks of K.
std::vector<double> kernel_times(const Kernel& kernel, MatrixView<const double> m, Progress* progress = nullptr,
                                 Device device = {});

struct FactorOptions {
  double explained = 0.95;   // stop when the factor explains this share; in (0, 1]
  std::size_t max_rank = 0;  // 0: no cap but n
  std::uint64_t seed = 1;    // of the random start for kernels of unknown sign
  Device device = {};  // where the heavy work is done; kernels of unknown sign, knn and gram are on the CPU always
};

template <class T>
class DeviceArray;  // memory of a device

// For a positive kernel K ≈ ΦΦᵀ. For others the doubly centred kernel is factored: J K J ≈ ΦΦᵀ - ΨΨᵀ.
struct KernelFactor {
  FloatMatrix phi;  // n × rank
  // The same, row-major, on the device that computed it; null where the CPU did.
  std::shared_ptr<DeviceArray<float>> device_phi;
  FloatMatrix psi;                  // n × rank of the negative part; 0 columns where there is none
  bool centred = false;             // whether J K J was factored
  std::vector<std::size_t> pivots;  // samples whose columns were used, in order; empty for signed factors
  double explained = 0;             // share of the trace; for signed factors of the squared Frobenius norm
  double max_residual = 0;          // largest remaining diagonal entry (pivoted Cholesky)
};

// Positive and conditionally positive kernels: pivoted Cholesky, blocked; stops at the target, the cap, or the
// numerical rank. Kernels of unknown sign: the largest eigenvalues of either sign, by subspace iteration.
KernelFactor factor_kernel(const Kernel& kernel, const FactorOptions& options = {}, Progress* progress = nullptr);

}  // namespace cpfm
