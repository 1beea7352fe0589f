// The paper's Algorithm 1 at one ε, one update at a time: minimise over the plan for the cost linearised at M
// (Sinkhorn), then over A (M ← π Y, p ← K M). It stops on R(π) + ε Σ π log π, not on the paper's mixture of a new A
// with the old cost, solves each inner problem only as far as the outer movement deserves, and takes no plan that is
// worse.
#pragma once

#include <string>
#include <vector>

#include "coupling/sinkhorn.hpp"
#include "cpfm/gwot.hpp"

namespace cpfm {

struct DescentOptions {
  double tolerance = 1e-4;           // change of the merit, as a share of R
  double marginal_tolerance = 1e-3;  // the tightest the inner problems are solved to
  double loosest_marginal = 0.01;
  int inner_limit = 500;  // iterations; more is a precision failure
  bool relax = true;      // over-relaxation where plain iterations are slow
  bool paper = false;     // inner problems always to the tightest, the printed stopping rule
};

struct DescentState {
  double reduced = 0, merit = 0, marginal_error = 0;
  double inner_bound = 0;  // marginal error the next inner problem is solved to
  int calm = 0;            // updates in a row that changed the merit by less than the tolerance
  int accepted = 0;        // plans taken in this level
  double damping = 1;      // share of the step to K M that is taken; below 1 after the merit rose
  std::uint64_t updates = 0;
};

enum class DescentResult { kGoesOn, kConverged, kPrecisionFailure, kNonFinite };

class Descent {
 public:
  using Times = KernelTimes;

  // All must outlive it. p (n × d) is where the cost is linearised first.
  Descent(Sinkhorn& sinkhorn, std::span<const double> w, const Times& times, DescentOptions options);

  // Starts a level: forgets what the stopping rule knew.
  void start_level(double epsilon);
  // One update of A, with at most `limit` iterations of Sinkhorn.
  DescentResult step(int limit);
  int inner_limit() const { return options_.inner_limit; }
  // Sinkhorn at the present cost until the column error is at most `tolerance`; false when it stalls.
  bool polish(double tolerance, int limit);
  // Whether the last inner problem ended at its limit, not at the floor of the type.
  bool may_improve() const { return !stalled_; }

  // The last plan that was taken: all of it belongs together, whatever was tried since.
  struct Kept {
    std::vector<double> p, km, row, column;
    PlanMoments moments;
    double epsilon = 0, reduced = 0, merit = 0, marginal_error = 0;
    bool any() const { return !row.empty(); }
  };
  const Kept& kept() const { return kept_; }

  double epsilon() const { return epsilon_; }
  const DescentState& state() const { return state_; }
  std::vector<double>& p() { return p_; }
  const std::vector<double>& p() const { return p_; }
  const PlanMoments& moments() const { return moments_; }

  void set_epsilon(double epsilon) { epsilon_ = epsilon; }
  // For checkpoints: all but p, the potentials and the cost.
  void save(const std::function<void(const std::string&, const std::vector<double>&)>& add) const;
  void load(const std::function<std::vector<double>(const std::string&)>& read);

 private:
  bool solve_inner(double bound, int limit);
  void measure();
  void keep();
  void go_back();
  double advance();
  DescentResult guarded_step();
  DescentResult paper_step();

  Sinkhorn& sinkhorn_;
  std::span<const double> w_;
  const Times& times_;
  DescentOptions options_;
  double epsilon_ = 0;
  bool stalled_ = false;
  DescentState state_;
  std::vector<double> p_, km_;
  PlanMoments moments_;
  Kept kept_;
};

}  // namespace cpfm
