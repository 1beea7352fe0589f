// Sinkhorn's iteration for the rank-(d+1) cost of the generalized Gromov–Wasserstein problem (paper, step 2 of the
// alternating minimisation), in the log domain and O(n + m) memory. The plan is never stored: it is
// π_ij = 2^(F_i + G_j + <a_i, b_j>) with the coordinates of pair_sums.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "coupling/pair_sums.hpp"
#include "coupling/truncation.hpp"
#include "cpfm/device.hpp"
#include "cpfm/matrix.hpp"
#include "cuda/inner_control.hpp"
#include "cuda/sinkhorn.hpp"

namespace cpfm {

struct SinkhornOptions {
  // Sums in double instead of float: slower by about 3, and marginals can be met below 1e-5.
  bool double_precision = false;
  // Leave out tiles of pairs that hold at most this much mass in all; 0 computes every pair.
  double drop = 1e-7;
  Device device = {};
};

// What one pass over all pairs tells of the present plan: rows are right (they sum to their masses) when it is taken.
struct PlanMoments {
  std::vector<double> mean;    // n × d: M = π Y, row i is Σ_j π_ij y_j
  std::vector<double> second;  // n: Σ_j π_ij |y_j|²
};

class Sinkhorn {
 public:
  // y: m × d latent points; the masses are positive and sum to 1.
  Sinkhorn(MatrixView<const float> y, std::vector<double> row_mass, std::vector<double> column_mass,
           SinkhornOptions options = {});
  ~Sinkhorn();

  std::size_t rows() const { return row_mass_.size(); }
  std::size_t columns() const { return column_mass_.size(); }
  int dim() const { return dim_; }
  double epsilon() const { return epsilon_; }

  // Sets the cost C_ij = w_i |y_j|² - 2 <p_i, y_j> and ε. Potentials stay warm; when ε changes they keep their meaning
  // as prices.
  void set_cost(std::span<const double> w, MatrixView<const double> p, double epsilon);

  // One half-iteration each. Returns the L1 error that the marginal had before. `relaxation` 1 sets it right; up to 2
  // overshoots, which converges faster where convergence is slow (successive over-relaxation).
  double update_columns(double relaxation = 1);
  double update_rows(double relaxation = 1);
  // update_rows, with the moments of the plan it leads to.
  double update_rows(PlanMoments& moments);

  // Half-iterations until the columns' error is at most `bound`, or `limit` iterations were made; see
  // inner_control.hpp.
  InnerControl solve(double bound, int limit, bool relax);

  // ε Σ_ij π_ij (log2 π_ij) ln 2 of a plan whose rows are right, from its moments and the column marginal found by the
  // update_columns before (which set it right).
  double entropy_term(const PlanMoments& moments) const;

  std::uint64_t half_iterations() const { return half_iterations_; }
  std::uint64_t pairs() const { return pairs_; }      // computed, without those truncated away
  std::uint64_t rescued() const { return rescued_; }  // sums redone by the safe two-pass form
  // Σ_j (column sum - ν_j) g_j before the last update_columns, g in units of cost: primal minus dual value of a plan
  // whose rows are right.
  double duality_gap() const { return duality_gap_; }
  double dropped() const { return dropped_; }  // bound on the mass left out in the last half-iteration

  // In base 2, in the order of the rows and columns given.
  std::span<const double> row_potential() const;
  std::span<const double> column_potential() const;
  void set_potentials(std::span<const double> row, std::span<const double> column);
  void set_counters(std::uint64_t half_iterations, std::uint64_t pairs, std::uint64_t rescued);
  void set_bounds(double dropped, double duality_gap);
  // Sums in double from the next set_cost() on.
  bool in_double() const { return options_.double_precision; }
  void use_double() { options_.double_precision = true; }

 private:
  enum class Side { kRows, kColumns };
  template <class T>
  struct Sides {
    PairSide<T> row, column;
  };
  template <class T>
  void fill(Sides<T>& sides);
  double update(Side side, double relaxation, bool with_values);
  template <class T>
  double update(Sides<T>& sides, Side side, double relaxation, bool with_values);
  void fill_sides();
  bool truncates() const;
  double update_on_device(Side side, double relaxation, std::vector<double>* values);
  void account(const DeviceSinkhorn::Update& update);
  void fetch_potentials() const;
  void order_rows();
  TileLists needed_tiles(Side side);

  int dim_ = 0;
  SinkhornOptions options_;
  double epsilon_ = 0;
  std::vector<double> row_mass_, column_mass_;
  mutable std::vector<double> row_potential_, column_potential_;  // may lag behind a device
  std::vector<double> y_;                                         // m × d
  std::vector<double> w_, p_;                                     // the cost, n and n × d
  std::vector<std::uint32_t> row_order_, column_order_;           // position in the sides → row or column
  Sides<float> single_;
  Sides<double> double_;
  PairSums sums_;                              // in side order
  std::unique_ptr<DeviceSinkhorn> on_device_;  // null: on the CPU
  mutable bool potentials_lag_ = false;
  std::uint64_t half_iterations_ = 0, pairs_ = 0, rescued_ = 0;
  double dropped_ = 0, duality_gap_ = 0;
};

}  // namespace cpfm
