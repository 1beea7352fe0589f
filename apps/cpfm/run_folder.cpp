#include "run_folder.hpp"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "base/atomic_file.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "run_report.hpp"

namespace cpfm::app {
namespace fs = std::filesystem;
namespace {

// One JSON object per report; what a stopped run wrote stays.
class Metrics {
 public:
  Metrics(const fs::path& file, bool go_on) : out_(file, go_on ? std::ios::app : std::ios::trunc) {
    if (!out_) throw Error(file.string(), "cannot be written");
  }
  void add(const TrainState& state) {
    Json line{
        {"step", state.steps},    {"epoch", state.epoch},   {"seconds", std::round(state.seconds * 10) / 10},
        {"loss_x", state.loss_x}, {"loss_y", state.loss_y}, {"images_per_second", std::round(state.images_per_second)}};
    if (state.validation_x) line["validation_x"] = *state.validation_x;
    if (state.validation_y) line["validation_y"] = *state.validation_y;
    out_ << line.dump() << '\n' << std::flush;
  }

 private:
  std::ofstream out_;
};

Standardizer network_scale(const Dataset& data) {
  // Pictures whose black and white are known to [-1, 1]; pictures without, and tables, feature by feature.
  return Standardizer::fit(data, data.image && data.value_range ? Standardize::kImage : Standardize::kZscore);
}

PairSampler pair_sampler(const Run& run, Progress* progress) {
  if (run.pairs == "exact") return PairSampler(run.coupling);
  const Dataset coupled = run.coupling.rows.empty() ? Dataset{} : select(run.data, run.coupling.rows);
  Interpolation found = interpolate(run.coupling.rows.empty() ? run.data : coupled, run.data, 10, progress);
  return PairSampler(run.coupling, std::move(found), run.pairs == "mixture" ? 0.5 : 0.0);
}

}  // namespace

void open_run_folder(const fs::path& folder, bool resume) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder))
    throw Error("--output", fmt::format("{} is not a folder that could be made", printable(folder.string(), 200)),
                "name a folder for the run");
  if (!resume && fs::exists(folder / "model.cpfm", error)) {
    throw Error("--output", fmt::format("{} holds a finished run", printable(folder.string(), 200)),
                "name another folder, or go on training it with --resume and a larger budget");
  }
}

RunResult train_run(const Run& run, FlowEntry& flow, const Context& context) {
  const auto progress = context.progress();
  const Standardizer scale = network_scale(run.data);
  FloatMatrix samples(run.data.size(), run.data.dim());
  std::copy_n(run.data.samples.data(), run.data.samples.size(), samples.data());
  scale.apply(samples.view());
  const PairSampler sampler = pair_sampler(run, progress.get());

  TrainData data;
  data.samples = samples.view();
  data.image = run.data.image;
  data.latent = run.coupling.latent.view();
  data.identity = fmt::format("{:016x} coupled to {:.9g} ({})", run.coupling.data_fingerprint,
                              run.coupling.summary.objective, run.pairs);
  data.pairs = [&](std::uint64_t epoch) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (const PairSampler::Pair& pair : sampler.epoch(context.seed, epoch))
      pairs.emplace_back(pair.sample, pair.latent);
    return pairs;
  };
  const auto trainer = flow.make_trainer(data, run.options);
  const fs::path checkpoint = run / "checkpoint.cpfm";
  std::error_code ignored;
  const bool go_on = run.resume && fs::exists(checkpoint, ignored);
  if (go_on) trainer->load_checkpoint(checkpoint);
  if (!run.config.empty()) {
    AtomicFile file(run / "config.toml");
    file.write(run.config);
    file.commit();
  }
  Metrics metrics(run / "metrics.jsonl", go_on);
  try {
    trainer->run(
        checkpoint, [&](const TrainState& state) { metrics.add(state); }, progress.get());
  } catch (const Interrupted&) {
    throw Interrupted(fmt::format("{} holds the state; the same command with --resume goes on", checkpoint.string()));
  }

  ModelFacts facts;
  facts.latent = run.coupling.summary.latent;
  facts.kernel = run.coupling.summary.kernel;
  if (run.data.value_range) {
    facts.value_range = run.data.value_range;
  } else if (run.data.image) {
    const auto values = run.data.samples.values();
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    facts.value_range = {*low, *high};
  }
  if (facts.value_range && run.applied.mode != Standardize::kNone) {  // back to the units of the file
    for (float& value : *facts.value_range) {
      const std::vector<float>&shift = run.applied.shift, &by = run.applied.scale;
      if (shift.size() == 1) value = value * by[0] + shift[0];
    }
  }
  facts.standardizer = compose(run.applied, scale);
  if (run.data.labels) facts.label_names = run.data.labels->names;
  facts.feature_names = run.data.feature_names;
  trainer->save_model(run / "model.cpfm", facts);
  RunResult result{trainer->state(), {}};
  try {
    result.numbers = write_run_report(run, trainer->state(), flow, context);
  } catch (const Interrupted&) {
    throw Interrupted(fmt::format("{} is written, the report is not; the same command with --resume writes it",
                                  (run / "model.cpfm").string()));
  }
  return result;
}

void print_run(const Run& run, const RunResult& result) {
  const auto line = [](const char* what, const std::string& text) { fmt::print("  {:<11} {}\n", what, text); };
  fmt::print("{}\n", printable(run.folder.string(), 200));
  const TrainState& state = result.state;
  line("trained", fmt::format("{} steps, {} epochs, {:.1f} min", state.steps, state.epoch, state.seconds / 60));
  if (state.loss_x > 0) line("loss", fmt::format("x {:.4f}, y {:.4f}", state.loss_x, state.loss_y));
  if (state.validation_x) line("held out", fmt::format("x {:.4f}, y {:.4f}", *state.validation_x, *state.validation_y));
  line("model", printable((run / "model.cpfm").string(), 200));
  line("report", printable((run / "report.html").string(), 200));
}

}  // namespace cpfm::app
