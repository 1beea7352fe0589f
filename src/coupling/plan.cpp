#include "cpfm/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>
#include <numeric>

#include "base/log.hpp"
#include "base/memory.hpp"
#include "coupling/pair_sums_simd.hpp"
#include "coupling/spatial_order.hpp"
#include "coupling/truncation.hpp"
#include "cpfm/error.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"
#include "cuda/memory.hpp"
#include "cuda/plan.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kDrawStream = 0x64726177, kPairStream = 0x70616972;  // "draw", "pair"
constexpr double kDrop = 1e-9;                                               // mass that a streaming pass may leave out

// Some targets against the tiles of the source they need, as a streaming pass shows them.
template <class T>
struct PlanBlock {
  const PairSide<T>& source;
  const std::vector<std::uint32_t>& source_order;  // place in the source → column
  PairSide<T> targets;
  std::vector<std::size_t> entries;  // of each target, in the list that was asked for
  std::vector<std::uint32_t> tiles;

  // Exponents of one target over one tile.
  void exponents(std::size_t tile, std::size_t target, T* out) const {
    const std::size_t first = tile * PairSide<T>::kTile;
    const T own = targets.potential()[target];
    for (std::size_t s = 0; s < PairSide<T>::kTile; ++s) out[s] = own + source.potential()[first + s];
    for (int k = 0; k < source.dims(); ++k) {
      const T value = targets.coord(k)[target];
      const T* coord = source.coord(k) + first;
      for (std::size_t s = 0; s < PairSide<T>::kTile; ++s) out[s] += value * coord[s];
    }
  }
};

void check(bool right, const char* what, const std::string& problem) {
  if (!right) throw Error(fmt::format("plan: {}", what), problem);
}

void check_numbers(std::span<const double> values, const char* what, std::size_t count) {
  check(values.size() == count, what, fmt::format("there are {} numbers instead of {}", values.size(), count));
  constexpr double kMost = 1e30;  // far beyond any sense, and products of two stay finite
  const auto bad = std::find_if(values.begin(), values.end(), [](double v) { return !(std::abs(v) <= kMost); });
  check(bad == values.end(), what, fmt::format("entry {} is not finite or too large", bad - values.begin() + 1));
}

std::vector<double> row_coords(std::span<const double> w, std::span<const double> p, std::size_t d, double epsilon) {
  const double unit = 1.0 / (epsilon * std::numbers::ln2);
  std::vector<double> coords(w.size() * (d + 1));
  for (std::size_t i = 0; i < w.size(); ++i) {
    coords[i * (d + 1)] = -w[i] * unit;
    for (std::size_t k = 0; k < d; ++k) coords[i * (d + 1) + 1 + k] = 2 * p[i * d + k] * unit;
  }
  return coords;
}

double dot(const double* a, const double* b, std::size_t count) {
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k) sum += a[k] * b[k];
  return sum;
}

// Positions in latent space and what truncation knows of them: centres p / w of rows, columns themselves.
PlanPoints plan_points(std::span<const double> coords, std::span<const double> potential, std::size_t dims,
                       bool are_rows, std::span<const std::size_t> which) {
  const std::size_t d = dims - 1;
  PlanPoints points;
  points.position.resize(which.size() * d);
  for (std::size_t e = 0; e < which.size(); ++e) {
    const double* at = &coords[which[e] * dims];
    const double sharpness = -at[0];
    points.potential.push_back(potential[which[e]]);
    if (are_rows) points.sharpness.push_back(sharpness);
    for (std::size_t k = 0; k < d; ++k)
      points.position[e * d + k] = !are_rows ? at[1 + k] : sharpness > 0 ? at[1 + k] / (2 * sharpness) : 0;
  }
  return points;
}

PlanPoints in_order(const PlanPoints& points, const std::vector<std::uint32_t>& order, std::size_t d) {
  PlanPoints sorted;
  for (const std::uint32_t e : order) {
    sorted.potential.push_back(points.potential[e]);
    if (!points.sharpness.empty()) sorted.sharpness.push_back(points.sharpness[e]);
    for (std::size_t k = 0; k < d; ++k) sorted.position.push_back(points.position[e * d + k]);
  }
  return sorted;
}

double largest_term(std::span<const double> a, std::span<const double> b, std::size_t dims) {
  double total = 0;
  for (std::size_t k = 0; k < dims; ++k) {
    double in_a = 0, in_b = 0;
    for (std::size_t i = k; i < a.size(); i += dims) in_a = std::max(in_a, std::abs(a[i]));
    for (std::size_t i = k; i < b.size(); i += dims) in_b = std::max(in_b, std::abs(b[i]));
    total += in_a * in_b;
  }
  return total;
}

}  // namespace

Plan::Plan(PlanParts given) {
  const std::size_t n = given.w.size(), m = given.column_potential.size();
  check(n > 0 && m > 0, "size", "it has no rows or no columns");
  check(given.epsilon > 0 && std::isfinite(given.epsilon), "epsilon", fmt::format("{} is no ε", given.epsilon));
  const std::size_t d = given.y.size() / m;
  check(d >= 1 && d <= static_cast<std::size_t>(kMaxLatentDim), "latent points",
        fmt::format("{} dimensions are out of range", d));
  check(n <= 0xFFFFFFFFu && m <= 0xFFFFFFFFu, "size", "it has more than 4294967295 rows or columns");
  check_numbers(given.w, "w", n);
  check_numbers(given.p, "p", n * d);
  check_numbers(given.row_potential, "row potential", n);
  check_numbers(given.y, "latent points", m * d);
  check_numbers(given.column_potential, "column potential", m);
  check_numbers(given.row_mass, "row mass", n);
  check_numbers(given.column_mass, "column mass", m);
  dims_ = d + 1;
  parts_ = std::make_shared<const PlanParts>(std::move(given));
  const PlanParts& parts = *parts_;
  Sides sides{{row_coords(parts.w, parts.p, d, parts.epsilon), parts.row_potential, parts.row_mass},
              {std::vector<double>(m * dims_), parts.column_potential, parts.column_mass}};
  check_numbers(sides.data.coords, "w and p over ε", n * dims_);
  for (std::size_t j = 0; j < m; ++j) {
    const double* y = &parts.y[j * d];
    sides.latent.coords[j * dims_] = dot(y, y, d);
    std::copy_n(y, d, &sides.latent.coords[j * dims_ + 1]);
  }
  sides_ = std::make_shared<const Sides>(std::move(sides));
}

Plan Plan::transposed() const {
  Plan other = *this;
  other.transposed_ = !transposed_;
  return other;
}

struct Plan::OnDevice {
  Device device;
  std::mutex building;
  std::atomic<bool> told = false;  // that there is no room for it
  std::unique_ptr<DevicePlan> plan;
};

void Plan::use(Device device) {
  on_device_.reset();
  if (!device.is_cuda()) return;
  on_device_ = std::make_shared<OnDevice>();
  on_device_->device = device;
}

Device Plan::device() const { return on_device_ ? on_device_->device : Device{}; }

DevicePlan& Plan::device_plan() const {
  const std::lock_guard lock(on_device_->building);
  if (!on_device_->plan) {
    const PlanParts& parts = *parts_;
    on_device_->plan = std::make_unique<DevicePlan>(
        on_device_->device,
        DevicePlan::Parts{parts.row_mass.size(), parts.column_mass.size(), static_cast<int>(dims_ - 1), parts.epsilon,
                          parts.w.data(), parts.p.data(), parts.row_potential.data(), parts.row_mass.data(),
                          parts.y.data(), parts.column_potential.data(), parts.column_mass.data(), kDrop,
                          !float_suffices()});
  }
  return *on_device_->plan;
}

// work(plan on the device); false where there is none or it has no room, beside a network that is being trained say,
// and the CPU has to do it.
template <class Work>
bool Plan::on_device(const Work& work) const {
  if (!on_device_) return false;
  try {
    work(device_plan());
    return true;
  } catch (const OutOfDeviceMemory& error) {
    if (!on_device_->told.exchange(true))
      log().warn("the CPU takes over from the plan on {}: {}", on_device_->device.name(), error.problem());
    return false;
  }
}

std::vector<double> Plan::row(std::size_t i) const {
  if (i >= rows()) throw Error("plan", fmt::format("there is no row {}", i), fmt::format("0 to {}", rows() - 1));
  std::vector<double> chances(columns());
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::size_t j = 0; j < chances.size(); ++j) {
    chances[j] = sources().potential[j] + dot(&targets().coords[i * dims_], &sources().coords[j * dims_], dims_);
    largest = std::max(largest, chances[j]);
  }
  for (double& chance : chances) sum += chance = std::exp2(chance - largest);
  for (double& chance : chances) chance /= sum;
  return chances;
}

void Plan::check_rows(std::span<const std::size_t> which) const {
  for (const std::size_t i : which) {
    if (i >= rows()) throw Error("plan", fmt::format("there is no row {}", i), fmt::format("0 to {}", rows() - 1));
  }
}

// Where the terms of an exponent are large, float would round away more of it than matters.
bool Plan::float_suffices() const {
  constexpr double kFloatRounding = 6e-8, kTolerated = 1e-3;
  return kFloatRounding * largest_term(sides_->data.coords, sides_->latent.coords, dims_) <= kTolerated;
}

// visit(PlanBlock) for every block of targets, on all threads. Targets and source lie along space-filling curves, so
// that most tiles can be left out where ε is small.
template <class Visit>
void Plan::stream(std::span<const std::size_t> which, const Visit& visit) const {
  check_rows(which);
  const std::size_t d = dims_ - 1;
  std::vector<std::size_t> every(columns());
  std::iota(every.begin(), every.end(), std::size_t{0});
  const PlanPoints rows_there = plan_points(targets().coords, targets().potential, dims_, !transposed_, which);
  const PlanPoints columns_there = plan_points(sources().coords, sources().potential, dims_, transposed_, every);
  const std::vector<std::uint32_t> target_order = spatial_order({rows_there.position.data(), which.size(), d});
  const std::vector<std::uint32_t> source_order = spatial_order({columns_there.position.data(), columns(), d});
  const PlanPoints sorted_targets = in_order(rows_there, target_order, d),
                   sorted_sources = in_order(columns_there, source_order, d);
  const TileLists lists = transposed_
                              ? choose_tiles(sorted_sources, sorted_targets, static_cast<int>(d), false, kDrop).lists
                              : choose_tiles(sorted_targets, sorted_sources, static_cast<int>(d), true, kDrop).lists;
  const auto run = [&]<class T>(T) {
    const auto fill = [&](PairSide<T>& side, std::size_t at, const Side& from, std::size_t i) {
      for (std::size_t k = 0; k < dims_; ++k)
        side.coord(static_cast<int>(k))[at] = static_cast<T>(from.coords[i * dims_ + k]);
      side.potential()[at] = static_cast<T>(from.potential[i]);
    };
    PairSide<T> source(columns(), static_cast<int>(dims_));
    for (std::size_t at = 0; at < columns(); ++at) fill(source, at, sources(), source_order[at]);
    std::vector<std::uint32_t> all(source.tiles());
    std::iota(all.begin(), all.end(), 0u);
    parallel_for(which.size(), TileLists::kTargets, [&](std::size_t begin, std::size_t end) {
      PlanBlock<T> block{source,
                         source_order,
                         PairSide<T>(end - begin, static_cast<int>(dims_)),
                         {},
                         lists.all() ? all : lists.tiles[begin / TileLists::kTargets]};
      for (std::size_t at = begin; at < end; ++at) {
        fill(block.targets, at - begin, targets(), which[target_order[at]]);
        block.entries.push_back(target_order[at]);
      }
      visit(block);
    });
  };
  if (float_suffices())
    run(float());
  else
    run(double());
}

std::vector<std::uint32_t> Plan::draw(std::uint64_t seed, std::uint64_t index) const {
  std::vector<std::uint32_t> drawn;
  if (on_device([&](DevicePlan& device) { drawn = draw_on(device, {}, true, seed, index); })) return drawn;
  std::vector<std::size_t> every(rows());
  std::iota(every.begin(), every.end(), std::size_t{0});
  return draw_here(every, seed, index);
}

std::vector<std::uint32_t> Plan::draw(std::span<const std::size_t> which, std::uint64_t seed,
                                      std::uint64_t index) const {
  std::vector<std::uint32_t> drawn;
  if (on_device([&](DevicePlan& device) { drawn = draw_on(device, which, false, seed, index); })) return drawn;
  return draw_here(which, seed, index);
}

// `all` stands for a list of every row.
std::vector<std::uint32_t> Plan::draw_on(DevicePlan& device, std::span<const std::size_t> which, bool all,
                                         std::uint64_t seed, std::uint64_t index) const {
  check_rows(which);
  const std::size_t count = all ? rows() : which.size();
  std::vector<double> uniforms(count);
  parallel_for(count, 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) uniforms[e] = Rng(seed, kDrawStream, index << 32 | e).uniform();
  });
  std::vector<std::uint32_t> drawn(count);
  device.draw(transposed_, all ? nullptr : which.data(), count, uniforms.data(), drawn.data());
  parallel_for(count, 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t e = begin; e < end; ++e) {
      if (drawn[e] != DevicePlan::kUndrawn) continue;
      Rng rng(seed, kDrawStream, index << 32 | e);
      drawn[e] = static_cast<std::uint32_t>(rng.categorical(row(all ? e : which[e])));
    }
  });
  return drawn;
}

// The sums of whole tiles are found by the fast loop; only the tile that holds the draw is looked into.
std::vector<std::uint32_t> Plan::draw_here(std::span<const std::size_t> which, std::uint64_t seed,
                                           std::uint64_t index) const {
  std::vector<std::uint32_t> drawn(which.size());
  stream(which, [&]<class T>(const PlanBlock<T>& block) {
    const std::size_t count = block.targets.count(), tiles = block.tiles.size();
    std::vector<double> sums(tiles * count, 0.0);
    for (std::size_t k = 0; k < tiles; ++k)
      simd_block_sums(block.source, block.targets, {&block.tiles[k], 1}, 0, count, &sums[k * count], nullptr);
    T exponents[PairSide<T>::kTile];
    for (std::size_t t = 0; t < count; ++t) {
      const std::size_t entry = block.entries[t];
      Rng rng(seed, kDrawStream, index << 32 | entry);
      double total = 0;
      for (std::size_t k = 0; k < tiles; ++k) total += sums[k * count + t];
      if (!has_its_mass(total, targets().mass[which[entry]])) {
        drawn[entry] = static_cast<std::uint32_t>(rng.categorical(row(which[entry])));
        continue;
      }
      double left = rng.uniform() * total;
      std::size_t k = 0;
      while (k + 1 < tiles && left >= sums[k * count + t]) left -= sums[k++ * count + t];
      const std::size_t first = block.tiles[k] * PairSide<T>::kTile;
      block.exponents(block.tiles[k], t, exponents);
      const std::size_t last = std::min(PairSide<T>::kTile, block.source.count() - first) - 1;
      // Rounding may leave a rest behind the last source; the likeliest of the tile takes it.
      std::size_t chosen = static_cast<std::size_t>(std::max_element(exponents, exponents + last + 1) - exponents);
      for (std::size_t s = 0; s <= last; ++s) {
        left -= std::exp2(double(exponents[s]));
        if (left < 0) {
          chosen = s;
          break;
        }
      }
      drawn[entry] = block.source_order[first + chosen];
    }
  });
  return drawn;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> Plan::sample(std::size_t count, std::uint64_t seed,
                                                                  std::uint64_t index) const {
  std::vector<double> cumulative(rows());
  std::partial_sum(targets().mass.begin(), targets().mass.end(), cumulative.begin());
  std::vector<std::size_t> which(count);
  for (std::size_t e = 0; e < count; ++e) {
    const double u = Rng(seed, kPairStream, index << 32 | e).uniform() * cumulative.back();
    const auto at = std::upper_bound(cumulative.begin(), cumulative.end(), u) - cumulative.begin();
    which[e] = std::min(static_cast<std::size_t>(at), rows() - 1);
  }
  const std::vector<std::uint32_t> columns = draw(which, seed, index);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs(count);
  for (std::size_t e = 0; e < count; ++e) pairs[e] = {static_cast<std::uint32_t>(which[e]), columns[e]};
  return pairs;
}

FloatMatrix Plan::means(MatrixView<const float> values) const {
  if (values.rows != columns())
    throw Error("plan: values", fmt::format("there are {} rows for {} columns of the plan", values.rows, columns()));
  FloatMatrix means(rows(), values.cols);
  const auto by_itself = [&](std::size_t i) {
    const std::vector<double> chances = row(i);
    std::vector<double> sum(values.cols);
    for (std::size_t j = 0; j < chances.size(); ++j) {
      for (std::size_t k = 0; k < values.cols; ++k) sum[k] += chances[j] * double(values(j, k));
    }
    for (std::size_t k = 0; k < values.cols; ++k) means(i, k) = static_cast<float>(sum[k]);
  };
  std::vector<unsigned char> lost(rows());
  if (on_device([&](DevicePlan& device) {
        device.means(transposed_, values.data, values.cols, means.data(), lost.data());
      })) {
    parallel_for(rows(), 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (lost[i]) by_itself(i);
      }
    });
    return means;
  }
  std::vector<std::size_t> every(rows());
  std::iota(every.begin(), every.end(), std::size_t{0});
  stream(every, [&]<class T>(const PlanBlock<T>& block) {
    T exponents[PairSide<T>::kTile];
    std::vector<double> sum(values.cols);
    for (std::size_t t = 0; t < block.targets.count(); ++t) {
      const std::size_t i = block.entries[t];
      // Terms this far below the row's mass change no digit of a float, however many there are.
      const T negligible = static_cast<T>(std::log2(targets().mass[i]) - 60);
      double total = 0;
      std::fill(sum.begin(), sum.end(), 0.0);
      for (const std::uint32_t tile : block.tiles) {
        const std::size_t first = tile * PairSide<T>::kTile;
        const std::size_t end = std::min(PairSide<T>::kTile, block.source.count() - first);
        block.exponents(tile, t, exponents);
        for (std::size_t s = 0; s < end; ++s) {
          if (exponents[s] < negligible) continue;
          const double chance = std::exp2(double(exponents[s]));
          const float* value = values.data + block.source_order[first + s] * values.cols;
          total += chance;
          for (std::size_t k = 0; k < values.cols; ++k) sum[k] += chance * double(value[k]);
        }
      }
      if (!has_its_mass(total, targets().mass[i])) {
        by_itself(i);
        continue;
      }
      for (std::size_t k = 0; k < values.cols; ++k) means(i, k) = static_cast<float>(sum[k] / total);
    }
  });
  return means;
}

Plan::Top Plan::top(std::size_t k) const {
  if (k < 1 || k > columns())
    throw Error("plan: top", fmt::format("{} of {} columns cannot be had", k, columns()), "1 to their number");
  require_memory(12.0 * static_cast<double>(rows()) * static_cast<double>(k), "plan: top",
                 fmt::format("a list of {} × {}", rows(), k));
  Top top{k, std::vector<std::uint32_t>(rows() * k), std::vector<double>(rows() * k)};
  if (k <= DevicePlan::kMostTop &&
      on_device([&](DevicePlan& device) { device.top(transposed_, k, top.index.data(), top.probability.data()); }))
    return top;
  parallel_for(rows(), 16, [&](std::size_t begin, std::size_t end) {
    std::vector<std::uint32_t> order(columns());
    for (std::size_t i = begin; i < end; ++i) {
      const std::vector<double> chances = row(i);
      std::iota(order.begin(), order.end(), 0u);
      std::partial_sort(
          order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
          [&](std::uint32_t a, std::uint32_t b) { return chances[a] != chances[b] ? chances[a] > chances[b] : a < b; });
      for (std::size_t r = 0; r < k; ++r) {
        top.index[i * k + r] = order[r];
        top.probability[i * k + r] = chances[order[r]];
      }
    }
  });
  return top;
}

std::vector<double> Plan::dense() const {
  require_memory(8.0 * static_cast<double>(rows()) * static_cast<double>(columns()), "plan",
                 fmt::format("the dense plan of {} × {}", rows(), columns()), "use its rows, draws or means");
  std::vector<double> dense(rows() * columns());
  parallel_for(rows(), 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t j = 0; j < columns(); ++j) {
        dense[i * columns() + j] = std::exp2(targets().potential[i] + sources().potential[j] +
                                             dot(&targets().coords[i * dims_], &sources().coords[j * dims_], dims_));
      }
    }
  });
  return dense;
}

Plan Plan::with_rows(std::span<const double> w, std::span<const double> p) const {
  const std::size_t d = dims_ - 1, count = w.size();
  check(count > 0, "size", "it has no rows");
  check_numbers(w, "w", count);
  check_numbers(p, "p", count * d);
  PlanParts other;
  other.epsilon = parts_->epsilon;
  other.w.assign(w.begin(), w.end());
  other.p.assign(p.begin(), p.end());
  other.y = parts_->y;
  other.column_potential = parts_->column_potential;
  other.column_mass = parts_->column_mass;
  other.row_mass.assign(count, 1.0 / static_cast<double>(count));
  other.row_potential.resize(count);
  if (on_device([&](DevicePlan& device) { device.log2_sums(w.data(), p.data(), count, other.row_potential.data()); })) {
    for (std::size_t i = 0; i < count; ++i)
      other.row_potential[i] = std::log2(other.row_mass[i]) - other.row_potential[i];
  } else {
    const std::vector<double> coords = row_coords(w, p, d, parts_->epsilon);
    const Side& latent = sides_->latent;
    PairSide<double> source(latent.mass.size(), static_cast<int>(dims_)), targets(count, static_cast<int>(dims_));
    for (std::size_t k = 0; k < dims_; ++k) {
      for (std::size_t j = 0; j < source.count(); ++j)
        source.coord(static_cast<int>(k))[j] = latent.coords[j * dims_ + k];
      for (std::size_t i = 0; i < count; ++i) targets.coord(static_cast<int>(k))[i] = coords[i * dims_ + k];
    }
    std::copy(latent.potential.begin(), latent.potential.end(), source.potential());
    parallel_for(count, 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        other.row_potential[i] = std::log2(other.row_mass[i]) - safe_log2_sum(source, targets, i);
    });
  }
  Plan placed(std::move(other));
  if (on_device_) placed.use(on_device_->device);
  return placed;
}

}  // namespace cpfm
