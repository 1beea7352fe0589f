#include "coupling/truncation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpfm/parallel.hpp"

namespace cpfm {

std::vector<RunBounds> bound_runs(std::span<const double> position, int dim, std::span<const double> potential,
                                  std::span<const double> sharpness, std::size_t length) {
  const std::size_t count = potential.size();
  const auto d = static_cast<std::size_t>(dim);
  std::vector<RunBounds> runs((count + length - 1) / length);
  for (std::size_t r = 0; r < runs.size(); ++r) {
    RunBounds& run = runs[r];
    const std::size_t begin = r * length, end = std::min(count, begin + length);
    run.count = end - begin;
    run.potential = -std::numeric_limits<double>::infinity();
    run.sharpness = sharpness.empty() ? 0 : std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < d; ++k) {
      run.low[k] = std::numeric_limits<double>::infinity();
      run.high[k] = -run.low[k];
    }
    for (std::size_t i = begin; i < end; ++i) {
      double shifted = potential[i];
      if (!sharpness.empty()) {
        if (!(sharpness[i] > 0)) {
          run.sharpness = 0;
          continue;
        }
        double square = 0;
        for (std::size_t k = 0; k < d; ++k) square += position[i * d + k] * position[i * d + k];
        shifted += sharpness[i] * square;
        run.sharpness = std::min(run.sharpness, sharpness[i]);
      }
      run.potential = std::max(run.potential, shifted);
      for (std::size_t k = 0; k < d; ++k) {
        run.low[k] = std::min(run.low[k], position[i * d + k]);
        run.high[k] = std::max(run.high[k], position[i * d + k]);
      }
    }
  }
  return runs;
}

Truncated truncate(const std::vector<RunBounds>& targets, const std::vector<RunBounds>& source, int dim,
                   bool rows_are_targets, double drop) {
  std::size_t target_count = 0, source_count = 0;
  for (const RunBounds& run : targets) target_count += run.count;
  for (const RunBounds& run : source) source_count += run.count;
  // If every pair left out is below this, all of them together are below `drop`. One bit is kept for the rounding of
  // the exponents in float.
  const double threshold =
      std::log2(drop) - std::log2(static_cast<double>(target_count)) - std::log2(static_cast<double>(source_count)) - 1;
  struct Part {
    double dropped = 0;
    std::size_t kept = 0;
  };
  Truncated result;
  result.lists.tiles.resize(targets.size());
  const Part total = parallel_reduce(
      targets.size(), 16, Part{},
      [&](std::size_t begin, std::size_t end) {
        Part part;
        for (std::size_t t = begin; t < end; ++t) {
          auto& tiles = result.lists.tiles[t];
          for (std::size_t s = 0; s < source.size(); ++s) {
            const double sharpness = rows_are_targets ? targets[t].sharpness : source[s].sharpness;
            double exponent = std::numeric_limits<double>::infinity();
            if (sharpness > 0) {
              double distance = 0;
              for (int k = 0; k < dim; ++k) {
                const double gap =
                    std::max({0.0, targets[t].low[k] - source[s].high[k], source[s].low[k] - targets[t].high[k]});
                distance += gap * gap;
              }
              exponent = targets[t].potential + source[s].potential - sharpness * distance;
            }
            if (exponent >= threshold) {
              tiles.push_back(static_cast<std::uint32_t>(s));
              ++part.kept;
            } else {
              part.dropped += static_cast<double>(targets[t].count * source[s].count) * std::exp2(exponent + 1);
            }
          }
        }
        return part;
      },
      [](const Part& a, const Part& b) {
        return Part{a.dropped + b.dropped, a.kept + b.kept};
      });
  result.dropped = total.dropped;
  result.kept =
      static_cast<double>(total.kept) / static_cast<double>(std::max<std::size_t>(1, targets.size() * source.size()));
  return result;
}

Truncated choose_tiles(const PlanPoints& rows, const PlanPoints& columns, int dim, bool rows_are_targets, double drop) {
  if (drop <= 0 || rows.potential.size() < kWorthTruncating || columns.potential.size() < kWorthTruncating) return {};
  constexpr std::size_t kTile = PairSide<float>::kTile;
  const auto row_runs =
      bound_runs(rows.position, dim, rows.potential, rows.sharpness, rows_are_targets ? TileLists::kTargets : kTile);
  const auto column_runs =
      bound_runs(columns.position, dim, columns.potential, {}, rows_are_targets ? kTile : TileLists::kTargets);
  return rows_are_targets ? truncate(row_runs, column_runs, dim, true, drop)
                          : truncate(column_runs, row_runs, dim, false, drop);
}

}  // namespace cpfm
