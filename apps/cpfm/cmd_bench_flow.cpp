// cpfm bench train | sample: how fast stage 2 learns and draws with a network of a given size, on samples of the size
// it is meant for. What they hold does not matter for the time, so they are noise.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/memory.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "bench_tools.hpp"
#include "checks.hpp"
#include "cpfm/error.hpp"
#include "cpfm/random.hpp"
#include "flow_library.hpp"

namespace cpfm::app {
namespace {

constexpr std::uint32_t kNoiseStream = 0x626e6f69;  // "bnoi"

struct FlowBench {
  std::string preset = "mnist", device = "auto", precision = "auto";
  int batch = 0, repeat = 3;
  std::uint64_t steps = 20;
  std::size_t samples = 256;
  int solver_steps = SampleOptions{}.steps;
};

FloatMatrix noise(std::size_t rows, std::size_t columns, std::uint64_t seed, const char* option) {
  require_memory(static_cast<double>(rows) * static_cast<double>(columns) * sizeof(float), option,
                 fmt::format("{} samples of {} numbers", rows, columns), "fewer of them");
  FloatMatrix values(rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    Rng rng(seed, kNoiseStream, i);
    for (std::size_t k = 0; k < columns; ++k) values(i, k) = static_cast<float>(rng.normal());
  }
  return values;
}

// A network, and what it is trained on: samples of the kind its preset is for, each with a place.
class Problem {
 public:
  Problem(const FlowBench& bench, std::uint64_t seed) : flow_(flow_library()) {
    options_.network = flow_.network_preset(bench.preset);
    options_.steps = bench.steps;
    options_.validation = 0;
    options_.seed = seed;
    options_.precision = bench.precision;
    options_.device = device_of(bench.device, flow_.devices());
    options_.batch = bench.batch > 0 ? bench.batch : device().is_cuda() ? 512 : 128;  // as 'cpfm fit' has it
    struct Shape {
      const char* preset;
      int channels, side;
    };
    constexpr Shape kShapes[] = {{"tiny", 1, 8},     {"small", 1, 28},        {"mnist", 1, 28},
                                 {"cifar10", 3, 32}, {"tinyimagenet", 3, 64}, {"afhq", 3, 128}};
    constexpr std::size_t kColumns = 16;  // of a table
    const auto* shape =
        std::find_if(std::begin(kShapes), std::end(kShapes), [&](const Shape& s) { return bench.preset == s.preset; });
    if (shape != std::end(kShapes)) data_.image = ImageShape{shape->channels, shape->side, shape->side};
    const std::size_t columns = data_.image ? data_.image->size() : kColumns;
    flow_.check_training(options_, columns, data_.image);
    const auto rows = static_cast<std::size_t>(options_.batch);
    samples_ = noise(rows, columns, seed, "--batch");
    places_ = noise(rows, 2, seed + 1, "--batch");
    data_.samples = samples_.view();
    data_.latent = places_.view();
    data_.pairs = [rows](std::uint64_t) {
      std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
      for (std::uint32_t i = 0; i < rows; ++i) pairs.emplace_back(i, i);
      return pairs;
    };
  }

  std::unique_ptr<Trainer> trainer() const { return flow_.make_trainer(data_, options_); }
  // A model of a network that was trained for one step: its time is that of any.
  std::unique_ptr<FlowModel> model() const {
    const TemporaryFolder folder("bench");
    TrainOptions one = options_;
    one.steps = 1;
    one.batch = 2;
    const std::unique_ptr<Trainer> made = flow_.make_trainer(data_, one);
    made->step();
    made->save_model(folder.path() / "model.cpfm", {});
    return flow_.load_model(folder.path() / "model.cpfm", options_.device);
  }
  const TrainOptions& options() const { return options_; }
  std::string shape() const {
    return data_.image ? fmt::format("{} x {} x {}", data_.image->channels, data_.image->height, data_.image->width)
                       : fmt::format("{} numbers", samples_.cols());
  }
  FloatMatrix samples(std::size_t n) const { return noise(n, samples_.cols(), options_.seed, "--samples"); }
  // Where libtorch runs; a build without kernels of its own may still have a libtorch for CUDA.
  Device device() const { return options_.device == "cpu" ? Device{} : Device{std::stoi(options_.device.substr(5))}; }
  Json facts() const {
    Json machine = machine_facts(device());
    machine["torch"] = flow_.torch_version();
    return machine;
  }

 private:
  // "cpu" or "cuda:N".
  static std::string device_of(const std::string& asked, const std::vector<std::string>& known) {
    if (asked == "auto") return known.size() > 1 ? known[1] : known[0];
    const std::string name = asked == "cuda" ? "cuda:0" : asked;
    if (std::find(known.begin(), known.end(), name) != known.end()) return name;
    throw Error("--device", fmt::format("libtorch knows no '{}' here", printable(asked)),
                fmt::format("auto, {}", fmt::join(known, ", ")));
  }

  FlowEntry& flow_;
  TrainOptions options_;
  FloatMatrix samples_, places_;
  TrainData data_;
};

// What each of `repeat` calls takes by its own word, after one that is not counted: kernels are loaded and memory is
// taken then.
template <class Work>
std::vector<double> timed(int repeat, const Work& work) {
  work();
  std::vector<double> seconds;
  for (int r = 0; r < repeat; ++r) seconds.push_back(work());
  return seconds;
}

Json about(const char* name, const FlowBench& bench, const Problem& problem) {
  return {{"benchmark", name},        {"preset", bench.preset},
          {"shape", problem.shape()}, {"precision", problem.options().precision},
          {"repeat", bench.repeat},   {"machine", problem.facts()}};
}

void print_head(const Json& result) {
  fmt::print("{}: the network '{}' on samples of {}, precision {}\n", result["benchmark"].get<std::string>(),
             result["preset"].get<std::string>(), result["shape"].get<std::string>(),
             result["precision"].get<std::string>());
}

Json run_train(const FlowBench& bench, const Context& context) {
  const Problem problem(bench, context.seed);
  const auto all = timed(bench.repeat, [&] {
    const std::unique_ptr<Trainer> trainer = problem.trainer();
    Stopwatch watch;
    trainer->run({}, {}, nullptr);  // reads the loss at its end, which waits for a GPU
    return watch.lap();
  });
  const double seconds = median(all), steps = static_cast<double>(bench.steps);
  Json result = about("train", bench, problem);
  result.update({{"batch", problem.options().batch},
                 {"steps", bench.steps},
                 {"seconds", seconds},
                 {"all_seconds", all},
                 {"seconds_per_step", seconds / steps},
                 {"samples_per_second", steps * problem.options().batch / seconds}});
  return result;
}

void print_train(const Json& result) {
  print_head(result);
  print_line("samples", fmt::format("{:.4g} per second", result["samples_per_second"].get<double>()));
  print_line("step", fmt::format("{:.3g} ms of a batch of {}, median of {} runs of {} steps",
                                 1e3 * result["seconds_per_step"].get<double>(), result["batch"].get<int>(),
                                 result["repeat"].get<int>(), result["steps"].get<std::uint64_t>()));
  print_machine(result["machine"]);
}

Json run_sample(const FlowBench& bench, const Context& context) {
  const Problem problem(bench, context.seed);
  const std::unique_ptr<FlowModel> model = problem.model();
  const FloatMatrix x = problem.samples(bench.samples), y = noise(bench.samples, 2, context.seed, "--samples");
  SampleOptions options;
  options.steps = bench.solver_steps;
  options.seed = context.seed;
  options.precision = bench.precision;
  const auto seconds = [](const auto& work) {
    Stopwatch watch;
    work();
    return watch.lap();
  };
  const auto generating = timed(bench.repeat, [&] { return seconds([&] { model->generate(y.view(), options); }); });
  const auto embedding = timed(bench.repeat, [&] { return seconds([&] { model->embed(x.view(), 1, options); }); });
  const auto samples = static_cast<double>(bench.samples);
  Json result = about("sample", bench, problem);
  result.update({{"samples", bench.samples},
                 {"solver", options.method},
                 {"steps", options.steps},
                 {"seconds", {{"generate", median(generating)}, {"embed", median(embedding)}}},
                 {"generated_per_second", samples / median(generating)},
                 {"embedded_per_second", samples / median(embedding)}});
  return result;
}

void print_sample(const Json& result) {
  print_head(result);
  print_line("generated", fmt::format("{:.4g} per second", result["generated_per_second"].get<double>()));
  print_line("embedded", fmt::format("{:.4g} per second", result["embedded_per_second"].get<double>()));
  print_line("run",
             fmt::format("{} samples, {} steps of {}, median of {} runs", result["samples"].get<std::size_t>(),
                         result["steps"].get<int>(), result["solver"].get<std::string>(), result["repeat"].get<int>()));
  print_machine(result["machine"]);
}

template <class Run, class Print>
void add_common(CLI::App& command, const std::shared_ptr<FlowBench>& bench, Context& context, Run run, Print print) {
  command.add_option("--preset", bench->preset, "Network: tiny, small, table, mnist, cifar10, tinyimagenet or afhq")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--repeat", bench->repeat, "Runs; their median counts")
      ->transform(whole_number(1, 10000))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--precision", bench->precision, "auto: bfloat16 on a GPU")
      ->check(one_of({"auto", "float32", "bfloat16"}))
      ->option_text("auto|float32|bfloat16=auto")
      ->capture_default_str();
  add_device(command, bench->device);
  command.callback([=, &context] {
    const Json result = run(*bench, context);
    if (context.json)
      context.print(result);
    else
      print(result);
  });
}

}  // namespace

void add_train_bench(CLI::App& parent, Context& context) {
  auto* command = parent.add_subcommand("train", "Steps of training: samples per second");
  command->footer("Example:\n  cpfm bench train --preset small --batch 64");
  const auto bench = std::make_shared<FlowBench>();
  command->add_option("--batch", bench->batch, "Pairs per step (default: 128, on a GPU 512)")
      ->transform(whole_number(2, 1 << 20))
      ->type_name("N");
  command->add_option("--steps", bench->steps, "Steps per run")
      ->transform(whole_number(1, 1000000))
      ->type_name("N")
      ->capture_default_str();
  add_common(*command, bench, context, run_train, print_train);
}

void add_sample_bench(CLI::App& parent, Context& context) {
  auto* command = parent.add_subcommand("sample", "Samples for places, and places for samples, per second");
  command->footer("Example:\n  cpfm bench sample --preset small --samples 64");
  const auto bench = std::make_shared<FlowBench>();
  command->add_option("--samples", bench->samples, "Samples per run")
      ->transform(whole_number(1, 1000000))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--steps", bench->solver_steps, "Steps of the solver, of two calls of the network each")
      ->transform(whole_number(1, 1000000))
      ->type_name("N")
      ->capture_default_str();
  add_common(*command, bench, context, run_sample, print_sample);
}

}  // namespace cpfm::app
