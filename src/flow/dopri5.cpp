// The embedded pair of Dormand and Prince, orders 5 and 4 (J. R. Dormand, P. J. Prince, "A family of embedded
// Runge–Kutta formulae", 1980), with a time and a step of its own for each row. Torch computes the stages of all rows
// at once; what decides about a row (its time, step and error) is a few doubles on the host and sees no other row.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "flow/checked_field.hpp"

namespace cpfm {
namespace {

constexpr int kStages = 7;
constexpr std::array<double, kStages> kNodes = {0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1};
// Row i makes the state of stage i + 1; the last row is the step of order 5, at which the seventh stage is evaluated.
constexpr double kMatrix[kStages - 1][kStages - 1] = {
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
// Order 5 less order 4.
constexpr std::array<double, kStages> kError = {71.0 / 57600,      0,          -71.0 / 16695, 71.0 / 1920,
                                                -17253.0 / 339200, 22.0 / 525, -1.0 / 40};

// The step is multiplied by kSafety · error^-kNow · (error before)^kBefore within these limits.
constexpr double kSafety = 0.9, kBefore = 0.04, kNow = 0.2 - 0.75 * kBefore, kShrink = 0.2, kGrow = 5;
// Of the unit of time there is. In steps nearly as long as the whole, the estimate of the error passes through zero by
// chance: on Gaussians the worst rows were off by 40 tolerances without a longest step and are by 5 with it, for a few
// evaluations more.
constexpr double kLongestStep = 0.25, kLeastStep = 1e-13;

// What is known about a row that is under way. Steps are positive in both directions.
struct Row {
  std::int64_t place = 0;  // in the whole batch
  double t = 0, step = 0, error_before = 1e-4;
  int steps = 0;
  bool rejected = false;  // the last one was; the next may not grow
};

class Dopri5 {
 public:
  Dopri5(CheckedField& field, const torch::Tensor& z, const OdeOptions& options, double start, double end)
      : field_(field),
        options_(options),
        start_(start),
        end_(end),
        sign_(end > start ? 1 : -1),
        z_(z),
        result_(torch::empty_like(z)),
        rows_(static_cast<std::size_t>(z.size(0))) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      rows_[i].place = static_cast<std::int64_t>(i);
      rows_[i].t = start;
    }
  }

  torch::Tensor run() {
    check_interrupt();
    first_steps();
    while (!rows_.empty()) {
      check_interrupt();
      step();
    }
    return result_;
  }

 private:
  torch::Tensor on_device(const std::vector<double>& values) const {
    return torch::tensor(at::ArrayRef<double>(values), torch::kFloat64).to(z_.device());
  }
  torch::Tensor on_device(const std::vector<std::int64_t>& values) const {
    return torch::tensor(at::ArrayRef<std::int64_t>(values), torch::kInt64).to(z_.device());
  }

  // B × 1 × …, to go with the state.
  torch::Tensor per_row(const torch::Tensor& values) const {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(z_.dim()), 1);
    shape[0] = values.size(0);
    return values.to(z_.scalar_type()).reshape(shape);
  }

  torch::Tensor evaluate(const torch::Tensor& z, const torch::Tensor& t) {
    return field_(z, t.to(z.scalar_type()), places_);
  }

  // Root mean square of each row of difference / scale, in double.
  static torch::Tensor norm(const torch::Tensor& difference, const torch::Tensor& scale) {
    return (difference / scale).to(torch::kFloat64).reshape({difference.size(0), -1}).square_().mean(1).sqrt_();
  }

  // Several lists of B, one after the other, with one transfer.
  static std::vector<double> on_host(const std::vector<torch::Tensor>& lists) {
    std::vector<torch::Tensor> doubles;
    for (const torch::Tensor& list : lists) doubles.push_back(list.to(torch::kFloat64));
    const torch::Tensor all = torch::cat(doubles).to(torch::kCPU).contiguous();
    return {all.data_ptr<double>(), all.data_ptr<double>() + all.numel()};
  }

  // A first step for each row at which the second derivative, as one Euler step shows it, is of the size of the
  // tolerance (after Hairer, Nørsett and Wanner, "Solving ordinary differential equations I", II.4).
  void first_steps() {
    const std::size_t n = rows_.size();
    const torch::Tensor scale = z_.abs().mul_(options_.relative).add_(options_.absolute);
    const std::vector<double> starts(n, start_);
    k1_ = evaluate(z_, on_device(starts));
    const std::vector<double> sizes = on_host({norm(z_, scale), norm(k1_, scale), field_.take_taint()});
    std::vector<double> trial(n), signed_trial(n), times(n);
    for (std::size_t i = 0; i < n; ++i) {
      if (std::isnan(sizes[2 * n + i])) throw_not_finite(rows_[i].place, start_, start_);
      const double size = sizes[i], speed = sizes[n + i];
      const bool tells = size > 1e-5 && speed > 1e-5 && std::isfinite(size) && std::isfinite(speed);
      trial[i] = tells ? std::clamp(0.01 * size / speed, 1e-6, 0.1) : 1e-3;
      signed_trial[i] = sign_ * trial[i];
      times[i] = start_ + signed_trial[i];
    }
    const torch::Tensor ahead = z_ + per_row(on_device(signed_trial)) * k1_;
    const torch::Tensor k2 = evaluate(ahead, on_device(times));
    const std::vector<double> bends = on_host({norm(k2 - k1_, scale), field_.take_taint()});
    for (std::size_t i = 0; i < n; ++i) {
      if (std::isnan(bends[n + i])) throw_not_finite(rows_[i].place, start_, times[i]);
      const double most = std::max(sizes[n + i], bends[i] / trial[i]);
      const double wanted = most > 1e-5 ? std::pow(0.01 / most, 0.2) : 1;
      rows_[i].step = std::isfinite(most) ? std::min(100 * trial[i], wanted) : 1e-6;
    }
  }

  // One step for every row that is under way; those that arrive are written to the result and leave.
  void step() {
    const std::size_t n = rows_.size();
    std::vector<double> from(n), to(n), signed_step(n);
    for (std::size_t i = 0; i < n; ++i) {
      Row& row = rows_[i];
      if (++row.steps > options_.most_steps)
        throw Error("most_steps",
                    fmt::format("row {} is at t = {:.6g} after {} steps", row.place + 1, row.t, options_.most_steps),
                    "raise it, or the tolerance");
      const double left = std::abs(end_ - row.t);
      row.step = std::min(row.step, kLongestStep);
      // Neither beyond the end nor to just before it.
      const bool last = row.step >= 0.99 * left;
      if (last) row.step = left;
      from[i] = row.t;
      to[i] = last ? end_ : row.t + sign_ * row.step;
      signed_step[i] = to[i] - from[i];
    }
    const torch::Tensor start = on_device(from), h = on_device(signed_step), end = on_device(to), h_wide = per_row(h);
    std::array<torch::Tensor, kStages> k;
    k[0] = k1_;
    torch::Tensor z;
    for (int stage = 1; stage < kStages; ++stage) {
      z = z_ + h_wide * combine(k, kMatrix[stage - 1], stage);
      k[stage] = evaluate(z, kNodes[stage] == 1 ? end : start + h * kNodes[stage]);
    }
    const torch::Tensor scale = torch::maximum(z_.abs(), z.abs()).mul_(options_.relative).add_(options_.absolute);
    const torch::Tensor error = norm(h_wide * combine(k, kError.data(), kStages), scale);
    const std::vector<double> found = on_host({error, field_.take_taint()});

    std::vector<double> accepted(n);
    std::vector<std::int64_t> arrived, arrived_places, staying;
    for (std::size_t i = 0; i < n; ++i) {
      if (std::isnan(found[n + i])) throw_not_finite(rows_[i].place, from[i], to[i]);
      accepted[i] = judge(rows_[i], found[i], to[i]) ? 1 : 0;
      if (rows_[i].t == end_) {
        arrived.push_back(static_cast<std::int64_t>(i));
        arrived_places.push_back(rows_[i].place);
      } else {
        staying.push_back(static_cast<std::int64_t>(i));
      }
    }
    const torch::Tensor taken = per_row(on_device(accepted)).to(torch::kBool);
    z_ = torch::where(taken, z, z_);
    k1_ = torch::where(taken, k[kStages - 1], k1_);
    if (!arrived.empty()) leave(arrived, arrived_places, staying);
  }

  // Σ_j weights_j k_j over the first `stages`.
  static torch::Tensor combine(const std::array<torch::Tensor, kStages>& k, const double* weights, int stages) {
    torch::Tensor sum = k[0] * weights[0];
    for (int j = 1; j < stages; ++j)
      if (weights[j] != 0) sum.add_(k[j], weights[j]);
    return sum;
  }

  // Whether the step to `to` with this error, in units of the tolerance, is taken; chooses the next step either way.
  static bool judge(Row& row, double error, double to) {
    if (!(error <= 1)) {  // also where the error overflows
      const double factor = std::isfinite(error) ? kSafety * std::pow(error, -0.2) : kShrink;
      row.step *= std::max(kShrink, factor);
      row.rejected = true;
      if (row.step < kLeastStep)
        throw Error("vector field", fmt::format("row {} gets no further than t = {:.6g}", row.place + 1, row.t),
                    "a field without jumps is needed, or another method");
      return false;
    }
    const double factor = kSafety * std::pow(std::max(error, 1e-10), -kNow) * std::pow(row.error_before, kBefore);
    row.step *= std::clamp(factor, kShrink, row.rejected ? 1 : kGrow);
    row.error_before = std::max(error, 1e-4);
    row.rejected = false;
    row.t = to;
    return true;
  }

  void leave(const std::vector<std::int64_t>& arrived, const std::vector<std::int64_t>& arrived_places,
             const std::vector<std::int64_t>& staying) {
    result_.index_copy_(0, on_device(arrived_places), z_.index_select(0, on_device(arrived)));
    const torch::Tensor kept = on_device(staying);
    z_ = z_.index_select(0, kept);
    k1_ = k1_.index_select(0, kept);
    std::vector<Row> rows;
    std::vector<std::int64_t> places;
    for (const std::int64_t i : staying) {
      rows.push_back(rows_[static_cast<std::size_t>(i)]);
      places.push_back(rows.back().place);
    }
    rows_ = std::move(rows);
    places_ = on_device(places);
  }

  CheckedField& field_;
  const OdeOptions& options_;
  double start_, end_, sign_;
  torch::Tensor z_, k1_;  // of the rows that are under way: state, and the field there
  torch::Tensor places_;  // their places in the batch; undefined while none has left
  torch::Tensor result_;
  std::vector<Row> rows_;
};

}  // namespace

torch::Tensor integrate_dopri5(CheckedField& field, const torch::Tensor& z, const OdeOptions& options, double start,
                               double end) {
  return Dopri5(field, z, options, start, end).run();
}

}  // namespace cpfm
