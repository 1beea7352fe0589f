// K M without K: a block of threads takes 128 rows and goes along some tiles of columns. For each it computes the inner
// products, then, sixteen rows of a warp at a time, the kernel's values, and multiplies these with M at once. Rows meet
// only columns of their group. Sums over pieces of the columns are added in a second pass, in order.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "cpfm/error.hpp"
#include "cuda/check.cuh"
#include "cuda/dot_tile.cuh"
#include "cuda/kernel_matrix.hpp"
#include "cuda/launch.cuh"
#include "cuda/memory.hpp"

namespace cpfm {

namespace {

// The description as the device reads it; passed to kernels by value.
struct KernelProgram {
  struct Factor {
    DeviceFactor::Kind kind;
    int table;
    float rate;
    const float* scalar;
    const std::int32_t* labels;
  };
  struct Term {
    float weight;
    int first, last;  // factors
  };
  int terms;
  Term term[DeviceDescription::kMostTerms];
  Factor factor[DeviceDescription::kMostFactors];
  RowTable table[DeviceDescription::kMostTables];
};

using Kind = DeviceFactor::Kind;
constexpr int kMostColumns = 9;  // of M at a time
// A group's columns are cut into this many pieces, or into more that are not longer than so many tiles. By the size of
// the group alone: the same sums on every device.
constexpr std::size_t kMostPieces = 16, kLongestPiece = 64;
// One launch: tiles times features, a tenth of a second on a fast device, and tasks, whose sums must be kept.
constexpr double kLaunchWork = 4e8;
constexpr std::size_t kLaunchTasks = 8192;

// Products use tiles of 128 × 128; with two tables, which need twice the registers and the shared memory, half as wide.
template <int kTables>
constexpr int kTimesFragments = kTables == 2 ? 2 : 4;
// Blocks are made for panels of at most 64 columns.
constexpr int kBlockFragments = 2;
constexpr std::size_t kBlockColumns = DotTile<kBlockFragments>::kColumns;

// The kernel of sample `row` with eight others. dots[t] are their inner products in table t.
template <int kTables>
__device__ void kernel_values(const KernelProgram& program, int row, const int (&columns)[8],
                              const float (&dots)[kTables < 1 ? 1 : kTables][8], float (&values)[8]) {
#pragma unroll
  for (int e = 0; e < 8; ++e) values[e] = 0;
  for (int t = 0; t < program.terms; ++t) {
    const KernelProgram::Term& term = program.term[t];
    float product[8];
#pragma unroll
    for (int e = 0; e < 8; ++e) product[e] = 1;
    for (int f = term.first; f < term.last; ++f) {
      const KernelProgram::Factor& factor = program.factor[f];
      // A table's number is known at run time only, and registers have no numbers.
      const auto dot = [&](int e) {
        return kTables == 2 && factor.table == 1 ? dots[kTables == 2 ? 1 : 0][e] : dots[0][e];
      };
      const float* const scalar = factor.scalar;
      switch (factor.kind) {
        case Kind::kHeat:
        case Kind::kDistance2: {
          const float mine = scalar[row];
#pragma unroll
          for (int e = 0; e < 8; ++e) {
            const float distance2 = columns[e] == row ? 0.0f : fmaxf(0.0f, mine + scalar[columns[e]] - 2 * dot(e));
            product[e] *= factor.kind == Kind::kHeat ? expf(-distance2 * factor.rate) : distance2;
          }
          break;
        }
        case Kind::kDot:
#pragma unroll
          for (int e = 0; e < 8; ++e) product[e] *= dot(e);
          break;
        case Kind::kCosine: {
          const float mine = scalar[row];
#pragma unroll
          for (int e = 0; e < 8; ++e) product[e] *= columns[e] == row ? 1.0f : dot(e) * (mine * scalar[columns[e]]);
          break;
        }
        case Kind::kTanimoto: {
          const float mine = scalar[row];
#pragma unroll
          for (int e = 0; e < 8; ++e) {
            const float both = dot(e), either = mine + scalar[columns[e]] - both;
            product[e] *= either == 0 ? 1.0f : both / either;
          }
          break;
        }
        case Kind::kLabel: {
          const std::int32_t mine = factor.labels[row];
#pragma unroll
          for (int e = 0; e < 8; ++e) product[e] *= factor.labels[columns[e]] == mine ? 1.0f : 0.0f;
          break;
        }
        case Kind::kAbs:
        case Kind::kNegAbs:
        case Kind::kExp: {
          const float mine = scalar[row];
#pragma unroll
          for (int e = 0; e < 8; ++e) {
            const float distance = fabsf(mine - scalar[columns[e]]);
            product[e] *= factor.kind == Kind::kAbs      ? distance
                          : factor.kind == Kind::kNegAbs ? -distance
                                                         : expf(-distance * factor.rate);
          }
          break;
        }
      }
    }
#pragma unroll
    for (int e = 0; e < 8; ++e) values[e] += product[e] * term.weight;
  }
}

// Calls use(half, row, column, values) for every row of eight values that this thread has in the tile of `memory.rows`
// and `memory.columns`; row and column are places in these. All threads of the block.
template <int kTables, int kFragments, class Use>
__device__ void tile_values(const KernelProgram& program, TileMemory<kFragments, kTables>& memory, const Use& use) {
  using Tile = DotTile<kFragments>;
  Tile tiles[kTables < 1 ? 1 : kTables];
  if (kTables == 0) __syncthreads();  // rows and columns are written
#pragma unroll
  for (int t = 0; t < kTables; ++t) tiles[t].compute(program.table[t], memory.rows, memory.columns, memory.values);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int t = 0; t < kTables; ++t) tiles[t].store(half, memory.scratch(t));
    const int row = Tile::row(half), sample = max(memory.rows[row], 0);  // what -1 yields is not used
#pragma unroll 1
    for (int j = 0; j < kFragments; ++j) {
      const int column = Tile::column(j);
      int columns[8];
#pragma unroll
      for (int e = 0; e < 8; ++e) columns[e] = max(memory.columns[column + e], 0);
      float dots[kTables < 1 ? 1 : kTables][8], values[8];
#pragma unroll
      for (int t = 0; t < kTables; ++t) Tile::read(memory.scratch(t), j, dots[t]);
      kernel_values<kTables>(program, sample, columns, dots, values);
      use(half, row, column, values);
    }
  }
}

// Places in the order of groups: rows that a block adds up, and over which columns.
struct TimesTask {
  std::uint32_t row_begin, row_end, column_begin, column_end;
};

// parts[(task · 128 + row) · kD + t] = Σ over the task's columns of K(row, column) m(column, t). `order` has the sample
// at each place; rows of m are in the order of places.
template <int kTables, int kD>
__global__ void __launch_bounds__(kTileThreads)
    kernel_times_tasks(const __grid_constant__ KernelProgram program, const std::int32_t* order, const TimesTask* tasks,
                       const double* m, double* parts) {
  using Memory = TileMemory<kTimesFragments<kTables>, kTables>;
  constexpr int kColumns = Memory::Tile::kColumns;
  __shared__ Memory memory;
  const TimesTask task = tasks[blockIdx.x];
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kTileRows) {
    const std::uint32_t place = task.row_begin + thread;
    memory.rows[thread] = place < task.row_end ? order[place] : -1;
  }
  double sums[2][kD] = {};
  for (std::uint32_t first = task.column_begin; first < task.column_end; first += kColumns) {
    __syncthreads();  // the last tile's columns are read
    if (thread < kColumns) memory.columns[thread] = first + thread < task.column_end ? order[first + thread] : -1;
    tile_values<kTables, kTimesFragments<kTables>>(
        program, memory, [&](int half, int, int column, const float(&values)[8]) {
#pragma unroll
          for (int e = 0; e < 8; ++e) {
            const std::uint32_t place = first + column + e;
            if (place >= task.column_end) continue;
            const double value = values[e];
            const double* const row = m + static_cast<std::size_t>(place) * kD;
#pragma unroll
            for (int t = 0; t < kD; ++t) sums[half][t] += value * row[t];
          }
        });
  }
  // A row's values were with two neighbouring lanes of two neighbouring warps.
  __syncthreads();
  double* const shared = reinterpret_cast<double*>(memory.values);  // 128 × kD
  static_assert(sizeof(memory.values) >= kTileRows * kD * sizeof(double), "sums do not fit");
  const int warp = thread / 32, lane = thread % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int t = 0; t < kD; ++t) sums[half][t] += __shfl_xor_sync(0xffffffffu, sums[half][t], 1);
  }
  for (int side = 0; side < 2; ++side) {
    if (warp % 2 == side && lane % 2 == 0) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int t = 0; t < kD; ++t) {
          double& to = shared[Memory::Tile::row(half) * kD + t];
          to = side == 0 ? sums[half][t] : to + sums[half][t];
        }
      }
    }
    __syncthreads();
  }
  for (int i = thread; i < kTileRows * kD; i += kTileThreads)
    parts[static_cast<std::size_t>(blockIdx.x) * kTileRows * kD + i] = shared[i];
}

// The parts of one tile of rows: tasks [first, first + count).
struct RowTile {
  std::uint32_t row_begin, row_end, first, count;
};

template <int kD>
__global__ void add_times_parts(const RowTile* tiles, const double* parts, double* out) {
  const RowTile tile = tiles[blockIdx.x];
  const int values = static_cast<int>(tile.row_end - tile.row_begin) * kD;
  for (int i = static_cast<int>(threadIdx.x); i < values; i += static_cast<int>(blockDim.x)) {
    double sum = 0;
    for (std::uint32_t task = tile.first; task < tile.first + tile.count; ++task)
      sum += parts[static_cast<std::size_t>(task) * kTileRows * kD + i];
    out[static_cast<std::size_t>(tile.row_begin) * kD + i] = sum;
  }
}

// At most kTileRows × kBlockColumns of a DeviceBlock.
template <int kTables>
__global__ void __launch_bounds__(kTileThreads)
    kernel_block_tiles(const __grid_constant__ KernelProgram program, const DeviceBlock* tiles) {
  using Memory = TileMemory<kBlockFragments, kTables>;
  __shared__ Memory memory;
  const DeviceBlock tile = tiles[blockIdx.x];
  const int thread = static_cast<int>(threadIdx.x);
  const int row_count = static_cast<int>(tile.row_count), column_count = static_cast<int>(tile.column_count);
  if (thread < kTileRows) memory.rows[thread] = thread < row_count ? tile.rows[thread] : -1;
  if (thread < Memory::Tile::kColumns) memory.columns[thread] = thread < column_count ? tile.columns[thread] : -1;
  tile_values<kTables, kBlockFragments>(program, memory, [&](int, int row, int column, const float(&values)[8]) {
    if (row >= row_count) return;
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      if (column + e < column_count) tile.out[static_cast<std::size_t>(row) * tile.pitch + column + e] = values[e];
    }
  });
}

struct Launch {
  const KernelProgram& program;
  const std::int32_t* order;
  const TimesTask* tasks;
  std::size_t task_count;
  const RowTile* tiles;
  std::size_t tile_count;
  const double* m;
  double* parts;
  double* out;
};

template <int kTables, int kD>
void launch_times(const Launch& l) {
  CPFM_LAUNCH((kernel_times_tasks<kTables, kD>), static_cast<unsigned>(l.task_count), kTileThreads)
  (l.program, l.order, l.tasks, l.m, l.parts);
  check_launch("a kernel times a matrix");
  CPFM_LAUNCH(add_times_parts<kD>, static_cast<unsigned>(l.tile_count), kTileThreads)(l.tiles, l.parts, l.out);
  check_launch("adding parts");
}

// M is padded with zeros to one of these widths.
constexpr std::size_t kWidths[] = {1, 2, 3, 5, 9};
template <int kTables>
void launch_times(const Launch& l, std::size_t width) {
  switch (width) {
    case 1:
      return launch_times<kTables, 1>(l);
    case 2:
      return launch_times<kTables, 2>(l);
    case 3:
      return launch_times<kTables, 3>(l);
    case 5:
      return launch_times<kTables, 5>(l);
    default:
      return launch_times<kTables, 9>(l);
  }
}

std::size_t padded(std::size_t dim) { return (dim + 3) / 4 * 4; }

// What every kernel on (some of) the same samples reads.
struct Tables {
  KernelProgram program{};
  int tables = 0;
  std::size_t n = 0;
  double depth = 0;  // of all tables together
  std::vector<DeviceArray<float>> values, scalars;
  std::vector<DeviceArray<std::int32_t>> labels;

  explicit Tables(const DeviceDescription& description) : n(description.n) {
    double bytes = 0;
    for (const auto& table : description.tables)
      bytes += 4.0 * static_cast<double>(n) * static_cast<double>(padded(table.dim));
    bytes += 4.0 * static_cast<double>(n) * static_cast<double>(description.scalars.size() + description.labels.size());
    require_device_memory(bytes, "the samples");
    CPFM_ASSERT(description.tables.size() <= DeviceDescription::kMostTables, "too many tables");
    CPFM_ASSERT(description.terms.size() <= DeviceDescription::kMostTerms, "too many terms");
    for (const auto& table : description.tables) {
      const std::size_t pitch = padded(table.dim), width = table.dim * sizeof(float);
      DeviceArray<float> copy(n * pitch, "the samples");
      if (pitch != table.dim) copy.zero();
      check_cuda(
          cudaMemcpy2D(copy.data(), pitch * sizeof(float), table.values, width, width, n, cudaMemcpyHostToDevice),
          "copying the samples");
      program.table[tables++] = {copy.data(), pitch, static_cast<int>(table.dim)};
      depth += static_cast<double>(table.dim);
      values.push_back(std::move(copy));
    }
    for (const auto& one : description.scalars) scalars.emplace_back(one, "numbers of the samples");
    for (const auto& one : description.labels) labels.emplace_back(one, "labels");
    int factors = 0;
    for (const DeviceTerm& term : description.terms) {
      KernelProgram::Term& to = program.term[program.terms++];
      to.weight = static_cast<float>(term.weight);
      to.first = factors;
      for (const DeviceFactor& factor : term.factors) {
        CPFM_ASSERT(factors < static_cast<int>(DeviceDescription::kMostFactors), "too many factors");
        program.factor[factors++] = {factor.kind, static_cast<int>(factor.table), factor.rate,
                                     factor.scalar < scalars.size() ? scalars[factor.scalar].data() : nullptr,
                                     factor.labels < labels.size() ? labels[factor.labels].data() : nullptr};
      }
      to.last = factors;
    }
  }
};

}  // namespace

struct DeviceKernel::State {
  Device device;
  std::shared_ptr<const Tables> shared;
  std::vector<std::int64_t> group_of;     // of each sample of this kernel; empty: none
  std::vector<std::size_t> sample;        // of the whole kernel, for each of this kernel; empty: all of them
  std::vector<std::uint32_t> at;          // sample of this kernel at each place
  std::vector<std::uint32_t> group_ends;  // places
  DeviceArray<std::int32_t> order;        // sample of the whole kernel at each place
  DeviceArray<DeviceBlock> mutable block_tiles;

  std::size_t size() const { return at.size(); }

  // Groups one after the other, by their first sample; within a group the order of samples.
  void arrange(std::size_t n) {
    std::vector<std::vector<std::uint32_t>> members;
    if (group_of.empty()) {
      members.emplace_back(n);
      for (std::size_t i = 0; i < n; ++i) members[0][i] = static_cast<std::uint32_t>(i);
    } else {
      std::unordered_map<std::int64_t, std::size_t> place;
      for (std::size_t i = 0; i < n; ++i) {
        const auto found = place.try_emplace(group_of[i], members.size());
        if (found.second) members.emplace_back();
        members[found.first->second].push_back(static_cast<std::uint32_t>(i));
      }
    }
    std::vector<std::int32_t> there;
    for (const auto& group : members) {
      at.insert(at.end(), group.begin(), group.end());
      group_ends.push_back(static_cast<std::uint32_t>(at.size()));
    }
    for (const std::uint32_t i : at) there.push_back(static_cast<std::int32_t>(sample.empty() ? i : sample[i]));
    order = DeviceArray<std::int32_t>(there, "the order of the samples");
  }
};

DeviceKernel::DeviceKernel(Device device, const DeviceDescription& description) : state_(std::make_unique<State>()) {
  CPFM_ASSERT(description.n > 0 && description.n <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()),
              "too many samples for a device");
  const UseDevice use(device);
  state_->device = device;
  state_->shared = std::make_shared<Tables>(description);
  state_->group_of = description.groups;
  state_->arrange(description.n);
}

DeviceKernel::DeviceKernel(const DeviceKernel& whole, const std::vector<std::size_t>& rows)
    : state_(std::make_unique<State>()) {
  const UseDevice use(whole.state_->device);
  state_->device = whole.state_->device;
  state_->shared = whole.state_->shared;
  for (const std::size_t row : rows) {
    CPFM_ASSERT(row < whole.size(), "there is no such sample");
    state_->sample.push_back(whole.state_->sample.empty() ? row : whole.state_->sample[row]);
    if (!whole.state_->group_of.empty()) state_->group_of.push_back(whole.state_->group_of[row]);
  }
  state_->arrange(rows.size());
}

DeviceKernel::~DeviceKernel() = default;
Device DeviceKernel::device() const { return state_->device; }
std::size_t DeviceKernel::size() const { return state_->size(); }

void DeviceKernel::times(const double* m, std::size_t d, double* out,
                         const std::function<void(double)>& between) const {
  const State& s = *state_;
  const UseDevice use(s.device);
  const std::size_t n = s.size();
  const std::size_t tile_columns =
      s.shared->tables == 2 ? DotTile<kTimesFragments<2>>::kColumns : DotTile<kTimesFragments<1>>::kColumns;

  // The work, by tiles of rows; a launch takes some of them.
  std::vector<TimesTask> tasks;
  std::vector<RowTile> tiles;
  std::vector<std::size_t> launch_ends;  // tiles
  const double tile_work = s.shared->depth + 64;
  double work = 0;
  std::size_t launched = 0;  // tasks
  for (std::size_t g = 0; g < s.group_ends.size(); ++g) {
    const std::size_t begin = g == 0 ? 0 : s.group_ends[g - 1], end = s.group_ends[g];
    const std::size_t across = (end - begin + tile_columns - 1) / tile_columns;
    const std::size_t piece = std::min((across + kMostPieces - 1) / kMostPieces, kLongestPiece) * tile_columns;
    for (std::size_t row = begin; row < end; row += kTileRows) {
      const std::uint32_t row_end = static_cast<std::uint32_t>(std::min(row + kTileRows, end));
      RowTile tile{static_cast<std::uint32_t>(row), row_end, static_cast<std::uint32_t>(tasks.size()), 0};
      for (std::size_t column = begin; column < end; column += piece, ++tile.count) {
        tasks.push_back({tile.row_begin, row_end, static_cast<std::uint32_t>(column),
                         static_cast<std::uint32_t>(std::min(column + piece, end))});
      }
      tiles.push_back(tile);
      work += tile_work * static_cast<double>(across);
      if (work >= kLaunchWork || tasks.size() - launched >= kLaunchTasks) {
        launch_ends.push_back(tiles.size());
        launched = tasks.size();
        work = 0;
      }
    }
  }
  if (launch_ends.empty() || launch_ends.back() < tiles.size()) launch_ends.push_back(tiles.size());
  // Parts are counted from the first task of a launch.
  std::size_t most_tasks = 0;
  std::vector<std::size_t> task_begin;
  for (std::size_t launch = 0; launch < launch_ends.size(); ++launch) {
    const std::size_t first = launch == 0 ? 0 : launch_ends[launch - 1], last = launch_ends[launch];
    const std::uint32_t base = tiles[first].first;
    task_begin.push_back(base);
    for (std::size_t t = first; t < last; ++t) tiles[t].first -= base;
    most_tasks = std::max<std::size_t>(most_tasks, tiles[last - 1].first + tiles[last - 1].count);
  }
  task_begin.push_back(tasks.size());

  const std::size_t most_width = *std::lower_bound(std::begin(kWidths), std::end(kWidths) - 1, d);
  require_device_memory(8.0 * static_cast<double>(most_width) *
                            (2 * static_cast<double>(n) + static_cast<double>(most_tasks) * kTileRows),
                        "a product with the kernel");
  const DeviceArray<TimesTask> device_tasks(tasks, "a plan of tiles");
  const DeviceArray<RowTile> device_tiles(tiles, "a plan of tiles");
  DeviceArray<double> device_m(n * most_width, "a matrix to multiply with");
  DeviceArray<double> device_out(n * most_width, "a product with the kernel");
  DeviceArray<double> parts(most_tasks * kTileRows * most_width, "a product with the kernel");
  std::vector<double> host;
  for (std::size_t first = 0; first < d; first += kMostColumns) {
    const std::size_t count = std::min<std::size_t>(kMostColumns, d - first);
    const std::size_t width = *std::lower_bound(std::begin(kWidths), std::end(kWidths) - 1, count);
    host.assign(n * width, 0.0);
    for (std::size_t place = 0; place < n; ++place)
      std::copy_n(m + s.at[place] * d + first, count, host.data() + place * width);
    device_m.upload(host.data(), host.size());
    for (std::size_t launch = 0; launch < launch_ends.size(); ++launch) {
      const std::size_t tile_begin = launch == 0 ? 0 : launch_ends[launch - 1];
      const Launch l{s.shared->program,
                     s.order.data(),
                     device_tasks.data() + task_begin[launch],
                     task_begin[launch + 1] - task_begin[launch],
                     device_tiles.data() + tile_begin,
                     launch_ends[launch] - tile_begin,
                     device_m.data(),
                     parts.data(),
                     device_out.data()};
      switch (s.shared->tables) {
        case 0:
          launch_times<0>(l, width);
          break;
        case 1:
          launch_times<1>(l, width);
          break;
        default:
          launch_times<2>(l, width);
      }
      if (!between) continue;
      check_cuda(cudaStreamSynchronize(nullptr), "a kernel times a matrix");
      between((static_cast<double>(first) +
               static_cast<double>(count) * static_cast<double>(launch + 1) / static_cast<double>(launch_ends.size())) /
              static_cast<double>(d));
    }
    device_out.download(host.data(), host.size());
    for (std::size_t place = 0; place < n; ++place)
      std::copy_n(host.data() + place * width, count, out + s.at[place] * d + first);
  }
}

void DeviceKernel::blocks(const std::vector<DeviceBlock>& blocks) const {
  State& s = *state_;
  const UseDevice use(s.device);
  std::vector<DeviceBlock> tiles;
  for (const DeviceBlock& block : blocks) {
    for (std::size_t row = 0; row < block.row_count; row += kTileRows) {
      for (std::size_t column = 0; column < block.column_count; column += kBlockColumns) {
        tiles.push_back({block.rows + row, block.columns + column,
                         std::min<std::size_t>(kTileRows, block.row_count - row),
                         std::min(kBlockColumns, block.column_count - column), block.out + row * block.pitch + column,
                         block.pitch});
      }
    }
  }
  if (tiles.empty()) return;
  if (s.block_tiles.size() < tiles.size()) {
    s.block_tiles = DeviceArray<DeviceBlock>();
    s.block_tiles = DeviceArray<DeviceBlock>(tiles.size() + tiles.size() / 2, "a plan of tiles");
  }
  s.block_tiles.upload(tiles.data(), tiles.size());  // waits for blocks that are still read
  const unsigned count = static_cast<unsigned>(tiles.size());
  switch (s.shared->tables) {
    case 0:
      CPFM_LAUNCH(kernel_block_tiles<0>, count, kTileThreads)(s.shared->program, s.block_tiles.data());
      break;
    case 1:
      CPFM_LAUNCH(kernel_block_tiles<1>, count, kTileThreads)(s.shared->program, s.block_tiles.data());
      break;
    default:
      CPFM_LAUNCH(kernel_block_tiles<2>, count, kTileThreads)(s.shared->program, s.block_tiles.data());
  }
  check_launch("a block of the kernel");
}

}  // namespace cpfm
