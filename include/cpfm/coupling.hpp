// Stage 1: couples data with latent points by generalized Gromov–Wasserstein optimal transport,
//   min over plans π of  L(π) = Σ π_ij π_i'j' K_ii' |y_j - y_j'|²,
// by alternating minimisation (the paper's Algorithm 1) under a falling entropic regularisation ε (Algorithm 3), with
// the corrections of docs/math.md. Nothing of size n × m is ever stored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cpfm/kernel.hpp"
#include "cpfm/matrix.hpp"
#include "cpfm/model.hpp"
#include "cpfm/progress.hpp"

namespace cpfm {

// What is to be coupled. Views must outlive the solver.
struct GwotProblem {
  std::vector<double> w;  // n: w_i = Σ_i' K_ii' row_mass_i'
  // K M (n × d) for a given M; or that of any kernel that differs by a term a 1ᵀ + 1 aᵀ, since latent points are
  // centred.
  std::function<void(MatrixView<const double> m, MatrixView<double> out)> times;
  // The factor behind `times`, where there is one: starts then run on a subsample. Null: on all points.
  const KernelFactor* factor = nullptr;
  FloatMatrix y;                    // m × d latent points; the solver centres its copy
  std::vector<double> row_mass;     // n, positive, sum 1; empty: uniform
  std::vector<double> column_mass;  // m likewise
};

// `times` of a factor: p = Φ (Φᵀ M) - Ψ (Ψᵀ M).
std::function<void(MatrixView<const double>, MatrixView<double>)> factor_times(const KernelFactor& factor);

struct GwotOptions {
  enum class Algorithm {
    kCpfm,   // several starts, adaptive inner budget, corrected stopping
    kPaper,  // A = 0, one start, Sinkhorn solved before each update of A, the printed stopping rule (with the 1/n in w)
  };
  Algorithm algorithm = Algorithm::kCpfm;
  // ε in units of the cost scale, which is the objective of the independent plan (objective_random); > 0. The run
  // starts at epsilon_start and halves down to epsilon.
  double epsilon = 0.002, epsilon_start = 0.08;
  bool absolute = false;  // the two are absolute instead
  // A level of ε ends when R + ε Σ π log π falls by less than this share of R, three times in a row; in (0, 1).
  double tolerance = 1e-4;
  // L1 error of the marginals at the end, and the loosest at which A is ever updated.
  double marginal_tolerance = 1e-4, loosest_marginal = 0.01;
  // Random starts at epsilon_start besides A = 0, on at most start_points points; the best is refined.
  int starts = 12;
  std::size_t start_points = 2000;
  // Half-iterations in all on the full problem; 0: no limit.
  std::uint64_t max_half_iterations = 0;
  // Bisection of ε after a precision failure ends at this distance, as a share of the last stable ε.
  double epsilon_resolution = 0.05;
  // Mass that tiles of pairs left out may hold in all; 0 computes every pair.
  double drop = 1e-7;
  bool double_precision = false;  // sums in double from the start (else where the tolerance needs it)
  std::uint64_t seed = 1;
};

enum class GwotStatus { kRunning, kConverged, kEpsilonFloor, kBudgetExhausted };
std::string to_string(GwotStatus status);

struct GwotState {
  GwotStatus status = GwotStatus::kRunning;
  double epsilon = 0;         // absolute, of the present level
  double reduced = 0;         // R(π) = Σ w_i π_ij |y_j|² - tr(Mᵀ K M); the objective is 2 R
  double merit = 0;           // R + ε Σ π log π, which never rises within a level beyond its marginal error
  double marginal_error = 0;  // L1, of the columns (rows are exact)
  double scale = 0;           // objective of the independent plan
  std::uint64_t half_iterations = 0, outer_iterations = 0, rescued = 0, pairs = 0;
  double dropped = 0;          // bound on the mass left out by truncation
  std::vector<double> starts;  // objective 2 R each start reached at epsilon_start; the first is A = 0
};

// The solver as an object: step it, look at it, save it, go on.
class GwotSolver {
 public:
  GwotSolver(GwotProblem problem, GwotOptions options);
  ~GwotSolver();
  GwotSolver(GwotSolver&&) noexcept;

  // One start, or one update of A on the full problem. False when there is nothing left to do.
  bool step();
  // Steps until done, or until about `half_iterations` more were made (0: no limit). Interruptible between
  // half-iterations; cpfm::Interrupted can end a step midway, so what to go on from then is the last state saved.
  GwotStatus run(std::uint64_t half_iterations = 0, Progress* progress = nullptr);
  const GwotState& state() const;

  // The plan, as potentials in base 2 over the cost of state().epsilon: log2 π_ij = F_i + G_j - C_ij / (ε ln 2) with
  // C_ij = w_i |y_j|² - 2 <p_i, y_j>.
  std::span<const double> row_potential() const;
  std::span<const double> column_potential() const;
  MatrixView<const double> p() const;     // n × d
  MatrixView<const double> mean() const;  // n × d: M = π Y
  MatrixView<const float> y() const;      // centred

  // The whole state; load() into a solver of the same problem and options goes on to the same bytes.
  void save(TensorFileWriter& file) const;
  void load(const TensorFile& file);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cpfm
