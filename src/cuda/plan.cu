#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "cpfm/interrupt.hpp"
#include "cuda/check.cuh"
#include "cuda/launch.cuh"
#include "cuda/memory.hpp"
#include "cuda/pair_runs.cuh"
#include "cuda/plan.hpp"
#include "cuda/plan_kernels.cuh"

namespace cpfm {
namespace {

constexpr std::size_t kMostEntries = std::size_t{1} << 22;  // of a list, or of new rows, at a time

// Some runs of a side whose points are in double, for a pass over every pair, which asks for no bounds.
SideView runs_from(const SideView& side, int dim, unsigned first, unsigned most) {
  const std::size_t skipped = static_cast<std::size_t>(first) * kRun;
  SideView some = side;
  some.points = static_cast<double*>(side.points) + skipped * static_cast<std::size_t>(slots<double>(dim + 1));
  some.order = side.order + skipped;
  some.shift = nullptr;
  some.bounds = {};
  some.runs = std::min(most, side.runs - first);
  some.count = static_cast<std::uint32_t>(
      std::min<std::size_t>(side.count - skipped, static_cast<std::size_t>(some.runs) * kRun));
  return some;
}

// Rows or columns, with what they are made of in the order given.
struct Cloud {
  Side side;
  DeviceArray<double> w, p, y;  // w and p of rows, y of columns
  double unit;
  int dim;
  bool in_double = false;

  // Potentials are 0 where masses are 1.
  Cloud(std::size_t count, int dims, bool rows, const double* mass, double per_epsilon)
      : side(count, dims, rows, mass),
        w(rows ? count : 0, "the plan"),
        p(rows ? count * static_cast<std::size_t>(dims) : 0, "the plan"),
        y(rows ? 0 : count * static_cast<std::size_t>(dims), "the plan"),
        unit(per_epsilon),
        dim(dims) {}

  CostView cost() const { return {w.data(), p.data(), y.data(), unit, dim}; }
  void fill(bool double_precision) {
    in_double = double_precision;
    if (in_double)
      CPFM_LAUNCH(fill_points<double>, side.view.runs, kRun)(side.view, cost());
    else
      CPFM_LAUNCH(fill_points<float>, side.view.runs, kRun)(side.view, cost());
    check_launch("the points");
  }
  void want(bool double_precision) {
    if (in_double != double_precision) fill(double_precision);
  }
  // Along the curve, with bounds.
  void arrange(bool double_precision) {
    CurveOrder curve(side.view.count, dim);
    curve.sort(side, cost(), nullptr);
    fill(double_precision);
    CPFM_LAUNCH(bound_runs, side.view.runs, kRun)(side.view, cost());
    check_launch("the bounds");
    check_cuda(cudaStreamSynchronize(nullptr), "the order along the curve");
  }
};

}  // namespace

// All of it runs on the default stream, so that copies and kernels follow each other.
struct DevicePlan::Impl {
  std::mutex busy;
  Device device;
  int processors = 1;
  double drop;
  bool in_double;
  Cloud row, column;

  static double per_epsilon(double epsilon) { return 1.0 / (epsilon * 0.69314718055994530942); }

  Impl(Device chosen, const Parts& parts)
      : device(chosen),
        drop(parts.drop),
        in_double(parts.double_precision),
        row(parts.rows, parts.dim, true, parts.row_mass, per_epsilon(parts.epsilon)),
        column(parts.columns, parts.dim, false, parts.column_mass, per_epsilon(parts.epsilon)) {
    check_cuda(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device.cuda), "the device");
    row.w.upload(parts.w, row.w.size());
    row.p.upload(parts.p, row.p.size());
    row.side.potential.upload(parts.row_potential, parts.rows);
    column.y.upload(parts.y, column.y.size());
    column.side.potential.upload(parts.column_potential, parts.columns);
    row.arrange(in_double);
    column.arrange(in_double);
  }

  Cloud& targets(bool transposed) { return transposed ? column : row; }
  Cloud& sources(bool transposed) { return transposed ? row : column; }

  // Enough blocks to fill the device several times over, while each still has a few parts to go through.
  unsigned stretches(std::uint32_t target_runs, std::uint32_t source_runs) const {
    constexpr std::size_t kBlocksPerProcessor = 16, kFewest = 2;  // runs of the source to a block
    const std::size_t blocks = kBlocksPerProcessor * static_cast<std::size_t>(processors);
    const std::size_t wanted = (blocks + target_runs - 1) / target_runs;
    return static_cast<unsigned>(std::max<std::size_t>(1, std::min(wanted, source_runs / kFewest)));
  }

  // A pass that leaves parts out, of targets that are all or some of a side of `of`. A short list is cut no more boldly
  // than the whole side, or what is left out might matter to its rows.
  Pairs pairs(const Cloud& target, const Cloud& source, std::size_t of) const {
    Pairs a = every_pair(target, source);
    a.truncate = drop > 0;
    // If every pair left out is below this, all of them together are below `drop`. One bit is kept for the rounding of
    // the exponents in float.
    if (a.truncate)
      a.threshold = std::log2(drop) -
                    std::log2(static_cast<double>(std::max<std::size_t>(of, target.side.view.count))) -
                    std::log2(static_cast<double>(source.side.view.count)) - 1;
    return a;
  }
  Pairs every_pair(const Cloud& target, const Cloud& source) const {
    const SideView &to = target.side.view, &from = source.side.view;
    return {from, to, target.dim, stretches(to.runs, from.runs), false, 0};
  }

  template <int V>
  DeviceArray<double> totals(const Pairs& a, const float* values) const {
    DeviceArray<double> sums(static_cast<std::size_t>(a.stretches) * (V + 1) * a.target.runs * kRun, "sums over pairs");
    const auto launch = [&](auto zero) {
      using T = decltype(zero);
      with_dims(a.dim + 1, [&](auto dims) {
        // Loads of a source serve several targets where there are registers for them.
        constexpr int D = decltype(dims)::value, R = sizeof(T) == 8 ? 1 : V == 0 ? 4 : 2;
        CPFM_LAUNCH((pair_totals<T, D, V, R>), dim3(a.target.runs, a.stretches), kRun / R)(a, values, sums.data());
      });
    };
    if (in_double)
      launch(double());
    else
      launch(float());
    check_launch("sums over pairs");
    return sums;
  }

  void draw(const Cloud& target, const Cloud& source, std::size_t of, const double* uniforms, std::uint32_t* drawn) {
    const Pairs a = pairs(target, source, of);
    const std::size_t count = a.target.count;
    const char* const what = "draws from the plan";
    DeviceArray<double> chosen(count, what), left(count, what);
    DeviceArray<std::uint32_t> stretch(count, what), result(count, what);
    chosen.upload(uniforms, count);
    const DeviceArray<double> sums = totals<0>(a, nullptr);
    CPFM_LAUNCH(choose_stretch, a.target.runs, kRun)
    (a.target, a.stretches, sums.data(), chosen.data(), stretch.data(), left.data(), result.data());
    check_launch(what);
    const auto launch = [&](auto zero) {
      using T = decltype(zero);
      with_dims(a.dim + 1, [&](auto dims) {
        constexpr int D = decltype(dims)::value;
        CPFM_LAUNCH((draw_entries<T, D>), dim3(a.target.runs, a.stretches), kRun)
        (a, stretch.data(), left.data(), result.data());
      });
    };
    if (in_double)
      launch(double());
    else
      launch(float());
    check_launch(what);
    result.download(drawn, count);
  }

  // Some targets as a side of their own.
  Cloud list(const Cloud& from, const std::size_t* which, std::size_t count) const {
    std::vector<std::uint32_t> index(count);
    std::transform(which, which + count, index.begin(), [](std::size_t i) { return static_cast<std::uint32_t>(i); });
    const std::vector<double> ones(count, 1.0);
    Cloud some(count, from.dim, from.side.view.bounds.sharp, ones.data(), from.unit);
    const DeviceArray<std::uint32_t> chosen(index, "a list of rows");
    const auto take = [&](const DeviceArray<double>& all, DeviceArray<double>& to, int width) {
      if (to.size() == 0) return;
      CPFM_LAUNCH(gather, blocks_for(count), kRun)(all.data(), chosen.data(), count, width, to.data());
      check_launch("a list of rows");
    };
    take(from.w, some.w, 1);
    take(from.p, some.p, from.dim);
    take(from.y, some.y, from.dim);
    take(from.side.potential, some.side.potential, 1);
    take(from.side.mass, some.side.mass, 1);
    some.arrange(in_double);
    return some;
  }

  // Columns [begin, begin + width) of the values.
  template <int V>
  void means(const Pairs& a, const float* values, std::size_t columns, std::size_t begin, std::size_t width,
             float* means, unsigned char* lost) {
    const char* const what = "means by the plan";
    const std::size_t sources = a.source.count, targets = a.target.count;
    std::vector<float> some(std::max(sources, targets) * width);
    for (std::size_t j = 0; j < sources; ++j) std::copy_n(values + j * columns + begin, width, &some[j * width]);
    DeviceArray<float> given(sources * width, what), arranged(static_cast<std::size_t>(a.source.runs) * kRun * V, what);
    given.upload(some.data(), given.size());
    CPFM_LAUNCH(arrange_values<V>, a.source.runs, kRun)
    (a.source, given.data(), static_cast<int>(width), arranged.data());
    check_launch(what);
    const DeviceArray<double> sums = totals<V>(a, arranged.data());
    DeviceArray<float> result(targets * width, what);
    DeviceArray<unsigned char> without(targets, what);
    CPFM_LAUNCH(finish_means, a.target.runs, kRun)
    (a.target, a.stretches, V + 1, sums.data(), static_cast<int>(width), result.data(), without.data());
    check_launch(what);
    result.download(some.data(), result.size());
    without.download(lost, targets);
    for (std::size_t i = 0; i < targets; ++i) std::copy_n(&some[i * width], width, means + i * columns + begin);
  }

  void log2_sums(const double* w, const double* p, std::size_t count, double* sums) {
    const std::vector<double> ones(count, 1.0);
    Cloud some(count, row.dim, true, ones.data(), row.unit);
    some.w.upload(w, some.w.size());
    some.p.upload(p, some.p.size());
    some.fill(true);
    column.want(true);
    const Pairs a = every_pair(some, column);
    const std::size_t stride = static_cast<std::size_t>(a.target.runs) * kRun;
    DeviceArray<double> largest(a.stretches * stride, "new rows"), sum(a.stretches * stride, "new rows");
    with_dims(a.dim + 1, [&](auto dims) {
      constexpr int D = decltype(dims)::value;
      CPFM_LAUNCH(log_sums<D>, dim3(a.target.runs, a.stretches), kRun)(a, largest.data(), sum.data());
    });
    check_launch("new rows");
    const std::vector<double> bits = largest.values(), parts = sum.values();
    for (std::size_t i = 0; i < count; ++i) {
      double most = bits[i], total = 0;
      for (unsigned c = 1; c < a.stretches; ++c) most = std::max(most, bits[c * stride + i]);
      for (unsigned c = 0; c < a.stretches; ++c)
        total += parts[c * stride + i] * std::exp2(bits[c * stride + i] - most);
      sums[i] = most + std::log2(total);
    }
  }
};

DevicePlan::DevicePlan(Device device, const Parts& parts) {
  const UseDevice use(device);
  impl_ = std::make_unique<Impl>(device, parts);
}
DevicePlan::~DevicePlan() = default;

void DevicePlan::draw(bool transposed, const std::size_t* which, std::size_t count, const double* uniforms,
                      std::uint32_t* drawn) {
  if (count == 0) return;  // an empty list may be null
  Impl& impl = *impl_;
  const std::lock_guard<std::mutex> lock(impl.busy);
  const UseDevice use(impl.device);
  Cloud &targets = impl.targets(transposed), &sources = impl.sources(transposed);
  targets.want(impl.in_double);
  sources.want(impl.in_double);
  if (which == nullptr) return impl.draw(targets, sources, count, uniforms, drawn);
  for (std::size_t begin = 0; begin < count; begin += kMostEntries) {
    check_interrupt();
    const Cloud some = impl.list(targets, which + begin, std::min(kMostEntries, count - begin));
    impl.draw(some, sources, std::max<std::size_t>(count, targets.side.view.count), uniforms + begin, drawn + begin);
  }
}

void DevicePlan::means(bool transposed, const float* values, std::size_t columns, float* means, unsigned char* lost) {
  constexpr std::size_t kFew = 4, kMost = 8;  // columns at a time
  Impl& impl = *impl_;
  const std::lock_guard<std::mutex> lock(impl.busy);
  const UseDevice use(impl.device);
  Cloud &targets = impl.targets(transposed), &sources = impl.sources(transposed);
  targets.want(impl.in_double);
  sources.want(impl.in_double);
  const Pairs a = impl.pairs(targets, sources, targets.side.view.count);
  std::fill_n(lost, targets.side.view.count, static_cast<unsigned char>(0));
  for (std::size_t begin = 0; begin < columns; begin += kMost) {
    check_interrupt();
    const std::size_t width = std::min(kMost, columns - begin);
    if (width <= kFew)
      impl.means<kFew>(a, values, columns, begin, width, means, lost);
    else
      impl.means<kMost>(a, values, columns, begin, width, means, lost);
  }
}

void DevicePlan::top(bool transposed, std::size_t k, std::uint32_t* index, double* probability) {
  Impl& impl = *impl_;
  const std::lock_guard<std::mutex> lock(impl.busy);
  const UseDevice use(impl.device);
  Cloud &targets = impl.targets(transposed), &sources = impl.sources(transposed);
  targets.want(true);
  sources.want(true);
  Pairs a = impl.every_pair(targets, sources);
  a.stretches = 1;  // one thread sees all of the source
  const std::size_t size = static_cast<std::size_t>(a.target.count) * k;
  DeviceArray<std::uint32_t> best(size, "the likeliest");
  DeviceArray<double> chances(size, "the likeliest");
  // Some runs of targets at a time, enough to fill the device, so that an interrupt does not wait for all of them.
  constexpr unsigned kRunsPerProcessor = 4;
  const unsigned together = kRunsPerProcessor * static_cast<unsigned>(impl.processors);
  for (unsigned first = 0; first < targets.side.view.runs; first += together) {
    check_interrupt();
    a.target = runs_from(targets.side.view, a.dim, first, together);
    with_dims(a.dim + 1, [&](auto dims) {
      constexpr int D = decltype(dims)::value;
      CPFM_LAUNCH(likeliest_sources<D>, a.target.runs, kRun)(a, static_cast<int>(k), best.data(), chances.data());
    });
    check_launch("the likeliest");
    check_cuda(cudaStreamSynchronize(nullptr), "the likeliest");
  }
  best.download(index, size);
  chances.download(probability, size);
}

void DevicePlan::log2_sums(const double* w, const double* p, std::size_t count, double* sums) {
  Impl& impl = *impl_;
  const std::lock_guard<std::mutex> lock(impl.busy);
  const UseDevice use(impl.device);
  for (std::size_t begin = 0; begin < count; begin += kMostEntries) {
    check_interrupt();
    impl.log2_sums(w + begin, p + begin * static_cast<std::size_t>(impl.row.dim), std::min(kMostEntries, count - begin),
                   sums + begin);
  }
}

}  // namespace cpfm
