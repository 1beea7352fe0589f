// Stage 1 in one call: from data, a kernel and a latent law to a coupling, which can be saved, sampled, and asked where
// new points belong.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cpfm/data.hpp"
#include "cpfm/device.hpp"
#include "cpfm/gwot.hpp"
#include "cpfm/kernel.hpp"
#include "cpfm/latent.hpp"
#include "cpfm/plan.hpp"
#include "cpfm/progress.hpp"

namespace cpfm {

// heat*label where samples have labels, else heat.
std::string default_kernel(const Dataset& data);

struct CoupleOptions {
  std::string kernel;               // see kernel.hpp; empty: default_kernel()
  std::string latent = "gaussian";  // see latent.hpp
  LatentOptions latent_options;     // its seed is `seed` below
  std::size_t latent_points = 0;    // 0: as many as samples
  FactorOptions factor;
  bool exact = false;  // K M by streaming blocks of the kernel in every update, without a factor
  GwotOptions solver;
  // Couple a random subset of this many samples; 0: all. The others can be placed afterwards.
  std::size_t subsample = 0;
  // Masses of the samples and the latent points, positive, sum 1; empty: uniform.
  std::vector<double> weights, latent_weights;
  std::uint64_t seed = 1;
  Device device = {};  // of all of it
  // Where an interrupted run leaves its state, and a running one every minute or so; empty: nowhere. It is there when
  // couple() returns, too: remove it once the coupling is saved. One that is there already is refused, unless resuming.
  std::filesystem::path checkpoint;
  bool resume = false;  // go on from `checkpoint`, which must be of the same data and options
};

// What happened, as `cpfm couple --json` tells it.
struct CoupleSummary {
  std::size_t n = 0, m = 0, dim = 0;
  std::string kernel, latent, algorithm;  // kernel: with every parameter resolved
  std::size_t rank = 0;                   // columns of the factor; 0: exact
  double explained = 0, max_residual = 0;
  double epsilon = 0;                          // absolute
  double objective = 0, objective_random = 0;  // Σ ππ K |y - y'|² with the kernel itself, not its factor
  double marginal_error = 0, duality_gap = 0;
  std::uint64_t half_iterations = 0, outer_iterations = 0, rescued = 0, pairs = 0;
  std::vector<double> starts;  // objective each start reached, at the coarser levels of ε where they run
  double dropped_bound = 0;
  std::string status, device = "cpu";
  // How the run went, after every update of A on all samples; not in the JSON.
  struct Moment {
    double half_iterations, epsilon, objective;  // of the factored kernel
  };
  std::vector<Moment> history;
  double seconds_kernel = 0, seconds_factor = 0, seconds_solve = 0;
  std::uint64_t seed = 0;
};

// Points whose kernel values place a new one: p(x) = Σ_r k(x, x_r) A_r - c, w(x) = Σ_r k(x, x_r) b_r. For positive
// kernels these are the pivots of the factorisation (so that p is the Nyström map of the factor), for others all
// samples.
struct Placement {
  Dataset reference;
  std::vector<double> coefficients;  // r × (d + 1): b, then A
  std::vector<double> offset;        // d: c, by which K M of a centred kernel differs
};

struct Coupling {
  CoupleSummary summary;
  Plan plan;                           // rows: samples; columns: latent points
  FloatMatrix latent;                  // m × d, as the law gave them
  std::vector<double> centre;          // d: what was subtracted from them for the plan
  std::vector<std::size_t> rows;       // which samples of the data were coupled; empty: all
  std::uint64_t data_fingerprint = 0;  // of all samples, labels and properties
  std::optional<Placement> placement;  // nothing where the kernel is defined on the given samples only

  // A latent point for each row of `plan` (which may be one from place()): one draw, or the mean.
  FloatMatrix embed(const Plan& plan, std::uint64_t seed, std::uint64_t index = 0) const;
  FloatMatrix barycentres(const Plan& plan) const;

  // p(· | x) for new samples, as a plan with the same latent points. They need labels or properties where the kernel
  // does. Throws cpfm::Error where the kernel cannot be extended, or shapes differ.
  Plan place(const Dataset& points, Progress* progress = nullptr) const;

  // A latent point for every sample of the data that was coupled, also for those outside a subsample (by place()).
  FloatMatrix embed_all(const Dataset& data, bool barycentric, std::uint64_t seed, Progress* progress = nullptr) const;

  void save(const std::filesystem::path& file) const;
  static Coupling load(const std::filesystem::path& file);
};

// Throws cpfm::Error for input that cannot be coupled; cpfm::Interrupted after the state was saved (see checkpoint).
Coupling couple(const Dataset& data, const CoupleOptions& options, Progress* progress = nullptr);

// The summary as one JSON object.
std::string to_json(const CoupleSummary& summary);

// The paper's interpolation of the plan to points outside the coupled subset (appendix, "Interpolation of π"):
// π̂(x, ·) = Σ_j α_j(x) π(x_j, ·) over the k nearest coupled samples of the same class, α_j ∝ exp(-|x - x_j|).
struct Interpolation {
  std::size_t k = 0;                 // neighbours of each point; fewer than asked where a class has fewer
  std::vector<std::uint32_t> index;  // points × k: rows of `coupled`
  std::vector<float> weight;         // points × k, summing to 1
};
// Without labels in `points`, neighbours are of any class. A point of a class that `coupled` lacks is an error.
Interpolation interpolate(const Dataset& coupled, const Dataset& points, std::size_t k = 10,
                          Progress* progress = nullptr);

// Pairs (sample of the data, latent point) that stage 2 learns from, one epoch at a time in one streaming pass.
class PairSampler {
 public:
  // Every coupled sample with one draw of its row; where masses differ, as many samples drawn by them.
  explicit PairSampler(const Coupling& coupling);
  // Every point with a draw from the interpolated plan; a share `plan_share` of the pairs is drawn from the plan
  // itself instead (the paper's mixture, ½; 0: the interpolation alone).
  PairSampler(const Coupling& coupling, Interpolation interpolation, double plan_share = 0.5);

  struct Pair {
    std::uint32_t sample, latent;
  };
  std::size_t size() const;  // pairs of an epoch
  std::vector<Pair> epoch(std::uint64_t seed, std::uint64_t epoch) const;

 private:
  const Coupling& coupling_;
  std::optional<Interpolation> interpolation_;
  double plan_share_ = 1;
};

}  // namespace cpfm
