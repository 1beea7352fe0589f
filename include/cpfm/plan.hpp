// The plan of stage 1 as an object, not a matrix: with the cost C_ij = w_i |y_j|² - 2 <p_i, y_j> and potentials F, G in
// base 2,
//   π_ij = 2^(F_i + G_j - C_ij / (ε ln 2)),
// so n + m short rows describe n × m numbers. Rows are data, columns latent points; transposed() swaps them.
//
// Everything conditional is normalised by itself: π(j | i) sums to 1 over j whatever the marginal error. Passes over
// all pairs (draw, sample, means) run in float where that keeps every π(j | i) right to about one part in a thousand,
// else in double. On a CUDA device (use()) results differ from the CPU's by rounding alone: draws follow the same law,
// and all but about one in a thousand are the same ones; means are the same to four digits or more.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "cpfm/device.hpp"
#include "cpfm/matrix.hpp"

namespace cpfm {

class DevicePlan;

struct PlanParts {
  double epsilon = 0;                    // absolute
  std::vector<double> w;                 // n
  std::vector<double> p;                 // n × d
  std::vector<double> row_potential;     // n: F
  std::vector<double> y;                 // m × d, centred
  std::vector<double> column_potential;  // m: G
  std::vector<double> row_mass;          // n, positive, sum 1
  std::vector<double> column_mass;       // m likewise
};

class Plan {
 public:
  // Throws cpfm::Error where sizes disagree or a number is not finite.
  explicit Plan(PlanParts parts);

  std::size_t rows() const { return row_mass().size(); }
  std::size_t columns() const { return column_mass().size(); }
  std::span<const double> row_mass() const { return transposed_ ? parts_->column_mass : parts_->row_mass; }
  std::span<const double> column_mass() const { return transposed_ ? parts_->row_mass : parts_->column_mass; }
  // What it is made of, never transposed.
  const PlanParts& parts() const { return *parts_; }

  // The same plan seen from the latent side: its rows are the latent points, so that draw() gives x given y.
  Plan transposed() const;

  // Where draw(), sample(), means(), with_rows() and top() of up to 32 compute from now on, of this plan and of those
  // made from it later; they share what they keep on a device, which is brought there when first needed. The same calls
  // give the same bytes every time on the same device.
  void use(Device device);
  Device device() const;

  // π(j | i) for all j.
  std::vector<double> row(std::size_t i) const;

  // One j ~ π(· | i) for every i, or for every entry of `which`, in one streaming pass. Entry e depends on (seed,
  // index, e) and the plan alone; give each epoch an index of its own (below 2^32).
  std::vector<std::uint32_t> draw(std::uint64_t seed, std::uint64_t index = 0) const;
  std::vector<std::uint32_t> draw(std::span<const std::size_t> which, std::uint64_t seed,
                                  std::uint64_t index = 0) const;
  // `count` pairs (i, j) ~ π.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sample(std::size_t count, std::uint64_t seed,
                                                              std::uint64_t index = 0) const;

  // Σ_j π(j | i) values_j for every i; `values` has one row per column of the plan.
  FloatMatrix means(MatrixView<const float> values) const;

  // The k likeliest j of every row, most likely first, with π(j | i).
  struct Top {
    std::size_t k = 0;
    std::vector<std::uint32_t> index;  // n × k
    std::vector<double> probability;   // n × k
  };
  Top top(std::size_t k) const;

  // π itself, n × m. Refused with the figure where memory does not suffice.
  std::vector<double> dense() const;

  // A plan over other data rows, given by their w and p, with the same latent points: the potentials are what makes
  // each row sum to its mass (uniform).
  Plan with_rows(std::span<const double> w, std::span<const double> p) const;

 private:
  // Coordinates as in pair sums: rows (-w, 2p) / (ε ln 2), columns (|y|², y), count × dims.
  struct Side {
    std::vector<double> coords;
    std::span<const double> potential, mass;
  };
  struct Sides {
    Side data, latent;
  };
  const Side& targets() const { return transposed_ ? sides_->latent : sides_->data; }
  const Side& sources() const { return transposed_ ? sides_->data : sides_->latent; }
  struct OnDevice;
  DevicePlan& device_plan() const;
  template <class Work>
  bool on_device(const Work& work) const;
  bool float_suffices() const;
  std::vector<std::uint32_t> draw_on(DevicePlan& device, std::span<const std::size_t> which, bool all,
                                     std::uint64_t seed, std::uint64_t index) const;
  std::vector<std::uint32_t> draw_here(std::span<const std::size_t> which, std::uint64_t seed,
                                       std::uint64_t index) const;
  void check_rows(std::span<const std::size_t> which) const;
  template <class Visit>
  void stream(std::span<const std::size_t> which, const Visit& visit) const;

  std::shared_ptr<const PlanParts> parts_;
  std::shared_ptr<const Sides> sides_;
  std::shared_ptr<OnDevice> on_device_;  // null: on the CPU
  std::size_t dims_ = 0;
  bool transposed_ = false;
};

}  // namespace cpfm
