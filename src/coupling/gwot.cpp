// The whole of stage 1: starts on a subsample at the coarser levels of ε, the best one refined on all points while ε
// falls (the paper's Algorithm 3, with its failure branch corrected: the last stable ε, plan and A are kept), marginals
// polished last.
#include "cpfm/gwot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "base/log.hpp"
#include "base/take_rows.hpp"
#include "coupling/descent.hpp"
#include "coupling/spatial_order.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"
#include "cuda/memory.hpp"
#include "model/tensor_values.hpp"

namespace cpfm {
namespace {

constexpr double kStartShare = 0.08;  // of the cost scale: where ε starts
constexpr std::uint32_t kStartStream = 0x73747274, kSubsampleStream = 0x73756273,
                        kScaleStream = 0x7363616c;  // "strt", "subs", "scal"
constexpr double kLevelMarginal = 1e-3;             // at which levels of ε end; the last one is polished further
constexpr double kFloatFloor = 2e-5;                // marginal error that sums in float can still meet
constexpr double kCoarseEnd = 8;                    // a subset is solved down to so many times the last ε
constexpr const char *kPrefix = "solver.", *kCoarse = "coarse.";  // of the tensors of a checkpoint

void check_masses(std::vector<double>& mass, std::size_t count, const char* what) {
  if (mass.empty()) mass.assign(count, 1.0 / static_cast<double>(count));
  if (mass.size() != count)
    throw Error(what, fmt::format("there are {} for {} points", mass.size(), count), "one per point is needed");
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!(mass[i] > 0) || !std::isfinite(mass[i])) {
      throw Error(fmt::format("{}, entry {}", what, i + 1), fmt::format("{} is not a mass", mass[i]),
                  "masses are positive and finite");
    }
    sum += mass[i];
  }
  if (std::abs(sum - 1) > 1e-6) throw Error(what, fmt::format("they sum to {:.6g}", sum), "masses sum to 1");
  for (double& value : mass) value /= sum;
}

void check_options(const GwotOptions& o) {
  const auto positive = [](double value, const char* what) {
    if (!(value > 0) || !std::isfinite(value))
      throw Error(what, fmt::format("{} is out of range", value), "a positive number");
  };
  positive(o.epsilon, "epsilon");
  if (!(o.epsilon_start >= 0) || !std::isfinite(o.epsilon_start))
    throw Error("epsilon_start", fmt::format("{} is out of range", o.epsilon_start), "0 or more");
  positive(o.marginal_tolerance, "marginal_tolerance");
  positive(o.loosest_marginal, "loosest_marginal");
  positive(o.epsilon_resolution, "epsilon_resolution");
  if (!(o.tolerance > 0 && o.tolerance < 1))
    throw Error("tolerance", fmt::format("{} is out of range", o.tolerance), "between 0 and 1");
  if (o.starts < 0) throw Error("starts", fmt::format("{} is out of range", o.starts), "0 or more");
  if (o.start_levels < 1) throw Error("start_levels", fmt::format("{} is out of range", o.start_levels), "1 or more");
  if (o.coarse_points == 1) throw Error("coarse_points", "one point cannot be coupled", "0, or two or more");
  if (!(o.drop >= 0 && o.drop < 1)) throw Error("drop", fmt::format("{} is out of range", o.drop), "0 to below 1");
}

}  // namespace

std::string to_string(GwotStatus status) {
  switch (status) {
    case GwotStatus::kRunning:
      return "running";
    case GwotStatus::kConverged:
      return "converged";
    case GwotStatus::kEpsilonFloor:
      return "epsilon_floor";
    case GwotStatus::kBudgetExhausted:
      return "budget_exhausted";
    case GwotStatus::kNonFiniteInput:
      return "non_finite_input";
  }
  return {};
}

struct GwotSolver::Impl {
  enum class Phase : std::int64_t { kStarts, kLevels, kPolish, kDone };

  GwotProblem problem;
  GwotOptions options;
  GwotState state;
  Phase phase = Phase::kStarts;
  int next_start = 0;
  int starts_at_once = 1;
  std::vector<double> best_p;  // of the best start, on all points
  double best_start = std::numeric_limits<double>::infinity();
  double epsilon_end = 0, epsilon_start = 0;
  double spread = 0;          // mean |y|²
  double stable_epsilon = 0;  // 0: no level has ended yet
  double failed_epsilon = 0;  // 0: none has failed
  std::vector<double> stable_p, stable_row, stable_column;
  int polished = 0;  // steps of the polish
  struct StartProblem;
  std::unique_ptr<StartProblem> starts_on;  // made by the first start
  std::unique_ptr<GwotSolver> coarse;       // the problem on a subset, in place of starts; made by the first step
  std::vector<std::size_t> coarse_rows, coarse_columns;
  std::unique_ptr<Sinkhorn> sinkhorn;
  std::unique_ptr<Descent> descent;

  // Everything a later step depends on, by name, in the type it is computed in.
  using Snapshot = std::map<std::string, std::vector<double>>;

  std::size_t n() const { return problem.w.size(); }
  std::size_t d() const { return problem.y.cols(); }
  bool paper() const { return options.algorithm == GwotOptions::Algorithm::kPaper; }

  Impl(GwotProblem given, GwotOptions chosen) : problem(std::move(given)), options(chosen) {
    check_options(options);
    if (options.device.is_cuda()) starts_at_once = 16;  // one of them cannot fill it
    if (n() < 2) throw Error("data", fmt::format("{} points cannot be coupled", n()), "at least two are needed");
    if (d() < 1 || d() > static_cast<std::size_t>(kMaxLatentDim)) {
      throw Error("latent points", fmt::format("{} dimensions are out of range", d()), "1 to 8");
    }
    if (problem.y.rows() < 2) throw Error("latent points", "there are fewer than two");
    check_masses(problem.row_mass, n(), "row masses");
    check_masses(problem.column_mass, problem.y.rows(), "column masses");
    for (const double value : problem.w) {
      if (!std::isfinite(value)) throw Error("kernel", "its row sums are not finite");
    }
    centre();
    double mean_w = 0;
    for (std::size_t i = 0; i < n(); ++i) mean_w += problem.row_mass[i] * std::abs(problem.w[i]);
    for (std::size_t j = 0; j < problem.y.rows(); ++j) {
      for (const float v : problem.y.row(j)) spread += problem.column_mass[j] * double(v) * v;
    }
    if (!(spread > 0)) throw Error("latent points", "all of them are equal", "a law with some spread is needed");
    // Where w is next to nothing (a linear kernel on centred data), the quadratic part is what there is to gain.
    state.scale = 2 * spread * std::max(mean_w, largest_eigenvalue() / static_cast<double>(d()));
    if (!(state.scale > 0)) {
      throw Error("kernel", "it is zero for all samples", "a kernel that sees some likeness between samples is needed");
    }
    const double unit = options.absolute ? 1 : state.scale;
    epsilon_end = options.epsilon * unit;
    epsilon_start =
        std::max(options.epsilon_start > 0 ? options.epsilon_start * unit : kStartShare * state.scale, epsilon_end);
    sinkhorn = std::make_unique<Sinkhorn>(std::as_const(problem.y).view(), problem.row_mass, problem.column_mass,
                                          sinkhorn_options());
    descent = std::make_unique<Descent>(*sinkhorn, problem.w, problem.times, descent_options());
    if (paper()) begin_levels(std::vector<double>(n() * d(), 0.0), epsilon_start);
  }

  SinkhornOptions sinkhorn_options() const {
    return {options.double_precision || options.marginal_tolerance < kFloatFloor, paper() ? 0 : options.drop,
            options.device};
  }
  DescentOptions descent_options() const {
    return {options.tolerance,
            std::max(std::min(kLevelMarginal, options.loosest_marginal), options.marginal_tolerance),
            options.loosest_marginal,
            2000,
            !paper(),
            paper()};
  }

  void centre() {
    for (std::size_t k = 0; k < d(); ++k) {
      double mean = 0;
      for (std::size_t j = 0; j < problem.y.rows(); ++j) mean += problem.column_mass[j] * problem.y(j, k);
      for (std::size_t j = 0; j < problem.y.rows(); ++j) problem.y(j, k) = static_cast<float>(problem.y(j, k) - mean);
    }
  }

  // Of the doubly centred kernel under the masses, in absolute value, by power iteration: to a few per cent, which is
  // all a scale needs.
  double largest_eigenvalue() const {
    std::vector<double> v(n()), product(n());
    for (std::size_t i = 0; i < n(); ++i) v[i] = Rng(options.seed, kScaleStream, i).normal();
    double size = 0;
    constexpr int kIterations = 8;
    for (int k = 0; k <= kIterations; ++k) {
      double mean = 0, square = 0;
      for (std::size_t i = 0; i < n(); ++i) mean += problem.row_mass[i] * v[i];
      for (double& value : v) value -= mean;
      for (std::size_t i = 0; i < n(); ++i) square += problem.row_mass[i] * v[i] * v[i];
      if (!std::isfinite(square)) return 0;  // the first step will say so
      size = std::sqrt(square);
      if (size == 0 || k == kIterations) break;
      for (std::size_t i = 0; i < n(); ++i) v[i] *= problem.row_mass[i] / size;
      problem.times({v.data(), n(), 1}, {product.data(), n(), 1});
      v = product;
    }
    return size;
  }

  // Random smooth positions: K applied to noise, scaled to half the spread of the latent points.
  std::vector<double> random_p(int start, std::span<const double> w, const Descent::Times& times,
                               std::span<const double> mass) const {
    const std::size_t count = w.size();
    std::vector<double> noise(count * d()), p(count * d());
    for (std::size_t i = 0; i < count; ++i) {
      Rng rng(options.seed, kStartStream, static_cast<std::uint64_t>(start) << 40 | i);
      for (std::size_t k = 0; k < d(); ++k) noise[i * d() + k] = mass[i] * rng.normal();
    }
    times({noise.data(), count, d()}, {p.data(), count, d()});
    double size = 0, weight = 0;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < d(); ++k) size += mass[i] * p[i * d() + k] * p[i * d() + k];
      weight += mass[i] * w[i] * w[i];
    }
    const double factor = size > 0 ? 0.5 * std::sqrt(weight * spread / size) : 0;
    for (double& value : p) value *= factor;
    return p;
  }

  bool begins_coarse() const {
    return !paper() && options.coarse_points > 0 && problem.times_on && (n() - 1) / 2 >= options.coarse_points;
  }

  // A random choice of at most `most` of `count`, in order.
  std::vector<std::size_t> choose(std::size_t count, std::size_t most, std::uint64_t index) const {
    std::vector<std::size_t> chosen(count);
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
    if (count <= most) return chosen;
    chosen = permutation(count, options.seed, kSubsampleStream, index);
    chosen.resize(most);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }
  static std::vector<double> take(const std::vector<double>& values, const std::vector<std::size_t>& which) {
    std::vector<double> taken;
    for (const std::size_t i : which) taken.push_back(values[i]);
    return taken;
  }
  static std::vector<double> normalised(std::vector<double> mass) {
    const double sum = std::accumulate(mass.begin(), mass.end(), 0.0);
    for (double& value : mass) value /= sum;
    return mass;
  }

  void make_coarse() {
    coarse_rows = choose(n(), options.coarse_points, 0);
    coarse_columns = choose(problem.y.rows(), options.coarse_points, 1);
    GwotProblem part;
    part.w = take(problem.w, coarse_rows);
    part.times = problem.times_on(coarse_rows);
    part.times_on = [this](const std::vector<std::size_t>& rows) {
      std::vector<std::size_t> there;
      for (const std::size_t i : rows) there.push_back(coarse_rows[i]);
      return problem.times_on(there);
    };
    part.y = take_rows(std::as_const(problem.y).view(), coarse_columns);
    part.row_mass = normalised(take(problem.row_mass, coarse_rows));
    part.column_mass = normalised(take(problem.column_mass, coarse_columns));
    GwotOptions of_part = options;
    of_part.absolute = true;
    of_part.epsilon = std::min(epsilon_start, kCoarseEnd * epsilon_end);
    of_part.epsilon_start = epsilon_start;
    of_part.max_half_iterations = 0;
    of_part.marginal_tolerance = std::max(options.marginal_tolerance, kLevelMarginal);
    coarse = std::make_unique<GwotSolver>(std::move(part), of_part);
  }

  // One step of the problem on a subset; after its last, what it found is brought to all points. Interrupted, it leaves
  // everything as it was.
  bool coarse_step() {
    if (!coarse) make_coarse();
    if (coarse->step()) return true;
    const GwotState& found = coarse->state();
    if (found.status == GwotStatus::kNonFiniteInput) {
      finish(found.status);
      return false;
    }
    const double epsilon = std::max(found.epsilon, epsilon_end);
    std::vector<double> column = bridge(), p = spread_out(coarse->mean(), coarse_rows);
    move_origin(p, problem.w);
    state.starts = found.starts;
    sinkhorn->set_cost(problem.w, {p.data(), n(), d()}, epsilon);
    const std::vector<double> row(sinkhorn->row_potential().begin(), sinkhorn->row_potential().end());
    sinkhorn->set_potentials(row, column);
    begin_levels(std::move(p), epsilon);
    coarse.reset();
    observe();
    return true;
  }

  // From the origin of the subset's latent points, which is their own mean, to that of all: p becomes p + w δ.
  void move_origin(std::vector<double>& p, const std::vector<double>& w) const {
    for (std::size_t i = 0; i < w.size(); ++i) {
      for (std::size_t k = 0; k < d(); ++k) p[i * d() + k] += w[i] * origin_of_coarse(k);
    }
  }
  double origin_of_coarse(std::size_t k) const {
    return static_cast<double>(problem.y(coarse_columns[0], k)) - static_cast<double>(coarse->y()(0, k));
  }

  // The potentials of all columns from those of the rows of the subset: one half-iteration between the two. It begins
  // at the potential of the subset's column that is next along a curve, so that sums are in range.
  std::vector<double> bridge() {
    std::vector<double> y(problem.y.data(), problem.y.data() + problem.y.size());
    const std::vector<std::uint32_t> order = spatial_order({y.data(), problem.y.rows(), d()});
    constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> place(problem.y.rows(), kNone);
    for (std::size_t j = 0; j < coarse_columns.size(); ++j) place[coarse_columns[j]] = j;
    std::size_t last = place[*std::find_if(order.begin(), order.end(), [&](auto j) { return place[j] != kNone; })];
    const std::vector<double> mass = normalised(take(problem.column_mass, coarse_columns));
    std::vector<double> guess(problem.y.rows());
    for (const std::uint32_t j : order) {
      if (place[j] != kNone) last = place[j];
      guess[j] = coarse->column_potential()[last] + std::log2(problem.column_mass[j] / mass[last]);
    }
    // In the coordinates of all points, the cost of the subset's rows has lost w |δ|² + 2 <p, δ>.
    const std::vector<double> w = take(problem.w, coarse_rows);
    const double epsilon = coarse->state().epsilon, unit = 1 / (epsilon * std::log(2.0));
    std::vector<double> p(coarse->p().data, coarse->p().data + w.size() * d());
    std::vector<double> row(coarse->row_potential().begin(), coarse->row_potential().end());
    for (std::size_t i = 0; i < w.size(); ++i) {
      for (std::size_t k = 0; k < d(); ++k) {
        const double moved = origin_of_coarse(k);
        row[i] -= unit * moved * (w[i] * moved + 2 * p[i * d() + k]);
      }
    }
    move_origin(p, w);
    Sinkhorn between(std::as_const(problem.y).view(), normalised(take(problem.row_mass, coarse_rows)),
                     problem.column_mass, sinkhorn_options());
    between.set_cost(w, {p.data(), w.size(), d()}, epsilon);
    between.set_potentials(row, guess);
    between.update_columns();
    return {between.column_potential().begin(), between.column_potential().end()};
  }

  // p = K M places every point, with M on some rows alone.
  std::vector<double> spread_out(MatrixView<const double> mean, const std::vector<std::size_t>& rows) const {
    std::vector<double> all(n() * d(), 0.0), p(n() * d());
    for (std::size_t r = 0; r < rows.size(); ++r) std::copy_n(mean.data + r * d(), d(), &all[rows[r] * d()]);
    problem.times({all.data(), n(), d()}, {p.data(), n(), d()});
    return p;
  }

  // What starts run on: a subsample, or all points.
  struct StartProblem {
    bool all;
    std::vector<std::size_t> rows;
    Descent::Times times;
    std::vector<double> w, mass, column_mass;
    FloatMatrix y;
  };

  const StartProblem& start_problem() {
    if (starts_on) return *starts_on;
    StartProblem on;
    on.all = !problem.times_on || n() <= options.start_points;
    on.rows = choose(n(), on.all ? n() : options.start_points, 0);
    const std::vector<std::size_t> columns =
        choose(problem.y.rows(), on.all ? problem.y.rows() : options.start_points, 1);
    on.times = on.all ? problem.times : problem.times_on(on.rows);
    on.w = take(problem.w, on.rows);
    on.mass = normalised(take(problem.row_mass, on.rows));
    on.column_mass = normalised(take(problem.column_mass, columns));
    on.y = take_rows(std::as_const(problem.y).view(), columns);
    starts_on = std::make_unique<StartProblem>(std::move(on));
    return *starts_on;
  }

  // Where a start got to.
  struct StartResult {
    DescentResult result = DescentResult::kGoesOn;
    double objective = 0, merit = 0;
    std::vector<double> p, mean;
  };

  StartResult try_start(int start, const StartProblem& on) const {
    Sinkhorn solver(on.y.view(), on.mass, on.column_mass, sinkhorn_options());
    DescentOptions coarse = descent_options();
    coarse.tolerance = std::max(coarse.tolerance, 1e-3);
    coarse.marginal_tolerance = std::max(coarse.marginal_tolerance, 5e-3);
    Descent trial(solver, on.w, on.times, coarse);
    if (start > 0) trial.p() = random_p(start, on.w, on.times, on.mass);
    StartResult got;
    for (int level = 0; level < options.start_levels; ++level) {
      constexpr int kMostUpdates = 300;
      const double epsilon = std::max(std::ldexp(epsilon_start, -level), epsilon_end);
      trial.start_level(epsilon);
      got.result = DescentResult::kGoesOn;
      for (int k = 0; k < kMostUpdates && got.result == DescentResult::kGoesOn; ++k)
        got.result = trial.step(trial.inner_limit());
      const bool failed = got.result == DescentResult::kPrecisionFailure || got.result == DescentResult::kNonFinite;
      if (failed || epsilon <= epsilon_end) break;
    }
    got.objective = 2 * (trial.kept().any() ? trial.kept().reduced : trial.state().reduced);
    got.merit = trial.state().merit;
    got.p = trial.p();
    got.mean = trial.moments().mean;
    return got;
  }

  // The best start so far is kept, as its p on all points.
  void take_start(const StartResult& got, const StartProblem& on) {
    state.starts.push_back(got.objective);
    if (got.result == DescentResult::kNonFinite) finish(GwotStatus::kNonFiniteInput);
    const bool failed = got.result == DescentResult::kNonFinite || got.result == DescentResult::kPrecisionFailure;
    if (failed || !(got.merit < best_start)) return;
    best_start = got.merit;
    best_p = on.all ? got.p : spread_out({got.mean.data(), on.rows.size(), d()}, on.rows);
  }

  // All of first … last at once, each from a thread of its own. What comes of them does not depend on how many they
  // are.
  std::vector<StartResult> try_starts(int first, int last, const StartProblem& on) const {
    std::vector<std::future<StartResult>> running;
    for (int start = first; start <= last; ++start) {
      running.push_back(std::async(last > first ? std::launch::async : std::launch::deferred,
                                   [this, start, &on] { return try_start(start, on); }));
    }
    std::vector<StartResult> results;
    for (auto& run : running) results.push_back(run.get());
    return results;
  }

  // The next starts; none where a device has no room for so many, and the next step then tries half as many.
  void run_starts() {
    const StartProblem& on = start_problem();
    const int last = std::min(options.starts, next_start + starts_at_once - 1);
    std::vector<StartResult> results;
    try {
      results = try_starts(next_start, last, on);
    } catch (const OutOfDeviceMemory&) {
      if (last == next_start) throw;
      starts_at_once = (last - next_start + 1) / 2;
      log().info("the GPU has no room for {} starts at once: {} at a time", last - next_start + 1, starts_at_once);
      return;
    }
    for (const StartResult& got : results) {
      if (phase == Phase::kStarts) take_start(got, on);
    }
    next_start = last + 1;  // only now: interrupted starts are run again
  }

  void begin_levels(std::vector<double> p, double epsilon) {
    descent->p() = std::move(p);
    descent->start_level(epsilon);
    phase = Phase::kLevels;
  }

  void remember_stable() {
    stable_epsilon = descent->epsilon();
    stable_p = descent->p();
    stable_row.assign(sinkhorn->row_potential().begin(), sinkhorn->row_potential().end());
    stable_column.assign(sinkhorn->column_potential().begin(), sinkhorn->column_potential().end());
  }

  void finish(GwotStatus status) {
    // Cut short before the first update: some plan there must be, whatever its marginals.
    if (status == GwotStatus::kBudgetExhausted && !descent->kept().any())
      descent->polish(std::numeric_limits<double>::max(), 1);
    state.status = status;
    phase = Phase::kDone;
  }

  void level_step() {
    const DescentResult result = descent->step(affordable(descent->inner_limit()));
    if (result == DescentResult::kPrecisionFailure && out_of_budget()) {
      finish(GwotStatus::kBudgetExhausted);
    } else if (result == DescentResult::kNonFinite) {
      finish(GwotStatus::kNonFiniteInput);
    } else if (result == DescentResult::kConverged) {
      remember_stable();
      // Halve, but never down to what has failed before: then half the way to it.
      const double next =
          std::max(epsilon_end, failed_epsilon > 0 ? 0.5 * (stable_epsilon + failed_epsilon) : stable_epsilon / 2);
      if (stable_epsilon <= epsilon_end * (1 + 1e-12) || (failed_epsilon > 0 && too_near(next)))
        phase = Phase::kPolish;
      else
        descent->start_level(next);
    } else if (result == DescentResult::kPrecisionFailure) {
      const double failed = descent->epsilon();
      if (stable_epsilon == 0) {  // not even the first level: a softer one
        if (failed > 1e6 * epsilon_start)
          throw Error("coupling", "no ε gives marginals that can be met", "is the kernel finite and of sensible size?");
        descent->start_level(2 * failed);
        return;
      }
      failed_epsilon = failed;
      const double middle = 0.5 * (failed + stable_epsilon);
      go_back();
      if (too_near(middle))
        phase = Phase::kPolish;
      else
        descent->start_level(middle);
    }
  }

  // Iterations of two half-iterations each that the budget still allows, at most `most`.
  int affordable(int most) const {
    if (options.max_half_iterations == 0) return most;
    const std::uint64_t used = sinkhorn->half_iterations();
    const std::uint64_t left = options.max_half_iterations > used ? options.max_half_iterations - used : 0;
    return static_cast<int>(std::clamp<std::uint64_t>(left / 2, 1, static_cast<std::uint64_t>(most)));
  }
  bool out_of_budget() const {
    return options.max_half_iterations > 0 && sinkhorn->half_iterations() + 2 > options.max_half_iterations;
  }

  bool too_near(double epsilon) const { return stable_epsilon - epsilon < options.epsilon_resolution * stable_epsilon; }

  void go_back() {
    descent->p() = stable_p;
    descent->set_epsilon(stable_epsilon);
    sinkhorn->set_cost(problem.w, {stable_p.data(), n(), d()}, stable_epsilon);
    sinkhorn->set_potentials(stable_row, stable_column);
  }

  // The polish in steps of some hundred iterations, so that an interrupt loses little. What ends it is a look in
  // double: float sums may agree among themselves and still be off.
  void polish_step() {
    constexpr int kIterations = 500, kMostSteps = 80;
    const bool reached = descent->polish(options.marginal_tolerance, affordable(kIterations));
    const bool in_double = sinkhorn->in_double();
    if (!in_double && (reached || !descent->may_improve())) {
      sinkhorn->use_double();
      return;
    }
    if (!reached && !out_of_budget() && descent->may_improve() && ++polished < kMostSteps) return;
    const bool at_end = descent->epsilon() <= epsilon_end * (1 + 1e-12);
    finish(!reached ? GwotStatus::kBudgetExhausted : at_end ? GwotStatus::kConverged : GwotStatus::kEpsilonFloor);
  }

  // An interrupt in the middle of a step leaves everything as it was before.
  bool step() {
    if (phase == Phase::kStarts && begins_coarse()) return coarse_step();
    take_snapshot(before);
    try {
      return uninterrupted_step();
    } catch (const Interrupted&) {
      restore(before);
      throw;
    }
  }

  bool uninterrupted_step() {
    switch (phase) {
      case Phase::kStarts:
        run_starts();
        if (phase == Phase::kStarts && next_start > options.starts) {
          begin_levels(best_p.empty() ? std::vector<double>(n() * d(), 0.0) : best_p, epsilon_start);
          starts_on.reset();
        }
        break;
      case Phase::kLevels:
        level_step();
        break;
      case Phase::kPolish:
        polish_step();
        break;
      case Phase::kDone:
        return false;
    }
    if ((phase == Phase::kLevels || phase == Phase::kPolish) && out_of_budget() && descent->kept().any())
      finish(GwotStatus::kBudgetExhausted);
    observe();
    return phase != Phase::kDone;
  }

  // Into one that may have been used before: its memory is.
  void take_snapshot(Snapshot& taken) const {
    const auto add = [&](const std::string& name, std::span<const double> values) {
      taken[name].assign(values.begin(), values.end());
    };
    add("best_p", best_p);
    add("stable_p", stable_p);
    add("stable_row", stable_row);
    add("stable_column", stable_column);
    add("starts", state.starts);
    add("p", descent->p());
    add("row_potential", sinkhorn->row_potential());
    add("column_potential", sinkhorn->column_potential());
    descent->save(add);
    const std::vector<double> scalars{static_cast<double>(phase),
                                      static_cast<double>(next_start),
                                      best_start,
                                      stable_epsilon,
                                      state.scale,
                                      static_cast<double>(n()),
                                      static_cast<double>(problem.y.rows()),
                                      static_cast<double>(d()),
                                      static_cast<double>(sinkhorn->half_iterations()),
                                      static_cast<double>(sinkhorn->pairs()),
                                      static_cast<double>(sinkhorn->rescued()),
                                      static_cast<double>(state.status),
                                      sinkhorn->epsilon(),
                                      options.epsilon,
                                      options.epsilon_start,
                                      static_cast<double>(options.starts),
                                      options.tolerance,
                                      options.marginal_tolerance,
                                      static_cast<double>(options.seed),
                                      failed_epsilon,
                                      static_cast<double>(polished),
                                      sinkhorn->in_double() ? 1.0 : 0.0,
                                      sinkhorn->dropped(),
                                      sinkhorn->duality_gap(),
                                      static_cast<double>(options.coarse_points),
                                      static_cast<double>(options.start_levels)};
    add("scalars", scalars);
  }

  void restore(const Snapshot& from) {
    const auto read = [&](const std::string& name) { return from.at(name); };
    const std::vector<double>& scalars = from.at("scalars");
    if (scalars.size() != 26) throw Error("solver.scalars", "has a wrong size", "the checkpoint is of another version");
    const auto same = [&](std::size_t k, double mine, const char* what) {
      if (scalars[k] != mine)
        throw Error(what, fmt::format("is {} here and {} in the checkpoint", mine, scalars[k]),
                    "go on with the same data and options");
    };
    same(5, static_cast<double>(n()), "the number of samples");
    same(6, static_cast<double>(problem.y.rows()), "the number of latent points");
    same(7, static_cast<double>(d()), "the latent dimension");
    same(4, state.scale, "the scale of the cost");
    same(13, options.epsilon, "epsilon");
    same(14, options.epsilon_start, "epsilon_start");
    same(15, static_cast<double>(options.starts), "starts");
    same(16, options.tolerance, "tolerance");
    same(17, options.marginal_tolerance, "marginal_tolerance");
    same(18, static_cast<double>(options.seed), "seed");
    same(24, static_cast<double>(options.coarse_points), "coarse_points");
    same(25, static_cast<double>(options.start_levels), "start_levels");
    const auto refuse = [](const std::string& what) {
      throw Error("checkpoint: " + what, "cannot be of a run of this problem", "it is damaged or of other data");
    };
    const auto sized = [&](const std::string& name, std::size_t size, bool may_be_empty) {
      const std::vector<double>& values = from.at(name);
      if (values.size() != size && !(may_be_empty && values.empty())) refuse(name);
      for (const double v : values) {
        if (!std::isfinite(v)) refuse(name);
      }
      return values;
    };
    const auto count = [&](std::size_t k, double most = 9e15) {
      if (!(scalars[k] >= 0 && scalars[k] <= most)) refuse("scalars");
      return static_cast<std::uint64_t>(scalars[k]);
    };
    const std::size_t m = problem.y.rows();
    best_p = sized("best_p", n() * d(), true);
    stable_p = sized("stable_p", n() * d(), true);
    stable_row = sized("stable_row", n(), true);
    stable_column = sized("stable_column", m, true);
    state.starts = from.at("starts");
    descent->p() = sized("p", n() * d(), false);
    const std::vector<double> row = sized("row_potential", n(), false), column = sized("column_potential", m, false);
    if (count(0) > static_cast<std::uint64_t>(Phase::kDone) ||
        count(11) > static_cast<std::uint64_t>(GwotStatus::kNonFiniteInput)) {
      refuse("scalars");
    }
    phase = static_cast<Phase>(count(0));
    next_start = static_cast<int>(std::min<std::uint64_t>(count(1), 1000000));
    best_start = scalars[2];
    stable_epsilon = scalars[3];
    failed_epsilon = scalars[19];
    state.status = static_cast<GwotStatus>(count(11));
    polished = static_cast<int>(std::min<std::uint64_t>(count(20), 1000000));
    if (scalars[21] != 0) sinkhorn->use_double();
    descent->load(read);
    const bool known = std::isfinite(stable_epsilon) && stable_epsilon >= 0 && std::isfinite(failed_epsilon) &&
                       failed_epsilon >= 0 && std::isfinite(scalars[12]) && scalars[12] >= 0;
    const bool stable = stable_epsilon == 0 || (!stable_p.empty() && !stable_row.empty() && !stable_column.empty());
    const bool done = (phase == Phase::kDone) == (state.status != GwotStatus::kRunning);
    const bool begun = phase == Phase::kStarts || descent->epsilon() > 0;
    const bool met = state.status != GwotStatus::kConverged ||
                     (descent->kept().any() && descent->kept().marginal_error <= options.marginal_tolerance);
    const bool needs_plan =
        phase == Phase::kPolish || (phase == Phase::kDone && state.status != GwotStatus::kNonFiniteInput);
    if (!known || !stable || !done || !begun || !met || (needs_plan && !descent->kept().any())) refuse("scalars");
    // The cost is set again by the next inner problem; ε first, so that warm potentials are not scaled a second time.
    if (scalars[12] > 0) sinkhorn->set_cost(problem.w, {descent->p().data(), n(), d()}, scalars[12]);
    sinkhorn->set_potentials(row, column);
    sinkhorn->set_counters(count(8), count(9, 9e18), count(10));
    sinkhorn->set_bounds(scalars[22], scalars[23]);
    observe();
  }

  void save(TensorFileWriter& file, const std::string& prefix) {
    take_snapshot(saved);
    for (const auto& [name, values] : saved) add_values(file, prefix + name, {values.size()}, values);
    if (!coarse) return;
    coarse->impl_->take_snapshot(saved_coarse);
    for (const auto& [name, values] : saved_coarse) add_values(file, prefix + kCoarse + name, {values.size()}, values);
  }

  void load(const TensorFile& file, const std::string& prefix) {
    Snapshot read;
    take_snapshot(read);  // for the names
    for (auto& [name, values] : read) values = read_values<double>(file, prefix + name);
    restore(read);
    coarse.reset();
    if (phase != Phase::kStarts || !begins_coarse() || file.tensors().count(prefix + kCoarse + "scalars") == 0) return;
    make_coarse();
    coarse->impl_->load(file, prefix + kCoarse);
  }

  Snapshot saved, saved_coarse;  // what a TensorFileWriter still points to
  Snapshot before;               // the last step

  // How far it is: starts count one each, levels of ε one each, the polish one; a problem that begins on a subset has
  // those there, and two on all points.
  double levels() const { return std::ceil(std::log2(epsilon_start / epsilon_end) - 1e-9) + 1; }
  std::uint64_t stages() const {
    return static_cast<std::uint64_t>(levels() + (paper() ? 0 : options.starts + 1)) + 1 + (begins_coarse() ? 2 : 0);
  }
  std::uint64_t stage() const {
    if (phase == Phase::kDone) return stages();
    if (begins_coarse()) return coarse ? coarse->impl_->stage() : phase == Phase::kStarts ? 0 : stages() - 2;
    if (phase == Phase::kStarts) return static_cast<std::uint64_t>(next_start);
    const double level = std::max(0.0, std::log2(epsilon_start / std::max(state.epsilon, epsilon_end)));
    return static_cast<std::uint64_t>((paper() ? 0 : options.starts + 1) + level);
  }

  void observe() {
    // Of the last plan that was taken, as are the potentials and all else that is shown.
    const Descent::Kept& kept = descent->kept();
    state.epsilon = kept.any() ? kept.epsilon : descent->epsilon();
    state.reduced = kept.reduced;
    state.merit = kept.merit;
    state.marginal_error = kept.any() ? kept.marginal_error : descent->state().marginal_error;
    state.duality_gap = sinkhorn->duality_gap();
    state.outer_iterations = descent->state().updates;
    state.half_iterations = sinkhorn->half_iterations();
    state.rescued = sinkhorn->rescued();
    state.pairs = sinkhorn->pairs();
    state.dropped = sinkhorn->dropped();
  }
};

GwotSolver::GwotSolver(GwotProblem problem, GwotOptions options)
    : impl_(std::make_unique<Impl>(std::move(problem), options)) {}
GwotSolver::~GwotSolver() = default;
GwotSolver::GwotSolver(GwotSolver&&) noexcept = default;

bool GwotSolver::step() { return impl_->step(); }

GwotStatus GwotSolver::run(std::uint64_t half_iterations, Progress* progress, const std::function<void()>& after_step) {
  const std::uint64_t until = impl_->sinkhorn->half_iterations() + half_iterations;
  if (progress != nullptr) progress->start("couple", impl_->stages(), "stages");
  const auto tell = [&] {
    const GwotState& shown = impl_->coarse ? impl_->coarse->state() : state();
    progress->update(impl_->stage(), shown.outer_iterations == 0
                                         ? std::string()
                                         : fmt::format("{}ε {:.3g}, objective {:.5g}, marginals {:.1e}",
                                                       impl_->coarse ? "on a subset: " : "", shown.epsilon,
                                                       2 * shown.reduced, shown.marginal_error));
  };
  bool more = impl_->phase != Impl::Phase::kDone;
  while (more && (half_iterations == 0 || impl_->sinkhorn->half_iterations() < until)) {
    check_interrupt();
    more = step();
    if (after_step) after_step();
    if (progress != nullptr) tell();
  }
  if (progress != nullptr && !more) progress->finish();
  return state().status;
}

void GwotSolver::save(TensorFileWriter& file) const { impl_->save(file, kPrefix); }
void GwotSolver::load(const TensorFile& file) { impl_->load(file, kPrefix); }

const GwotState& GwotSolver::state() const { return impl_->state; }
std::span<const double> GwotSolver::row_potential() const {
  const Descent::Kept& kept = impl_->descent->kept();
  return kept.any() ? std::span<const double>(kept.row) : impl_->sinkhorn->row_potential();
}
std::span<const double> GwotSolver::column_potential() const {
  const Descent::Kept& kept = impl_->descent->kept();
  return kept.any() ? std::span<const double>(kept.column) : impl_->sinkhorn->column_potential();
}
MatrixView<const double> GwotSolver::p() const {
  const Descent::Kept& kept = impl_->descent->kept();
  return {kept.any() ? kept.p.data() : impl_->descent->p().data(), impl_->n(), impl_->d()};
}
MatrixView<const double> GwotSolver::mean() const {
  return {impl_->descent->kept().moments.mean.data(), impl_->n(), impl_->d()};
}
std::span<const double> GwotSolver::second() const { return impl_->descent->kept().moments.second; }
MatrixView<const float> GwotSolver::y() const { return std::as_const(impl_->problem.y).view(); }

}  // namespace cpfm
