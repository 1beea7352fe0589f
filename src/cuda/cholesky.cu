// All groups of a round go in one launch: a list of tiles says which rows and columns, and of which Φ. The kernel's
// block comes first (kernel_matrix.cu), then ⟨Φ, Φ⟩ is taken away from it, in place, then it is multiplied with R⁻ᵀ.
#include <algorithm>
#include <numeric>

#include "cpfm/error.hpp"
#include "cuda/check.cuh"
#include "cuda/cholesky.hpp"
#include "cuda/dot_tile.cuh"
#include "cuda/launch.cuh"

namespace cpfm {
namespace {

constexpr int kFragments = 2;
using Tile = DotTile<kFragments>;
constexpr int kPanel = static_cast<int>(DeviceCholesky::kLargestPanel);
static_assert(Tile::kColumns == kPanel, "a panel is one tile wide");
constexpr int kPanelRows = 64;  // rows of a block that multiplies with R⁻ᵀ
constexpr int kThreads = 256;

// out[r · pitch + c] holds K(r, c); at most 128 × 64 of them.
struct ResidualTile {
  RowTable phi;
  const std::int32_t *rows, *columns;                // places in phi
  const std::int32_t *row_samples, *column_samples;  // what centring goes by
  int row_count, column_count;
  float* out;
  std::size_t pitch;
};

// out = centred K - ⟨Φ_r, Φ_c⟩. `mean` is null where nothing is centred.
__global__ void __launch_bounds__(kTileThreads)
    subtract_factor(const ResidualTile* tiles, const double* mean, double all) {
  __shared__ TileMemory<kFragments, 1> memory;
  const ResidualTile tile = tiles[blockIdx.x];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kTileRows) memory.rows[thread] = thread < tile.row_count ? tile.rows[thread] : -1;
  if (thread < Tile::kColumns) memory.columns[thread] = thread < tile.column_count ? tile.columns[thread] : -1;
  Tile products;
  products.compute(tile.phi, memory.rows, memory.columns, memory.values);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    products.store(half, memory.scratch(0));
    const int row = Tile::row(half);
    if (row < tile.row_count) {
      for (int j = 0; j < kFragments; ++j) {
        float dots[8];
        Tile::read(memory.scratch(0), j, dots);
#pragma unroll
        for (int e = 0; e < 8; ++e) {
          const int column = Tile::column(j) + e;
          if (column >= tile.column_count) continue;
          float& out = tile.out[static_cast<std::size_t>(row) * tile.pitch + column];
          double value = out;
          if (mean != nullptr) value = value - mean[tile.row_samples[row]] - mean[tile.column_samples[column]] + all;
          out = static_cast<float>(value - dots[e]);
        }
      }
    }
    __syncwarp();
  }
}

// At most kPanelRows rows of one group.
struct PanelTile {
  const float* residual;  // rows × p
  const float* inverse;   // p × p, lower
  float* phi;             // of the first row, at the first new column
  std::size_t pitch;
  int rows, p;
  double* fall;  // of the first row
  double* gain;  // p: this tile's part
};

__global__ void __launch_bounds__(kThreads) new_columns(const PanelTile* tiles) {
  __shared__ float values[kPanelRows][kPanel + 1], inverse[kPanel][kPanel + 1];
  __shared__ double gains[kThreads / kPanel][kPanel];
  const PanelTile tile = tiles[blockIdx.x];
  const int thread = static_cast<int>(threadIdx.x), p = tile.p;
  for (int i = thread; i < tile.rows * p; i += kThreads) values[i / p][i % p] = tile.residual[i];
  for (int i = thread; i < p * p; i += kThreads) inverse[i / p][i % p] = tile.inverse[i];
  __syncthreads();
  constexpr int kLanes = kThreads / kPanel, kSteps = kPanelRows / kLanes;
  const int k = thread % kPanel, lane = thread / kPanel;
  float fresh[kSteps];
  double gain = 0;
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    const int row = s * kLanes + lane;
    fresh[s] = 0;
    if (k < p && row < tile.rows) {
      for (int j = 0; j <= k; ++j) fresh[s] = fmaf(values[row][j], inverse[k][j], fresh[s]);
      gain += static_cast<double>(fresh[s]) * fresh[s];
    }
  }
  gains[lane][k] = gain;
  __syncthreads();  // all have read what is now overwritten
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    const int row = s * kLanes + lane;
    if (k < p && row < tile.rows) {
      values[row][k] = fresh[s];
      tile.phi[static_cast<std::size_t>(row) * tile.pitch + k] = fresh[s];
    }
  }
  __syncthreads();
  if (thread < kPanelRows) {
    if (thread < tile.rows) {
      double sum = 0;
      for (int j = 0; j < p; ++j) sum += static_cast<double>(values[thread][j]) * values[thread][j];
      tile.fall[thread] = sum;
    }
  } else if (thread - kPanelRows < p) {
    double sum = 0;
    for (int l = 0; l < kLanes; ++l) sum += gains[l][thread - kPanelRows];
    tile.gain[thread - kPanelRows] = sum;
  }
}

// New columns of a pivot's row, which are known exactly; zeros where `from` is null.
struct PivotRow {
  float* to;
  const float* from;
  int p;
};

__global__ void set_pivot_rows(const PivotRow* rows) {
  const PivotRow row = rows[blockIdx.x];
  const int k = static_cast<int>(threadIdx.x);
  if (k < row.p) row.to[k] = row.from == nullptr ? 0.0f : row.from[k];
}

__global__ void copy_column(const float* phi, std::size_t pitch, std::size_t rows, std::size_t index, float* out) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < rows) out[i] = phi[i * pitch + index];
}

// One block for each row of a group.
__global__ void copy_rows(const float* phi, std::size_t pitch, int rank, const std::int32_t* samples,
                          const std::int32_t* column_of, float* out, std::size_t columns) {
  const std::size_t row = blockIdx.x;
  float* const to = out + static_cast<std::size_t>(samples[row]) * columns;
  for (int k = static_cast<int>(threadIdx.x); k < rank; k += static_cast<int>(blockDim.x))
    to[column_of[k]] = phi[row * pitch + k];
}

// A device array that is filled anew every round.
template <class T>
class Buffer {
 public:
  explicit Buffer(const char* what) : what_(what) {}
  T* room(std::size_t count) {
    if (array_.size() < count) {
      array_ = DeviceArray<T>();
      array_ = roomy_array<T>(count, count + count / 2, what_);
    }
    return array_.data();
  }
  const T* put(const std::vector<T>& values) {
    T* const to = room(values.size());
    copy_to_device(to, values.data(), values.size() * sizeof(T));
    return to;
  }
  std::vector<T> take(std::size_t count) const {
    std::vector<T> values(count);
    array_.download(values.data(), count);
    return values;
  }

 private:
  DeviceArray<T> array_;
  const char* what_;
};

std::vector<std::int32_t> narrow(const std::vector<std::size_t>& values) {
  return std::vector<std::int32_t>(values.begin(), values.end());
}

}  // namespace

struct DeviceCholesky::State {
  struct Group {
    std::vector<std::size_t> members;
    const std::int32_t* samples = nullptr;  // members, on the device
    DeviceArray<float> phi;                 // members × pitch
    std::size_t pitch = 0;
    RowTable table(std::size_t rank) const { return {phi.data(), pitch, static_cast<int>(rank)}; }
  };

  std::shared_ptr<const DeviceKernel> kernel;
  std::vector<Group> groups;
  DeviceArray<std::int32_t> samples;  // of all groups
  DeviceArray<std::int32_t> places;   // 0, 1, 2, … as long as the largest group
  DeviceArray<double> mean;
  double all = 0;

  Buffer<std::int32_t> columns{"a list of pivots"}, column_samples{"a list of pivots"};
  Buffer<float> residual{"columns of the kernel"}, triangles{"a panel"};
  Buffer<double> sums{"sums over a panel"};
  Buffer<ResidualTile> residual_tiles{"a plan of tiles"};
  Buffer<PanelTile> panel_tiles{"a plan of tiles"};
  Buffer<PivotRow> pivot_rows{"a list of pivots"};

  // Tiles of one block of residuals, K being there already.
  static void cut(const Group& group, std::size_t rank, const DeviceBlock& block, const std::int32_t* row_places,
                  const std::int32_t* column_places, std::vector<ResidualTile>& tiles) {
    for (std::size_t row = 0; row < block.row_count; row += kTileRows) {
      for (std::size_t column = 0; column < block.column_count; column += Tile::kColumns) {
        tiles.push_back({group.table(rank), row_places + row, column_places + column, block.rows + row,
                         block.columns + column,
                         static_cast<int>(std::min<std::size_t>(kTileRows, block.row_count - row)),
                         static_cast<int>(std::min<std::size_t>(Tile::kColumns, block.column_count - column)),
                         block.out + row * block.pitch + column, block.pitch});
      }
    }
  }

  void compute(const std::vector<DeviceBlock>& blocks, const std::vector<ResidualTile>& tiles) {
    if (tiles.empty()) return;
    kernel->blocks(blocks);
    const ResidualTile* const device_tiles = residual_tiles.put(tiles);
    CPFM_LAUNCH(subtract_factor, static_cast<unsigned>(tiles.size()), kTileThreads)(device_tiles, mean.data(), all);
    check_launch("residuals of the kernel");
  }
};

DeviceCholesky::DeviceCholesky(std::shared_ptr<const DeviceKernel> kernel,
                               const std::vector<std::vector<std::size_t>>& groups, const std::vector<double>& mean,
                               double all)
    : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.kernel = std::move(kernel);
  const UseDevice use(s.kernel->device());
  std::vector<std::int32_t> samples;
  std::size_t largest = 0;
  for (const auto& members : groups) {
    samples.insert(samples.end(), members.begin(), members.end());
    largest = std::max(largest, members.size());
  }
  s.samples = DeviceArray<std::int32_t>(samples, "the samples' groups");
  std::size_t first = 0;
  for (const auto& members : groups) {
    s.groups.emplace_back();
    s.groups.back().members = members;
    s.groups.back().samples = s.samples.data() + first;
    first += members.size();
  }
  std::vector<std::int32_t> places(largest);
  std::iota(places.begin(), places.end(), 0);
  s.places = DeviceArray<std::int32_t>(places, "the samples' groups");
  s.mean = DeviceArray<double>(mean, "the means of the kernel");
  s.all = all;
}
DeviceCholesky::~DeviceCholesky() = default;

std::size_t DeviceCholesky::make_room(std::size_t group, std::size_t rank, std::size_t needed, std::size_t wanted) {
  State::Group& g = state_->groups[group];
  if (wanted <= g.pitch) return wanted;
  const UseDevice use(state_->kernel->device());
  const auto padded = [](std::size_t columns) { return (columns + 3) / 4 * 4; };
  const std::size_t rows = g.members.size();
  DeviceArray<float> grown = roomy_array<float>(rows * padded(needed), rows * padded(wanted), "the kernel's factor");
  const std::size_t pitch = grown.size() / rows;
  if (rank > 0) {
    check_cuda(cudaMemcpy2D(grown.data(), pitch * sizeof(float), g.phi.data(), g.pitch * sizeof(float),
                            rank * sizeof(float), rows, cudaMemcpyDeviceToDevice),
               "growing the kernel's factor");
  }
  g.phi = std::move(grown);
  g.pitch = pitch;
  return std::min(pitch, wanted);
}

void DeviceCholesky::residual_blocks(std::vector<Residuals>& wanted) {
  State& s = *state_;
  const UseDevice use(s.kernel->device());
  std::vector<std::int32_t> places, samples;
  std::size_t values = 0;
  for (const Residuals& one : wanted) {
    for (const std::size_t place : one.places) {
      places.push_back(static_cast<std::int32_t>(place));
      samples.push_back(static_cast<std::int32_t>(s.groups[one.group].members[place]));
    }
    values += one.places.size() * one.places.size();
  }
  const std::int32_t* const device_places = s.columns.put(places);
  const std::int32_t* const device_samples = s.column_samples.put(samples);
  float* const out = s.residual.room(values);
  std::vector<DeviceBlock> blocks;
  std::vector<ResidualTile> tiles;
  std::size_t first = 0, at = 0;
  for (const Residuals& one : wanted) {
    const std::size_t count = one.places.size();
    const DeviceBlock block{device_samples + first, device_samples + first, count, count, out + at, count};
    blocks.push_back(block);
    State::cut(s.groups[one.group], one.rank, block, device_places + first, device_places + first, tiles);
    first += count;
    at += count * count;
  }
  s.compute(blocks, tiles);
  const std::vector<float> found = s.residual.take(values);
  const float* from = found.data();
  for (Residuals& one : wanted) {
    const std::size_t count = one.places.size() * one.places.size();
    one.block.assign(from, from + count);
    from += count;
  }
}

void DeviceCholesky::extend(std::vector<Panel>& panels) {
  State& s = *state_;
  const UseDevice use(s.kernel->device());
  std::vector<std::int32_t> places, samples;
  std::vector<float> triangles;  // of each panel the triangle, then the inverse
  std::size_t values = 0, rows = 0, parts = 0;
  for (const Panel& panel : panels) {
    const State::Group& group = s.groups[panel.group];
    const std::size_t p = panel.pivots.size();
    CPFM_ASSERT(p > 0 && p <= kLargestPanel && panel.rank + p <= group.pitch, "a panel that does not fit");
    for (const std::size_t place : panel.pivots) {
      places.push_back(static_cast<std::int32_t>(place));
      samples.push_back(static_cast<std::int32_t>(group.members[place]));
    }
    triangles.insert(triangles.end(), panel.triangle.begin(), panel.triangle.end());
    triangles.insert(triangles.end(), panel.inverse.begin(), panel.inverse.end());
    values += group.members.size() * p;
    rows += group.members.size();
    parts += (group.members.size() + kPanelRows - 1) / kPanelRows * p;
  }
  const std::int32_t* const device_places = s.columns.put(places);
  const std::int32_t* const device_samples = s.column_samples.put(samples);
  const float* triangle = s.triangles.put(triangles);
  float* residual = s.residual.room(values);
  double* fall = s.sums.room(rows + parts);
  double* gain = fall + rows;

  std::vector<DeviceBlock> blocks;
  std::vector<ResidualTile> tiles;
  std::vector<PanelTile> panel_tiles;
  std::vector<PivotRow> pivot_rows;
  std::size_t first = 0;
  for (const Panel& panel : panels) {
    State::Group& group = s.groups[panel.group];
    const std::size_t p = panel.pivots.size(), count = group.members.size();
    const DeviceBlock block{group.samples, device_samples + first, count, p, residual, p};
    blocks.push_back(block);
    State::cut(group, panel.rank, block, s.places.data(), device_places + first, tiles);
    float* const fresh = group.phi.data() + panel.rank;
    for (std::size_t row = 0; row < count; row += kPanelRows, gain += p) {
      panel_tiles.push_back({residual + row * p, triangle + p * p, fresh + row * group.pitch, group.pitch,
                             static_cast<int>(std::min<std::size_t>(kPanelRows, count - row)), static_cast<int>(p),
                             fall + row, gain});
    }
    for (const std::size_t place : panel.earlier)
      pivot_rows.push_back({fresh + place * group.pitch, nullptr, static_cast<int>(p)});
    for (std::size_t k = 0; k < p; ++k)
      pivot_rows.push_back({fresh + panel.pivots[k] * group.pitch, triangle + k * p, static_cast<int>(p)});
    first += p;
    residual += count * p;
    triangle += 2 * p * p;
    fall += count;
  }
  s.compute(blocks, tiles);
  const PanelTile* const device_panels = s.panel_tiles.put(panel_tiles);
  CPFM_LAUNCH(new_columns, static_cast<unsigned>(panel_tiles.size()), kThreads)(device_panels);
  check_launch("new columns of the factor");
  const PivotRow* const device_rows = s.pivot_rows.put(pivot_rows);
  CPFM_LAUNCH(set_pivot_rows, static_cast<unsigned>(pivot_rows.size()), kPanel)(device_rows);
  check_launch("the rows of pivots");

  const std::vector<double> sums = s.sums.take(rows + parts);
  const double *from = sums.data(), *part = sums.data() + rows;
  for (Panel& panel : panels) {
    const std::size_t count = s.groups[panel.group].members.size(), p = panel.pivots.size();
    panel.fall.assign(from, from + count);
    from += count;
    panel.gain.assign(p, 0.0);
    for (std::size_t row = 0; row < count; row += kPanelRows, part += p) {
      for (std::size_t k = 0; k < p; ++k) panel.gain[k] += part[k];
    }
  }
}

std::vector<float> DeviceCholesky::column(std::size_t group, std::size_t index) const {
  State& s = *state_;
  const State::Group& g = s.groups[group];
  const UseDevice use(s.kernel->device());
  const std::size_t rows = g.members.size();
  float* const out = s.residual.room(rows);
  CPFM_LAUNCH(copy_column, static_cast<unsigned>((rows + kThreads - 1) / kThreads), kThreads)
  (g.phi.data(), g.pitch, rows, index, out);
  check_launch("a column of the factor");
  return s.residual.take(rows);
}

std::shared_ptr<DeviceArray<float>> DeviceCholesky::merge(std::size_t n, std::size_t columns,
                                                          const std::vector<std::vector<std::size_t>>& column_of) {
  State& s = *state_;
  const UseDevice use(s.kernel->device());
  require_device_memory(4.0 * static_cast<double>(n) * static_cast<double>(columns), "the kernel's factor");
  auto merged = std::make_shared<DeviceArray<float>>(n * columns, "the kernel's factor");
  merged->zero();
  for (std::size_t g = 0; g < s.groups.size(); ++g) {
    State::Group& group = s.groups[g];
    if (!column_of[g].empty()) {
      const std::int32_t* const there = s.columns.put(narrow(column_of[g]));
      CPFM_LAUNCH(copy_rows, static_cast<unsigned>(group.members.size()), kThreads)
      (group.phi.data(), group.pitch, static_cast<int>(column_of[g].size()), group.samples, there, merged->data(),
       columns);
      check_launch("merging the factor");
    }
    group.phi = DeviceArray<float>();
    group.pitch = 0;
  }
  return merged;
}

}  // namespace cpfm
