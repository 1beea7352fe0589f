#include "run_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>

#include "base/atomic_file.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "config.hpp"
#include "cpfm/baseline.hpp"
#include "cpfm/error.hpp"
#include "cpfm/model.hpp"
#include "loss_watch.hpp"
#include "molecules.hpp"
#include "run_report.hpp"

namespace cpfm::app {
namespace fs = std::filesystem;
namespace {

// One JSON object per report; what a stopped run wrote stays.
class Metrics {
 public:
  Metrics(const fs::path& file, bool go_on) {
    if (std::ifstream in(file); go_on) {
      for (std::string line; std::getline(in, line);) {
        const Json entry = Json::parse(line, nullptr, false);
        if (entry.is_object() && entry.value("loss_x", Json()).is_number()) before_.push_back(entry["loss_x"]);
      }
    }
    out_.open(file, go_on ? std::ios::app : std::ios::trunc);
    if (!out_) throw Error(file.string(), "cannot be written");
  }
  void add(const TrainState& state) {
    Json line{{"step", state.steps},
              {"epoch", state.epoch},
              {"samples", state.samples},
              {"seconds", std::round(state.seconds * 10) / 10},
              {"loss_x", state.loss_x},
              {"loss_y", state.loss_y},
              {"images_per_second", std::round(state.images_per_second)}};
    if (state.validation_x) line["validation_x"] = *state.validation_x;
    if (state.validation_y) line["validation_y"] = *state.validation_y;
    out_ << line.dump() << '\n' << std::flush;
  }
  // Losses of x that a stopped run wrote.
  const std::vector<double>& losses_before() const { return before_; }

 private:
  std::ofstream out_;
  std::vector<double> before_;
};

constexpr const char *kCoupling = "coupling.cpfm", *kPartial = "coupling.cpfm.partial", *kConfig = "config.toml";

bool is_there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

// " at step 120", or nothing where the file does not tell.
std::string step_of(const fs::path& checkpoint) {
  try {
    return fmt::format(" at step {}",
                       Json::parse(TensorFile::open(checkpoint).metadata("state")).at("steps").get<std::uint64_t>());
  } catch (const Error&) {
  } catch (const Json::exception&) {
  }
  return {};
}

// What the run in a folder was made of, by its coupling, finished or not; nothing where there is none.
std::optional<std::uint64_t> data_of_run(const fs::path& folder) {
  if (is_there(folder / kCoupling)) return Coupling::load(folder / kCoupling).data_fingerprint;
  if (!is_there(folder / kPartial)) return std::nullopt;
  try {
    const Json run = Json::parse(TensorFile::open(folder / kPartial).metadata("run"));
    return std::stoull(run.at("data").get<std::string>(), nullptr, 16);
  } catch (const std::exception&) {  // couple() will say what is wrong with it
    return std::nullopt;
  }
}

// What the run's configuration says.
Settings saved_settings(const fs::path& folder, const CLI::App& command) {
  const fs::path file = folder / kConfig;
  std::ifstream in(file);
  if (!fs::is_regular_file(file) || !in) throw Error(printable(file.string(), 200), "cannot be read");
  const std::string saved{std::istreambuf_iterator<char>(in), {}};
  return read_settings(saved, file.string(), *command.get_parent());
}

// Tells a coupling of the same data from another.
std::string identity(const Coupling& coupling) {
  const CoupleSummary& summary = coupling.summary;
  return fmt::format("{} to {}, {:016x} at {:.9g}", summary.kernel, summary.latent, coupling.data_fingerprint,
                     summary.objective);
}

Standardizer network_scale(const Dataset& data) {
  // Pictures whose black and white are known to [-1, 1]; pictures without, and tables, feature by feature.
  return Standardizer::fit(data, data.image && data.value_range ? Standardize::kImage : Standardize::kZscore);
}

PairSampler pair_sampler(const Run& run, Progress* progress) {
  const Coupling& coupling = *run.coupling;
  if (run.pairs == "exact") return PairSampler(coupling);
  const Dataset subset = coupling.rows.empty() ? Dataset{} : select(run.coupled(), coupling.rows);
  Interpolation found = interpolate(coupling.rows.empty() ? run.coupled() : subset, run.coupled(), 10, progress);
  return PairSampler(coupling, std::move(found), run.pairs == "mixture" ? 0.5 : 0.0);
}

FloatMatrix scaled(const Dataset& data, const Standardizer& scale) {
  FloatMatrix samples(data.size(), data.dim());
  std::copy_n(data.samples.data(), data.samples.size(), samples.data());
  scale.apply(samples.view());
  return samples;
}

// What the model remembers of the data.
ModelFacts facts_of(const Run& run, const Standardizer& scale) {
  ModelFacts facts;
  facts.image = run.data.image;
  if (run.coupling != nullptr) {
    facts.latent = run.coupling->summary.latent;
    facts.kernel = run.coupling->summary.kernel;
  } else if (run.options.method == "vae" || run.options.method == "infodiffusion") {
    facts.latent = "gaussian";  // the prior
  }
  if (run.data.image) facts.value_range = picture_range(run.data);
  facts.standardizer = compose(run.applied, scale);
  facts.data_scale = run.applied;
  if (run.data.labels) facts.label_names = run.data.labels->names;
  facts.feature_names = run.data.feature_names;
  return facts;
}

RunResult report(const Run& run, const TrainState& state, const Context& context) {
  RunResult result{state, {}};
  try {
    result.numbers = write_run_report(run, state, context);
  } catch (const Interrupted&) {
    throw Interrupted(fmt::format("{} is written, the report is not; the same command with --resume writes it",
                                  (run / "model.cpfm").string()));
  }
  return result;
}

}  // namespace

void refuse_other_run(const fs::path& folder, bool couples) {
  const auto refuse = [&](const std::string& holds, const char* remedy) {
    throw Error("--output", fmt::format("{} holds {}", printable(folder.string(), 200), holds), remedy);
  };
  const char* go_on = "go on with --resume, or name another folder";
  if (is_there(folder / "model.cpfm"))
    refuse("a finished run", "name another folder; one that is trained goes on with --resume and a larger budget");
  if (is_there(folder / "embedding.csv")) refuse("a finished map", "name another folder");
  for (const char* left : {"molecules.cpfm", "molecules.cpfm.partial"}) {
    if (is_there(folder / left)) refuse("a run that is not finished", go_on);
  }
  if (is_there(folder / "checkpoint.cpfm")) refuse("an interrupted run" + step_of(folder / "checkpoint.cpfm"), go_on);
  if (is_there(folder / kPartial)) refuse("an interrupted run of 'cpfm fit', which was still coupling", go_on);
  if (couples && is_there(folder / kCoupling)) refuse("a coupling that was not trained on to the end", go_on);
}

void require_run_of(const fs::path& folder, const CLI::App& command, bool has_checkpoint) {
  const std::string shown = printable(folder.string(), 200);
  if (has_checkpoint && is_there(folder / "model.cpfm") && !is_there(folder / "checkpoint.cpfm")) {
    throw Error("--resume", fmt::format("{} holds a model, and no checkpoint.cpfm to go on from", shown),
                "name another folder for a new run");
  }
  if (!is_there(folder / kConfig)) return;
  const Settings there = saved_settings(folder, command);
  const std::string section = command.get_name() + ".";
  if (std::none_of(there.begin(), there.end(), [&](const auto& entry) { return entry.first.starts_with(section); })) {
    throw Error("--resume", fmt::format("{} does not hold a run of 'cpfm {}'", shown, command.get_name()),
                "go on with the command that made it, or name another folder");
  }
  const CLI::Option* const method = command.get_option_no_throw("--method");
  if (method == nullptr) return;
  const auto found = there.find(section + "method");
  const std::string theirs = found == there.end() || found->second.empty() ? "cpfm" : found->second[0];
  const std::string mine = method->count() > 0 ? method->results()[0] : method->get_default_str();
  if (mine != theirs) {
    throw Error("--resume", fmt::format("--method is {} here and was {} in {}", mine, printable(theirs), shown),
                "give the same method to go on, or name another folder for a new run");
  }
}

void require_same_coupling(const fs::path& folder, const CLI::App& command, const std::string& config,
                           std::uint64_t data_fingerprint) {
  require_run_of(folder, command);
  const std::string shown = printable(folder.string(), 200);
  if (!is_there(folder / kConfig)) {
    if (!is_there(folder / kCoupling)) return;
    throw Error("--resume", fmt::format("{} holds no {}, so how its coupling was made is not known", shown, kConfig),
                "name another folder, or train on the coupling alone with 'cpfm train'");
  }
  const bool begun =
      is_there(folder / kCoupling) || is_there(folder / kPartial) || is_there(folder / "checkpoint.cpfm");
  if (!begun) return;
  const Settings here = read_settings(config, "options", *command.get_parent());
  const Settings there = saved_settings(folder, command);
  const std::string section = command.get_name() + ".";
  std::string differing;
  const auto compare = [&](const CLI::Option& option, const std::string& name) {
    const auto value = [&](const Settings& settings) {
      const auto found = settings.find(name);
      if (found == settings.end()) return std::string(option.get_expected_max() == 0 ? "false" : "not given");
      return fmt::format("{}", fmt::join(found->second, ", "));
    };
    const std::string mine = value(here), theirs = value(there);
    double a = 0, b = 0;
    if (mine == theirs || (parse_number(mine, a) && parse_number(theirs, b) && a == b)) return;
    differing += fmt::format("{}{} is {} here and was {}", differing.empty() ? "" : ", ", option.get_single_name(),
                             printable(mine), printable(theirs));
  };
  // The same data may be read with other options; what other data was read with is worth telling.
  const std::optional<std::uint64_t> saved_data = data_of_run(folder);
  const bool other_data = saved_data && *saved_data != data_fingerprint;
  for (const CLI::Option* option : command.get_options()) {
    if (CoupleArguments::owns(*option) || (other_data && DataOptions::owns(*option)))
      compare(*option, section + option->get_single_name());
  }
  compare(*command.get_parent()->get_option("--seed"), "seed");
  if (differing.empty() && !other_data) return;
  const char* remedy = "give the same data and options to go on, or name another folder for a new run";
  if (differing.empty()) throw Error("--resume", fmt::format("{} was made of other data", shown), remedy);
  throw Error("--resume", fmt::format("{} in {}", differing, shown), remedy);
}

void require_same_coupling(const fs::path& folder, const Coupling& coupling) {
  const fs::path file = folder / kCoupling;
  if (!is_there(file) || identity(Coupling::load(file)) == identity(coupling)) return;
  throw Error("--output", fmt::format("{} holds another coupling", printable(folder.string(), 200)),
              fmt::format("name another folder, or train on {}", printable(file.string(), 200)));
}

void make_run_folder(const fs::path& folder) {
  std::error_code failed, ignored;
  fs::create_directories(folder, failed);
  if (!fs::is_directory(folder, ignored))
    throw Error("--output",
                fmt::format("{} is not a folder that could be made{}", printable(folder.string(), 200),
                            failed ? ": " + failed.message() : ""),
                "name a folder for the run");
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    throw Error("--output", fmt::format("{} cannot be written to", printable(folder.string(), 200)),
                "name a folder of your own");
}

void write_config(const fs::path& folder, const std::string& config) {
  AtomicFile file(folder / kConfig);
  file.write(config);
  file.commit();
}

RunResult train_run(const Run& run, FlowEntry& flow, const Context& context) {
  const auto progress = context.progress();
  const Standardizer scale = network_scale(run.data);
  const FloatMatrix samples = scaled(run.data, scale);
  TrainData data;
  data.samples = samples.view();
  data.image = run.data.image;
  const FloatMatrix nowhere(1, run.latent_dim);
  std::optional<PairSampler> sampler;
  if (run.coupling != nullptr) {
    sampler.emplace(pair_sampler(run, progress.get()));
    data.latent = run.coupling->latent.view();
    data.identity = {fmt::format("{:016x}", run.coupling->data_fingerprint), identity(*run.coupling), run.pairs};
  } else {
    data.latent = nowhere.view();
    data.identity = {fmt::format("{:016x}", fingerprint(run.data)), "none", "none"};
  }
  data.pairs = [&](std::uint64_t epoch) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    if (!sampler) {
      for (std::size_t i = 0; i < run.data.size(); ++i) pairs.emplace_back(static_cast<std::uint32_t>(i), 0u);
      return pairs;
    }
    for (const PairSampler::Pair& pair : sampler->epoch(context.seed, epoch))
      pairs.emplace_back(pair.sample, pair.latent);
    return pairs;
  };
  const auto trainer = flow.make_trainer(data, run.options);
  const fs::path checkpoint = run / "checkpoint.cpfm";
  const bool go_on = run.resume && is_there(checkpoint);
  if (go_on) trainer->load_checkpoint(checkpoint);
  write_config(run.folder, run.config);
  if (run.coupling != nullptr && !is_there(run / kCoupling)) run.coupling->save(run / kCoupling);
  Metrics metrics(run / "metrics.jsonl", go_on);
  LossWatch watch;
  for (const double loss : metrics.losses_before()) watch.add(loss);
  try {
    trainer->run(
        checkpoint,
        [&](const TrainState& state) {
          metrics.add(state);
          if (watch.add(state.loss_x))
            log().warn(
                "training has come apart: its loss of x was {:.3g} and stays at {:.3g}; a smaller "
                "--learning-rate than {:g} may help",
                watch.least(), state.loss_x, run.options.learning_rate);
        },
        progress.get());
  } catch (const Interrupted&) {
    throw Interrupted(fmt::format("{} holds the state; the same command with --resume goes on", checkpoint.string()));
  }

  const ModelFacts facts = facts_of(run, scale);
  trainer->save_model(run / "model.cpfm", facts);
  if (run.molecules != nullptr) add_to_model(run / "model.cpfm", *run.molecules);
  return report(run, trainer->state(), context);
}

RunResult kernel_pca_run(const Run& run, const Context& context) {
  const auto progress = context.progress();
  const Standardizer scale = network_scale(run.data);
  const auto start = std::chrono::steady_clock::now();
  KernelPcaOptions options;
  options.dim = run.latent_dim;
  options.seed = context.seed;
  options.sigma = run.sigma.value_or(options.sigma);
  const KernelPca pca = [&] {
    try {
      return KernelPca::fit(scaled(run.data, scale).view(), options, progress.get());
    } catch (const Error& error) {
      if (error.where() != "x") throw;
      throw Error(run.data.source, error.problem(), error.remedy());
    }
  }();
  write_config(run.folder, run.config);
  save_kernel_pca_model(run / "model.cpfm", pca, facts_of(run, scale));
  if (run.molecules != nullptr) add_to_model(run / "model.cpfm", *run.molecules);
  TrainState state;
  state.done = true;
  state.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report(run, state, context);
}

RunResult tsne_run(const Run& run, const Context& context) {
  const auto progress = context.progress();
  const auto start = std::chrono::steady_clock::now();
  TsneOptions options;
  options.perplexity =
      run.perplexity.value_or(std::min(options.perplexity, static_cast<double>(run.data.size() - 1) / 3.5));
  const FloatMatrix y = tsne(scaled(run.data, network_scale(run.data)).view(), options, progress.get());
  write_config(run.folder, run.config);
  write_embedding((run / "embedding.csv").string(), y, run.data);
  TrainState state;
  state.done = true;
  state.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {state, write_map_report(run, y, state.seconds, context)};
}

void print_run(const fs::path& folder, const RunResult& result) {
  const auto line = [](const char* what, const std::string& text) { fmt::print("  {:<11} {}\n", what, text); };
  fmt::print("{}\n", printable(folder.string(), 200));
  const TrainState& state = result.state;
  if (const std::string left_out = left_out_text(result.numbers); !left_out.empty())
    line("samples", fmt::format("{}{}", result.numbers["n"].get<std::size_t>(), left_out));
  if (state.steps == 0) line("fitted", fmt::format("in {:.1f} s", state.seconds));
  if (state.steps > 0)
    line("trained", fmt::format("{} steps, {} epochs, {:.1f} min", state.steps, state.epoch, state.seconds / 60));
  if (state.loss_x > 0) line("loss", fmt::format("x {:.4f}, y {:.4f}", state.loss_x, state.loss_y));
  if (state.validation_x) line("held out", fmt::format("x {:.4f}, y {:.4f}", *state.validation_x, *state.validation_y));
  const bool has_model = result.numbers.contains("model");
  line(has_model ? "model" : "map", printable((folder / (has_model ? "model.cpfm" : "embedding.csv")).string(), 200));
  line("report", printable((folder / "report.html").string(), 200));
}

}  // namespace cpfm::app
