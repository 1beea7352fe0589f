// Pivoted Cholesky with columns on demand: K ≈ ΦΦᵀ, where each pivot is the sample with the largest residual
// K_ii - |Φ_i|². One pivot at a time reads all of Φ for one column; here a panel of them is found first and its columns
// are then computed together, as matrix products.
//
// Pivots of a panel. The residual block among some 200 samples of largest residual is factored greedily. Residuals only
// fall, so a candidate whose residual is still above that of every other sample is exactly the greedy choice;
// candidates are taken down to kRelaxed of that bound, which keeps panels full and costs a few per cent in rank.
//
// Groups. Where K(i, j) = 0 across groups, each group is a problem of its own with its own, short rows of Φ. Rounds run
// all groups whose largest residual is near the largest of all, and the results are merged in the order of the pivots'
// residuals.
//
// What is decided is here; matrix products, and Φ itself, are the backend's, on the CPU or on a device.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "kernel/cholesky_backend.hpp"
#include "kernel/factor.hpp"
#include "kernel/sample_kernel.hpp"

namespace cpfm {
namespace {

constexpr double kRelaxed = 0.6;
// Within a panel residuals fall at most this far, so that inverting its triangle in float is harmless.
constexpr double kPanelSpread = 0.02;
// Residuals below this share of the largest diagonal entry are rounding errors of float columns.
constexpr double kNumericalRank = 3e-6;
// A residual this far below zero, as a share of the largest diagonal entry, is none: the kernel is not positive.
constexpr double kNotPositive = 1e-3;
constexpr std::size_t kCandidatesPerPivot = 3;

using Group = CholeskyGroup;
using Panel = CholeskyPanel;

class Factorisation {
 public:
  Factorisation(const Kernel& kernel, const Centring* centring, std::shared_ptr<const DeviceKernel> on_device)
      : kernel_(kernel), centring_(centring) {
    const std::size_t n = kernel.size();
    std::vector<float> diagonal(n);
    kernel.diagonal(diagonal);
    if (centring == nullptr) {
      for (auto& members : group_members(kernel)) add_group(std::move(members));
    } else {
      std::vector<std::size_t> everyone(n);  // centring mixes the groups
      std::iota(everyone.begin(), everyone.end(), std::size_t{0});
      add_group(std::move(everyone));
    }
    double uncentred = 0;
    for (Group& group : groups_) {
      for (const std::size_t i : group.members) {
        const double value = centring == nullptr ? diagonal[i] : (*centring)(diagonal[i], i, i);
        if (!std::isfinite(value))
          throw Error(kernel.expression(), fmt::format("the kernel of sample {} with itself is {}", i + 1, value));
        uncentred = std::max(uncentred, std::abs(static_cast<double>(diagonal[i])));
        if (centring != nullptr) uncentred = std::max(uncentred, std::abs(centring->mean[i]));
        group.residual.push_back(value);
        trace_ += std::max(0.0, value);
        largest_diagonal_ = std::max(largest_diagonal_, value);
      }
    }
    // What is left of a constant kernel after centring is rounding.
    if (largest_diagonal_ <= (centring == nullptr ? 0.0 : 1e-6 * uncentred)) {
      throw Error(kernel.expression(),
                  centring == nullptr ? "the kernel is zero for all samples"
                                      : "the kernel is the same for all pairs of samples",
                  "it tells nothing apart; choose another");
    }
    for (Group& group : groups_) summarise(group);
    backend_ = on_device == nullptr ? make_cpu_backend(kernel, centring, groups_)
                                    : make_cuda_backend(kernel, std::move(on_device), centring, groups_);
  }

  KernelFactor run(const FactorOptions& options, Progress* progress) {
    const std::size_t cap = options.max_rank == 0 ? kernel_.size() : std::min(options.max_rank, kernel_.size());
    const double target = (1 - options.explained) * trace_;
    if (progress != nullptr) progress->start("kernel factor", 0, "columns");
    while (left() > target && rank() < cap && largest() > tolerance()) {
      check_interrupt();
      const std::vector<Group*> active = choose_groups();
      for (Group* group : active) backend_->make_room(*group);
      parallel_for(active.size(), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t g = begin; g < end; ++g) choose_candidates(*active[g]);
      });
      backend_->residual_blocks(active);
      parallel_for(active.size(), 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t g = begin; g < end; ++g) choose_pivots(*active[g]);
      });
      extend(active);
      trim(active, target, cap);
      if (progress != nullptr) progress->update(rank(), fmt::format("{:.2f} % explained", 100 * (1 - left() / trace_)));
    }
    if (progress != nullptr) progress->finish();
    KernelFactor factor = merged();
    factor.centred = centring_ != nullptr;
    factor.psi = FloatMatrix(kernel_.size(), 0);
    factor.explained = std::clamp(1 - left() / trace_, 0.0, 1.0);
    factor.max_residual = std::max(0.0, largest());
    return factor;
  }

 private:
  void add_group(std::vector<std::size_t> members) {
    Group group;
    group.index = groups_.size();
    group.members = std::move(members);
    groups_.push_back(std::move(group));
  }

  double tolerance() const { return kNumericalRank * largest_diagonal_; }
  double left() const {
    return std::accumulate(groups_.begin(), groups_.end(), 0.0,
                           [](double sum, const Group& group) { return sum + group.left; });
  }
  double largest() const {
    return std::accumulate(groups_.begin(), groups_.end(), 0.0,
                           [](double most, const Group& group) { return std::max(most, group.largest); });
  }
  std::size_t rank() const {
    return std::accumulate(groups_.begin(), groups_.end(), std::size_t{0},
                           [](std::size_t sum, const Group& group) { return sum + group.rank; });
  }

  void summarise(Group& group) const {
    group.largest = group.left = 0;
    for (std::size_t place = 0; place < group.residual.size(); ++place) {
      double& residual = group.residual[place];
      if (!(residual >= -kNotPositive * largest_diagonal_)) {
        throw Error(
            kernel_.expression(),
            fmt::format(
                "the kernel is not positive: sample {} is left with {:.3g}, of a largest diagonal entry of {:.3g}",
                group.members[place] + 1, residual, largest_diagonal_),
            "kernels of mixed sign are factored when they are declared Definiteness::kUnknown");
      }
      residual = std::max(0.0, residual);
      group.largest = std::max(group.largest, residual);
      group.left += residual;
    }
  }

  std::vector<Group*> choose_groups() {
    const double most = largest();
    std::vector<Group*> active;
    for (Group& group : groups_) {
      if (group.largest >= kRelaxed * most && group.largest > tolerance()) active.push_back(&group);
    }
    return active;
  }

  // The samples of largest residual, ascending, and in `bound` the largest residual among the others. Ties, such as the
  // equal diagonal of the heat kernel, are broken by a hash of the place: neighbours in a file are often alike.
  static void choose_candidates(Group& group) {
    const std::size_t count = kCandidatesPerPivot * group.panel_size();
    std::vector<std::size_t>& order = group.candidates;
    order.resize(group.members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    group.bound = 0;
    if (count >= order.size()) return;
    const auto hash = [](std::size_t i) { return (static_cast<std::uint64_t>(i) + 1) * 0x9E3779B97F4A7C15u; };
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                     [&](std::size_t a, std::size_t b) {
                       if (group.residual[a] != group.residual[b]) return group.residual[a] > group.residual[b];
                       return hash(a) < hash(b);
                     });
    group.bound = group.residual[order[count]];
    order.resize(count);
    std::sort(order.begin(), order.end());
  }

  void choose_pivots(Group& group) const {
    const std::size_t most = group.panel_size();
    const std::vector<std::size_t>& places = group.candidates;
    const std::vector<float>& block = group.block;
    const std::size_t count = places.size();
    // Greedy Cholesky of the block, left-looking, in double.
    std::vector<double> residual(count), columns(count * most);
    for (std::size_t i = 0; i < count; ++i) residual[i] = group.residual[places[i]];
    std::vector<std::size_t> chosen;
    Panel& panel = group.panel;
    panel = {};
    double floor = std::max(kRelaxed * group.bound, tolerance());
    while (chosen.size() < most) {
      const std::size_t k = chosen.size();
      const auto next = static_cast<std::size_t>(std::max_element(residual.begin(), residual.end()) - residual.begin());
      const double value = residual[next];
      if (k > 0 && value < floor) break;
      if (k == 0) floor = std::max(floor, kPanelSpread * value);
      const double root = std::sqrt(value);
      for (std::size_t i = 0; i < count; ++i) {
        double entry = block[i * count + next];
        for (std::size_t m = 0; m < k; ++m) entry -= columns[i * most + m] * columns[next * most + m];
        entry = i == next ? root : entry / root;
        columns[i * most + k] = entry;
        residual[i] -= entry * entry;
      }
      for (const std::size_t earlier : chosen) columns[earlier * most + k] = 0;
      chosen.push_back(next);
      residual[next] = -1;
      panel.pivots.push_back(places[next]);
      panel.residuals.push_back(value);
      for (const std::size_t earlier : chosen) residual[earlier] = -1;
    }
    invert_triangle(panel, columns, most, chosen);
  }

  static void invert_triangle(Panel& panel, const std::vector<double>& columns, std::size_t stride,
                              const std::vector<std::size_t>& chosen) {
    const std::size_t p = chosen.size();
    std::vector<double> inverse(p * p, 0.0);
    panel.triangle.assign(p * p, 0.0f);
    for (std::size_t i = 0; i < p; ++i) {
      const double* row = columns.data() + chosen[i] * stride;
      for (std::size_t j = 0; j <= i; ++j) panel.triangle[i * p + j] = static_cast<float>(row[j]);
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = i == j ? 1 : 0;
        for (std::size_t m = j; m < i; ++m) sum -= row[m] * inverse[m * p + j];
        inverse[i * p + j] = sum / row[i];
      }
    }
    panel.inverse.assign(inverse.begin(), inverse.end());
  }

  // The panels' columns, and what they leave.
  void extend(const std::vector<Group*>& active) {
    backend_->extend(active);
    for (Group* group : active) {
      const Panel& panel = group->panel;
      for (const std::size_t pivot : panel.pivots) group->residual[pivot] = 0;
      group->pivots.insert(group->pivots.end(), panel.pivots.begin(), panel.pivots.end());
      group->pivot_residual.insert(group->pivot_residual.end(), panel.residuals.begin(), panel.residuals.end());
      group->rank += panel.size();
      summarise(*group);
    }
  }

  // Takes back the last columns of this round, smallest gain first, while the target (or the cap) allows.
  void trim(const std::vector<Group*>& active, double target, std::size_t cap) {
    std::vector<std::size_t> removable;
    for (const Group* group : active) removable.push_back(group->panel.size());
    double remaining = left();
    std::size_t columns = rank();
    for (;;) {
      std::size_t best = active.size();
      for (std::size_t g = 0; g < active.size(); ++g) {
        if (removable[g] > 0 && (best == active.size() || active[g]->gain.back() < active[best]->gain.back())) best = g;
      }
      if (best == active.size() || columns <= 1) break;
      Group& group = *active[best];
      if (columns <= cap && remaining + group.gain.back() > target) break;
      const std::vector<float> column = backend_->column(group, group.rank - 1);
      for (std::size_t i = 0; i < column.size(); ++i) group.residual[i] += static_cast<double>(column[i]) * column[i];
      summarise(group);
      remaining = left();
      --group.rank;
      --columns;
      --removable[best];
      group.gain.pop_back();
      group.pivots.pop_back();
      group.pivot_residual.pop_back();
    }
  }

  KernelFactor merged() {
    KernelFactor factor;
    const std::size_t columns = rank();
    // Within a group the order stands; between groups the larger residual comes first.
    std::vector<std::vector<std::size_t>> column_of(groups_.size());
    for (std::size_t column = 0; column < columns; ++column) {
      std::size_t best = groups_.size();
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        const std::size_t taken = column_of[g].size();
        if (taken == groups_[g].rank) continue;
        if (best == groups_.size() ||
            groups_[g].pivot_residual[taken] > groups_[best].pivot_residual[column_of[best].size()])
          best = g;
      }
      const Group& group = groups_[best];
      factor.pivots.push_back(group.members[group.pivots[column_of[best].size()]]);
      column_of[best].push_back(column);
    }
    backend_->merge(column_of, columns, factor);
    return factor;
  }

  const Kernel& kernel_;
  const Centring* centring_;
  std::vector<Group> groups_;
  std::unique_ptr<CholeskyBackend> backend_;
  double trace_ = 0, largest_diagonal_ = 0;
};

}  // namespace

KernelFactor pivoted_cholesky(const Kernel& kernel, const Centring* centring,
                              std::shared_ptr<const DeviceKernel> on_device, const FactorOptions& options,
                              Progress* progress) {
  return Factorisation(kernel, centring, std::move(on_device)).run(options, progress);
}

}  // namespace cpfm
