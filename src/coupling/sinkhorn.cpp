#include "coupling/sinkhorn.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

#include "coupling/spatial_order.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"

namespace cpfm {
namespace {

constexpr std::size_t kGrain = 1024;
// A float sum outside this range may have lost terms to the limits of the type; it is computed again, safely.
constexpr double kSmallest = 1e-30, kLargest = 1e30;

}  // namespace

Sinkhorn::Sinkhorn(MatrixView<const float> y, std::vector<double> row_mass, std::vector<double> column_mass,
                   SinkhornOptions options)
    : dim_(static_cast<int>(y.cols)),
      options_(options),
      row_mass_(std::move(row_mass)),
      column_mass_(std::move(column_mass)),
      y_(y.data, y.data + y.size()) {
  CPFM_ASSERT(y.rows == column_mass_.size(), "one mass per latent point");
  CPFM_ASSERT(dim_ >= 1 && dim_ <= kMaxLatentDim, "latent points have 1 to 8 coordinates");
  for (const double mass : row_mass_) row_potential_.push_back(std::log2(mass));
  for (const double mass : column_mass_) column_potential_.push_back(std::log2(mass));
  if (options_.device.is_cuda()) {
    on_device_ = std::make_unique<DeviceSinkhorn>(
        options_.device, DeviceSinkhorn::Problem{rows(), columns(), dim_, y_.data(), row_mass_.data(),
                                                 column_mass_.data(), truncates() ? options_.drop : 0.0});
    return;
  }
  column_order_ = spatial_order({y_.data(), columns(), y.cols});
  row_order_.resize(rows());
  std::iota(row_order_.begin(), row_order_.end(), 0u);
}

Sinkhorn::~Sinkhorn() = default;

// Sides of few points need no truncation.
bool Sinkhorn::truncates() const { return options_.drop > 0 && std::min(rows(), columns()) >= kWorthTruncating; }

void Sinkhorn::fetch_potentials() const {
  if (!potentials_lag_) return;
  on_device_->get_potentials(row_potential_.data(), column_potential_.data());
  potentials_lag_ = false;
}
std::span<const double> Sinkhorn::row_potential() const {
  fetch_potentials();
  return row_potential_;
}
std::span<const double> Sinkhorn::column_potential() const {
  fetch_potentials();
  return column_potential_;
}

void Sinkhorn::set_potentials(std::span<const double> row, std::span<const double> column) {
  CPFM_ASSERT(row.size() == rows() && column.size() == columns(), "one potential per point");
  row_potential_.assign(row.begin(), row.end());
  column_potential_.assign(column.begin(), column.end());
  potentials_lag_ = false;
  if (on_device_)
    on_device_->set_potentials(row_potential_.data(), column_potential_.data());
  else if (epsilon_ > 0)
    fill_sides();
}

void Sinkhorn::set_counters(std::uint64_t half_iterations, std::uint64_t pairs, std::uint64_t rescued) {
  half_iterations_ = half_iterations;
  pairs_ = pairs;
  rescued_ = rescued;
}

void Sinkhorn::set_bounds(double dropped, double duality_gap) {
  dropped_ = dropped;
  duality_gap_ = duality_gap;
}

// Rows along a curve through their centres c = p / w, where they have one. The order is a function of the cost alone,
// so that a resumed run sums in the same order.
void Sinkhorn::order_rows() {
  const auto d = static_cast<std::size_t>(dim_);
  std::vector<double> centres(rows() * d, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < rows(); ++i) {
    if (!(w_[i] > 0)) continue;
    for (std::size_t k = 0; k < d; ++k) centres[i * d + k] = p_[i * d + k] / w_[i];
  }
  row_order_ = spatial_order({centres.data(), rows(), d});
}

template <class T>
void Sinkhorn::fill(Sides<T>& sides) {
  const double unit = 1.0 / (epsilon_ * std::numbers::ln2);
  const auto d = static_cast<std::size_t>(dim_);
  if (sides.row.count() != rows()) {
    sides.row = PairSide<T>(rows(), dim_ + 1);
    sides.column = PairSide<T>(columns(), dim_ + 1);
  }
  for (std::size_t at = 0; at < rows(); ++at) {
    const std::size_t i = row_order_[at];
    sides.row.coord(0)[at] = static_cast<T>(-w_[i] * unit);
    for (std::size_t k = 0; k < d; ++k)
      sides.row.coord(static_cast<int>(k) + 1)[at] = static_cast<T>(2.0 * p_[i * d + k] * unit);
    sides.row.potential()[at] = static_cast<T>(row_potential_[i]);
  }
  for (std::size_t at = 0; at < columns(); ++at) {
    const std::size_t j = column_order_[at];
    double square = 0;
    for (std::size_t k = 0; k < d; ++k) {
      sides.column.coord(static_cast<int>(k) + 1)[at] = static_cast<T>(y_[j * d + k]);
      square += y_[j * d + k] * y_[j * d + k];
    }
    sides.column.coord(0)[at] = static_cast<T>(square);
    sides.column.potential()[at] = static_cast<T>(column_potential_[j]);
  }
}

void Sinkhorn::set_cost(std::span<const double> w, MatrixView<const double> p, double epsilon) {
  CPFM_ASSERT(w.size() == rows() && p.rows == rows() && p.cols == static_cast<std::size_t>(dim_),
              "one cost row per point");
  const double factor = epsilon_ == 0 ? 1 : epsilon_ / epsilon;
  if (on_device_) {
    on_device_->set_cost(w.data(), p.data, epsilon, factor, options_.double_precision);
    epsilon_ = epsilon;
    w_.assign(w.begin(), w.end());
    p_.assign(p.data, p.data + p.size());
    potentials_lag_ = true;
    return;
  }
  if (factor != 1) {
    const auto rescale = [&](std::vector<double>& potential, const std::vector<double>& mass) {
      for (std::size_t i = 0; i < potential.size(); ++i) {
        const double own = std::log2(mass[i]);
        potential[i] = own + (potential[i] - own) * factor;
      }
    };
    rescale(row_potential_, row_mass_);
    rescale(column_potential_, column_mass_);
  }
  epsilon_ = epsilon;
  w_.assign(w.begin(), w.end());
  p_.assign(p.data, p.data + p.size());
  if (options_.drop > 0) order_rows();
  fill_sides();
}

void Sinkhorn::fill_sides() {
  if (options_.double_precision)
    fill(double_);
  else
    fill(single_);
}

TileLists Sinkhorn::needed_tiles(Side side) {
  dropped_ = 0;
  if (options_.drop <= 0) return {};
  const auto d = static_cast<std::size_t>(dim_);
  const double unit = 1.0 / (epsilon_ * std::numbers::ln2);
  PlanPoints row{std::vector<double>(rows() * d), std::vector<double>(rows()), std::vector<double>(rows())};
  PlanPoints column{std::vector<double>(columns() * d), std::vector<double>(columns()), {}};
  for (std::size_t at = 0; at < rows(); ++at) {
    const std::size_t i = row_order_[at];
    row.potential[at] = row_potential_[i];
    row.sharpness[at] = w_[i] * unit;
    for (std::size_t k = 0; k < d; ++k) row.position[at * d + k] = w_[i] > 0 ? p_[i * d + k] / w_[i] : 0;
  }
  for (std::size_t at = 0; at < columns(); ++at) {
    const std::size_t j = column_order_[at];
    column.potential[at] = column_potential_[j];
    for (std::size_t k = 0; k < d; ++k) column.position[at * d + k] = y_[j * d + k];
  }
  Truncated truncated = choose_tiles(row, column, dim_, side == Side::kRows, options_.drop);
  dropped_ = truncated.dropped;
  return std::move(truncated.lists);
}

template <class T>
double Sinkhorn::update(Sides<T>& sides, Side side, double relaxation, bool with_values) {
  check_interrupt();
  const bool on_rows = side == Side::kRows;
  PairSide<T>& target = on_rows ? sides.row : sides.column;
  const PairSide<T>& source = on_rows ? sides.column : sides.row;
  std::vector<double>& potential = on_rows ? row_potential_ : column_potential_;
  const std::vector<double>& mass = on_rows ? row_mass_ : column_mass_;
  const std::vector<std::uint32_t>& order = on_rows ? row_order_ : column_order_;

  const TileLists lists = needed_tiles(side);
  pair_sums(source, target, lists, with_values, sums_);
  ++half_iterations_;
  if (lists.all()) {
    pairs_ += static_cast<std::uint64_t>(source.count()) * target.count();
  } else {
    for (const auto& tiles : lists.tiles) pairs_ += tiles.size() * PairSide<T>::kTile * TileLists::kTargets;
  }
  struct Part {
    double error = 0, gap = 0;
    std::uint64_t rescued = 0;
  };
  const auto dims = static_cast<std::size_t>(dim_ + 1);
  const Part total = parallel_reduce(
      potential.size(), kGrain, Part{},
      [&](std::size_t begin, std::size_t end) {
        Part part;
        for (std::size_t at = begin; at < end; ++at) {
          const std::size_t i = order[at];
          const double sum = sums_.sums[at];
          if (sum > kSmallest && sum < kLargest) {
            part.error += std::abs(sum - mass[i]);
            part.gap += (sum - mass[i]) * potential[i];
            potential[i] += relaxation * std::log2(mass[i] / sum);
            for (std::size_t k = 0; with_values && k < dims; ++k) sums_.values[at * dims + k] *= mass[i] / sum;
          } else {
            part.error += mass[i];
            potential[i] = std::log2(mass[i]) - safe_log2_sum(source, target, at);
            ++part.rescued;
          }
          target.potential()[at] = static_cast<T>(potential[i]);
        }
        return part;
      },
      [](const Part& a, const Part& b) {
        return Part{a.error + b.error, a.gap + b.gap, a.rescued + b.rescued};
      });
  rescued_ += total.rescued;
  if (!on_rows) duality_gap_ = total.gap * epsilon_ * std::numbers::ln2;
  return total.error;
}

double Sinkhorn::update_on_device(Side side, double relaxation, std::vector<double>* values) {
  check_interrupt();
  if (values != nullptr) values->resize(rows() * static_cast<std::size_t>(dim_ + 1));
  const DeviceSinkhorn::Update update =
      on_device_->update(side == Side::kRows, relaxation, values == nullptr ? nullptr : values->data());
  account(update);
  return update.error;
}

void Sinkhorn::account(const DeviceSinkhorn::Update& update) {
  potentials_lag_ = true;
  half_iterations_ += update.half_iterations;
  pairs_ += update.pairs;
  rescued_ += update.rescued;
  dropped_ = update.dropped;
  duality_gap_ = update.gap * epsilon_ * std::numbers::ln2;
}

double Sinkhorn::update(Side side, double relaxation, bool with_values) {
  if (on_device_) return update_on_device(side, relaxation, with_values ? &sums_.values : nullptr);
  return options_.double_precision ? update(double_, side, relaxation, with_values)
                                   : update(single_, side, relaxation, with_values);
}

double Sinkhorn::update_columns(double relaxation) { return update(Side::kColumns, relaxation, false); }
double Sinkhorn::update_rows(double relaxation) { return update(Side::kRows, relaxation, false); }

double Sinkhorn::update_rows(PlanMoments& moments) {
  const std::uint64_t before = rescued_;
  double error = update(Side::kRows, 1, true);
  // Values are lost with the sums that had to be rescued; now that the potentials are right, once more.
  if (rescued_ != before) error = std::max(error, update(Side::kRows, 1, true));
  const auto d = static_cast<std::size_t>(dim_);
  moments.second.resize(rows());
  moments.mean.resize(rows() * d);
  for (std::size_t at = 0; at < rows(); ++at) {
    const std::size_t i = on_device_ ? at : row_order_[at];
    const double* values = &sums_.values[at * (d + 1)];
    moments.second[i] = values[0];
    std::copy_n(values + 1, d, &moments.mean[i * d]);
  }
  return error;
}

InnerControl Sinkhorn::solve(double bound, int limit, bool relax) {
  InnerControl control;
  control.bound = bound;
  control.limit = limit;
  control.relax = relax;
  if (on_device_) {
    account(on_device_->solve(control, [] { check_interrupt(); }));
    if (control.columns_are_off()) update_columns();
    return control;
  }
  update_rows();  // a new cost moves every row by itself; columns feel only the average
  while (!control.stop) {
    control.after_columns(update_columns(control.relaxation));
    if (control.stop) break;
    update_rows(control.row_relaxation);
    control.after_rows();
  }
  if (control.columns_are_off()) update_columns();
  return control;
}

double Sinkhorn::entropy_term(const PlanMoments& moments) const {
  // Σ π log2 π = Σ_i μ_i F_i + Σ_j ν_j G_j + Σ_i <a_i, Σ_j π_ij b_j>; the last, times ε ln 2, is minus the cost of the
  // plan.
  fetch_potentials();
  const auto d = static_cast<std::size_t>(dim_);
  double potentials = 0, cost = 0;
  for (std::size_t i = 0; i < rows(); ++i) {
    potentials += row_mass_[i] * row_potential_[i];
    cost += w_[i] * moments.second[i];
    for (std::size_t k = 0; k < d; ++k) cost -= 2 * p_[i * d + k] * moments.mean[i * d + k];
  }
  for (std::size_t j = 0; j < columns(); ++j) potentials += column_mass_[j] * column_potential_[j];
  return epsilon_ * std::numbers::ln2 * potentials - cost;
}

}  // namespace cpfm
