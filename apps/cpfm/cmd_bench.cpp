// cpfm bench sinkhorn | gwot | train | sample: how fast this build is on this machine, on problems it makes up itself.
// Here is stage 1; bench/coupling compares it with other programs. Stage 2 is in cmd_bench_flow.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/memory.hpp"
#include "base/text.hpp"
#include "bench_tools.hpp"
#include "checks.hpp"
#include "coupling/objective.hpp"
#include "coupling/placement.hpp"
#include "coupling/sinkhorn.hpp"
#include "cpfm/device.hpp"
#include "cpfm/error.hpp"
#include "cpfm/gwot.hpp"
#include "cpfm/kernel.hpp"
#include "cpfm/latent.hpp"
#include "cpfm/model.hpp"
#include "cpfm/random.hpp"
#include "cuda/memory.hpp"
#include "cuda/throughput.hpp"

namespace cpfm::app {
namespace {

constexpr std::uint32_t kCentreStream = 0x62636e74, kSampleStream = 0x6273616d;  // "bcnt", "bsam"

void check_drop(double drop) {
  if (!(drop >= 0 && drop < 1)) throw Error("--drop", fmt::format("{} is out of range", drop), "0 to below 1");
}

void check_epsilon(double epsilon) {
  if (!(epsilon > 0 && epsilon <= 1e6))
    throw Error("--epsilon", fmt::format("{} is out of range", epsilon), "a positive number, at most 1e6");
}

// With the most memory that was held on a CUDA device.
Json coupling_facts(Device device) {
  Json facts = machine_facts(device);
  if (device.is_cuda()) facts["peak_device_mb"] = std::round(static_cast<double>(device_peak()) / 1e5) / 10;
  return facts;
}

struct SinkhornBench {
  std::size_t points = 2000;
  int dim = 2, iterations = 50, repeat = 5;
  bool double_precision = false;
  double drop = 0, epsilon = 0.002;
  std::string save, device = "auto";
};

// A cost as the end of a solve has it: Gaussian latent points, and rows that want to be at Gaussian positions c, so
// p = w c.
struct SinkhornProblem {
  FloatMatrix y;
  std::vector<double> w, p;
  double epsilon = 0;

  SinkhornProblem(const SinkhornBench& bench, std::uint64_t seed)
      : y(draw_latent("gaussian", bench.points, {.dim = bench.dim, .seed = seed})), w(bench.points) {
    const auto d = static_cast<std::size_t>(bench.dim);
    double scale = 0;
    for (std::size_t i = 0; i < bench.points; ++i) {
      Rng rng(seed, kCentreStream, i);
      w[i] = 0.5 + rng.uniform();
      for (std::size_t k = 0; k < d; ++k) p.push_back(0.9 * w[i] * rng.normal());
      scale += 2 * w[i] * static_cast<double>(d) / static_cast<double>(bench.points);
    }
    epsilon = bench.epsilon * scale;
  }

  MatrixView<const double> p_view() const { return {p.data(), w.size(), y.cols()}; }

  void save(const std::string& path) const {
    TensorFileWriter file;
    file.add("w", DType::kF64, {w.size()}, std::as_bytes(std::span(w)));
    file.add("p", DType::kF64, {w.size(), y.cols()}, std::as_bytes(std::span(p)));
    file.add("y", {y.rows(), y.cols()}, y.values());
    file.add("epsilon", DType::kF64, {}, std::as_bytes(std::span(&epsilon, 1)));
    file.save(path);
  }
};

Json run_sinkhorn(const SinkhornBench& bench, std::uint64_t seed) {
  const SinkhornProblem problem(bench, seed);
  if (!bench.save.empty()) problem.save(bench.save);
  const Device device = choose_device(bench.device);
  const std::vector<double> mass(bench.points, 1.0 / static_cast<double>(bench.points));
  std::vector<double> seconds;
  Json out;
  for (int r = 0; r < bench.repeat; ++r) {  // each from the beginning
    Sinkhorn sinkhorn(problem.y.view(), mass, mass, {bench.double_precision, bench.drop, device});
    sinkhorn.set_cost(problem.w, problem.p_view(), problem.epsilon);
    if (device.is_cuda()) sinkhorn.solve(0, 1, false);  // kernels are loaded, and the iterations captured
    const std::uint64_t half_before = sinkhorn.half_iterations(), pairs_before = sinkhorn.pairs();
    int iterations = bench.iterations;
    Stopwatch watch;
    if (device.is_cuda()) {
      // As a solve runs them, many at a time; it ends early where no more can be gained.
      iterations = sinkhorn.solve(0, bench.iterations, false).iterations;
    } else {
      for (int k = 0; k < bench.iterations; ++k) {
        sinkhorn.update_columns();
        sinkhorn.update_rows();
      }
    }
    seconds.push_back(watch.lap());
    const auto half_iterations = static_cast<double>(sinkhorn.half_iterations() - half_before);
    const auto pairs = static_cast<double>(sinkhorn.pairs() - pairs_before);
    const double all = half_iterations * static_cast<double>(bench.points) * static_cast<double>(bench.points);
    const std::uint64_t rescued = sinkhorn.rescued();
    const double time = median(seconds);
    out = {{"benchmark", "sinkhorn"},
           {"points", bench.points},
           {"dim", bench.dim},
           {"double", bench.double_precision},
           {"drop", bench.drop},
           {"epsilon", problem.epsilon},
           {"iterations", iterations},
           {"repeat", bench.repeat},
           {"seconds", time},
           {"all_seconds", seconds},
           {"seconds_per_half_iteration", time / half_iterations},
           {"pairs_per_second", pairs / time},
           {"computed", pairs / all},
           {"rescued", rescued},
           {"marginal_error", sinkhorn.update_columns()}};
  }
  if (!bench.save.empty()) out["saved"] = bench.save;
  if (device.is_cuda() && !bench.double_precision) {
    out["exponentials_per_second"] = exponentials_per_second(device);
    out["share_of_exponentials"] = out["pairs_per_second"].get<double>() / out["exponentials_per_second"].get<double>();
  }
  out["machine"] = coupling_facts(device);
  return out;
}

void print_sinkhorn(const Json& result) {
  fmt::print("sinkhorn: {} x {} points in {} dimensions, sums in {}\n", result["points"].get<std::size_t>(),
             result["points"].get<std::size_t>(), result["dim"].get<int>(),
             result["double"].get<bool>() ? "double" : "float");
  print_line("pairs", fmt::format("{:.3g} per second, {:.3g} % of all were computed",
                                  result["pairs_per_second"].get<double>(), 100 * result["computed"].get<double>()));
  print_line("half-step",
             fmt::format("{:.3g} ms, median of {} runs of {}", 1e3 * result["seconds_per_half_iteration"].get<double>(),
                         result["repeat"].get<int>(), 2 * result["iterations"].get<int>()));
  print_line("left", fmt::format("marginal error {:.2g}, {} sums rescued", result["marginal_error"].get<double>(),
                                 result["rescued"].get<std::uint64_t>()));
  if (result.contains("share_of_exponentials"))
    print_line("ceiling", fmt::format("{:.0f} % of the {:.3g} exponentials per second that the device can do",
                                      100 * result["share_of_exponentials"].get<double>(),
                                      result["exponentials_per_second"].get<double>()));
  if (result.contains("saved")) print_line("written", printable(result["saved"].get<std::string>(), 200));
  print_machine(result["machine"]);
}

void add_sinkhorn(CLI::App& parent, Context& context) {
  auto* command = parent.add_subcommand("sinkhorn", "Half-iterations of Sinkhorn at a fixed cost: pairs per second");
  command->footer("Example:\n  cpfm bench sinkhorn --points 10000 --threads 2");
  const auto bench = std::make_shared<SinkhornBench>();
  command->add_option("--points", bench->points, "Rows, and as many columns")
      ->transform(whole_number(2, 1000000))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--dim", bench->dim, "Dimensions of the latent points")
      ->transform(whole_number(1, 8))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--iterations", bench->iterations, "Iterations per run, of two half-iterations each")
      ->transform(whole_number(1, 1000000))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--repeat", bench->repeat, "Runs; their median counts")
      ->transform(whole_number(1, 10000))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--epsilon", bench->epsilon, "ε as a share of the cost scale")
      ->type_name("E")
      ->capture_default_str();
  command->add_option("--drop", bench->drop, "Mass that tiles left out may hold; 0 computes every pair")
      ->type_name("D")
      ->capture_default_str();
  command->add_flag("--double", bench->double_precision, "Sums in double instead of float");
  add_device(*command, bench->device);
  command->add_option("--save", bench->save, "Also write the problem (w, p, y, ε), for another program to solve")
      ->type_name("FILE");
  command->callback([=, &context] {
    check_drop(bench->drop);
    check_epsilon(bench->epsilon);
    const Json result = run_sinkhorn(*bench, context.seed);
    if (context.json)
      context.print(result);
    else
      print_sinkhorn(result);
  });
}

struct GwotBench {
  std::size_t points = 1000;
  std::string kernel = "heat*label";
  int dim = 2;
  std::size_t features = 16, rank = 0;
  std::size_t coarse_points = GwotOptions{}.coarse_points;
  double drop = GwotOptions{}.drop, epsilon = GwotOptions{}.epsilon;
  std::string device = "auto";
};

// Ten Gaussian clusters, labelled.
Dataset clusters(std::size_t points, std::size_t features, std::uint64_t seed) {
  constexpr std::size_t kClasses = 10;
  Dataset data;
  data.source = "clusters";
  data.samples = FloatMatrix(points, features);
  data.labels = Labels{std::vector<std::int32_t>(points), {}};
  for (std::size_t c = 0; c < kClasses; ++c) data.labels->names.push_back(std::to_string(c));
  for (std::size_t i = 0; i < points; ++i) {
    const std::size_t c = i % kClasses;
    Rng centre(seed, kCentreStream, c), noise(seed, kSampleStream, i);
    for (std::size_t k = 0; k < features; ++k)
      data.samples(i, k) = static_cast<float>(2 * centre.normal() + noise.normal());
    data.labels->ids[i] = static_cast<std::int32_t>(c);
  }
  return data;
}

Json run_gwot(const GwotBench& bench, const Context& context) {
  const Device device = choose_device(bench.device);
  const Dataset data = clusters(bench.points, bench.features, context.seed);
  const auto progress = context.progress();
  Stopwatch watch;
  const auto kernel = make_kernel(bench.kernel, data, progress.get());
  GwotProblem problem;
  const std::vector<double> mass(bench.points, 1.0 / static_cast<double>(bench.points));
  const std::vector<double> w = kernel_times(*kernel, mass, progress.get(), device);
  problem.w = w;
  const double kernel_seconds = watch.lap();
  FactorOptions factor_options;
  factor_options.seed = context.seed;
  factor_options.max_rank = bench.rank;
  factor_options.device = device;
  const KernelFactor factor = factor_kernel(*kernel, factor_options, progress.get());
  use_factor(problem, factor, device);
  if (by_pivots(factor))  // as `couple` does: the problem solved is that of one kernel
    problem.times({mass.data(), bench.points, 1}, {problem.w.data(), bench.points, 1});
  const double factor_seconds = watch.lap();
  problem.y = draw_latent("gaussian", bench.points, {.dim = bench.dim, .seed = context.seed});
  GwotOptions options;
  options.epsilon = bench.epsilon;
  options.drop = bench.drop;
  options.coarse_points = bench.coarse_points;
  options.seed = context.seed;
  options.device = device;
  watch.lap();
  GwotSolver solver(std::move(problem), options);
  solver.run(0, progress.get());
  const double solve_seconds = watch.lap();
  const GwotState& state = solver.state();
  if (state.status == GwotStatus::kNonFiniteInput)
    throw Error(kernel->expression(), "the kernel gave values that are not finite", "is its scale sensible?");
  const Json machine = coupling_facts(device);
  const double peak = peak_memory();  // before the objective, which is not part of what is measured
  const std::vector<double> km = kernel_times(*kernel, solver.mean(), progress.get(), device);
  return {{"benchmark", "gwot"},
          {"points", bench.points},
          {"dim", bench.dim},
          {"kernel", kernel->expression()},
          {"rank", factor.phi.cols() + factor.psi.cols()},
          {"explained", factor.explained},
          {"coarse_points", bench.coarse_points},
          {"drop", bench.drop},
          {"epsilon", state.epsilon},
          {"objective", objective(w, km, solver)},
          {"objective_random", objective_random(w, mass, solver.y(), mass)},
          {"marginal_error", state.marginal_error},
          {"half_iterations", state.half_iterations},
          {"outer_iterations", state.outer_iterations},
          {"pairs", state.pairs},
          {"dropped_bound", state.dropped},
          {"starts", state.starts.size()},
          {"status", to_string(state.status)},
          {"seconds", {{"kernel", kernel_seconds}, {"factor", factor_seconds}, {"solve", solve_seconds}}},
          {"peak_rss_mb", std::round(peak / 1e5) / 10},
          {"machine", machine}};
}

void print_gwot(const Json& result) {
  fmt::print("gwot: {} points, kernel {}, rank {}\n", result["points"].get<std::size_t>(),
             printable(result["kernel"].get<std::string>(), 200), result["rank"].get<std::size_t>());
  const Json& seconds = result["seconds"];
  print_line("seconds", fmt::format("{:.3g} kernel, {:.3g} factor, {:.3g} solve", seconds["kernel"].get<double>(),
                                    seconds["factor"].get<double>(), seconds["solve"].get<double>()));
  print_line("objective", fmt::format("{:.6g}, of {:.6g} for the independent plan", result["objective"].get<double>(),
                                      result["objective_random"].get<double>()));
  print_line("steps", fmt::format("{} half-iterations, {} updates of A, {} starts: {}",
                                  result["half_iterations"].get<std::uint64_t>(),
                                  result["outer_iterations"].get<std::uint64_t>(), result["starts"].get<std::size_t>(),
                                  result["status"].get<std::string>()));
  const double points = result["points"].get<double>();
  print_line("left out",
             fmt::format("{:.3g} % of the pairs, which hold at most {:.1e} of the mass",
                         std::max(0.0, 100 - 100 * result["pairs"].get<double>() /
                                                 (result["half_iterations"].get<double>() * points * points)),
                         result["dropped_bound"].get<double>()));
  print_machine(result["machine"]);
}

void add_gwot(CLI::App& parent, Context& context) {
  auto* command = parent.add_subcommand("gwot", "A whole coupling of made-up clusters: kernel, factor, solve");
  command->footer("Example:\n  cpfm bench gwot --points 5000 --kernel heat");
  const auto bench = std::make_shared<GwotBench>();
  command->add_option("--points", bench->points, "Samples in ten labelled clusters, and as many latent points")
      ->transform(whole_number(20, 1000000))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--dim", bench->dim, "Dimensions of the latent points")
      ->transform(whole_number(1, 8))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--features", bench->features, "Dimensions of the samples")
      ->transform(whole_number(1, 100000))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--rank", bench->rank, "Largest rank of the kernel's factor (default: no limit)")
      ->transform(whole_number(1, 1000000))
      ->type_name("R");
  command
      ->add_option("--coarse-points", bench->coarse_points,
                   "More than twice so many begin on a subset of this size; 0: never")
      ->transform(whole_number(0, 1000000))
      ->type_name("N")
      ->capture_default_str();
  add_device(*command, bench->device);
  command->add_option("--kernel", bench->kernel, "What matters in the data")->type_name("EXPR")->capture_default_str();
  command->add_option("--epsilon", bench->epsilon, "Last ε, as a share of the cost scale")
      ->type_name("E")
      ->capture_default_str();
  command->add_option("--drop", bench->drop, "Mass that tiles left out may hold; 0 computes every pair")
      ->type_name("D")
      ->capture_default_str();
  command->callback([=, &context] {
    check_drop(bench->drop);
    check_epsilon(bench->epsilon);
    const Json result = run_gwot(*bench, context);
    if (context.json)
      context.print(result);
    else
      print_gwot(result);
  });
}

}  // namespace

void add_bench_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("bench", "How fast this build is on this machine");
  command->require_subcommand(1);
  add_sinkhorn(*command, context);
  add_gwot(*command, context);
  add_train_bench(*command, context);
  add_sample_bench(*command, context);
}

}  // namespace cpfm::app
