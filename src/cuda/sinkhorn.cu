#include <algorithm>
#include <cmath>
#include <vector>

#include "cuda/check.cuh"
#include "cuda/launch.cuh"
#include "cuda/memory.hpp"
#include "cuda/pair_runs.cuh"
#include "cuda/sinkhorn.hpp"

namespace cpfm {
namespace {

constexpr int kIterations = 8;                        // of a captured graph
constexpr double kSmallest = 1e-30, kLargest = 1e30;  // sums outside are computed again, safely

struct BlockTotals {
  double error, gap, dropped;
  unsigned long long pairs, rescued;
};

// What lives on the device across half-iterations.
struct State {
  InnerControl control;
  BlockTotals last;  // of the last half-iteration
  unsigned long long half_iterations, pairs, rescued;
  double column_gap;  // before the last update of the columns
  unsigned arrived;   // blocks that are done
};

struct PairArguments {
  SideView source, target;
  int dim;
  int splits;  // blocks that share one run of targets; block c takes parts c, c + splits, …
  bool truncate;
  double threshold;  // parts whose every exponent is below are left out
  double* partial;   // splits × (1 or dim + 2) × padded targets
  double* dropped;   // target runs × splits
  unsigned* kept;    // likewise: parts of the source computed
  const State* state;
  bool controlled;  // stop when state->control says so
};

// Whether any pair of a run of targets and a part of the source may count; else adds what they hold at most to
// `dropped`.
__device__ inline bool may_count(const PairArguments& a, unsigned run, unsigned part, double& dropped) {
  double left_out = 0;
  for (unsigned t = run * kParts; t < (run + 1) * kParts; ++t) {
    const double exponent = largest_exponent(a.target, t, a.source, part, a.dim);
    if (!(exponent < a.threshold)) return true;
    left_out += static_cast<double>(points_in(a.target, t)) * points_in(a.source, part) * exp2(exponent + 1);
  }
  dropped += left_out;
  return false;
}

// One block: a run of targets, R of them to a thread, against its share of the source's parts. D = dim + 1.
template <class T, int D, int R, bool kValues>
__global__ void __launch_bounds__(kRun / R) pair_sums(const PairArguments a) {
  if (a.controlled && a.state->control.stop) return;
  constexpr int kThreads = kRun / R, kSums = kValues ? D + 1 : 1;
  using P = Point<T, D>;
  __shared__ P tile[kRun];  // kParts parts of the source
  __shared__ unsigned list[kThreads + kParts], warp_count[(kThreads + 31) / 32];
  __shared__ double scratch[kThreads];

  const unsigned run = blockIdx.x, split = blockIdx.y, thread = threadIdx.x;
  P target[R];
#pragma unroll
  for (int r = 0; r < R; ++r)
    target[r] = static_cast<const P*>(a.target.points)[static_cast<std::size_t>(run) * kRun + r * kThreads + thread];
  double total[R][kSums];
#pragma unroll
  for (int r = 0; r < R; ++r) {
#pragma unroll
    for (int k = 0; k < kSums; ++k) total[r][k] = 0;
  }
  // The parts that list[begin…] names, at most kParts of them, against the targets.
  const auto add_parts = [&](unsigned begin, unsigned count) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const unsigned place = r * kThreads + thread, which = place / kPart;
      if (which < count) {
        tile[place] = static_cast<const P*>(
            a.source.points)[static_cast<std::size_t>(list[begin + which]) * kPart + place % kPart];
      } else {
        P nothing = {};
        nothing.v[D] = static_cast<T>(kVanishing);
        tile[place] = nothing;
      }
    }
    __syncthreads();
    T sum[R][kSums];
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int k = 0; k < kSums; ++k) sum[r][k] = 0;
    }
#pragma unroll 4
    for (int s = 0; s < kRun; ++s) {
      const P source = tile[s];
#pragma unroll
      for (int r = 0; r < R; ++r) {
        T e = target[r].v[D] + source.v[D];
#pragma unroll
        for (int k = 0; k < D; ++k) e = fma(target[r].v[k], source.v[k], e);
        e = exp2_of(e);
        sum[r][0] += e;
        if constexpr (kValues) {
#pragma unroll
          for (int k = 0; k < D; ++k) sum[r][k + 1] = fma(e, source.v[k], sum[r][k + 1]);
        }
      }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int k = 0; k < kSums; ++k) total[r][k] += static_cast<double>(sum[r][k]);
    }
    __syncthreads();  // the tile is overwritten next
  };

  double dropped = 0;
  unsigned kept = 0, waiting = 0;  // parts on the list, from its beginning
  const unsigned step = static_cast<unsigned>(a.splits), parts = a.source.runs * kParts;
  for (unsigned first = split; first < parts; first += step * kThreads) {
    // Which of the next parts are needed: one thread looks at each, and the list keeps their order.
    const unsigned mine = first + step * thread;
    const bool needed = mine < parts && (!a.truncate || may_count(a, run, mine, dropped));
    const unsigned ballot = __ballot_sync(0xFFFFFFFFu, needed);
    if (thread % 32 == 0) warp_count[thread / 32] = __popc(ballot);
    __syncthreads();
    unsigned before = waiting, count = waiting;
    for (unsigned w = 0; w < (kThreads + 31) / 32; ++w) {
      if (w < thread / 32) before += warp_count[w];
      count += warp_count[w];
    }
    if (needed) list[before + __popc(ballot & ((1u << thread % 32) - 1))] = mine;
    __syncthreads();
    kept += count - waiting;
    const unsigned whole = count / kParts * kParts;
    for (unsigned begin = 0; begin < whole; begin += kParts) add_parts(begin, kParts);
    // What does not fill a tile waits for the next.
    waiting = count - whole;
    const unsigned carried = thread < waiting ? list[whole + thread] : 0;
    __syncthreads();
    if (thread < waiting) list[thread] = carried;
  }
  __syncthreads();
  if (waiting > 0) add_parts(0, waiting);

  const std::size_t stride = static_cast<std::size_t>(a.target.runs) * kRun;
#pragma unroll
  for (int r = 0; r < R; ++r) {
#pragma unroll
    for (int k = 0; k < kSums; ++k)
      a.partial[(static_cast<std::size_t>(split) * kSums + k) * stride + static_cast<std::size_t>(run) * kRun +
                r * kThreads + thread] = total[r][k];
  }
  dropped = block_reduce(dropped, scratch, Plus());
  if (thread == 0) {
    a.dropped[static_cast<std::size_t>(run) * a.splits + split] = dropped;
    a.kept[static_cast<std::size_t>(run) * a.splits + split] = kept;
  }
}

struct FinishArguments {
  SideView source, target;
  int dims;          // dim + 1
  int splits, sums;  // as pair_sums left them: sums is 1 or dims + 1
  const double* partial;
  const double* dropped;
  const unsigned* kept;
  double* moments;  // target count × dims, in the order given; null without values
  BlockTotals* blocks;
  State* state;
  bool on_rows, controlled;
  double relaxation;  // where it is not controlled
};

// log2 Σ_s 2^(pot_s + <a_t, b_s>) of one target by the safe two-pass form, in double, by the whole block.
template <class T>
__device__ double safe_log2_sum(const FinishArguments& a, std::uint32_t at, double* scratch) {
  const int width = slots<T>(a.dims);
  const T* const target = static_cast<const T*>(a.target.points) + static_cast<std::size_t>(at) * width;
  const auto exponent = [&](std::uint32_t s) {
    const T* const source = static_cast<const T*>(a.source.points) + static_cast<std::size_t>(s) * width;
    double e = static_cast<double>(source[a.dims]);
    for (int k = 0; k < a.dims; ++k) e += static_cast<double>(target[k]) * static_cast<double>(source[k]);
    return e;
  };
  double largest = -INFINITY;
  for (std::uint32_t s = threadIdx.x; s < a.source.count; s += blockDim.x) largest = fmax(largest, exponent(s));
  largest = block_reduce(largest, scratch, Larger());
  double sum = 0;
  for (std::uint32_t s = threadIdx.x; s < a.source.count; s += blockDim.x) sum += exp2(exponent(s) - largest);
  sum = block_reduce(sum, scratch, Plus());
  return largest + log2(sum);
}

__device__ inline BlockTotals add(const BlockTotals& a, const BlockTotals& b) {
  return {a.error + b.error, a.gap + b.gap, a.dropped + b.dropped, a.pairs + b.pairs, a.rescued + b.rescued};
}

// Adds up the shares of the sums, moves the potentials and, in the block that comes last, tells the state.
template <class T>
__global__ void __launch_bounds__(kRun) finish(const FinishArguments a) {
  if (a.controlled && a.state->control.stop) return;
  __shared__ double scratch[kRun];
  __shared__ bool lost[kRun];
  __shared__ BlockTotals totals[kRun];
  __shared__ bool is_last;

  const unsigned run = blockIdx.x, thread = threadIdx.x;
  const std::uint32_t at = run * kRun + thread;
  const bool valid = at < a.target.count;
  const std::size_t stride = static_cast<std::size_t>(a.target.runs) * kRun;
  const InnerControl& control = a.state->control;
  const double relaxation = !a.controlled ? a.relaxation : a.on_rows ? control.row_relaxation : control.relaxation;
  const std::uint32_t i = valid ? a.target.order[at] : 0;
  const double mass = valid ? a.target.mass[i] : 0;
  double potential = valid ? a.target.potential[i] : 0;
  BlockTotals mine{0, 0, 0, 0, 0};
  bool out_of_range = false;
  if (valid) {
    double sum = 0;
    for (int c = 0; c < a.splits; ++c) sum += a.partial[static_cast<std::size_t>(c) * a.sums * stride + at];
    if (sum > kSmallest && sum < kLargest) {
      mine.error = fabs(sum - mass);
      mine.gap = (sum - mass) * potential;
      potential += relaxation * log2(mass / sum);
      for (int k = 0; a.moments != nullptr && k < a.dims; ++k) {
        double value = 0;
        for (int c = 0; c < a.splits; ++c)
          value += a.partial[(static_cast<std::size_t>(c) * a.sums + k + 1) * stride + at];
        a.moments[static_cast<std::size_t>(i) * a.dims + k] = value * (mass / sum);
      }
    } else {
      mine.error = mass;
      mine.rescued = 1;
      out_of_range = true;
    }
  }
  lost[thread] = out_of_range;
  if (__syncthreads_or(out_of_range)) {
    for (unsigned t = 0; t < kRun; ++t) {
      if (!lost[t]) continue;
      const double log_sum = safe_log2_sum<T>(a, run * kRun + t, scratch);
      if (t == thread) potential = log2(mass) - log_sum;
    }
  }
  if (valid) {
    a.target.potential[i] = potential;
    static_cast<T*>(a.target.points)[static_cast<std::size_t>(at) * slots<T>(a.dims) + a.dims] =
        static_cast<T>(potential);
  }
  const double largest = part_largest(valid ? potential + a.target.shift[at] : -INFINITY, scratch);
  if (thread % kPart == 0) a.target.bounds.potential[run * kParts + thread / kPart] = largest;

  // Shares of the run: one thread each, then a fixed tree.
  for (int c = static_cast<int>(thread); c < a.splits; c += kRun) {
    const std::size_t share = static_cast<std::size_t>(run) * a.splits + c;
    mine.dropped += a.dropped[share];
    mine.pairs += static_cast<unsigned long long>(a.kept[share]) * kRun * kPart;
  }
  const auto reduce = [&](BlockTotals value) {
    totals[thread] = value;
    __syncthreads();
    for (unsigned half = kRun / 2; half > 0; half /= 2) {
      if (thread < half) totals[thread] = add(totals[thread], totals[thread + half]);
      __syncthreads();
    }
    return totals[0];
  };
  const BlockTotals of_block = reduce(mine);
  if (thread == 0) {
    a.blocks[run] = of_block;
    __threadfence();
    is_last = atomicAdd(&a.state->arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  BlockTotals sum{0, 0, 0, 0, 0};
  for (unsigned b = thread; b < gridDim.x; b += kRun) {
    const volatile BlockTotals& block = a.blocks[b];
    sum = add(sum, BlockTotals{block.error, block.gap, block.dropped, block.pairs, block.rescued});
  }
  const BlockTotals all = reduce(sum);
  if (thread != 0) return;
  State& state = *a.state;
  state.arrived = 0;
  state.last = all;
  ++state.half_iterations;
  state.pairs += all.pairs;
  state.rescued += all.rescued;
  if (!a.on_rows) state.column_gap = all.gap;
  if (!a.controlled) return;
  if (a.on_rows)
    state.control.after_rows();
  else
    state.control.after_columns(all.error);
}

// Everything below is done once per cost.

__global__ void rescale_potentials(double* potential, const double* mass, std::uint32_t count, double factor) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const double own = log2(mass[i]);
  potential[i] = own + (potential[i] - own) * factor;
}

using PairKernel = void (*)(PairArguments);
struct PairLaunch {
  PairKernel kernel;
  unsigned threads;
};

template <class T, int D>
PairLaunch pair_kernel(bool values) {
  // Sums alone are bound by the special-function units when the loads of a source serve several targets.
  if constexpr (sizeof(T) == 8) {
    return values ? PairLaunch{&pair_sums<T, D, 1, true>, kRun} : PairLaunch{&pair_sums<T, D, 1, false>, kRun};
  } else {
    return values ? PairLaunch{&pair_sums<T, D, 2, true>, kRun / 2} : PairLaunch{&pair_sums<T, D, 4, false>, kRun / 4};
  }
}

template <class T>
PairLaunch pair_kernel(int dims, bool values) {
  PairLaunch chosen{};
  with_dims(dims, [&](auto d) { chosen = pair_kernel<T, decltype(d)::value>(values); });
  return chosen;
}

}  // namespace

struct DeviceSinkhorn::Impl {
  Device device;
  int dim, processors = 1;
  double drop, threshold, epsilon = 0;
  bool in_double = false;
  cudaStream_t stream = nullptr;
  cudaGraphExec_t graph = nullptr;
  bool graph_in_double = false;
  State* shown = nullptr;  // pinned: what the host sees of the state
  Side row, column;
  DeviceArray<double> w, p, y, partial, dropped, moments;
  DeviceArray<unsigned> kept;
  DeviceArray<BlockTotals> blocks;
  DeviceArray<State> state;
  CurveOrder curve;
  int row_splits = 1, column_splits = 1;  // of the sums that move rows, and columns

  Impl(Device chosen, const Problem& problem) : device(chosen), dim(problem.dim), drop(problem.drop) {
    const UseDevice use(device);
    const std::size_t n = problem.rows, m = problem.columns, d = static_cast<std::size_t>(dim);
    // If every pair left out is below this, all of them together are below `drop`. One bit is kept for the rounding of
    // the exponents in float.
    threshold =
        drop > 0 ? std::log2(drop) - std::log2(static_cast<double>(n)) - std::log2(static_cast<double>(m)) - 1 : 0;
    check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device.cuda), "the device");
    row = Side(n, dim, true, problem.row_mass);
    column = Side(m, dim, false, problem.column_mass);
    w = DeviceArray<double>(n, "the cost");
    p = DeviceArray<double>(n * d, "the cost");
    y = DeviceArray<double>(m * d, "the latent points");
    y.upload(problem.y, m * d);
    moments = DeviceArray<double>(n * (d + 1), "the moments of the plan");
    row_splits = choose_splits(row.view.runs, column.view.runs);
    column_splits = choose_splits(column.view.runs, row.view.runs);
    const std::size_t sums = std::max(row.view.runs * static_cast<std::size_t>(row_splits) * (d + 2),
                                      column.view.runs * static_cast<std::size_t>(column_splits));
    const std::size_t shares = std::max(row.view.runs * static_cast<std::size_t>(row_splits),
                                        column.view.runs * static_cast<std::size_t>(column_splits));
    partial = DeviceArray<double>(sums * kRun, "sums over pairs");
    dropped = DeviceArray<double>(shares, "sums over pairs");
    kept = DeviceArray<unsigned>(shares, "sums over pairs");
    blocks = DeviceArray<BlockTotals>(std::max(row.view.runs, column.view.runs), "sums over pairs");
    state = DeviceArray<State>(1, "the state");
    if (drop > 0) curve = CurveOrder(std::max(n, m), dim);
    // The set-up ran on the default stream; this one does not wait for it.
    check_cuda(cudaDeviceSynchronize(), "setting up");
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
    check_cuda(cudaMallocHost(&shown, sizeof(State)), "pinned memory");
    *shown = State{};
    push_state();
    if (drop > 0) curve.sort(column, cost(), stream);
    synchronize();
  }

  ~Impl() {
    int before = 0;
    cudaGetDevice(&before);
    cudaSetDevice(device.cuda);
    if (stream != nullptr) cudaStreamSynchronize(stream);
    if (graph != nullptr) cudaGraphExecDestroy(graph);
    if (shown != nullptr) cudaFreeHost(shown);
    if (stream != nullptr) cudaStreamDestroy(stream);
    cudaSetDevice(before);
  }

  // Enough blocks to fill the device several times over, while each still has a few runs to go through.
  int choose_splits(std::uint32_t target_runs, std::uint32_t source_runs) const {
    constexpr std::size_t kBlocksPerProcessor = 16;
    constexpr std::uint32_t kFewest = 2;
    const std::size_t wanted =
        (kBlocksPerProcessor * static_cast<std::size_t>(processors) + target_runs - 1) / target_runs;
    const std::size_t most = std::max<std::uint32_t>(1, source_runs / kFewest);
    // Their sums take memory; where it is short, fewer share it.
    const double one = 8.0 * kRun * target_runs * (dim + 2);
    const double fitting = 0.25 * static_cast<double>(device_memory().free) / one;
    return static_cast<int>(std::clamp<double>(static_cast<double>(std::min(wanted, most)), 1, std::max(1.0, fitting)));
  }

  void synchronize() { check_cuda(cudaStreamSynchronize(stream), "Sinkhorn on the device"); }
  void push_state() {
    check_cuda(cudaMemcpyAsync(state.data(), shown, sizeof(State), cudaMemcpyHostToDevice, stream), "the state");
  }
  void pull_state() {
    check_cuda(cudaMemcpyAsync(shown, state.data(), sizeof(State), cudaMemcpyDeviceToHost, stream), "the state");
    synchronize();
  }
  CostView cost() const {
    return {w.data(), p.data(), y.data(), epsilon > 0 ? 1.0 / (epsilon * 0.69314718055994530942) : 0.0, dim};
  }

  void refresh(Side& side) {
    if (in_double)
      CPFM_LAUNCH(fill_points<double>, side.view.runs, kRun, 0, stream)(side.view, cost());
    else
      CPFM_LAUNCH(fill_points<float>, side.view.runs, kRun, 0, stream)(side.view, cost());
    check_launch("the points");
    CPFM_LAUNCH(bound_runs, side.view.runs, kRun, 0, stream)(side.view, cost());
    check_launch("the bounds");
  }

  void set_cost(const double* new_w, const double* new_p, double new_epsilon, double rescale, bool double_precision) {
    const std::size_t n = row.view.count;
    in_double = double_precision;
    epsilon = new_epsilon;
    check_cuda(cudaMemcpyAsync(w.data(), new_w, n * sizeof(double), cudaMemcpyHostToDevice, stream), "the cost");
    check_cuda(cudaMemcpyAsync(p.data(), new_p, n * static_cast<std::size_t>(dim) * sizeof(double),
                               cudaMemcpyHostToDevice, stream),
               "the cost");
    if (rescale != 1) {
      for (Side* side : {&row, &column}) {
        CPFM_LAUNCH(rescale_potentials, blocks_for(side->view.count), kRun, 0, stream)
        (side->potential.data(), side->mass.data(), side->view.count, rescale);
        check_launch("the potentials");
      }
    }
    if (drop > 0) curve.sort(row, cost(), stream);
    refresh(row);
    refresh(column);
    synchronize();  // what was given may go away
  }

  // One half-iteration.
  void launch(bool on_rows, bool controlled, double relaxation, bool values) {
    const Side& target = on_rows ? row : column;
    const Side& source = on_rows ? column : row;
    const int splits = on_rows ? row_splits : column_splits;
    const PairLaunch pairs = in_double ? pair_kernel<double>(dim + 1, values) : pair_kernel<float>(dim + 1, values);
    const PairArguments sums{source.view,    target.view,    dim,         splits,       drop > 0,  threshold,
                             partial.data(), dropped.data(), kept.data(), state.data(), controlled};
    CPFM_LAUNCH(pairs.kernel, dim3(target.view.runs, static_cast<unsigned>(splits)), pairs.threads, 0, stream)(sums);
    check_launch("sums over pairs");
    const FinishArguments end{source.view,
                              target.view,
                              dim + 1,
                              splits,
                              values ? dim + 2 : 1,
                              partial.data(),
                              dropped.data(),
                              kept.data(),
                              values ? moments.data() : nullptr,
                              blocks.data(),
                              state.data(),
                              on_rows,
                              controlled,
                              relaxation};
    if (in_double)
      CPFM_LAUNCH(finish<double>, target.view.runs, kRun, 0, stream)(end);
    else
      CPFM_LAUNCH(finish<float>, target.view.runs, kRun, 0, stream)(end);
    check_launch("the potentials");
  }

  // A few iterations as one graph, since small problems are done before the next kernel could be launched.
  void capture() {
    if (graph != nullptr && graph_in_double == in_double) return;
    if (graph != nullptr) cudaGraphExecDestroy(graph);
    graph = nullptr;
    cudaGraph_t captured = nullptr;
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
    for (int k = 0; k < kIterations; ++k) {
      launch(false, true, 1, false);
      launch(true, true, 1, false);
    }
    check_cuda(cudaStreamEndCapture(stream, &captured), "capturing");
    const cudaError_t error = cudaGraphInstantiate(&graph, captured, 0);
    cudaGraphDestroy(captured);
    check_cuda(error, "instantiating a graph");
    graph_in_double = in_double;
  }

  void clear_totals() {
    shown->half_iterations = shown->pairs = shown->rescued = 0;
    shown->arrived = 0;
  }
  Update told() const {
    return {shown->last.error,      shown->column_gap, shown->last.dropped,
            shown->half_iterations, shown->pairs,      shown->rescued};
  }
};

DeviceSinkhorn::DeviceSinkhorn(Device device, const Problem& problem)
    : impl_(std::make_unique<Impl>(device, problem)) {}
DeviceSinkhorn::~DeviceSinkhorn() = default;

void DeviceSinkhorn::set_cost(const double* w, const double* p, double epsilon, double rescale, bool double_precision) {
  const UseDevice use(impl_->device);
  impl_->set_cost(w, p, epsilon, rescale, double_precision);
}

DeviceSinkhorn::Update DeviceSinkhorn::update(bool on_rows, double relaxation, double* moments) {
  const UseDevice use(impl_->device);
  Impl& impl = *impl_;
  impl.clear_totals();
  impl.push_state();
  impl.launch(on_rows, false, relaxation, moments != nullptr);
  if (moments != nullptr)
    check_cuda(cudaMemcpyAsync(moments, impl.moments.data(), impl.moments.size() * sizeof(double),
                               cudaMemcpyDeviceToHost, impl.stream),
               "the moments");
  impl.pull_state();
  return impl.told();
}

DeviceSinkhorn::Update DeviceSinkhorn::solve(InnerControl& control, const std::function<void()>& between) {
  const UseDevice use(impl_->device);
  Impl& impl = *impl_;
  impl.clear_totals();
  impl.shown->control = control;
  impl.push_state();
  impl.launch(true, false, 1, false);
  impl.capture();
  do {
    between();
    check_cuda(cudaGraphLaunch(impl.graph, impl.stream), "iterations");
    impl.pull_state();
  } while (!impl.shown->control.stop);
  control = impl.shown->control;
  return impl.told();
}

void DeviceSinkhorn::get_potentials(double* row, double* column) const {
  const UseDevice use(impl_->device);
  impl_->row.potential.download(row, impl_->row.potential.size());
  impl_->column.potential.download(column, impl_->column.potential.size());
}

void DeviceSinkhorn::set_potentials(const double* row, const double* column) {
  const UseDevice use(impl_->device);
  Impl& impl = *impl_;
  impl.row.potential.upload(row, impl.row.potential.size());
  impl.column.potential.upload(column, impl.column.potential.size());
  check_cuda(cudaDeviceSynchronize(), "the potentials");
  if (impl.epsilon > 0) {
    impl.refresh(impl.row);
    impl.refresh(impl.column);
    impl.synchronize();
  }
}

}  // namespace cpfm
