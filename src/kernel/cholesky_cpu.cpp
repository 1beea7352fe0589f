// The Cholesky factorisation's heavy steps on the CPU, as matrix products of chunks of rows.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include "base/memory.hpp"
#include "cpfm/parallel.hpp"
#include "kernel/cholesky_backend.hpp"
#include "kernel/dot_block.hpp"
#include "kernel/sample_kernel.hpp"

namespace cpfm {
namespace {

constexpr std::size_t kRowChunk = 192, kCandidateChunk = 32;

class CpuBackend final : public CholeskyBackend {
 public:
  CpuBackend(const Kernel& kernel, const Centring* centring, const std::vector<CholeskyGroup>& groups)
      : kernel_(kernel), centring_(centring), groups_(groups), phi_(groups.size()) {}

  void make_room(const CholeskyGroup& group) override {
    FloatMatrix& phi = phi_[group.index];
    const std::size_t rows = group.members.size(), wanted = group.rank + group.panel_size(), old = phi.cols();
    if (wanted <= old) return;
    const std::size_t columns = grown(wanted, old, rows);
    require_memory(4.0 * static_cast<double>(rows) * static_cast<double>(columns - old), kernel_.expression(),
                   fmt::format("a factor of {} × {}", rows, columns), "explain less, or limit the rank");
    phi.reshape(rows, columns);
    float* const data = phi.data();
    for (std::size_t i = rows; i-- > 0;) std::memmove(data + i * columns, data + i * old, group.rank * sizeof(float));
  }

  void residual_blocks(const std::vector<CholeskyGroup*>& active) override {
    std::vector<Task> tasks;
    for (CholeskyGroup* group : active) {
      group->block.resize(group->candidates.size() * group->candidates.size());
      cut(*group, group->candidates.size(), kCandidateChunk, tasks);
    }
    parallel_for(tasks.size(), 1, [&](std::size_t first, std::size_t last) {
      std::vector<float> rows;
      for (std::size_t t = first; t < last; ++t) {
        CholeskyGroup& group = *tasks[t].group;
        const std::span<const std::size_t> places = group.candidates;
        residual_block(group, places, places.subspan(tasks[t].begin, tasks[t].end - tasks[t].begin), rows);
        std::copy(rows.begin(), rows.end(),
                  group.block.begin() + static_cast<std::ptrdiff_t>(tasks[t].begin * places.size()));
      }
    });
  }

  void extend(const std::vector<CholeskyGroup*>& active) override {
    std::vector<Task> tasks;
    for (CholeskyGroup* group : active) cut(*group, group->members.size(), kRowChunk, tasks);
    parallel_for(tasks.size(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t t = first; t < last; ++t)
        tasks[t].gain = extend_rows(*tasks[t].group, tasks[t].begin, tasks[t].end);
    });
    for (CholeskyGroup* group : active) {
      const CholeskyPanel& panel = group->panel;
      FloatMatrix& phi = phi_[group->index];
      for (const std::size_t pivot : group->pivots)
        std::fill_n(phi.data() + pivot * phi.cols() + group->rank, panel.size(), 0.0f);
      for (std::size_t k = 0; k < panel.size(); ++k) {
        float* row = phi.data() + panel.pivots[k] * phi.cols() + group->rank;
        std::copy_n(panel.triangle.data() + k * panel.size(), panel.size(), row);
      }
      group->gain.resize(group->rank + panel.size(), 0.0);
    }
    for (const Task& task : tasks) {
      for (std::size_t k = 0; k < task.gain.size(); ++k) task.group->gain[task.group->rank + k] += task.gain[k];
    }
  }

  std::vector<float> column(const CholeskyGroup& group, std::size_t index) override {
    std::vector<float> values(group.members.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = phi_[group.index](i, index);
    return values;
  }

  void merge(const std::vector<std::vector<std::size_t>>& column_of, std::size_t columns,
             KernelFactor& factor) override {
    const std::size_t n = kernel_.size();
    if (groups_.size() == 1) {  // in place, because a single group's columns keep their order
      FloatMatrix& phi = phi_[0];
      const std::size_t stride = phi.cols();
      for (std::size_t i = 0; i < n; ++i)
        std::memmove(phi.data() + i * columns, phi.data() + i * stride, columns * sizeof(float));
      phi.reshape(n, columns);
      phi.shrink();
      factor.phi = std::move(phi);
      return;
    }
    require_memory(4.0 * static_cast<double>(n) * static_cast<double>(columns), kernel_.expression(),
                   fmt::format("a factor of {} × {}", n, columns), "explain less, or limit the rank");
    factor.phi = FloatMatrix(n, columns);
    std::fill_n(factor.phi.data(), factor.phi.size(), 0.0f);
    for (const CholeskyGroup& group : groups_) {
      for (std::size_t i = 0; i < group.members.size(); ++i) {
        for (std::size_t k = 0; k < group.rank; ++k)
          factor.phi(group.members[i], column_of[group.index][k]) = phi_[group.index](i, k);
      }
    }
  }

 private:
  struct Task {
    CholeskyGroup* group;
    std::size_t begin, end;
    std::vector<double> gain;
  };
  static void cut(CholeskyGroup& group, std::size_t count, std::size_t chunk, std::vector<Task>& tasks) {
    for (std::size_t begin = 0; begin < count; begin += chunk)
      tasks.push_back({&group, begin, std::min(begin + chunk, count), {}});
  }

  const float* row(const CholeskyGroup& group, std::size_t place) const {
    return phi_[group.index].data() + place * phi_[group.index].cols();
  }

  // values[r · columns + c] = K(rows[r], columns[c]) - ⟨Φ of both⟩, centred; places in `group`, rows ascending.
  void residual_block(const CholeskyGroup& group, std::span<const std::size_t> columns,
                      std::span<const std::size_t> rows, std::vector<float>& values) const {
    std::vector<std::size_t> column_samples(columns.size()), row_samples(rows.size());
    for (std::size_t c = 0; c < columns.size(); ++c) column_samples[c] = group.members[columns[c]];
    for (std::size_t r = 0; r < rows.size(); ++r) row_samples[r] = group.members[rows[r]];
    std::vector<float> kernel(columns.size() * rows.size());
    evaluate_rows(kernel_, column_samples, row_samples, {kernel.data(), columns.size(), rows.size()});
    values.assign(rows.size() * columns.size(), 0.0f);
    if (group.rank > 0) {
      std::vector<const float*> column_rows(columns.size()), row_rows(rows.size());
      for (std::size_t c = 0; c < columns.size(); ++c) column_rows[c] = row(group, columns[c]);
      for (std::size_t r = 0; r < rows.size(); ++r) row_rows[r] = row(group, rows[r]);
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

  std::vector<double> extend_rows(CholeskyGroup& group, std::size_t begin, std::size_t end) {
    const CholeskyPanel& panel = group.panel;
    FloatMatrix& phi = phi_[group.index];
    const std::size_t p = panel.size(), count = end - begin;
    std::vector<std::size_t> rows(count);
    std::iota(rows.begin(), rows.end(), begin);
    std::vector<float> columns;
    residual_block(group, panel.pivots, rows, columns);
    std::vector<const float*> left(count), right(p);
    for (std::size_t r = 0; r < count; ++r) left[r] = columns.data() + r * p;
    for (std::size_t k = 0; k < p; ++k) right[k] = panel.inverse.data() + k * p;
    float* const out = phi.data() + begin * phi.cols() + group.rank;
    dot_block(left, right, p, out, phi.cols());
    std::vector<double> gain(p, 0.0);
    for (std::size_t r = 0; r < count; ++r) {
      const float* row = out + r * phi.cols();
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

  const Kernel& kernel_;
  const Centring* centring_;
  const std::vector<CholeskyGroup>& groups_;
  std::vector<FloatMatrix> phi_;  // of each group: members × capacity
};

}  // namespace

std::unique_ptr<CholeskyBackend> make_cpu_backend(const Kernel& kernel, const Centring* centring,
                                                  const std::vector<CholeskyGroup>& groups) {
  return std::make_unique<CpuBackend>(kernel, centring, groups);
}

}  // namespace cpfm
