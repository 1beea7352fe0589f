// Sinkhorn's half-iterations as a kernel, and the loop around them: see sinkhorn.hpp.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <type_traits>
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

// What a half-iteration found, over a run of targets or all of them.
struct Totals {
  double error, gap, dropped;
  unsigned long long pairs, rescued;
};

// What lives on the device across half-iterations.
struct State {
  InnerControl control;
  Totals last;  // of the last half-iteration
  unsigned long long half_iterations, pairs, rescued;
  double column_gap;  // before the last update of the columns
  unsigned arrived;   // runs that are done
};

struct Arguments {
  SideView source, target;
  int dim;
  int splits;  // blocks that share one run of targets; block c takes parts c, c + splits, …
  bool truncate;
  double threshold;    // parts whose every exponent is below are left out
  double* partial;     // splits × (1 or dim + 2) × padded targets
  double* dropped;     // target runs × splits
  unsigned* kept;      // likewise: points of the source computed
  unsigned* arrived;   // by run: blocks of it that are done
  Totals* run_totals;  // of every run
  double* moments;     // target count × (dim + 1), in the order given
  State* state;
  bool on_rows;
  bool controlled;    // go as far, and stop when, state->control says
  double relaxation;  // where it is not controlled
};

// Whether any pair of a run of targets and a part of the source may count; else adds what they hold at most to
// `dropped`.
__device__ inline bool may_count(const Arguments& a, unsigned run, unsigned part, double& dropped) {
  double left_out = 0;
  for (unsigned t = run * kParts; t < (run + 1) * kParts; ++t) {
    const double exponent = largest_exponent(a.target, t, a.source, part, a.dim);
    if (!(exponent < a.threshold)) return true;
    left_out += static_cast<double>(points_in(a.target, t)) * points_in(a.source, part) * exp2(exponent + 1);
  }
  dropped += left_out;
  return false;
}

// log2 Σ_s 2^(pot_s + <a_t, b_s>) of one target by the safe two-pass form, in double, by the whole block.
template <class T>
__device__ double safe_log2_sum(const Arguments& a, unsigned at, double* scratch) {
  const int dims = a.dim + 1, width = slots<T>(dims);
  const T* const target = static_cast<const T*>(a.target.points) + static_cast<std::size_t>(at) * width;
  const auto exponent = [&](unsigned s) {
    const T* const source = static_cast<const T*>(a.source.points) + static_cast<std::size_t>(s) * width;
    double e = static_cast<double>(source[dims]);
    for (int k = 0; k < dims; ++k) e += static_cast<double>(target[k]) * static_cast<double>(source[k]);
    return e;
  };
  double largest = -INFINITY;
  for (unsigned s = threadIdx.x; s < a.source.count; s += blockDim.x) largest = fmax(largest, exponent(s));
  largest = block_reduce(largest, scratch, Larger());
  double sum = 0;
  for (unsigned s = threadIdx.x; s < a.source.count; s += blockDim.x) sum += exp2(exponent(s) - largest);
  return largest + log2(block_reduce(sum, scratch, Plus()));
}

struct Add {
  __device__ Totals operator()(const Totals& a, const Totals& b) const {
    return {a.error + b.error, a.gap + b.gap, a.dropped + b.dropped, a.pairs + b.pairs, a.rescued + b.rescued};
  }
};
__device__ inline Totals shuffled(const Totals& t, int by) {
  return {shuffled(t.error, by), shuffled(t.gap, by), shuffled(t.dropped, by), shuffled(t.pairs, by),
          shuffled(t.rescued, by)};
}

// Whether this block is the last of `all` to come here: what the others wrote before is then to be seen, past the first
// cache. The count is left at zero.
__device__ inline bool comes_last(unsigned* arrived, unsigned all, bool* shared) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    *shared = atomicAdd(arrived, 1u) == all - 1;
    if (*shared) *arrived = 0;
    __threadfence();
  }
  __syncthreads();
  return *shared;
}

// Adds up the shares of a run, moves its potentials and, in the block that finishes the last run, tells the state.
// R targets to a thread, as in the sums. What other blocks wrote is read past the first cache.
template <class T, int D, int R, bool kValues>
__device__ void finish_run(const Arguments& a, unsigned run, const std::uint32_t (&index)[R], double* scratch,
                           Totals* warp_totals, bool* shared) {
  constexpr unsigned kThreads = kRun / R;
  constexpr int kSums = kValues ? D + 1 : 1;
  const unsigned thread = threadIdx.x;
  const double relaxation = !a.controlled ? a.relaxation
                            : a.on_rows   ? a.state->control.row_relaxation
                                          : a.state->control.relaxation;
  const std::size_t stride = static_cast<std::size_t>(a.target.runs) * kRun;
  const volatile double* const partial = a.partial;
  Totals mine{0, 0, 0, 0, 0};
  double potential[R], mass[R];
  bool out_of_range[R], any_out_of_range = false;
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const unsigned at = run * kRun + r * kThreads + thread;
    potential[r] = -INFINITY;
    out_of_range[r] = false;
    if (at >= a.target.count) continue;
    potential[r] = a.target.potential[index[r]];
    mass[r] = a.target.mass[index[r]];
    double sum = 0;
#pragma unroll 16
    for (int c = 0; c < a.splits; ++c) sum += partial[static_cast<std::size_t>(c) * kSums * stride + at];
    if (sum > kSmallest && sum < kLargest) {
      mine.error += fabs(sum - mass[r]);
      mine.gap += (sum - mass[r]) * potential[r];
      potential[r] += relaxation * log2(mass[r] / sum);
      for (int k = 1; k < kSums; ++k) {
        double value = 0;
        for (int c = 0; c < a.splits; ++c) value += partial[(static_cast<std::size_t>(c) * kSums + k) * stride + at];
        a.moments[static_cast<std::size_t>(index[r]) * D + k - 1] = value * (mass[r] / sum);
      }
    } else {
      mine.error += mass[r];
      ++mine.rescued;
      any_out_of_range = out_of_range[r] = true;
    }
  }
  if (__syncthreads_or(any_out_of_range)) {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      for (unsigned t = 0; t < kThreads; ++t) {
        if (!__syncthreads_or(t == thread && out_of_range[r])) continue;
        const double log_sum = safe_log2_sum<T>(a, run * kRun + r * kThreads + t, scratch);
        if (t == thread) potential[r] = log2(mass[r]) - log_sum;
      }
    }
  }
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const unsigned at = run * kRun + r * kThreads + thread;
    double bound = -INFINITY;
    if (at < a.target.count) {
      a.target.potential[index[r]] = potential[r];
      static_cast<T*>(a.target.points)[static_cast<std::size_t>(at) * slots<T>(D) + D] = static_cast<T>(potential[r]);
      if (a.truncate) bound = potential[r] + a.target.shift[at];
    }
    if (!a.truncate) continue;
    bound = part_largest(bound, scratch);
    if (thread % kPart == 0) a.target.bounds.potential[at / kPart] = bound;
  }
  const unsigned targets = min(a.target.count - run * kRun, unsigned{kRun});
  if (!a.truncate && thread == 0) mine.pairs = static_cast<unsigned long long>(targets) * a.source.count;
  for (unsigned c = thread; a.truncate && c < static_cast<unsigned>(a.splits); c += kThreads) {
    const std::size_t share = static_cast<std::size_t>(run) * a.splits + c;
    mine.dropped += static_cast<const volatile double*>(a.dropped)[share];
    mine.pairs += static_cast<unsigned long long>(static_cast<const volatile unsigned*>(a.kept)[share]) * targets;
  }
  mine = block_reduce(mine, warp_totals, Add());
  if (thread == 0) a.run_totals[run] = mine;
  if (!comes_last(&a.state->arrived, a.target.runs, shared)) return;

  InnerControl control = a.state->control;
  Totals all{0, 0, 0, 0, 0};
  for (unsigned r = thread; r < a.target.runs; r += kThreads) {
    const volatile Totals& of_run = a.run_totals[r];
    all.error += of_run.error;
    all.gap += of_run.gap;
    all.dropped += of_run.dropped;
    all.pairs += of_run.pairs;
    all.rescued += of_run.rescued;
  }
  all = block_reduce(all, warp_totals, Add());
  if (thread != 0) return;
  State& state = *a.state;
  state.last = all;
  ++state.half_iterations;
  state.pairs += all.pairs;
  state.rescued += all.rescued;
  if (!a.on_rows) state.column_gap = all.gap;
  if (!a.controlled) return;
  if (a.on_rows)
    control.after_rows();
  else
    control.after_columns(all.error);
  state.control = control;
}

// A half-iteration. A block has a run of targets, R of them to a thread, and its share of the source's parts; the last
// of a run to be done finishes it. D = dim + 1.
template <class T, int D, int R, bool kValues>
__global__ void __launch_bounds__(kRun / R, R == 2 && !kValues ? 6 : 1) half_iteration(const Arguments a) {
  constexpr int kThreads = kRun / R, kWarps = kThreads / 32, kSums = kValues ? D + 1 : 1;
  using P = Point<T, D>;
  constexpr unsigned kTile = sizeof(P) <= 32 ? 8 : 4;  // parts of the source that are looked at together
  __shared__ P tile[kTile * kPart];
  __shared__ unsigned list[kThreads + kTile], warp_count[kWarps];
  __shared__ double scratch[kWarps];
  __shared__ Totals warp_totals[kWarps];
  __shared__ bool is_last;

  const unsigned run = blockIdx.x, split = blockIdx.y, thread = threadIdx.x, first_target = run * kRun;
  if (a.controlled && a.state->control.stop) return;
  P target[R];
#pragma unroll
  for (int r = 0; r < R; ++r) target[r] = static_cast<const P*>(a.target.points)[first_target + r * kThreads + thread];
  double total[R][kSums];
#pragma unroll
  for (int r = 0; r < R; ++r) {
#pragma unroll
    for (int k = 0; k < kSums; ++k) total[r][k] = 0;
  }
  const unsigned step = static_cast<unsigned>(a.splits), parts = (a.source.count + kPart - 1) / kPart;
  // The parts that list[begin…] names, or all of this share in their order; at most kTile of them against the targets.
  const auto add_parts = [&](unsigned begin, unsigned count) {
    const unsigned end = count * kPart;
#pragma unroll
    for (unsigned first = 0; first < kTile * kPart; first += kThreads) {
      const unsigned place = first + thread;
      if (place < end) {
        const unsigned which = begin + place / kPart;
        const std::size_t part = a.truncate ? list[which] : split + which * step;
        tile[place] = static_cast<const P*>(a.source.points)[part * kPart + place % kPart];
      }
    }
    __syncthreads();
    T sum[R][kSums];
#pragma unroll
    for (int r = 0; r < R; ++r) {
#pragma unroll
      for (int k = 0; k < kSums; ++k) sum[r][k] = 0;
    }
#pragma unroll 16
    for (unsigned s = 0; s < end; ++s) {
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
  if (!a.truncate) {
    const unsigned share = split < parts ? (parts - split + step - 1) / step : 0;
    for (unsigned begin = 0; begin < share; begin += kTile) add_parts(begin, min(share - begin, kTile));
  }
  for (unsigned first = split; a.truncate && first < parts; first += step * kThreads) {
    // Which of the next parts are needed: one thread looks at each, and the list keeps their order.
    const unsigned mine = first + step * thread;
    const bool needed = mine < parts && may_count(a, run, mine, dropped);
    const unsigned ballot = __ballot_sync(0xFFFFFFFFu, needed);
    if (thread % 32 == 0) warp_count[thread / 32] = __popc(ballot);
    __syncthreads();
    unsigned before = waiting, count = waiting;
    for (unsigned w = 0; w < kWarps; ++w) {
      if (w < thread / 32) before += warp_count[w];
      count += warp_count[w];
    }
    if (needed) {
      list[before + __popc(ballot & ((1u << thread % 32) - 1))] = mine;
      kept += points_in(a.source, mine);
    }
    __syncthreads();
    const unsigned whole = count / kTile * kTile;
    for (unsigned begin = 0; begin < whole; begin += kTile) add_parts(begin, kTile);
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
      a.partial[(static_cast<std::size_t>(split) * kSums + k) * stride + first_target + r * kThreads + thread] =
          total[r][k];
  }
  if (a.truncate) {
    const std::size_t share = static_cast<std::size_t>(run) * a.splits + split;
    dropped = block_reduce(dropped, scratch, Plus());
    kept = block_reduce(kept, reinterpret_cast<unsigned*>(scratch), Plus());
    if (thread == 0) {
      a.dropped[share] = dropped;
      a.kept[share] = kept;
    }
  }
  std::uint32_t index[R];  // asked for here, since it takes a while to come
#pragma unroll
  for (int r = 0; r < R; ++r) {
    const unsigned at = first_target + r * kThreads + thread;
    index[r] = at < a.target.count ? a.target.order[at] : 0;
  }
  if (comes_last(a.arrived + run, step, &is_last))
    finish_run<T, D, R, kValues>(a, run, index, scratch, warp_totals, &is_last);
}

// Everything below is done once per cost.

__global__ void rescale_potentials(double* potential, const double* mass, std::uint32_t count, double factor) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const double own = log2(mass[i]);
  potential[i] = own + (potential[i] - own) * factor;
}

struct PairKernel {
  void (*kernel)(Arguments);
  unsigned threads;
};

template <class T, int D, int R>
PairKernel with_values(bool values) {
  return {values ? &half_iteration<T, D, R, true> : &half_iteration<T, D, R, false>, kRun / R};
}

template <class T>
PairKernel choose_kernel(int dims, bool values) {
  PairKernel chosen{};
  // Sums are bound by the special-function units if what is loaded of a source serves more than one target.
  with_dims(dims, [&](auto d) { chosen = with_values < T, decltype(d)::value, sizeof(T) == 8 ? 1 : 2 > (values); });
  return chosen;
}

// What CUDA gave and takes back.
struct TakeBack {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
  void operator()(State* pinned) const { cudaFreeHost(pinned); }
};
template <class Pointer>
using Owned = std::unique_ptr<std::remove_pointer_t<Pointer>, TakeBack>;

Owned<cudaStream_t> make_stream() {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  return Owned<cudaStream_t>(stream);
}
Owned<State*> make_pinned_state() {
  State* state = nullptr;
  check_cuda(cudaMallocHost(&state, sizeof(State)), "pinned memory");
  *state = State{};
  return Owned<State*>(state);
}

}  // namespace

struct DeviceSinkhorn::Impl {
  Device device;
  int dim, processors = 1;
  double drop, threshold, epsilon = 0;
  bool in_double = false;
  Owned<cudaStream_t> stream;
  Owned<cudaGraphExec_t> graph;
  bool graph_in_double = false;
  Owned<State*> shown;  // pinned: what the host sees of the state
  Side row, column;
  DeviceArray<double> w, p, y, partial, dropped, moments;
  DeviceArray<unsigned> kept, arrived;
  DeviceArray<Totals> run_totals;
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
    stream = make_stream();
    shown = make_pinned_state();
    row = Side(n, dim, true, problem.row_mass);
    column = Side(m, dim, false, problem.column_mass);
    w = DeviceArray<double>(n, "the cost");
    p = DeviceArray<double>(n * d, "the cost");
    y = DeviceArray<double>(m * d, "the latent points");
    y.upload(problem.y, m * d);
    moments = DeviceArray<double>(n * (d + 1), "the moments of the plan");
    row_splits = choose_splits(row.view, column.view);
    column_splits = choose_splits(column.view, row.view);
    const std::size_t sums = std::max(row.view.runs * static_cast<std::size_t>(row_splits) * (d + 2),
                                      column.view.runs * static_cast<std::size_t>(column_splits));
    const std::size_t shares = std::max(row.view.runs * static_cast<std::size_t>(row_splits),
                                        column.view.runs * static_cast<std::size_t>(column_splits));
    partial = DeviceArray<double>(sums * kRun, "sums over pairs");
    dropped = DeviceArray<double>(shares, "sums over pairs");
    kept = DeviceArray<unsigned>(shares, "sums over pairs");
    run_totals = DeviceArray<Totals>(std::max(row.view.runs, column.view.runs), "sums over pairs");
    arrived = DeviceArray<unsigned>(run_totals.size(), "sums over pairs");
    arrived.zero();
    state = DeviceArray<State>(1, "the state");
    if (drop > 0) curve = CurveOrder(std::max(n, m), dim);
    // The set-up ran on the default stream; ours does not wait for it.
    check_cuda(cudaStreamSynchronize(nullptr), "setting up");
    push_state();
    if (drop > 0) curve.sort(column, cost(), stream.get());
    synchronize();
  }

  ~Impl() {
    int before = device.cuda;
    cudaGetDevice(&before);
    cudaSetDevice(device.cuda);
    cudaStreamSynchronize(stream.get());
    graph.reset();
    shown.reset();
    stream.reset();
    if (before != device.cuda && cudaSetDevice(before) != cudaSuccess) cudaGetLastError();
  }

  // Blocks that share a run of targets: enough for every processor to have all it can hold at once, and the number
  // that leaves the busiest of them the least to do, a block that is left alone at half their speed.
  int choose_splits(const SideView& target, const SideView& source) const {
    constexpr std::size_t kMostBlocks = 64;  // per processor
    constexpr double kOverhead = 0.5;        // of a block, in parts
    const PairKernel sums = choose_kernel<float>(dim + 1, false);
    int together = 0;
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&together, sums.kernel, static_cast<int>(sums.threads), 0),
               "the device");
    const auto resident = static_cast<std::size_t>(std::max(together, 1));
    const std::size_t runs = target.runs, parts = (source.count + kPart - 1) / kPart;
    const std::size_t first = std::min<std::size_t>(parts, (resident * processors + runs - 1) / runs);
    const std::size_t last = std::clamp<std::size_t>(kMostBlocks * processors / runs, first, parts);
    std::size_t best = first;
    double least = INFINITY;
    for (std::size_t splits = first; splits <= last; ++splits) {
      const std::size_t blocks = (runs * splits + processors - 1) / processors;  // of the busiest processor
      const auto parts_of_a_block = static_cast<double>((parts + splits - 1) / splits);
      const double work =
          static_cast<double>(blocks % resident == 1 ? blocks + 1 : blocks) * (parts_of_a_block + kOverhead);
      if (work >= least) continue;
      best = splits;
      least = work;
    }
    return static_cast<int>(best);
  }

  void synchronize() { check_cuda(cudaStreamSynchronize(stream.get()), "Sinkhorn on the device"); }
  void push_state() {
    check_cuda(cudaMemcpyAsync(state.data(), shown.get(), sizeof(State), cudaMemcpyHostToDevice, stream.get()),
               "the state");
  }
  void pull_state() {
    check_cuda(cudaMemcpyAsync(shown.get(), state.data(), sizeof(State), cudaMemcpyDeviceToHost, stream.get()),
               "the state");
    synchronize();
  }
  CostView cost() const {
    return {w.data(), p.data(), y.data(), epsilon > 0 ? 1.0 / (epsilon * 0.69314718055994530942) : 0.0, dim};
  }

  void refresh(Side& side) {
    if (in_double)
      CPFM_LAUNCH(fill_points<double>, side.view.runs, kRun, 0, stream.get())(side.view, cost());
    else
      CPFM_LAUNCH(fill_points<float>, side.view.runs, kRun, 0, stream.get())(side.view, cost());
    check_launch("the points");
    CPFM_LAUNCH(bound_runs, side.view.runs, kRun, 0, stream.get())(side.view, cost());
    check_launch("the bounds");
  }

  void set_cost(const double* new_w, const double* new_p, double new_epsilon, double rescale, bool double_precision) {
    const std::size_t n = row.view.count;
    in_double = double_precision;
    epsilon = new_epsilon;
    check_cuda(cudaMemcpyAsync(w.data(), new_w, n * sizeof(double), cudaMemcpyHostToDevice, stream.get()), "the cost");
    check_cuda(cudaMemcpyAsync(p.data(), new_p, n * static_cast<std::size_t>(dim) * sizeof(double),
                               cudaMemcpyHostToDevice, stream.get()),
               "the cost");
    if (rescale != 1) {
      for (Side* side : {&row, &column}) {
        CPFM_LAUNCH(rescale_potentials, blocks_for(side->view.count), kRun, 0, stream.get())
        (side->potential.data(), side->mass.data(), side->view.count, rescale);
        check_launch("the potentials");
      }
    }
    if (drop > 0) curve.sort(row, cost(), stream.get());
    refresh(row);
    refresh(column);
    synchronize();  // what was given may go away
  }

  // One half-iteration.
  void launch(bool on_rows, bool controlled, double relaxation, bool values) {
    const PairKernel chosen =
        in_double ? choose_kernel<double>(dim + 1, values) : choose_kernel<float>(dim + 1, values);
    Arguments a;
    a.source = on_rows ? column.view : row.view;
    a.target = on_rows ? row.view : column.view;
    a.dim = dim;
    a.splits = on_rows ? row_splits : column_splits;
    a.truncate = drop > 0;
    a.threshold = threshold;
    a.partial = partial.data();
    a.dropped = dropped.data();
    a.kept = kept.data();
    a.arrived = arrived.data();
    a.run_totals = run_totals.data();
    a.moments = moments.data();
    a.state = state.data();
    a.on_rows = on_rows;
    a.controlled = controlled;
    a.relaxation = relaxation;
    CPFM_LAUNCH(chosen.kernel, dim3(a.target.runs, static_cast<unsigned>(a.splits)), chosen.threads, 0, stream.get())
    (a);
    check_launch("sums over pairs");
  }

  // A few iterations as one graph, since small problems are done before the next kernel could be launched.
  // While a stream is captured no thread may wait for the whole device, so nothing here ever does.
  void capture() {
    if (graph != nullptr && graph_in_double == in_double) return;
    graph.reset();
    cudaGraph_t captured = nullptr;
    check_cuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "capturing");
    try {
      for (int k = 0; k < kIterations; ++k) {
        launch(false, true, 1, false);
        launch(true, true, 1, false);
      }
    } catch (...) {
      if (cudaStreamEndCapture(stream.get(), &captured) == cudaSuccess) cudaGraphDestroy(captured);
      cudaGetLastError();  // what went wrong is on its way
      throw;
    }
    check_cuda(cudaStreamEndCapture(stream.get(), &captured), "capturing");
    cudaGraphExec_t ready = nullptr;
    const cudaError_t error = cudaGraphInstantiate(&ready, captured, 0);
    cudaGraphDestroy(captured);
    check_cuda(error, "instantiating a graph");
    graph.reset(ready);
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
                               cudaMemcpyDeviceToHost, impl.stream.get()),
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
  // What is launched after the end does nothing; while that is cheap, look at the state less often.
  for (int graphs = 1; !impl.shown->control.stop;) {
    between();
    const auto before = std::chrono::steady_clock::now();
    for (int g = 0; g < graphs; ++g) check_cuda(cudaGraphLaunch(impl.graph.get(), impl.stream.get()), "iterations");
    impl.pull_state();
    if (std::chrono::steady_clock::now() - before < std::chrono::milliseconds(5)) graphs = std::min(2 * graphs, 8);
  }
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
  impl.synchronize();  // an interrupted solve may still move them
  impl.row.potential.upload(row, impl.row.potential.size());
  impl.column.potential.upload(column, impl.column.potential.size());
  check_cuda(cudaStreamSynchronize(nullptr), "the potentials");
  if (impl.epsilon > 0) {
    impl.refresh(impl.row);
    impl.refresh(impl.column);
    impl.synchronize();
  }
}

}  // namespace cpfm
