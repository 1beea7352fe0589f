// cpfm compare DATA -o OUT: fits several methods with one budget and measures them on data that none of them has seen.
// OUT has a folder for each method, whose model every command takes, and the table and pictures of all of them. What is
// finished there and was made of the same data with the same options is not made again.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/log.hpp"
#include "base/take_rows.hpp"
#include "base/text.hpp"
#include "checks.hpp"
#include "cli.hpp"
#include "compare_folder.hpp"
#include "compare_keys.hpp"
#include "compare_report.hpp"
#include "comparison.hpp"
#include "cpfm/error.hpp"
#include "cpfm/random.hpp"
#include "cpfm/report.hpp"
#include "evaluation.hpp"
#include "fit.hpp"
#include "flow_library.hpp"
#include "folder_lock.hpp"
#include "map_view.hpp"
#include "model_input.hpp"
#include "whole_file.hpp"

namespace cpfm::app {
namespace fs = std::filesystem;
namespace {

constexpr std::uint32_t kPartStream = 0x70617274, kShownStream = 0x6c617773;  // "part", "laws"

struct CompareArguments {
  std::string folder, methods = "cpfm,vae,diffae,infodiffusion,kpca", test;
  std::size_t train_limit = 0, test_limit = 0, calls = 40;
  std::string solver = SampleOptions{}.method;
  std::vector<std::string> laws;
  DataOptions data;
  CoupleArguments couple;
  TrainArguments train;
  EvaluationArguments evaluation;
};

std::vector<std::string> chosen_methods(const std::string& list) {
  const std::vector<std::string> known{"cpfm", "vae", "diffae", "infodiffusion", "kpca"};
  std::vector<std::string> chosen;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string name{trim(list.substr(at, comma - at))};
    if (name == "tsne")
      throw Error("--methods", "t-SNE makes no model that could be measured on other samples",
                  "look at its map with 'cpfm fit --method tsne'");
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error("--methods", fmt::format("'{}' is not known", printable(name)),
                  "some of cpfm,vae,diffae,infodiffusion,kpca");
    }
    if (std::find(chosen.begin(), chosen.end(), name) == chosen.end()) chosen.push_back(name);
    at = comma + 1;
  }
  return chosen;
}

// Of the network, in one step of a solver of the flow.
std::size_t calls_of_step(const std::string& solver) { return solver == "euler" ? 1 : solver == "rk4" ? 4 : 2; }

class Compare {
 public:
  Compare(const CLI::App& command, CompareArguments& arguments, const Context& context)
      : command_(command), o_(arguments), context_(context), out_(arguments.folder) {}

  void run() {
    methods_ = chosen_methods(o_.methods);
    check_options();
    load();
    std::optional<FolderLock> lock;
    if (std::error_code none; fs::is_directory(out_, none)) lock.emplace(out_);
    const auto of_fit = [](const CLI::Option& option) {
      return CoupleArguments::owns(option) || TrainArguments::owns(option);
    };
    data_key_ = fmt::format("{:016x}{}", fingerprint(train_), content_keys(command_, of_fit));
    const std::string fit_key = config_with(command_, [&](const CLI::Option& option) {
      return DataOptions::owns(option) || of_fit(option) || option.get_name() == "--train-limit";
    });
    done_.emplace(out_, fit_key, data_key_);
    measure_options_ = config_with(command_, [](const CLI::Option& option) {
      return option.get_name() != "--methods" && option.get_name() != "--law" && option.get_name() != "--output";
    });
    // Figures that are measured in another way from a version on have another number here.
    constexpr int kMeasuredAs = 4;
    measure_key_ = fmt::format("{}{} {:016x} {}{}{}{}{}", measure_options_, data_key_, fingerprint(test_), kMeasuredAs,
                               originals_ ? fmt::format(" {:016x}", fingerprint(*originals_)) : "",
                               content_key(o_.evaluation.lpips), content_key(o_.evaluation.features),
                               content_key(o_.evaluation.kernel));
    bool all_measured = true;
    for (const std::string& method : methods_) {
      done_->refuse_other_options(method);
      try {
        all_measured = measured(method) && all_measured;
      } catch (const Error&) {  // of a newer version, or not to be read: its own turn tells
        if (methods_.size() == 1) throw;
        all_measured = false;
      }
    }
    if (!all_measured) {  // what is wrong is said before anything is trained
      if (compared("cpfm")) o_.couple.resolve(context_, train_.size());
      if (methods_ != std::vector<std::string>{"kpca"}) o_.train.resolve(context_, train_, flow_library());
      prepare_evaluation();
    }
    make_run_folder(out_);
    if (!lock) lock.emplace(out_);
    for (const std::string& method : methods_) {
      // What one method cannot do keeps no other from its place in the table.
      try {
        const Json known = fit_and_measure(method);
        table_.add(method, known.at("figures"), known.at("run"));
        runs_[method] = known.at("run");
      } catch (const Error& error) {
        // What is asked for cannot be: that is no failure of a method.
        if (methods_.size() == 1 || error.where() == "--kernel" || error.where() == "--output") throw;
        log().warn("{} failed: {}", method, error.what());
        table_.add_failed(method, error.what());
        failed_.push_back(method);
      }
    }
    if (!o_.laws.empty()) {
      try {
        couple_laws();
        laws_there_ = true;
      } catch (const Interrupted&) {
        throw Interrupted(going_on());
      } catch (const Error& error) {
        log().warn("stage 1 on other laws failed: {}", error.what());
        table_.add_note(fmt::format("Stage 1 on other laws failed: {}.", error.what()));
        failed_.push_back("stage 1 on other laws");
      }
    }
    write_results();
    if (context_.json) {
      Json result = table_.json();
      result["output"] = out_.string();
      context_.print(result);
    } else {
      print_table();
    }
    if (!failed_.empty()) {
      throw Error("compare", fmt::format("{} failed", fmt::join(failed_, ", ")),
                  runs_.empty() ? "the table says why; another folder takes other options"
                                : "the table has the others, and says why; another folder takes other options");
    }
  }

 private:
  bool compared(const std::string& method) const {
    return std::find(methods_.begin(), methods_.end(), method) != methods_.end();
  }

  void print_table() const {
    const std::size_t of_run = o_.evaluation.of_run(test_.size());
    fmt::print("{}: {} samples{}{}, {} trained on\n{}", printable(test_.source, 200), test_.size(),
               known_ == 0 ? " that no method has seen" : fmt::format(", {} of them trained on too", known_),
               of_run < test_.size() ? fmt::format(", {} of them in each run", of_run) : "", train_.size(),
               table_.text(isatty(fileno(stdout)) == 1));
    fmt::print("{}\n", printable((out_ / "report.html").string(), 200));
  }

  // Nothing where it has to be measured.
  std::optional<Json> measured(const std::string& method) {
    if (!has_pictures(done_->of(method), test_.image.has_value())) return std::nullopt;
    return done_->measured(method, measure_key_);
  }

  Json fit_and_measure(const std::string& method) {
    if (const std::optional<Json> known = measured(method)) return *known;
    if (!done_->fitted(method)) fit_one(method);
    try {
      return measure(method);
    } catch (const Interrupted&) {
      throw Interrupted(going_on());
    }
  }

  void check_options() const {
    o_.evaluation.check();
    if (const std::size_t calls = calls_of_step(o_.solver); compared("cpfm") && o_.calls % calls != 0)
      throw Error("--calls", fmt::format("a step of {} takes {}, which does not divide {}", o_.solver, calls, o_.calls),
                  fmt::format("{}, for one", (o_.calls / calls + 1) * calls));
    if (o_.data.part != "all")
      throw Error("--part", "is decided by what is compared", "one part is for training and the other is measured");
    if (o_.data.source == "-")
      throw Error("DATA", "standard input can be read once", "a comparison reads it twice: write it to a file");
    std::error_code ignored;
    if (!o_.test.empty() && fs::is_regular_file(o_.data.read.labels, ignored))
      throw Error("--labels", fmt::format("{} has the labels of DATA, not those of --test", o_.data.read.labels),
                  "name a column that both have, or leave out --test");
    if (fs::exists(out_ / "model.cpfm", ignored) || fs::exists(out_ / "checkpoint.cpfm", ignored))
      throw Error("--output", fmt::format("{} holds a run", printable(out_.string(), 200)), "name another folder");
    for (const std::string& law : o_.laws) {
      try {
        draw_latent(law, 2, o_.couple.options.latent_options);
      } catch (const Error& error) {
        throw Error("--law", error.problem(), error.remedy());
      }
    }
    if (o_.evaluation.coverage && !compared("cpfm") && !compared("infodiffusion"))
      throw Error("--coverage", fmt::format("means nothing for {}", fmt::join(methods_, ",")),
                  "cpfm and infodiffusion have the densities it takes");
    const std::string& latent = o_.couple.options.latent;
    const bool cpfm = compared("cpfm");
    if (o_.evaluation.entropic && cpfm && latent != "gaussian")
      throw Error("--entropic", fmt::format("the map is {}, not gaussian", printable(latent)));
    if (cpfm) {
      const std::size_t dim = draw_latent(latent, 2, o_.couple.options.latent_options).cols();
      if (methods_.size() > 1 && o_.couple.options.latent_options.dim == 0 && dim != 2)
        throw Error("--latent", fmt::format("{} has {} dimensions, and the other methods' maps have 2", latent, dim),
                    fmt::format("--dim {} for all of them", dim));
    }
  }

  void load() {
    DataOptions part = o_.data;
    part.part = o_.test.empty() ? "train" : "all";
    train_ = part.load(context_, &applied_);
    if (!train_.molecules.empty()) {
      throw Error(train_.source, "holds molecules, which 'cpfm compare' has no table for",
                  "'cpfm fit --method …' and 'cpfm evaluate' take them");
    }
    take_some(train_, o_.train_limit, 0);
    test_options_ = o_.data;
    test_options_.standardize = "none";  // models know the scale
    test_options_.part = o_.test.empty() ? "test" : "all";
    if (!o_.test.empty()) {
      test_options_.source = o_.test;
      test_options_.read.limit.reset();
      test_options_.sample = 0;
    }
    test_ = test_options_.load(context_);
    take_some(test_, o_.test_limit, 1);
    if (train_.size() < 2)
      throw Error(o_.train_limit > 0 ? "--train-limit" : train_.source, "leaves one sample to train on",
                  "at least two");
    facts_.image = test_.image;
    if (train_.image) facts_.value_range = picture_range(train_);
    facts_.dim = train_.dim();
    facts_.feature_names = train_.feature_names;
    if (!facts_.feature_names.empty() && !test_.feature_names.empty()) match_columns(test_, facts_);  // by name
    if (test_.dim() != train_.dim()) {
      throw Error(
          "--test",
          fmt::format("{} has {} features, and {} has {}", test_.source, test_.dim(), train_.source, train_.dim()),
          "data of the same kind is needed");
    }
    if (!o_.evaluation.judge_data.empty())
      originals_ = judge_originals(o_.evaluation.judge_data, test_options_, facts_, test_, context_);
    if (!o_.test.empty()) tell_known();
    if (o_.evaluation.kernel.empty()) {
      o_.evaluation.kernel = o_.couple.options.kernel;
      o_.evaluation.kernel_option = "--kernel";
    }
    sample_.device = o_.train.options.device;
    sample_.options.precision = o_.train.options.precision;
  }
  // Samples of --test that are also trained on.
  void tell_known() {
    Dataset scaled = select(test_, all_rows(test_.size()));
    applied_.apply(scaled.samples.view());
    known_ = count_known(scaled, train_);
    if (known_ == 0) return;
    log().warn("--test: {} of its {} samples are trained on, too, so the figures flatter", known_, test_.size());
    table_.add_note(fmt::format("{} of the {} samples measured are trained on, too, so the figures flatter.", known_,
                                test_.size()));
  }

  void take_some(Dataset& data, std::size_t most, std::uint64_t index) const {
    if (most == 0 || data.size() <= most) return;
    std::vector<std::size_t> rows = permutation(data.size(), context_.seed, kPartStream, index);
    rows.resize(most);
    std::sort(rows.begin(), rows.end());
    data = select(data, rows);
  }

  // The judge is trained on what the methods are trained on, unless --judge names other data.
  void prepare_evaluation() {
    FittedTo fitted_to;
    fitted_to.scale = applied_;
    fitted_to.keep_judge = out_ / "judge.cpfm";
    if (originals_) {
      fitted_to.originals = std::move(originals_);
    } else if (can_judge(train_, test_)) {
      fitted_to.originals = select(train_, all_rows(train_.size()));
      applied_.invert(fitted_to.originals->samples.view());
      fitted_to.originals->value_range = test_.value_range;
      fitted_to.originals->file_range.reset();
    } else if (train_.labels && test_.labels) {
      log().warn(
          "labels are not judged: that takes two classes among the samples to train on ({}), one of them among "
          "those to measure ({})",
          train_.source, test_.source);
    }
    evaluation_ = std::make_unique<Evaluation>(test_, facts_, o_.evaluation, test_options_, sample_, context_,
                                               std::move(fitted_to));
  }

  std::string going_on() const { return fmt::format("{} holds what is done; the same command goes on", out_.string()); }

  void fit_one(const std::string& method) {
    log().info("{}: fitting", method);
    TrainArguments train = o_.train;
    train.options.method = method;
    done_->prepare(method);
    const auto start = std::chrono::steady_clock::now();
    try {
      FitRequest request{done_->of(method),    command_,        train_, applied_, o_.couple, train,
                         done_->begun(method), done_->fit_key()};
      sample_as(method);
      request.sampling = sample_.options;
      fit(request, flow_library(), context_);
    } catch (const Interrupted&) {
      throw Interrupted(going_on());
    } catch (const Error& error) {
      if (error.where() != "--resume") throw;
      throw Error("--output", error.problem(), "give the same data and options to go on, or name another folder");
    }
    done_->note_fitted(method, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }

  // As many calls of the network for all: a step of the others takes one.
  void sample_as(const std::string& method) {
    sample_.options.method = o_.solver;
    sample_.options.steps = static_cast<int>(o_.calls / (method == "cpfm" ? calls_of_step(o_.solver) : 1));
  }

  Json measure(const std::string& method) {
    log().info("{}: measuring", method);
    const fs::path folder = done_->of(method);
    const auto model = open_model(folder.string(), sample_.device);
    const auto progress = context_.progress();
    sample_as(method);
    Json figures = evaluation_->measure(*model);
    draw_method(*model, test_, o_.couple.options.kernel, folder, sample_.resolve(context_, progress.get()));
    return done_->note_measured(method, measure_key_, std::move(figures), how(*model, method));
  }

  // How it was made, for the report.
  Json how(const FlowModel& model, const std::string& method) const {
    const fs::path folder = done_->of(method);
    Json run{
        {"parameters", model.facts().parameters}, {"latent_dim", model.facts().latent_dim}, {"device", model.device()}};
    std::ifstream in(folder / "metrics.jsonl");
    for (std::string line; std::getline(in, line);) {
      const Json entry = Json::parse(line, nullptr, false);
      if (!entry.is_object()) continue;
      run["steps"] = entry.value("step", std::uint64_t{0});
      run["seconds"] = entry.value("seconds", 0.0);
      if (entry.contains("samples")) run["samples_seen"] = entry["samples"];
    }
    if (!run.contains("seconds")) run["seconds"] = done_->seconds(method);  // nothing is trained
    try {
      if (const std::optional<Coupling> coupling = usable_coupling(folder / "coupling.cpfm")) {
        const Json told = Json::parse(to_json(coupling->summary));
        double seconds = 0;
        for (const auto& part : told.value("seconds", Json::object()))
          seconds += part.is_number() ? part.get<double>() : 0;
        run["coupling_seconds"] = seconds;
      }
    } catch (const Error& error) {  // no reason to lose what was measured
      log().warn("how long stage 1 took is not known: {}", error.what());
    }
    return run;
  }

  // The figure of stage 1: the same data on maps of several shapes.
  void couple_laws() {
    const fs::path folder = out_ / "laws", picture = out_ / "laws.png";
    const std::string of =
        data_key_ + config_with(command_, [](const CLI::Option& option) {
          return DataOptions::owns(option) || (CoupleArguments::owns(option) && option.get_name() != "--latent");
        });
    std::string key = of + "\n";
    for (const std::string& law : o_.laws) key += law + content_key(law) + "\n";
    if ((!can_draw() || fs::exists(picture)) && content_of(folder / "key") == key) return;
    log().info("stage 1 on {} laws", o_.laws.size());
    make_run_folder(folder);
    std::vector<std::size_t> rows = permutation(train_.size(), context_.seed, kShownStream);
    rows.resize(std::min<std::size_t>(rows.size(), 2000));
    const Dataset shown = select(train_, rows);
    const Device device = coupling_device(o_.train.options.device);
    std::vector<FloatMatrix> maps;
    Json told = Json::object();
    for (const std::string& law : o_.laws) {
      const fs::path file = folder / fmt::format("{}.cpfm", maps.size() + 1);
      Coupling coupling =
          coupled_with(law, file, fmt::format("{}\n{}{}\n{}\n", of, law, content_key(law), device.name()));
      coupling.plan.use(device);
      maps.push_back(take_rows(coupling.embed_all(train_, false, context_.seed).view(), rows));
      told[law] = Json::parse(to_json(coupling.summary));
    }
    write_whole(folder / "laws.json", told.dump(2) + "\n");
    if (can_draw()) {
      Figure figure;
      for (std::size_t k = 0; k < maps.size(); ++k)
        figure.panels.emplace_back(map_scatter(maps[k], shown, o_.couple.options.kernel, o_.laws[k]));
      write_whole(picture, png_bytes(figure));
    }
    write_whole(folder / "key", key);
  }
  // The coupling in `file`, where it is of this key: finished, gone on with or new. The key lies beside it, written
  // before it is begun.
  Coupling coupled_with(const std::string& law, const fs::path& file, const std::string& key) const {
    const fs::path partial = file.string() + ".partial", noted = file.string() + ".key";
    std::error_code ignored;
    if (content_of(noted) != key) {
      fs::remove(file, ignored);
      fs::remove(partial, ignored);
      write_whole(noted, key);
    }
    if (std::optional<Coupling> there = usable_coupling(file)) return std::move(*there);
    Coupling made = couple_with(law, partial);
    made.save(file);
    fs::remove(partial, ignored);
    return made;
  }
  Coupling couple_with(const std::string& law, const fs::path& checkpoint) const {
    if (law == o_.couple.options.latent && runs_.contains("cpfm")) {
      if (std::optional<Coupling> there = usable_coupling(done_->of("cpfm") / "coupling.cpfm"))
        return std::move(*there);
    }
    CoupleArguments arguments = o_.couple;
    arguments.options.latent = law;
    CoupleOptions options = arguments.resolve(context_, train_.size());
    options.device = coupling_device(o_.train.options.device);
    options.checkpoint = checkpoint;
    options.resume = is_usable(checkpoint);
    const auto progress = context_.progress();
    return couple(train_, options, progress.get());
  }

  void write_results() const {
    Json result = table_.json();
    result.update({{"data", train_.source},
                   {"n", train_.size()},
                   {"test", test_.source},
                   {"test_n", test_.size()},
                   {"test_trained_on", known_},
                   {"run_samples", o_.evaluation.of_run(test_.size())},
                   {"runs", runs_},
                   {"command", context_.command_line}});
    write_whole(out_ / "table.json", result.dump(2) + "\n");
    write_whole(out_ / "table.csv", table_.csv());
    write_whole(out_ / "table.md", table_.text(false));
    const fs::path laws = laws_there_ && can_draw() ? out_ / "laws.png" : fs::path();
    write_compare_report({out_, methods_, train_, test_, table_, runs_, laws, context_.command_line, measure_options_,
                          o_.evaluation.of_run(test_.size()), known_},
                         context_.seed);
  }

  const CLI::App& command_;
  CompareArguments& o_;
  const Context& context_;
  const fs::path out_;
  std::vector<std::string> methods_;
  Dataset train_, test_;
  ModelFacts facts_;                  // of the data
  std::optional<Dataset> originals_;  // of --judge
  Standardizer applied_;
  DataOptions test_options_;
  SampleArguments sample_;
  // What a measurement depends on; of the data, fingerprints.
  std::string measure_options_, data_key_, measure_key_;
  std::optional<CompareFolder> done_;
  std::unique_ptr<Evaluation> evaluation_;
  Comparison table_;
  std::map<std::string, Json> runs_;
  std::size_t known_ = 0;            // samples measured that are trained on
  std::vector<std::string> failed_;  // methods, and what else is not in the report
  bool laws_there_ = false;
};

}  // namespace

void add_compare_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("compare", "Fit several methods with one budget and print one table");
  command->footer(
      "Examples:\n"
      "  cpfm compare digits -o compared --minutes 1\n"
      "  cpfm compare data/mnist --test data/mnist/t10k-images-idx3-ubyte.gz --methods cpfm,vae,kpca -o compared\n"
      "Without --test a fifth of DATA is left out of training and measured (--test-fraction).\n"
      "The same command again goes on where it was interrupted; what is finished stays.");
  const auto arguments = std::make_shared<CompareArguments>();
  arguments->data.add_to(*command);
  command->add_option("-o,--output", arguments->folder, "Folder of the comparison")
      ->required()
      ->option_text("OUT REQUIRED");
  command->add_option("--methods", arguments->methods, "Which, separated by commas")
      ->option_text("LIST=" + arguments->methods)
      ->capture_default_str();
  command->add_option("--test", arguments->test, "Other data to measure on, in place of a part of DATA")
      ->option_text("DATA");
  command->add_option("--train-limit", arguments->train_limit, "Train on so many, drawn at random; 0: on all")
      ->transform(whole_number(0, 1000000000))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--test-limit", arguments->test_limit, "Measure on so many of them, drawn at random; 0: on all")
      ->transform(whole_number(0, 1000000000))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--law", arguments->laws, "Also couple with this law of the map, for a picture; may be repeated")
      ->option_text("LAW")
      ->allow_extra_args(false);
  command->add_option("--solver", arguments->solver, "Solver of CPFM's flow")
      ->check(one_of({"euler", "midpoint", "heun", "rk4"}))
      ->option_text(fmt::format("euler|midpoint|heun|rk4={}", arguments->solver))
      ->capture_default_str();
  command->add_option("--calls", arguments->calls, "Calls of the network for a sample, of every method")
      ->transform(whole_number(1, 1000000))
      ->type_name("N")
      ->capture_default_str();
  arguments->evaluation.add_to(*command, "--gwot-kernel", "Of the GWOT objective (default: that of --kernel)");
  arguments->couple.add_to(*command);
  arguments->train.add_to(*command);
  command->callback([=, &context] { Compare(*command, *arguments, context).run(); });
}

}  // namespace cpfm::app
