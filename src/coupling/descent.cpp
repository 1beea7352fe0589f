#include "coupling/descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpfm/error.hpp"

namespace cpfm {
namespace {

constexpr int kCalm = 3, kPatience = 50;
constexpr double kLeastDamping = 1.0 / 64;

}  // namespace

Descent::Descent(Sinkhorn& sinkhorn, std::span<const double> w, const Times& times, DescentOptions options)
    : sinkhorn_(sinkhorn),
      w_(w),
      times_(times),
      options_(options),
      p_(w.size() * static_cast<std::size_t>(sinkhorn.dim())),
      km_(p_.size()) {}

void Descent::start_level(double epsilon) {
  epsilon_ = epsilon;
  const DescentState before = state_;
  state_ = DescentState{};
  state_.updates = before.updates;
  state_.reduced = before.reduced;
  state_.marginal_error = before.marginal_error;
  state_.inner_bound = options_.paper ? options_.marginal_tolerance : options_.loosest_marginal;
  state_.merit = std::numeric_limits<double>::infinity();
}

bool Descent::solve_inner(double bound, int limit) {
  sinkhorn_.set_cost(w_, {p_.data(), w_.size(), static_cast<std::size_t>(sinkhorn_.dim())}, epsilon_);
  const InnerControl solved = sinkhorn_.solve(bound, limit, options_.relax);
  stalled_ = solved.stalled;
  state_.marginal_error = solved.error;
  return solved.reached;
}

// Sets the rows right, with the moments of the plan, K M, R and the merit.
void Descent::measure() {
  sinkhorn_.update_rows(moments_);
  const auto d = static_cast<std::size_t>(sinkhorn_.dim());
  times_({moments_.mean.data(), w_.size(), d}, {km_.data(), w_.size(), d});
  double reduced = 0;
  for (std::size_t i = 0; i < w_.size(); ++i) reduced += w_[i] * moments_.second[i];
  for (std::size_t k = 0; k < km_.size(); ++k) reduced -= km_[k] * moments_.mean[k];
  state_.reduced = reduced;
}

void Descent::keep() {
  kept_.p = p_;
  kept_.km = km_;
  kept_.moments = moments_;
  kept_.row.assign(sinkhorn_.row_potential().begin(), sinkhorn_.row_potential().end());
  kept_.column.assign(sinkhorn_.column_potential().begin(), sinkhorn_.column_potential().end());
  kept_.epsilon = epsilon_;
  kept_.reduced = state_.reduced;
  kept_.merit = state_.merit;
  kept_.marginal_error = state_.marginal_error;
}

void Descent::go_back() {
  p_ = kept_.p;
  km_ = kept_.km;
  moments_ = kept_.moments;
  sinkhorn_.set_potentials(kept_.row, kept_.column);
  state_.reduced = kept_.reduced;
}

// Moves p towards K M; returns by how much K M differs from it.
double Descent::advance() {
  double moved = 0, size = 0;
  for (std::size_t k = 0; k < p_.size(); ++k) {
    const double change = km_[k] - p_[k];
    moved += change * change;
    size += km_[k] * km_[k];
    p_[k] += state_.damping * change;
  }
  return size > 0 ? std::sqrt(moved / size) : 0;
}

DescentResult Descent::step(int limit) {
  if (!solve_inner(state_.inner_bound, limit)) {
    const bool finite = std::all_of(p_.begin(), p_.end(), [](double v) { return std::isfinite(v); });
    return finite ? DescentResult::kPrecisionFailure : DescentResult::kNonFinite;
  }
  measure();
  ++state_.updates;
  if (!std::isfinite(state_.reduced)) return DescentResult::kNonFinite;
  return options_.paper ? paper_step() : guarded_step();
}

// The guard: a plan whose merit is worse is not taken; the step to it is halved, and the inner problem solved better.
// For positive kernels the full step never raises the merit if the inner problem is solved; for others it may.
DescentResult Descent::guarded_step() {
  const double merit = state_.reduced + sinkhorn_.entropy_term(moments_);
  // The marginal error leaves this much doubt about the merit.
  const double doubt = state_.marginal_error * (std::abs(state_.reduced) + std::abs(merit)) + 1e-12 * std::abs(merit);
  const bool tight = state_.marginal_error <= options_.marginal_tolerance;
  if (merit > state_.merit + doubt) {
    go_back();
    if (tight && state_.damping <= kLeastDamping) return DescentResult::kConverged;  // nothing lower in this direction
    state_.damping = std::max(0.5 * state_.damping, kLeastDamping);
    state_.inner_bound = std::max(options_.marginal_tolerance, 0.1 * state_.inner_bound);
    advance();
    return DescentResult::kGoesOn;
  }
  // Judged by the merit, not by R alone: R wavers to first order with the marginal error, the merit only to second.
  // A level that wanders for long within the doubt has nothing left to find.
  const double change = std::abs(state_.merit - merit);
  const double still = options_.tolerance * std::abs(state_.reduced) + (++state_.accepted > kPatience ? doubt : 0);
  state_.calm = change < still ? state_.calm + 1 : 0;
  state_.merit = merit;
  keep();
  if (state_.calm >= kCalm && tight) return DescentResult::kConverged;
  state_.damping = std::min(1.0, 1.5 * state_.damping);
  const double movement = advance();
  // As tight as the movement deserves, and tighter every time: what loose marginals move by is noise, and would keep
  // them loose. Calm under loose marginals is no proof either.
  constexpr double kTighter = 0.8;
  state_.inner_bound = state_.calm >= kCalm
                           ? options_.marginal_tolerance
                           : std::max(options_.marginal_tolerance, std::min(movement, kTighter * state_.inner_bound));
  return DescentResult::kGoesOn;
}

// Algorithm 1 as printed: ‖A_new‖² + <C_old, π>, which mixes a new A with the old cost, must fall by the tolerance.
DescentResult Descent::paper_step() {
  double value = 0;
  for (std::size_t i = 0; i < w_.size(); ++i) value += w_[i] * moments_.second[i];
  for (std::size_t k = 0; k < km_.size(); ++k) value += (km_[k] - 2 * p_[k]) * moments_.mean[k];
  const bool done = state_.merit - value < options_.tolerance * std::abs(value);
  state_.merit = value;
  keep();
  if (!done) advance();
  return done ? DescentResult::kConverged : DescentResult::kGoesOn;
}

void Descent::save(const std::function<void(const std::string&, const std::vector<double>&)>& add) const {
  add("km", km_);
  add("mean", moments_.mean);
  add("second", moments_.second);
  add("kept_p", kept_.p);
  add("kept_km", kept_.km);
  add("kept_row", kept_.row);
  add("kept_column", kept_.column);
  add("kept_mean", kept_.moments.mean);
  add("kept_second", kept_.moments.second);
  add("descent", {epsilon_, state_.reduced, state_.merit, state_.marginal_error, state_.inner_bound,
                  static_cast<double>(state_.calm), state_.damping, static_cast<double>(state_.updates), kept_.reduced,
                  static_cast<double>(state_.accepted), kept_.epsilon, kept_.merit, kept_.marginal_error});
}

void Descent::load(const std::function<std::vector<double>(const std::string&)>& read) {
  const auto refuse = [](const std::string& name) {
    throw Error("solver." + name, "cannot be of a run of this problem", "the checkpoint is damaged");
  };
  const std::vector<double> scalars = read("descent");
  if (scalars.size() != 13) refuse("descent");
  // Arrays are there in full or not at all, and those of the plan that was taken all together.
  const auto array = [&](const std::string& name, std::size_t size) {
    std::vector<double> values = read(name);
    if (!values.empty() && values.size() != size) refuse(name);
    for (const double v : values) {
      if (!std::isfinite(v)) refuse(name);
    }
    return values;
  };
  km_ = array("km", p_.size());
  if (km_.empty()) km_.assign(p_.size(), 0.0);
  moments_.mean = array("mean", p_.size());
  moments_.second = array("second", w_.size());
  kept_.p = array("kept_p", p_.size());
  kept_.km = array("kept_km", p_.size());
  kept_.row = array("kept_row", sinkhorn_.rows());
  kept_.column = array("kept_column", sinkhorn_.columns());
  kept_.moments.mean = array("kept_mean", p_.size());
  kept_.moments.second = array("kept_second", w_.size());
  const bool complete = !kept_.p.empty() && !kept_.km.empty() && !kept_.column.empty() && !kept_.moments.mean.empty() &&
                        !kept_.moments.second.empty();
  if (kept_.any() != complete || moments_.mean.empty() != moments_.second.empty()) refuse("kept");
  const auto count = [&](std::size_t k) {
    if (!(scalars[k] >= 0 && scalars[k] <= 9e15)) refuse("descent");
    return static_cast<std::uint64_t>(scalars[k]);
  };
  epsilon_ = scalars[0];
  state_.reduced = scalars[1];
  state_.merit = scalars[2];  // infinite before the first plan of a level
  state_.marginal_error = scalars[3];
  state_.inner_bound = scalars[4];
  state_.calm = static_cast<int>(std::min<std::uint64_t>(count(5), 1000));
  state_.damping = scalars[6];
  state_.updates = count(7);
  kept_.reduced = scalars[8];
  state_.accepted = static_cast<int>(std::min<std::uint64_t>(count(9), 1000000));
  kept_.epsilon = scalars[10];
  kept_.merit = scalars[11];
  kept_.marginal_error = scalars[12];
  for (const std::size_t k : {0u, 1u, 3u, 4u, 6u, 8u, 10u, 11u, 12u}) {
    if (!std::isfinite(scalars[k])) refuse("descent");
  }
  const bool begun = epsilon_ > 0;
  if (epsilon_ < 0 || std::isnan(state_.merit) || (begun && (!(state_.inner_bound > 0) || !(state_.damping > 0))) ||
      (kept_.any() && !(kept_.epsilon > 0)) || (state_.accepted > 0 && !kept_.any())) {
    refuse("descent");
  }
}

bool Descent::polish(double tolerance, int limit) {
  const bool reached = solve_inner(tolerance, limit);
  measure();
  keep();
  return reached;
}

}  // namespace cpfm
