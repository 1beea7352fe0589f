// cpfm couple DATA -o FILE: stage 1 alone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/memory.hpp"
#include "base/text.hpp"
#include "checks.hpp"
#include "cli.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/report.hpp"
#include "cuda/memory.hpp"
#include "map_view.hpp"

namespace cpfm::app {
namespace {

struct Outputs {
  std::string file, embedding, png;
  std::string device = "auto";
  bool barycentric = false, resume = false;

  std::string checkpoint() const { return file + ".partial"; }
};

void check_outputs(const Outputs& out, const std::string& data) {
  check_writable("--output", out.file);
  check_different({{"DATA", data}, {"--output", out.file}, {"--embedding", out.embedding}, {"--png", out.png}});
  if (!out.embedding.empty()) {
    check_extension("--embedding", out.embedding, {".npy", ".csv"});
    check_writable("--embedding", out.embedding);
  }
  if (!out.png.empty()) {
    check_extension("--png", out.png, {".png"});
    check_writable("--png", out.png);
    if (!can_draw())
      throw Error("--png", "this build has no Cairo, so it cannot draw", "install libcairo2-dev and build");
  }
  if (out.barycentric && out.embedding.empty() && out.png.empty())
    throw Error("--barycentric", "says how to embed, and nothing is embedded", "add --embedding FILE or --png FILE");
}

void draw(const std::string& file, const FloatMatrix& y, const Dataset& data, const Coupling& coupling) {
  const CoupleSummary& summary = coupling.summary;
  Figure figure;
  figure.title = fmt::format("{}, {}, {}", printable(data.source, 60), short_kernel(summary.kernel), summary.latent);
  figure.panels = {map_scatter(y, data, summary.kernel)};
  figure.panel_width = 640;
  figure.panel_height = 560;
  write_png(file, figure);
}

Json describe(const Coupling& coupling, const Outputs& out) {
  Json result = Json::parse(to_json(coupling.summary));
  result["peak_rss_mb"] = std::round(peak_memory() / 1e5) / 10;
  if (coupling.summary.device != "cpu")
    result["peak_device_mb"] = std::round(static_cast<double>(device_peak()) / 1e5) / 10;
  result["output"] = out.file;
  if (!out.embedding.empty()) result["embedding"] = out.embedding;
  if (!out.png.empty()) result["png"] = out.png;
  return result;
}

void print_result(const CoupleSummary& s, const Outputs& out, const std::string& left_out) {
  const auto line = [](const char* what, const std::string& text) { fmt::print("  {:<11} {}\n", what, text); };
  fmt::print("{}\n", printable(out.file, 200));
  line("coupled", fmt::format("{} samples with {} latent points, {} in {} dimension{}{}", s.n, s.m, s.latent, s.dim,
                              s.dim == 1 ? "" : "s", left_out));
  line("kernel", s.rank == 0 ? s.kernel + ", exact"
                             : fmt::format("{}; rank {} explains {:.1f} %", s.kernel, s.rank, 100 * s.explained));
  // A share means something for a cost that is positive.
  const bool positive = s.objective > 0 && s.objective_random > 0;
  line("objective",
       fmt::format("{:.5g}; a random coupling has {:.5g}{}", s.objective, s.objective_random,
                   positive ? fmt::format(", so it is {:.1f} %", 100 * s.objective / s.objective_random) : ""));
  line("status", fmt::format("{} at ε = {:.3g}, marginal error {:.1e}", s.status, s.epsilon, s.marginal_error));
  if (s.starts.size() > 1) {
    const auto [least, most] = std::minmax_element(s.starts.begin(), s.starts.end());
    line("starts", fmt::format("{}, from {:.4g} to {:.4g} where they were compared", s.starts.size(), *least, *most));
  }
  line("work", fmt::format("{} half-iterations, {} updates; {:.1f} s kernel, {:.1f} s factor, {:.1f} s solve on {}, {} "
                           "peak{}",
                           s.half_iterations, s.outer_iterations, s.seconds_kernel, s.seconds_factor, s.seconds_solve,
                           s.device, human_bytes(peak_memory()),
                           s.device == "cpu" ? "" : fmt::format(" ({} there)", human_bytes(double(device_peak())))));
  for (const std::string& file : {out.embedding, out.png}) {
    if (!file.empty()) line("written", printable(file, 200));
  }
}

void run(DataOptions& data_options, const CoupleArguments& arguments, const Outputs& out, const Context& context) {
  check_outputs(out, data_options.source);
  const Dataset data = data_options.load(context);
  CoupleOptions options = arguments.resolve(context, data.size());
  options.device = choose_device(out.device);
  options.checkpoint = out.checkpoint();
  options.resume = out.resume;
  const auto progress = context.progress();
  const Coupling coupling = [&] {
    try {
      return couple(data, options, progress.get());
    } catch (const Interrupted&) {
      std::error_code ignored;
      if (std::filesystem::exists(options.checkpoint, ignored)) {
        throw Interrupted(
            fmt::format("{} holds the state; the same command with --resume goes on", options.checkpoint.string()));
      }
      throw;
    }
  }();
  coupling.save(out.file);
  std::error_code ignored;
  std::filesystem::remove(options.checkpoint, ignored);
  if (!out.embedding.empty() || !out.png.empty()) {
    const FloatMatrix y = coupling.embed_all(data, out.barycentric, context.seed, progress.get());
    if (!out.embedding.empty()) write_embedding(out.embedding, y, data);
    if (!out.png.empty()) draw(out.png, y, data, coupling);
  }
  Json result = describe(coupling, out);
  data_options.tell_left_out(result);
  if (context.json)
    context.print(result);
  else
    print_result(coupling.summary, out, left_out_text(result));
}

}  // namespace

void add_couple_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("couple", "Couple data with latent points: stage 1 alone");
  command->footer(
      "Examples:\n"
      "  cpfm couple digits -o digits.cpfm --png map.png\n"
      "  cpfm couple cells.h5ad --labels obs:cell_type --latent square -o cells.cpfm --embedding y.npy\n"
      "  cpfm couple mols.csv --property mu --kernel '0.5*heat+0.5*property(mu,form=exp)' -o mols.cpfm\n"
      "Ctrl-C leaves FILE.partial; the same command with --resume goes on.");
  const auto data = std::make_shared<DataOptions>();
  const auto arguments = std::make_shared<CoupleArguments>();
  const auto out = std::make_shared<Outputs>();
  data->add_to(*command);
  command->add_option("-o,--output", out->file, "File for the coupling")->required()->option_text("FILE REQUIRED");
  arguments->add_to(*command);
  command->add_option("--embedding", out->embedding, "Also write where each sample lies: .npy, or .csv with labels")
      ->option_text("FILE");
  command->add_flag("--barycentric", out->barycentric, "The mean of each sample's latent points instead of one draw");
  command->add_option("--png", out->png, "Also draw the map, coloured by label or property")->option_text("FILE");
  command->add_flag("--resume", out->resume, "Go on from what an interrupted run left");
  command->add_option("--device", out->device, "auto, cpu, cuda or cuda:N")->type_name("DEVICE")->capture_default_str();
  command->callback([=, &context] { run(*data, *arguments, *out, context); });
}

}  // namespace cpfm::app
