// The solver of stage 1: generalized Gromov–Wasserstein optimal transport,
//   min over plans π of  L(π) = Σ π_ij π_i'j' K_ii' |y_j - y_j'|²,
// by alternating minimisation (the paper's Algorithm 1) under a falling entropic regularisation ε (Algorithm 3), with
// the corrections of docs/math.md. Nothing of size n × m is ever stored. From data to a plan in one call: coupling.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cpfm/device.hpp"
#include "cpfm/kernel.hpp"
#include "cpfm/matrix.hpp"
#include "cpfm/model.hpp"
#include "cpfm/progress.hpp"

namespace cpfm {

// out = K M for M of n × d.
using KernelTimes = std::function<void(MatrixView<const double> m, MatrixView<double> out)>;

// What is to be coupled.
struct GwotProblem {
  std::vector<double> w;  // n: w_i = Σ_i' K_ii' row_mass_i'
  // That of K, or of any kernel that differs by a term a 1ᵀ + 1 aᵀ, since latent points are centred.
  KernelTimes times;
  // The same for K restricted to some rows (ascending): starts then run on a subsample. Empty: on all points.
  std::function<KernelTimes(const std::vector<std::size_t>& rows)> times_on;
  FloatMatrix y;                    // m × d latent points; the solver centres its copy
  std::vector<double> row_mass;     // n, positive, sum 1; empty: uniform
  std::vector<double> column_mass;  // m likewise
};

// Sets times and times_on: through a factor, p = Φ (Φᵀ M) - Ψ (Ψᵀ M), or exactly, by streaming blocks of the kernel.
// What is given must outlive the problem.
void use_factor(GwotProblem& problem, const KernelFactor& factor, Device device = {});
void use_kernel(GwotProblem& problem, const Kernel& kernel, Device device = {});

struct GwotOptions {
  enum class Algorithm {
    kCpfm,   // several starts, adaptive inner budget, corrected stopping
    kPaper,  // A = 0, one start, Sinkhorn solved before each update of A, the printed stopping rule (with the 1/n in w)
  };
  Algorithm algorithm = Algorithm::kCpfm;
  // ε in units of the cost scale, > 0: the objective of the independent plan, or, where that is small because w is,
  // what the quadratic part can reach (GwotState::scale). The run starts at epsilon_start (0: 0.08 of the scale) and
  // halves down to epsilon. At 0.08 starts are cheap, and what they reach there is a fair guess of how they will end.
  double epsilon = 0.002, epsilon_start = 0;
  bool absolute = false;  // the two are absolute instead
  // A level of ε ends when R + ε Σ π log π falls by less than this share of R, three times in a row; in (0, 1).
  double tolerance = 1e-4;
  // L1 error of the marginals at the end, and the loosest at which A is ever updated.
  double marginal_tolerance = 1e-4, loosest_marginal = 0.01;
  // Random starts besides A = 0, on at most start_points points, down start_levels levels of ε from epsilon_start on;
  // the best is refined.
  int starts = 12;
  std::size_t start_points = 2000;
  int start_levels = 1;
  // Problems of more than twice so many points are first solved on a random subset of this size, and what is found
  // there is refined on all points, at the last levels of ε alone. 0: never.
  std::size_t coarse_points = 50000;
  // Half-iterations on the full problem (those on a subsample do not count); 0: no limit. At least one update
  // is made.
  std::uint64_t max_half_iterations = 0;
  // Bisection of ε after a precision failure ends at this distance, as a share of the last stable ε.
  double epsilon_resolution = 0.05;
  // Mass that tiles of pairs left out may hold in all; 0 computes every pair.
  double drop = 1e-7;
  bool double_precision = false;  // sums in double from the start (else where the tolerance needs it)
  Device device = {};             // where sums over pairs are computed; starts run there side by side
  std::uint64_t seed = 1;
};

// kEpsilonFloor: marginals are met, but no smaller ε could be solved in this precision. kBudgetExhausted: stopped at a
// limit; marginals may be off. kNonFiniteInput: the kernel gave a value that is not finite.
enum class GwotStatus { kRunning, kConverged, kEpsilonFloor, kBudgetExhausted, kNonFiniteInput };
std::string to_string(GwotStatus status);

struct GwotState {
  GwotStatus status = GwotStatus::kRunning;
  double epsilon = 0;         // absolute, of the present level
  double reduced = 0;         // R(π) = Σ w_i π_ij |y_j|² - tr(Mᵀ K M); the objective is 2 R
  double merit = 0;           // R + ε Σ π log π, which never rises within a level beyond its marginal error
  double marginal_error = 0;  // L1, of the columns (rows are exact)
  double duality_gap = 0;     // primal minus dual value of the inner problem when its columns were last looked at
  double scale = 0;           // the unit of ε
  std::uint64_t half_iterations = 0, outer_iterations = 0, rescued = 0, pairs = 0;
  double dropped = 0;          // bound on the mass left out by truncation
  std::vector<double> starts;  // objective 2 R each start reached after start_levels; the first is A = 0
};

// The solver as an object: step it, look at it, save it, go on.
class GwotSolver {
 public:
  GwotSolver(GwotProblem problem, GwotOptions options);
  ~GwotSolver();
  GwotSolver(GwotSolver&&) noexcept;

  // One start, or one update of A on the full problem. False when there is nothing left to do.
  bool step();
  // Steps until done, or until about `half_iterations` more were made (0: no limit). cpfm::Interrupted, here and in
  // step(), leaves the solver as it was before the step it ended: save it, or go on.
  // `after_step` is called after every step.
  GwotStatus run(std::uint64_t half_iterations = 0, Progress* progress = nullptr,
                 const std::function<void()>& after_step = {});
  const GwotState& state() const;

  // The last plan that was taken, as potentials in base 2 over the cost of state().epsilon: log2 π_ij = F_i + G_j -
  // C_ij / (ε ln 2) with C_ij = w_i |y_j|² - 2 <p_i, y_j>.
  std::span<const double> row_potential() const;
  std::span<const double> column_potential() const;
  MatrixView<const double> p() const;      // n × d
  MatrixView<const double> mean() const;   // n × d: M = π Y
  std::span<const double> second() const;  // n: Σ_j π_ij |y_j|²
  MatrixView<const float> y() const;       // centred

  // The whole state; load() into a solver of the same problem and options goes on to the same bytes. What is saved
  // lives in the solver until the next save(): write the file before that.
  void save(TensorFileWriter& file) const;
  void load(const TensorFile& file);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cpfm
