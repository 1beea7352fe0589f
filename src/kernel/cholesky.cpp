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
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/memory.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "kernel/dot_block.hpp"
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
constexpr std::size_t kLargestPanel = 64;
constexpr std::size_t kCandidatesPerPivot = 3;
constexpr std::size_t kRowChunk = 192;

struct Panel {
  std::vector<std::size_t> pivots;       // places in Group::members
  std::vector<double> residuals;         // of each pivot when it was chosen
  std::vector<float> triangle, inverse;  // p × p, lower; of the residual block of the pivots
  std::size_t size() const { return pivots.size(); }
};

struct Group {
  explicit Group(std::vector<std::size_t> samples) : members(std::move(samples)) {}

  std::vector<std::size_t> members;  // samples, ascending
  FloatMatrix phi;                   // members × capacity; `rank` columns are filled
  std::size_t rank = 0;
  std::vector<double> residual;              // of each member
  double largest = 0, left = 0;              // residual: maximum and sum
  std::vector<std::size_t> pivots;           // places in members
  std::vector<double> pivot_residual, gain;  // of each column; gain is the sum of its squares
  Panel panel;

  std::size_t panel_size() const { return std::clamp<std::size_t>(members.size() / 48, 4, kLargestPanel); }
  const float* row(std::size_t place) const { return phi.data() + place * phi.cols(); }
};

class Factorisation {
 public:
  Factorisation(const Kernel& kernel, const Centring* centring) : kernel_(kernel), centring_(centring) {
    const std::size_t n = kernel.size();
    std::vector<float> diagonal(n);
    kernel.diagonal(diagonal);
    if (centring == nullptr) {
      for (auto& members : group_members(kernel)) groups_.emplace_back(std::move(members));
    } else {
      groups_.emplace_back(std::vector<std::size_t>(n));  // centring mixes the groups
      std::iota(groups_[0].members.begin(), groups_[0].members.end(), std::size_t{0});
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
  }

  KernelFactor run(const FactorOptions& options, Progress* progress) {
    const std::size_t cap = options.max_rank == 0 ? kernel_.size() : std::min(options.max_rank, kernel_.size());
    const double target = (1 - options.explained) * trace_;
    if (progress != nullptr) progress->start("kernel factor", 0, "columns");
    while (left() > target && rank() < cap && largest() > tolerance()) {
      check_interrupt();
      const std::vector<Group*> active = choose_groups();
      for (Group* group : active) make_room(*group);
      const auto choose = [&](std::size_t begin, std::size_t end) {
        for (std::size_t g = begin; g < end; ++g) choose_pivots(*active[g]);
      };
      // A single group uses the threads inside.
      active.size() == 1 ? choose(0, 1) : parallel_for(active.size(), 1, choose);
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

  // Columns for one more panel.
  void make_room(Group& group) const {
    const std::size_t rows = group.members.size(), wanted = group.rank + group.panel_size(), old = group.phi.cols();
    if (wanted <= old) return;
    const std::size_t columns = std::min(std::max(wanted, old + old / 2), std::max(wanted, rows + kLargestPanel));
    require_memory(4.0 * static_cast<double>(rows) * static_cast<double>(columns - old), kernel_.expression(),
                   fmt::format("a factor of {} × {}", rows, columns), "explain less, or limit the rank");
    group.phi.reshape(rows, columns);
    float* const data = group.phi.data();
    for (std::size_t i = rows; i-- > 0;) std::memmove(data + i * columns, data + i * old, group.rank * sizeof(float));
  }

  // values[r · columns + c] = K(rows[r], columns[c]) - ⟨Φ of both⟩, centred; places in `group`, rows ascending.
  void residual_block(const Group& group, std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                      std::vector<float>& values) const {
    std::vector<std::size_t> column_samples(columns.size()), row_samples(rows.size());
    for (std::size_t c = 0; c < columns.size(); ++c) column_samples[c] = group.members[columns[c]];
    for (std::size_t r = 0; r < rows.size(); ++r) row_samples[r] = group.members[rows[r]];
    std::vector<float> kernel(columns.size() * rows.size());
    evaluate_rows(kernel_, column_samples, row_samples, {kernel.data(), columns.size(), rows.size()});
    values.assign(rows.size() * columns.size(), 0.0f);
    if (group.rank > 0) {
      std::vector<const float*> column_rows(columns.size()), row_rows(rows.size());
      for (std::size_t c = 0; c < columns.size(); ++c) column_rows[c] = group.row(columns[c]);
      for (std::size_t r = 0; r < rows.size(); ++r) row_rows[r] = group.row(rows[r]);
      dot_block(row_rows, column_rows, group.rank, values.data(), columns.size());
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        double value = kernel[c * rows.size() + r];
        if (centring_ != nullptr) value = (*centring_)(value, row_samples[r], column_samples[c]);
        float& out = values[r * columns.size() + c];
        out = static_cast<float>(value - out);
      }
    }
  }

  // The samples of largest residual, ascending, and in `bound` the largest residual among the others. Ties, such as the
  // equal diagonal of the heat kernel, are broken by a hash of the place: neighbours in a file are often alike.
  static std::vector<std::size_t> candidates(const Group& group, std::size_t count, double& bound) {
    std::vector<std::size_t> order(group.members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    bound = 0;
    if (count < order.size()) {
      const auto hash = [](std::size_t i) { return (static_cast<std::uint64_t>(i) + 1) * 0x9E3779B97F4A7C15u; };
      std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                       [&](std::size_t a, std::size_t b) {
                         if (group.residual[a] != group.residual[b]) return group.residual[a] > group.residual[b];
                         return hash(a) < hash(b);
                       });
      bound = group.residual[order[count]];
      order.resize(count);
      std::sort(order.begin(), order.end());
    }
    return order;
  }

  void choose_pivots(Group& group) const {
    const std::size_t most = group.panel_size();
    double bound = 0;
    const std::vector<std::size_t> places = candidates(group, kCandidatesPerPivot * most, bound);
    const std::size_t count = places.size();
    // The residual block among the candidates, by rows so that a single group's threads share it.
    std::vector<float> block(count * count);
    parallel_for(count, 32, [&](std::size_t begin, std::size_t end) {
      std::vector<float> rows;
      residual_block(group, places, std::span(places).subspan(begin, end - begin), rows);
      std::copy(rows.begin(), rows.end(), block.begin() + static_cast<std::ptrdiff_t>(begin * count));
    });
    // Greedy Cholesky of the block, left-looking, in double.
    std::vector<double> residual(count), columns(count * most);
    for (std::size_t i = 0; i < count; ++i) residual[i] = group.residual[places[i]];
    std::vector<std::size_t> chosen;
    Panel& panel = group.panel;
    panel = {};
    double floor = std::max(kRelaxed * bound, tolerance());
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

  // The panels' columns for all members of their groups: C = residual columns, Φ_new = C · R⁻ᵀ.
  void extend(const std::vector<Group*>& active) const {
    struct Task {
      Group* group;
      std::size_t begin, end;
      std::vector<double> gain;
    };
    std::vector<Task> tasks;
    for (Group* group : active) {
      for (std::size_t begin = 0; begin < group->members.size(); begin += kRowChunk) {
        tasks.push_back({group, begin, std::min(begin + kRowChunk, group->members.size()), {}});
      }
    }
    parallel_for(tasks.size(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t t = first; t < last; ++t)
        tasks[t].gain = extend_rows(*tasks[t].group, tasks[t].begin, tasks[t].end);
    });
    for (Group* group : active) {
      const Panel& panel = group->panel;
      // The rows of pivots are known exactly: the triangle, and nothing in columns after their own.
      for (const std::size_t pivot : group->pivots) {
        std::fill_n(group->phi.data() + pivot * group->phi.cols() + group->rank, panel.size(), 0.0f);
      }
      for (std::size_t k = 0; k < panel.size(); ++k) {
        float* row = group->phi.data() + panel.pivots[k] * group->phi.cols() + group->rank;
        std::copy_n(panel.triangle.data() + k * panel.size(), panel.size(), row);
        group->residual[panel.pivots[k]] = 0;
      }
      group->pivots.insert(group->pivots.end(), panel.pivots.begin(), panel.pivots.end());
      group->pivot_residual.insert(group->pivot_residual.end(), panel.residuals.begin(), panel.residuals.end());
      group->gain.resize(group->rank + panel.size(), 0.0);
      group->rank += panel.size();
      summarise(*group);
    }
    for (const Task& task : tasks) {
      const std::size_t first = task.group->rank - task.group->panel.size();
      for (std::size_t k = 0; k < task.gain.size(); ++k) task.group->gain[first + k] += task.gain[k];
    }
  }

  std::vector<double> extend_rows(Group& group, std::size_t begin, std::size_t end) const {
    const Panel& panel = group.panel;
    const std::size_t p = panel.size(), count = end - begin;
    std::vector<std::size_t> rows(count);
    std::iota(rows.begin(), rows.end(), begin);
    std::vector<float> columns;
    residual_block(group, panel.pivots, rows, columns);
    std::vector<const float*> left(count), right(p);
    for (std::size_t r = 0; r < count; ++r) left[r] = columns.data() + r * p;
    for (std::size_t k = 0; k < p; ++k) right[k] = panel.inverse.data() + k * p;
    float* const out = group.phi.data() + begin * group.phi.cols() + group.rank;
    dot_block(left, right, p, out, group.phi.cols());
    std::vector<double> gain(p, 0.0);
    for (std::size_t r = 0; r < count; ++r) {
      const float* row = out + r * group.phi.cols();
      double sum = 0;
      for (std::size_t k = 0; k < p; ++k) {
        const double square = static_cast<double>(row[k]) * row[k];
        gain[k] += square;
        sum += square;
      }
      group.residual[begin + r] -= sum;
    }
    return gain;
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
      for (std::size_t i = 0; i < group.members.size(); ++i) {
        const double value = group.phi(i, group.rank - 1);
        group.residual[i] += value * value;
      }
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
    const std::size_t n = kernel_.size(), columns = rank();
    if (groups_.size() == 1) {
      Group& group = groups_[0];
      const std::size_t stride = group.phi.cols();
      for (std::size_t i = 0; i < n; ++i) {
        std::memmove(group.phi.data() + i * columns, group.phi.data() + i * stride, columns * sizeof(float));
      }
      group.phi.reshape(n, columns);
      group.phi.shrink();
      factor.phi = std::move(group.phi);
      for (const std::size_t place : group.pivots) factor.pivots.push_back(group.members[place]);
      return factor;
    }
    require_memory(4.0 * static_cast<double>(n) * static_cast<double>(columns), kernel_.expression(),
                   fmt::format("a factor of {} × {}", n, columns), "explain less, or limit the rank");
    factor.phi = FloatMatrix(n, columns);
    std::fill_n(factor.phi.data(), factor.phi.size(), 0.0f);
    // Within a group the order stands; between groups the larger residual comes first.
    std::vector<std::size_t> taken(groups_.size(), 0);
    for (std::size_t column = 0; column < columns; ++column) {
      std::size_t best = groups_.size();
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        if (taken[g] == groups_[g].rank) continue;
        if (best == groups_.size() || groups_[g].pivot_residual[taken[g]] > groups_[best].pivot_residual[taken[best]])
          best = g;
      }
      const Group& group = groups_[best];
      for (std::size_t i = 0; i < group.members.size(); ++i)
        factor.phi(group.members[i], column) = group.phi(i, taken[best]);
      factor.pivots.push_back(group.members[group.pivots[taken[best]++]]);
    }
    return factor;
  }

  const Kernel& kernel_;
  const Centring* centring_;
  std::vector<Group> groups_;
  double trace_ = 0, largest_diagonal_ = 0;
};

}  // namespace

KernelFactor pivoted_cholesky(const Kernel& kernel, const Centring* centring, const FactorOptions& options,
                              Progress* progress) {
  return Factorisation(kernel, centring).run(options, progress);
}

}  // namespace cpfm
