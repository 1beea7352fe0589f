// cpfm embed, generate, reconstruct: a trained model at work.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.hpp"
#include "checks.hpp"
#include "cli.hpp"
#include "cpfm/error.hpp"
#include "cpfm/metric.hpp"
#include "map_view.hpp"
#include "model_input.hpp"
#include "molecule_output.hpp"
#include "molecules.hpp"

namespace cpfm::app {
namespace {

// Pictures as a PNG, anything else as .npy or .csv by the extension.
void write_samples(const char* option, const std::string& file, const FloatMatrix& samples, const ModelFacts& facts,
                   std::size_t columns) {
  const std::string extension = lower(std::filesystem::path(file).extension().string());
  if (extension == ".npy") {
    write_npy(file, samples.view());
    return;
  }
  if (extension == ".csv") {
    Dataset table;
    table.samples = FloatMatrix(samples.rows(), samples.cols());
    std::copy_n(samples.data(), samples.size(), table.samples.data());
    if (facts.feature_names.size() == samples.cols()) table.feature_names = facts.feature_names;
    write_csv(file, table);
    return;
  }
  if (!facts.image) throw Error(option, "this model is of vectors, which are no pictures", "name a .npy or .csv file");
  GridOptions grid;
  grid.columns = columns;
  if (facts.value_range) grid.range = *facts.value_range;
  write_png_grid(file, samples.view(), *facts.image, grid);
}

// What came of rows is not written where it is not finite.
void check_finite(const FloatMatrix& made, const char* of, std::size_t each, const std::string& model) {
  for (std::size_t i = 0; i < made.rows(); ++i) {
    for (const float value : made.row(i)) {
      if (!std::isfinite(value))
        throw Error(model, fmt::format("makes numbers that are not finite of {} {}", of, i / each + 1),
                    "leave out what is far from all that it was trained on");
    }
  }
}

// "0.5,-1" → {0.5, -1}
std::vector<float> parse_point(const std::string& text, std::size_t dim) {
  std::vector<float> point;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    double value = 0;
    if (!parse_number(text.substr(at, end - at), value) || !std::isfinite(value))
      throw Error("--at", fmt::format("'{}' is not a point", printable(text)), "numbers with commas, as in 0.5,-1");
    point.push_back(static_cast<float>(value));
    at = end + 1;
  }
  if (point.size() != dim)
    throw Error("--at", fmt::format("'{}' has {} numbers", printable(text), point.size()),
                fmt::format("the model's map has {} dimensions", dim));
  return point;
}

// Places from a file of any format; of a table as 'cpfm embed' writes it the columns y1, y2 … alone.
FloatMatrix read_places(const std::string& file, std::size_t dim) {
  Dataset table = [&] {
    ReadOptions options;
    options.fewest = 1;
    const std::vector<std::vector<std::string>> columns_of_text{{"label"}, {"smiles"}, {"smiles", "label"}};
    for (const auto& columns : columns_of_text) {
      options.ignore = columns;
      try {
        return read_dataset(file, options);
      } catch (const Error&) {  // no such column
      }
    }
    options.ignore.clear();  // then all of them are numbers, or the reader says what is wrong
    return read_dataset(file, options);
  }();
  std::vector<std::size_t> columns;
  for (;;) {
    const auto at =
        std::find(table.feature_names.begin(), table.feature_names.end(), fmt::format("y{}", columns.size() + 1));
    if (at == table.feature_names.end()) break;
    columns.push_back(static_cast<std::size_t>(at - table.feature_names.begin()));
  }
  std::string shape = fmt::format("{} x {}", table.size(), table.dim());
  FloatMatrix places = std::move(table.samples);
  if (!columns.empty()) {
    shape = fmt::format("{} x {} (its columns y1 …)", places.rows(), columns.size());
    FloatMatrix chosen(places.rows(), columns.size());
    for (std::size_t i = 0; i < chosen.rows(); ++i) {
      for (std::size_t k = 0; k < columns.size(); ++k) chosen(i, k) = places(i, columns[k]);
    }
    places = std::move(chosen);
  } else if (table.image && table.image->channels == 1) {
    // n x K x d, as 'cpfm embed --draws' writes it, reads as pictures: the K places of a sample follow each other.
    const auto draws = static_cast<std::size_t>(table.image->height),
               last = static_cast<std::size_t>(table.image->width);
    shape = fmt::format("{} x {} x {}", places.rows(), draws, last);
    places.reshape(places.rows() * draws, last);
  }
  if (places.cols() == dim) return places;
  throw Error("--y",
              fmt::format("{} is {}, and the model's map has {} dimension{}", printable(file, 200), shape, dim,
                          dim == 1 ? "" : "s"),
              fmt::format("one place per row, n x {0}, or n x K x {0} as 'cpfm embed --draws K' writes it", dim));
}

}  // namespace

void add_embed_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("embed", "Where samples lie on the map: y ~ p(y|x)");
  command->footer(
      "Examples:\n"
      "  cpfm embed run/model.cpfm digits -o y.npy\n"
      "  cpfm embed run/model.cpfm new.csv --draws 20 -o clouds.npy\n"
      "  cpfm embed run/model.cpfm digits --mean -o y.csv");
  struct Options {
    std::string model, out, density;
    std::size_t draws = 1;
    bool mean = false;
  };
  const auto o = std::make_shared<Options>();
  const auto data_options = std::make_shared<DataOptions>();
  const auto sample = std::make_shared<SampleArguments>();
  add_model_argument(*command, o->model);
  data_options->read.fewest = 1;
  data_options->as_selfies = true;
  data_options->add_unscaled_to(*command);
  command->add_option("-o,--output", o->out, "File to write: .npy, or .csv")->required()->option_text("FILE REQUIRED");
  auto* draws = command->add_option("--draws", o->draws, "Draws for each sample: the result is n x K x d")
                    ->transform(whole_number(1, 1000000))
                    ->type_name("K")
                    ->capture_default_str();
  command->add_flag("--mean", o->mean, "The mean of the draws (of 16, unless told) instead");
  command->add_option("--density", o->density, "Also write log p(y|x) of each y to this .npy file: n, or n x K")
      ->option_text("FILE");
  sample->add_to(*command, false);
  command->callback([=, &context] {
    check_extension("--output", o->out, {".npy", ".csv"});
    check_writable("--output", o->out);
    if (!o->density.empty()) {
      check_extension("--density", o->density, {".npy"});
      check_writable("--density", o->density);
    }
    const bool csv = lower(std::filesystem::path(o->out).extension().string()) == ".csv";
    if (csv && o->draws > 1 && !o->mean)
      throw Error("--output", "several draws per sample do not fit a table", "name a .npy file, or add --mean");
    constexpr std::size_t kDrawsForMean = 16;
    const std::size_t count = o->mean && draws->count() == 0 ? kDrawsForMean : o->draws;
    const auto model = open_model(o->model, sample->device);
    if (const std::string& method = model->facts().method;
        !o->density.empty() && (method == "kpca" || method == "diffae"))
      throw Error("--density", fmt::format("{} has one place for a sample and no density", method),
                  "cpfm, vae and infodiffusion have densities");
    Dataset data = samples_for(coder_in(o->model, sample->device), data_options->load(context), context);
    match_columns(data, model->facts());
    const auto progress = context.progress();
    const SampleOptions options = sample->resolve(context, progress.get());
    FloatMatrix y = model->embed(data.samples.view(), count, options);
    check_finite(y, "sample", count, o->model);
    if (o->mean) y = take_means(y, data.size());
    const std::size_t each = y.rows() / data.size();
    FloatMatrix density;  // n x draws, and no row where it is not asked for
    double mean_density = 0;
    if (!o->density.empty()) {
      FloatMatrix repeated(y.rows(), data.dim());
      for (std::size_t i = 0; i < y.rows(); ++i)
        std::copy_n(data.samples.row(i / each).data(), data.dim(), repeated.row(i).data());
      const std::vector<double> logs = model->log_density(repeated.view(), y.view(), options);
      mean_density = std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(logs.size());
      density = FloatMatrix(data.size(), each);
      std::copy(logs.begin(), logs.end(), density.data());
      check_finite(density, "sample", 1, o->model);
    }
    if (each == 1) {
      write_embedding(o->out, y, data);
    } else {
      write_npy(o->out, y.values(), {data.size(), each, y.cols()});
    }
    Json result{
        {"output", o->out}, {"n", data.size()}, {"draws", each}, {"dim", y.cols()}, {"device", model->device()}};
    data_options->tell_left_out(result);
    if (!o->density.empty()) {
      if (each == 1)
        write_npy(o->density, density.values(), {data.size()});
      else
        write_npy(o->density, density.view());
      result["density"] = o->density;
      result["mean_log_density"] = mean_density;
    }
    if (context.json) {
      context.print(result);
      return;
    }
    const std::string draws_text = each > 1 ? fmt::format(" x {}", each) : "";
    fmt::print("{}: {}{} x {}{}\n", printable(o->out, 200), data.size(), draws_text, y.cols(), left_out_text(result));
    if (!o->density.empty())
      fmt::print("{}: {}{}, log p(y|x), {:.4g} on average\n", printable(o->density, 200), data.size(), draws_text,
                 result["mean_log_density"].get<double>());
  });
}

void add_generate_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("generate", "Samples for places of the map: x ~ p(x|y)");
  command->footer(
      "Examples:\n"
      "  cpfm generate run/model.cpfm --grid 10 --range 1.5 -o grid.png\n"
      "  cpfm generate run/model.cpfm --at 0.5,-1 --at 0,0 -o two.npy\n"
      "  cpfm generate run/model.cpfm --y y.npy -o x.npy");
  struct Options {
    std::string model, out, y, png, svg;
    std::vector<std::string> at;
    std::size_t grid = 0, each = 1;
    double range = 1.5;
  };
  const auto o = std::make_shared<Options>();
  const auto sample = std::make_shared<SampleArguments>();
  add_model_argument(*command, o->model);
  command
      ->add_option("-o,--output", o->out,
                   "File to write: .npy, .csv, or .png for pictures; for molecules .csv, .smi, .sdf, .png or .svg")
      ->required()
      ->option_text("FILE REQUIRED");
  command->add_option("--y", o->y, "File with one place per row, or n x K x d as 'embed --draws' writes it")
      ->option_text("FILE");
  command->add_option("--at", o->at, "A place, a number for each dimension, as in 0.5,-1; may be repeated")
      ->option_text("a,b")
      ->allow_extra_args(false);
  command
      ->add_option("--grid", o->grid,
                   "A grid of K x K places in the first two dimensions of the map, 0 in any others; K places in one")
      ->transform(whole_number(1, 1000))
      ->type_name("K");
  command->add_option("--range", o->range, "The grid covers [-r, r] in both dimensions")
      ->check(positive_number())
      ->capture_default_str();
  command->add_option("--png", o->png, "Also draw them")->option_text("FILE");
  command->add_option("--svg", o->svg, "Also draw them, molecules only")->option_text("FILE");
  command->add_option("--each", o->each, "Samples for each place")
      ->transform(whole_number(1, 1000000))
      ->type_name("N")
      ->capture_default_str();
  sample->add_to(*command);
  command->callback([=, &context] {
    const auto model = open_model(o->model, sample->device);
    const auto coder = coder_in(o->model, sample->device);
    const OutputFiles files{o->out, o->png, o->svg};
    check_output_files(model->facts(), coder.has_value(), false, files);
    if ((o->grid > 0 ? 1 : 0) + (o->y.empty() ? 0 : 1) + (o->at.empty() ? 0 : 1) != 1)
      throw Error("--y, --at, --grid", "exactly one of them says where", "as in --grid 10");
    const ModelFacts& facts = model->facts();
    FloatMatrix places;
    std::size_t columns = 0;
    if (o->grid > 0) {
      places = grid_places(o->grid, {{-o->range, o->range}, {-o->range, o->range}}, facts.latent_dim);
      columns = o->grid * o->each;
    } else if (!o->y.empty()) {
      places = read_places(o->y, facts.latent_dim);
      columns = o->each > 1 ? o->each : 0;
    } else {
      places = FloatMatrix(o->at.size(), facts.latent_dim);
      for (std::size_t i = 0; i < o->at.size(); ++i) {
        const std::vector<float> point = parse_point(o->at[i], facts.latent_dim);
        std::copy(point.begin(), point.end(), places.row(i).data());
      }
      columns = o->each > 1 ? o->each : 0;
    }
    if (coder) check_drawing(files, places.rows() * o->each);
    FloatMatrix y(places.rows() * o->each, places.cols());
    for (std::size_t i = 0; i < y.rows(); ++i)
      std::copy_n(places.row(i / o->each).data(), places.cols(), y.row(i).data());
    const auto progress = context.progress();
    const FloatMatrix x = model->generate(y.view(), sample->resolve(context, progress.get()));
    check_finite(x, "place", o->each, o->model);
    Json result{{"output", o->out}, {"n", x.rows()}, {"dim", x.cols()}, {"device", model->device()}};
    if (coder) {
      const GeneratedMolecules made(*coder, y, x);
      for (const std::string& file : {o->out, o->png, o->svg}) {
        if (!file.empty()) made.write(file, columns);
      }
      result.update(made.numbers());
    } else {
      write_samples("--output", o->out, x, facts, columns);
      if (!o->png.empty()) write_samples("--png", o->png, x, facts, columns);
    }
    if (context.json)
      context.print(result);
    else if (coder)
      fmt::print("{}: {}\n", printable(o->out, 200), told(result));
    else
      fmt::print("{}: {} x {}\n", printable(o->out, 200), x.rows(), x.cols());
  });
}

void add_reconstruct_command(CLI::App& app, Context& context) {
  auto* command = app.add_subcommand("reconstruct", "Samples to the map and back: what the map keeps of them");
  command->footer(
      "Examples:\n"
      "  cpfm reconstruct run/model.cpfm digits --limit 100 -o back.png\n"
      "  cpfm reconstruct run/model.cpfm table.csv -o back.csv");
  struct Options {
    std::string model, out, png, svg;
    std::size_t pictures = 50;
    bool keep_noise = false;
  };
  const auto o = std::make_shared<Options>();
  const auto data_options = std::make_shared<DataOptions>();
  const auto sample = std::make_shared<SampleArguments>();
  add_model_argument(*command, o->model);
  data_options->read.fewest = 1;
  data_options->as_selfies = true;
  data_options->add_unscaled_to(*command);
  command
      ->add_option("-o,--output", o->out,
                   "File to write: .npy, .csv, or .png (molecules: also .svg) of originals above reconstructions")
      ->required()
      ->option_text("FILE REQUIRED");
  command->add_option("--png", o->png, "Also draw originals above reconstructions")->option_text("FILE");
  command->add_option("--svg", o->svg, "The same as SVG, molecules only")->option_text("FILE");
  command->add_option("--pictures", o->pictures, "How many pairs a PNG shows")
      ->transform(whole_number(1, 100000))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--keep-noise", o->keep_noise,
                    "Keep, beside the place, the noise that the diffusion run backwards finds for a sample (diffae and "
                    "infodiffusion): nearly everything comes back, whatever the map");
  sample->add_to(*command);
  command->callback([=, &context] {
    const auto model = open_model(o->model, sample->device);
    if (o->keep_noise && model->facts().method != "diffae" && model->facts().method != "infodiffusion")
      throw Error("--keep-noise", fmt::format("{} does not find the noise of a sample", model->facts().method),
                  "diffae and infodiffusion do");
    const auto coder = coder_in(o->model, sample->device);
    check_output_files(model->facts(), coder.has_value(), true, {o->out, o->png, o->svg});
    Dataset data = samples_for(coder, data_options->load(context), context);
    match_columns(data, model->facts());
    const auto progress = context.progress();
    const SampleOptions options = sample->resolve(context, progress.get());
    const FloatMatrix y = model->embed(data.samples.view(), 1, options);
    check_finite(y, "sample", 1, o->model);
    const FloatMatrix back =
        o->keep_noise ? model->retrace(data.samples.view(), y.view(), options) : model->generate(y.view(), options);
    check_finite(back, "sample", 1, o->model);
    if (coder) {
      const ReconstructedMolecules pairs(*coder, data, y, back);
      for (const std::string& file : {o->out, o->png, o->svg}) {
        if (!file.empty()) pairs.write(file, o->pictures);
      }
      Json result{{"output", o->out}, {"n", back.rows()}, {"device", model->device()}};
      result.update(pairs.numbers());
      data_options->tell_left_out(result);
      if (context.json)
        context.print(result);
      else
        fmt::print("{}: {}{}\n", printable(o->out, 200), told(result), left_out_text(result));
      return;
    }
    const auto draw = [&](const char* option, const std::string& file) {
      const std::size_t shown = std::min(o->pictures, data.size()), columns = std::min<std::size_t>(10, shown);
      const FloatMatrix pairs =
          interleave_pairs({data.samples.data(), shown, data.dim()}, {back.data(), shown, back.cols()}, columns,
                           model->facts().value_range.value_or(std::array<float, 2>{0, 255}));
      write_samples(option, file, pairs, model->facts(), columns);
    };
    if (lower(std::filesystem::path(o->out).extension().string()) == ".png")
      draw("--output", o->out);
    else
      write_samples("--output", o->out, back, model->facts(), 0);
    if (!o->png.empty()) draw("--png", o->png);
    const double mse = mean_squared_error(data.samples.view(), back.view());
    Json result{
        {"output", o->out}, {"n", back.rows()}, {"dim", back.cols()}, {"mse", mse}, {"device", model->device()}};
    if (context.json)
      context.print(result);
    else
      fmt::print("{}: {} x {}, mean squared error {:.5g}\n", printable(o->out, 200), back.rows(), back.cols(), mse);
  });
}

}  // namespace cpfm::app
