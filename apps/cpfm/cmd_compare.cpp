// cpfm compare DATA -o OUT: fits several methods with one budget and measures them on data that none of them has seen.
// OUT has a folder for each method, which is a run like those of 'fit', and the table and pictures of all of them. What
// is finished there and was made with the same options is not made again.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/atomic_file.hpp"
#include "base/log.hpp"
#include "base/take_rows.hpp"
#include "base/text.hpp"
#include "checks.hpp"
#include "cli.hpp"
#include "comparison.hpp"
#include "config.hpp"
#include "cpfm/error.hpp"
#include "cpfm/html_report.hpp"
#include "cpfm/random.hpp"
#include "cpfm/report.hpp"
#include "evaluation.hpp"
#include "fit.hpp"
#include "flow_library.hpp"
#include "map_view.hpp"
#include "model_input.hpp"

namespace cpfm::app {
namespace fs = std::filesystem;
namespace {

constexpr std::uint32_t kShownStream = 0x636d7073;  // "cmps"
constexpr std::size_t kMapPoints = 2000, kShownPictures = 15, kGridSide = 10;
constexpr double kGridReach = 1.5;  // of the grid of places, as in the paper
constexpr const char *kFigures = "evaluation.json", *kMap = "map.png", *kBack = "back.png", *kGrid = "places.png";

struct CompareArguments {
  std::string folder, methods = "cpfm,vae,diffae,infodiffusion,kpca", test;
  std::size_t test_limit = 0;
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
    const std::string name = list.substr(at, comma - at);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error("--methods", fmt::format("'{}' is not known", printable(name)),
                  "some of cpfm,vae,diffae,infodiffusion,kpca");
    }
    if (std::find(chosen.begin(), chosen.end(), name) == chosen.end()) chosen.push_back(name);
    at = comma + 1;
  }
  return chosen;
}

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return in ? std::string(std::istreambuf_iterator<char>(in), {}) : std::string();
}
std::vector<std::byte> bytes_of(const fs::path& file) {
  const std::string content = content_of(file);
  const auto* const data = reinterpret_cast<const std::byte*>(content.data());
  return {data, data + content.size()};
}
template <class Content>
void write_file(const fs::path& file, const Content& content) {
  AtomicFile out(file);
  out.write(content);
  out.commit();
}

// The seed and the options in force that `keep` takes: those that a part of the work depends on.
template <class Keep>
std::string config_with(const CLI::App& command, const Keep& keep) {
  std::vector<const CLI::Option*> leave_out;
  for (const CLI::Option* option : command.get_parent()->get_options()) {
    if (option->get_name() != "--seed") leave_out.push_back(option);
  }
  for (const CLI::Option* option : command.get_options()) {
    if (!keep(*option)) leave_out.push_back(option);
  }
  return config_text(*command.get_parent(), leave_out);
}

class Compare {
 public:
  Compare(const CLI::App& command, CompareArguments& arguments, const Context& context)
      : command_(command), o_(arguments), context_(context), out_(arguments.folder) {}

  void run() {
    const std::vector<std::string> methods = chosen_methods(o_.methods);
    if (command_.get_option("--part")->count() > 0)
      throw Error("--part", "is decided by what is compared", "one part is for training and the other is measured");
    check_measures(methods);
    load();
    make_run_folder(out_);
    fit_config_ = config_with(command_, [](const CLI::Option& option) {
      return DataOptions::owns(option) || CoupleArguments::owns(option) || TrainArguments::owns(option) ||
             option.get_name() == "--test";
    });
    measure_config_ = config_with(command_, [](const CLI::Option& option) {
      return option.get_name() != "--methods" && option.get_name() != "--law" && option.get_name() != "--output";
    });
    if (!o_.laws.empty()) couple_laws();
    for (const std::string& method : methods) {
      const Json figures = one(method);
      table_.add(method, figures);
      fitted_[method] = Json::parse(content_of(out_ / method / kFigures)).at("run");
    }
    write_results(methods);
    if (context_.json) {
      Json result = table_.json();
      result["output"] = out_.string();
      context_.print(result);
      return;
    }
    fmt::print("{} on {} samples that no method has seen, of {} trained on\n{}", printable(test_.source, 200),
               test_.size(), train_.size(), table_.text(isatty(fileno(stdout)) == 1));
    fmt::print("  report  {}\n", printable((out_ / "report.html").string(), 200));
  }

 private:
  // What would otherwise come to light after the first training.
  void check_measures(const std::vector<std::string>& methods) const {
    const std::string& latent = o_.couple.options.latent;
    const bool cpfm = std::find(methods.begin(), methods.end(), "cpfm") != methods.end();
    if (o_.evaluation.entropic && cpfm && latent != "gaussian")
      throw Error("--entropic", fmt::format("the map is {}, not gaussian", printable(latent)));
    const auto need = [](const char* option, const std::string& file) {
      if (!file.empty() && !fs::exists(file))
        throw Error(option, fmt::format("there is no file {}", printable(file, 200)),
                    "docs/metrics.md says where weights come from");
    };
    need("--lpips", o_.evaluation.lpips);
    const std::size_t colon = o_.evaluation.features.find(':');
    if (colon != std::string::npos) need("--features", o_.evaluation.features.substr(colon + 1));
  }

  void load() {
    DataOptions part = o_.data;
    part.part = o_.test.empty() ? "train" : "all";
    train_ = part.load(context_, &applied_);
    test_options_ = o_.data;
    test_options_.standardize = "none";  // models know the scale
    test_options_.part = o_.test.empty() ? "test" : "all";
    if (!o_.test.empty()) {
      test_options_.source = o_.test;
      test_options_.read.limit.reset();
    }
    test_ = test_options_.load(context_);
    if (o_.test_limit > 0 && test_.size() > o_.test_limit) {
      std::vector<std::size_t> rows = permutation(test_.size(), context_.seed, kShownStream, 1);
      rows.resize(o_.test_limit);
      std::sort(rows.begin(), rows.end());
      test_ = select(test_, rows);
    }
    if (test_.dim() != train_.dim()) {
      throw Error(
          "--test",
          fmt::format("{} has {} features, and {} has {}", test_.source, test_.dim(), train_.source, train_.dim()),
          "data of the same kind is needed");
    }
    o_.evaluation.kernel = o_.couple.options.kernel;
    if (o_.evaluation.judge_data.empty() && train_.labels && test_.labels) o_.evaluation.judge_data = o_.data.source;
    sample_.device = o_.train.options.device;
  }

  // Fits and measures one method, or takes what is there.
  Json one(const std::string& method) {
    const fs::path folder = out_ / method;
    const bool fitted = fs::exists(folder / "model.cpfm") && fs::exists(folder / "report.html") &&
                        content_of(folder / "config.toml") == fit_config_;
    if (fitted) {
      const Json saved = Json::parse(content_of(folder / kFigures), nullptr, false);
      if (saved.is_object() && saved.value("config", "") == measure_config_) return saved.at("figures");
    }
    RunResult result;
    if (!fitted) {
      std::error_code ignored;
      fs::remove(folder / kFigures, ignored);
      log().info("{}: fitting", method);
      TrainArguments train = o_.train;
      train.options.method = method;
      const bool begun = fs::exists(folder);
      try {
        result =
            fit({folder, command_, train_, applied_, o_.couple, train, begun, fit_config_}, flow_library(), context_);
      } catch (const Interrupted&) {
        throw Interrupted(fmt::format("{} holds what is done; the same command goes on", out_.string()));
      } catch (const Error& error) {
        if (error.where() != "--resume") throw;
        throw Error("--output", error.problem(), "give the same data and options to go on, or name another folder");
      }
    }
    log().info("{}: measuring", method);
    const auto model = open_model(folder.string(), sample_.device);
    match_columns(test_, model->facts());
    if (!evaluation_)
      evaluation_ =
          std::make_unique<Evaluation>(test_, model->facts(), o_.evaluation, test_options_, sample_, context_);
    const Json figures = evaluation_->measure(*model);
    draw(*model, folder);
    const ModelFacts& facts = model->facts();
    const Json run{{"parameters", facts.parameters}, {"device", model->device()}, {"metrics", last_line(folder)}};
    write_file(folder / kFigures, Json{{"config", measure_config_}, {"figures", figures}, {"run", run}}.dump(2) + "\n");
    return figures;
  }

  // What training said last, where there was any.
  static Json last_line(const fs::path& folder) {
    std::ifstream in(folder / "metrics.jsonl");
    Json last = Json::object();
    for (std::string line; std::getline(in, line);) {
      const Json entry = Json::parse(line, nullptr, false);
      if (entry.is_object()) last = entry;
    }
    return last;
  }

  // The pictures that stand side by side: where samples are put, what comes back of some, and what lies where.
  void draw(FlowModel& model, const fs::path& folder) {
    const auto progress = context_.progress();
    SampleOptions sampling = sample_.resolve(context_, progress.get());
    std::vector<std::size_t> rows = permutation(test_.size(), context_.seed, kShownStream);
    rows.resize(std::min(rows.size(), kMapPoints));
    const Dataset shown = select(test_, rows);
    const FloatMatrix y = model.embed(shown.samples.view(), 1, sampling);
    if (can_draw()) {
      Figure figure;
      figure.panels = {map_scatter(y, shown, o_.couple.options.kernel, model.facts().method)};
      write_file(folder / kMap, std::span<const std::byte>(png_bytes(figure)));
    }
    if (!model.facts().image) return;
    GridOptions grid;
    grid.range = model.facts().value_range.value_or(std::array<float, 2>{0, 255});
    const std::size_t few = std::min(kShownPictures, shown.size());
    grid.columns = few;
    const FloatMatrix back = model.generate({y.data(), few, y.cols()}, sampling);
    write_file(folder / kBack, std::span<const std::byte>(png_grid_bytes(back.view(), *model.facts().image, grid)));
    write_file(out_ / "originals.png", std::span<const std::byte>(png_grid_bytes(
                                           {shown.samples.data(), few, shown.dim()}, *model.facts().image, grid)));
    grid.columns = kGridSide;
    const GridBox box{{-kGridReach, kGridReach}, {-kGridReach, kGridReach}};
    const FloatMatrix places = grid_places(kGridSide, box, model.facts().latent_dim);
    const FloatMatrix there = model.generate(places.view(), sampling);
    write_file(folder / kGrid, std::span<const std::byte>(png_grid_bytes(there.view(), *model.facts().image, grid)));
  }

  // The figure of stage 1: the same data on maps of several shapes.
  void couple_laws() {
    const fs::path folder = out_ / "laws";
    const std::string config = config_with(command_, [](const CLI::Option& option) {
      return DataOptions::owns(option) || (CoupleArguments::owns(option) && option.get_name() != "--latent") ||
             option.get_name() == "--law" || option.get_name() == "--test";
    });
    if (fs::exists(out_ / "laws.png") && content_of(folder / "config.toml") == config) return;
    make_run_folder(folder);
    write_file(folder / "config.toml", config);
    std::vector<std::size_t> rows = permutation(train_.size(), context_.seed, kShownStream);
    rows.resize(std::min(rows.size(), kMapPoints));
    const Dataset shown = select(train_, rows);
    std::vector<FloatMatrix> maps;
    Json objectives = Json::object();
    for (const std::string& law : o_.laws) {
      CoupleArguments arguments = o_.couple;
      arguments.options.latent = law;
      CoupleOptions options = arguments.resolve(context_, train_.size());
      options.device = coupling_device(o_.train.options.device);
      const auto progress = context_.progress();
      const Coupling coupling = couple(train_, options, progress.get());
      coupling.save(folder / fmt::format("{}.cpfm", maps.size() + 1));
      maps.push_back(take_rows(coupling.embed_all(train_, false, context_.seed).view(), rows));
      objectives[law] = Json::parse(to_json(coupling.summary));
    }
    write_file(folder / "laws.json", objectives.dump(2) + "\n");
    if (!can_draw()) return;
    Figure figure;
    for (std::size_t k = 0; k < maps.size(); ++k)
      figure.panels.emplace_back(map_scatter(maps[k], shown, o_.couple.options.kernel, o_.laws[k]));
    write_file(out_ / "laws.png", std::span<const std::byte>(png_bytes(figure)));
  }

  void write_results(const std::vector<std::string>& methods) {
    Json result = table_.json();
    result.update({{"data", train_.source},
                   {"n", train_.size()},
                   {"test", test_.source},
                   {"test_n", test_.size()},
                   {"runs", fitted_},
                   {"command", context_.command_line}});
    write_file(out_ / "table.json", result.dump(2) + "\n");
    write_file(out_ / "table.csv", table_.csv());
    write_file(out_ / "table.md", table_.text(false));

    HtmlReport report;
    report.title = fmt::format("{}: {} methods", printable(train_.source, 100), methods.size());
    report.subtitle = fmt::format("{} samples trained on, {} measured", train_.size(), test_.size());
    report.sections.push_back({.heading = "Figures",
                               .text = "Mean and standard deviation over draws of the noise, on samples that no "
                                       "method has seen. The best is bold, the second underlined; the arrow points to "
                                       "what is better.",
                               .blocks = {table_.table()}});
    const auto section = [&](const char* heading, std::string text, const char* file, double scale) {
      ReportSection made{.heading = heading, .text = std::move(text)};
      for (const std::string& method : methods) {
        if (!fs::exists(out_ / method / file)) continue;
        made.blocks.push_back(ReportFigure{.png = bytes_of(out_ / method / file), .scale = scale, .caption = method});
      }
      return made;
    };
    if (fs::exists(out_ / "laws.png") && !o_.laws.empty()) {
      report.sections.push_back(
          {.heading = "Stage 1",
           .text = "The same data coupled with maps of several shapes.",
           .blocks = {ReportFigure{.png = bytes_of(out_ / "laws.png"), .scale = Figure().scale}}});
    }
    if (can_draw())
      report.sections.push_back(
          section("Maps", "Where each method puts samples it has not seen.", kMap, Figure().scale));
    if (train_.image) {
      ReportSection back = section("There and back", "Originals, and what comes back from their place.", kBack, 1);
      back.blocks.insert(back.blocks.begin(),
                         ReportFigure{.png = bytes_of(out_ / "originals.png"), .scale = 1, .caption = "originals"});
      report.sections.push_back(std::move(back));
      report.sections.push_back(section(
          "Across the map",
          fmt::format("A sample for each of {0} × {0} places of [−{1}, {1}]².", kGridSide, kGridReach), kGrid, 1));
    }
    ReportTable how{.columns = {{.name = "method"},
                                {.name = "parameters", .numeric = true},
                                {.name = "steps", .numeric = true},
                                {.name = "epochs", .numeric = true},
                                {.name = "minutes", .numeric = true}}};
    for (const std::string& method : methods) {
      const Json &run = fitted_[method], &last = run["metrics"];
      how.rows.push_back({method, fmt::format("{}", run["parameters"].get<std::uint64_t>()),
                          fmt::format("{}", last.value("step", 0)), fmt::format("{}", last.value("epoch", 0)),
                          fmt::format("{:.1f}", last.value("seconds", 0.0) / 60)});
    }
    report.sections.push_back({.heading = "How it was made",
                               .blocks = {how, ReportListing{.text = context_.command_line, .caption = "The command"},
                                          ReportListing{.text = measure_config_, .caption = "Its options"}}});
    report.footer = version_text();
    write_html_report(out_ / "report.html", report);
  }

  const CLI::App& command_;
  CompareArguments& o_;
  const Context& context_;
  fs::path out_;
  Dataset train_, test_;
  Standardizer applied_;
  DataOptions test_options_;
  SampleArguments sample_;
  std::string fit_config_, measure_config_;
  std::unique_ptr<Evaluation> evaluation_;
  Comparison table_;
  std::map<std::string, Json> fitted_;
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
  command->add_option("--test-limit", arguments->test_limit, "Measure on so many of them, drawn at random; 0: on all")
      ->transform(whole_number(0, 1000000000))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--law", arguments->laws, "Also couple with this law of the map, for a picture; may be repeated")
      ->option_text("LAW")
      ->allow_extra_args(false);
  arguments->evaluation.add_to(*command, false);
  arguments->couple.add_to(*command);
  arguments->train.add_to(*command);
  command->callback([=, &context] { Compare(*command, *arguments, context).run(); });
}

}  // namespace cpfm::app
