// Stage 1 from end to end: kernel, factor, latent points, solver, and what is kept of them.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.hpp"
#include "base/memory.hpp"
#include "coupling/checkpoint.hpp"
#include "coupling/objective.hpp"
#include "coupling/placement.hpp"
#include "cpfm/coupling.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/random.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kSubsetStream = 0x63737562;  // "csub"

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

std::vector<std::size_t> choose_rows(std::size_t n, const CoupleOptions& options) {
  if (options.subsample == 0 || options.subsample >= n) return {};
  if (options.subsample < 2) throw Error("subsample", "one sample cannot be coupled", "at least 2");
  std::vector<std::size_t> rows = permutation(n, options.seed, kSubsetStream);
  rows.resize(options.subsample);
  std::sort(rows.begin(), rows.end());
  return rows;
}

// What the solver and a factor of the rank asked for will hold, before any of it is allocated.
void check_memory(std::size_t n, std::size_t m, std::size_t d, const CoupleOptions& options) {
  constexpr double kArrays = 24;  // of d + 1 doubles per point: potentials, p, M, K M, what is kept to go back to
  const auto points = static_cast<double>(n) + static_cast<double>(m);
  const double rank = options.exact ? 0 : static_cast<double>(std::min(options.factor.max_rank, n));
  require_memory(8 * kArrays * points * static_cast<double>(d + 1) + 4 * static_cast<double>(n) * rank, "coupling",
                 fmt::format("coupling {} samples with {} latent points", n, m), "couple a --subsample of the samples");
}

std::vector<double> uniform_or(const std::vector<double>& mass, std::size_t count) {
  return mass.empty() ? std::vector<double>(count, 1.0 / static_cast<double>(count)) : mass;
}

void run_solver(GwotSolver& solver, const CoupleOptions& options, const std::string& identity,
                std::vector<CoupleSummary::Moment>& history, Progress* progress) {
  const auto save = [&] {
    if (!options.checkpoint.empty()) save_checkpoint(options.checkpoint, solver, identity, history);
  };
  constexpr double kEvery = 60;
  Stopwatch since_save;
  try {
    solver.run(0, progress, [&] {
      const GwotState& state = solver.state();
      if (state.outer_iterations > 0)
        history.push_back({static_cast<double>(state.half_iterations), state.epsilon, 2 * state.reduced});
      if (since_save.seconds() < kEvery) return;
      save();
      since_save = {};
    });
  } catch (const Interrupted&) {
    save();
    throw;
  }
  save();  // what follows takes time too, and can be interrupted
}

}  // namespace

std::string default_kernel(const Dataset& data) {
  const bool labelled = data.labels && std::any_of(data.labels->ids.begin(), data.labels->ids.end(),
                                                   [](std::int32_t id) { return id >= 0; });
  return labelled ? "heat*label" : "heat";
}

Coupling couple(const Dataset& data, const CoupleOptions& options, Progress* progress) {
  std::vector<std::size_t> rows = choose_rows(data.size(), options);
  const Dataset subset = rows.empty() ? Dataset{} : select(data, rows);
  const Dataset& used = rows.empty() ? data : subset;
  const std::size_t n = used.size();
  if (!rows.empty() && !options.weights.empty())
    throw Error("weights", "masses and a subsample exclude each other", "couple all samples, or leave the masses out");

  if (!options.checkpoint.empty() && !options.resume && std::filesystem::exists(options.checkpoint)) {
    throw Error(options.checkpoint.string(), "holds an unfinished run",
                "go on with it by --resume, or remove it to start anew");
  }
  LatentOptions law = options.latent_options;
  law.seed = options.seed;
  FloatMatrix latent = draw_latent(options.latent, options.latent_points == 0 ? n : options.latent_points, law);
  const std::size_t m = latent.rows(), d = latent.cols();
  check_memory(n, m, d, options);
  const std::vector<double> row_mass = uniform_or(options.weights, n);
  const std::vector<double> column_mass = uniform_or(options.latent_weights, m);
  if (row_mass.size() != n)
    throw Error("weights", fmt::format("there are {} for {} samples", row_mass.size(), n), "one per sample is needed");

  if (!rows.empty() && options.kernel.find("gram(") != std::string::npos)
    throw Error("subsample", "a Gram matrix is of all samples, so others cannot be placed", "couple all samples");
  CoupleSummary summary;
  Stopwatch kernel_time;
  const auto kernel = make_kernel(options.kernel.empty() ? default_kernel(used) : options.kernel, used, progress);
  if (!rows.empty() && !kernel->extends()) {
    throw Error(
        "subsample",
        fmt::format("{} is defined on the coupled samples only, so others cannot be placed", kernel->expression()),
        "couple all samples, or choose another kernel");
  }
  GwotProblem problem;
  const std::vector<double> w = kernel_times(*kernel, row_mass, progress, options.device);
  problem.w = w;
  summary.seconds_kernel = kernel_time.seconds();

  Stopwatch factor_time;
  KernelFactor factor;
  if (options.exact) {
    use_kernel(problem, *kernel, options.device);
  } else {
    FactorOptions factor_options = options.factor;
    factor_options.seed = options.seed;
    factor_options.device = options.device;
    factor = factor_kernel(*kernel, factor_options, progress);
    use_factor(problem, factor, options.device);
    // w of the factored kernel: the problem solved is then that of one kernel, and new points, whose w comes from the
    // factor as well, fit into it. (The objective, which is reported with the kernel itself, does not suffer.)
    if (by_pivots(factor)) problem.times({row_mass.data(), n, 1}, {problem.w.data(), n, 1});
    summary.rank = factor.phi.cols() + factor.psi.cols();
    summary.explained = factor.explained;
    summary.max_residual = factor.max_residual;
  }
  summary.seconds_factor = factor_time.seconds();

  problem.y = FloatMatrix(m, d);
  std::copy_n(latent.data(), latent.size(), problem.y.data());
  problem.row_mass = row_mass;
  problem.column_mass = column_mass;
  const std::vector<double> solved_w = problem.w;
  GwotOptions solver_options = options.solver;
  solver_options.seed = options.seed;
  solver_options.device = options.device;
  const std::uint64_t identity_of_data = fingerprint(data);
  const std::string identity = describe_run(options, kernel->expression(), identity_of_data);
  Stopwatch solve_time;
  GwotSolver solver(std::move(problem), solver_options);
  if (options.resume) load_checkpoint(options.checkpoint, solver, identity, summary.history);
  run_solver(solver, options, identity, summary.history, progress);
  summary.seconds_solve = solve_time.seconds();
  const GwotState& state = solver.state();
  if (state.status == GwotStatus::kNonFiniteInput)
    throw Error(kernel->expression(), "the kernel gave values that are not finite", "is its scale sensible?");

  std::vector<double> centre(d, 0.0);
  for (std::size_t j = 0; j < m; ++j) {
    for (std::size_t k = 0; k < d; ++k) centre[k] += column_mass[j] * double(latent(j, k));
  }
  PlanParts parts;
  parts.epsilon = state.epsilon;
  parts.w = solved_w;
  parts.p.assign(solver.p().data, solver.p().data + solver.p().size());
  parts.row_potential.assign(solver.row_potential().begin(), solver.row_potential().end());
  parts.column_potential.assign(solver.column_potential().begin(), solver.column_potential().end());
  parts.y.assign(solver.y().data, solver.y().data + solver.y().size());
  parts.row_mass = row_mass;
  parts.column_mass = column_mass;

  const MatrixView<const double> mean = solver.mean();
  const std::vector<double> km = kernel_times(*kernel, mean, progress, options.device);
  summary.objective = objective(w, km, solver);
  summary.objective_random = objective_random(w, row_mass, std::as_const(latent).view(), column_mass);
  summary.n = n;
  summary.m = m;
  summary.dim = d;
  summary.kernel = kernel->expression();
  summary.latent = options.latent;
  summary.algorithm = solver_options.algorithm == GwotOptions::Algorithm::kPaper ? "paper" : "cpfm";
  summary.epsilon = state.epsilon;
  summary.marginal_error = state.marginal_error;
  summary.duality_gap = state.duality_gap;
  summary.half_iterations = state.half_iterations;
  summary.outer_iterations = state.outer_iterations;
  summary.rescued = state.rescued;
  summary.pairs = state.pairs;
  summary.starts = state.starts;
  summary.dropped_bound = state.dropped;
  summary.status = to_string(state.status);
  summary.seed = options.seed;
  summary.device = options.device.name();
  if (state.status != GwotStatus::kConverged)
    log().warn("the coupling ended with status {} at ε = {:.3g}, marginal error {:.1e}", summary.status, state.epsilon,
               state.marginal_error);

  Coupling coupling{
      summary, Plan(std::move(parts)), std::move(latent), std::move(centre), std::move(rows), identity_of_data, {}};
  coupling.plan.use(options.device);
  if (kernel->extends())
    coupling.placement = make_placement(used, *kernel, factor, row_mass, mean, km, coupling.plan.parts().p);
  return coupling;
}

}  // namespace cpfm
