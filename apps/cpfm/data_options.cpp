#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <limits>

#include "base/log.hpp"
#include "base/text.hpp"
#include "checks.hpp"
#include "cli.hpp"
#include "cpfm/error.hpp"
#include "cpfm/molecule.hpp"
#include "cpfm/random.hpp"
#include "data/byte_source.hpp"

namespace cpfm::app {
namespace {

constexpr const char *kSource = "DATA", *kGroup = "Reading DATA";
constexpr std::uint32_t kSampleStream = 0x73616d70;  // "samp"

// "3x32x32" or "28x28"
ImageShape parse_image_shape(const std::string& text) {
  std::vector<int> sides;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at < end) {
    int side = 0;
    const auto [next, problem] = std::from_chars(at, end, side);
    if (problem != std::errc{} || side < 1 || (next < end && *next != 'x')) break;
    sides.push_back(side);
    at = next < end ? next + 1 : next;
  }
  if (at != end || text.ends_with('x')) sides.clear();
  if (sides.size() == 2) sides.insert(sides.begin(), 1);
  if (sides.size() != 3 || (sides[0] != 1 && sides[0] != 3)) {
    throw Error("--image", fmt::format("'{}' is not a picture's shape", printable(text)),
                "HxW for grey, or CxHxW with C = 1 or 3, as 3x32x32");
  }
  return {sides[0], sides[1], sides[2]};
}

// A known dataset that is not there is one command away.
void hint_at_download(const std::string& source) {
  std::error_code ignored;
  if (std::filesystem::exists(source, ignored)) return;
  for (const RemoteDataset& remote : remote_datasets()) {
    if (std::filesystem::path(source).filename() != remote.name) continue;
    const std::string folder = "data/" + remote.name;
    if (source != folder && std::filesystem::exists(folder, ignored))
      throw Error(source, "there is no such file", fmt::format("did you mean {}?", folder));
    throw Error(source, "there is no such file", fmt::format("fetch it with 'cpfm data get {}'", remote.name));
  }
}

}  // namespace

void DataOptions::add_to(CLI::App& command) { add_to(command, true); }
void DataOptions::add_unscaled_to(CLI::App& command) { add_to(command, false); }

void DataOptions::add_to(CLI::App& command, bool with_scale) {
  command_ = &command;
  command.add_option(kSource, source, "A file or folder, - for CSV on stdin, or the built-in digits")->required();
  const char* group = kGroup;
  command.add_option("--labels", read.labels, "Classes: a column of DATA (name or number), obs:NAME, or a file")
      ->group(group);
  command.add_option("--property", read.properties, "A measured quantity, named as labels are; may be repeated")
      ->group(group)
      ->option_text("TEXT")
      ->allow_extra_args(false);
  command.add_option("--ignore", read.ignore, "A column to leave out; may be repeated")
      ->group(group)
      ->option_text("TEXT")
      ->allow_extra_args(false);
  command.add_option("--key", read.key, "Which array of an npz or HDF5 file holds the samples")->group(group);
  command.add_option("--limit", read.limit, "Read the first N samples only")
      ->transform(whole_number(read.fewest, std::numeric_limits<std::int64_t>::max()))
      ->type_name("N")
      ->group(group);
  const auto add_choice = [&](const char* name, std::string& value, const std::vector<std::string>& choices,
                              const char* what) {
    command.add_option(name, value, what)
        ->check(one_of(choices))
        ->option_text(fmt::format("{}={}", fmt::join(choices, "|"), value))
        ->capture_default_str()
        ->group(group);
  };
  add_choice("--header", header_, {"auto", "yes", "no"}, "Whether a table's first row names its columns");
  command.add_option("--smiles", smiles, "Rows are molecules: the column of SMILES (name or number)")->group(group);
  add_choice("--on-bad-row", on_bad_row, {"error", "skip"}, "What becomes of rows that hold no molecule");
  command.add_option("--image", image_shape_, "Rows are pictures of this shape, HxW or CxHxW")->group(group);
  command.add_option("--image-size", read.image_size, "Bring every picture of a folder to N x N pixels")
      ->transform(whole_number(1, 4096))
      ->type_name("N")
      ->group(group);
  add_choice("--image-fit", image_fit_, {"crop", "stretch", "pad"}, "How pictures meet the square");
  add_choice("--image-color", image_color_, {"auto", "grey", "color"}, "Channels of the pictures of a folder");
  if (with_scale)
    add_choice("--standardize", standardize, {"none", "unit", "zscore", "image"}, "Bring values to a common scale");
  command.add_option("--sample", sample, "Take N samples at random, by --seed; before any split")
      ->transform(whole_number(2, std::numeric_limits<std::int64_t>::max()))
      ->type_name("N")
      ->group(group);
  add_choice("--part", part, {"all", "train", "test"}, "Which part of a random split by --seed to take");
  command.add_option("--test-fraction", test_fraction, "Share of the samples in the test part")
      ->check(proper_fraction())
      ->capture_default_str()
      ->group(group);
}

bool DataOptions::is_source(const std::string& other) const {
  std::error_code none;
  return other == source || std::filesystem::equivalent(other, source, none);
}

bool DataOptions::owns(const CLI::Option& option) {
  return option.get_group() == kGroup || option.get_name() == kSource;
}

std::vector<const CLI::Option*> DataOptions::unused(const Dataset& data) const {
  std::vector<const CLI::Option*> options;
  const auto look = [&](const char* option, bool applies) {
    if (!applies) options.push_back(command_->get_option(option));
  };
  const bool pictures = data.format == "image folder";
  look("--key", data.format == "npz" || data.format == "hdf5" || data.format == "h5ad");
  const bool molecules = !data.molecules.empty();
  const std::string extension = content_extension(data.source);
  const bool table = data.format == "csv" || (molecules && extension != ".smi" && extension != ".sdf");
  look("--header", table || (molecules && extension == ".smi"));
  look("--smiles", table && molecules);
  look("--on-bad-row", molecules);
  for (const char* option : {"--ignore", "--image"}) look(option, !molecules);
  for (const char* option : {"--image-size", "--image-fit", "--image-color"}) look(option, pictures);
  return options;
}

Dataset DataOptions::read_source(const Context& context) {
  rows_left_out_.reset();
  ReadOptions options = read;
  const auto progress = context.progress();
  options.progress = progress.get();
  if (!image_shape_.empty()) options.image = parse_image_shape(image_shape_);
  options.header = header_ == "yes" ? Header::kYes : header_ == "no" ? Header::kNo : Header::kAuto;
  options.image_fit = image_fit_ == "pad"       ? ImageFit::kPad
                      : image_fit_ == "stretch" ? ImageFit::kStretch
                                                : ImageFit::kCrop;
  options.image_color = image_color_ == "grey"    ? ImageColor::kGrey
                        : image_color_ == "color" ? ImageColor::kColor
                                                  : ImageColor::kAuto;
  hint_at_download(source);
  MoleculeReadOptions of_molecules;
  of_molecules.read = options;
  of_molecules.smiles = smiles;
  of_molecules.as_selfies = as_selfies;
  of_molecules.on_bad_row = on_bad_row == "skip" ? OnBadRow::kSkip : OnBadRow::kError;
  if (!holds_molecules(source, of_molecules)) return read_dataset(source, options);
  if (standardize != "none") {
    throw Error("--standardize", fmt::format("{} holds molecules, and the bits of fingerprints are not scaled", source),
                "leave it out");
  }
  MoleculesRead found = read_molecules(source, of_molecules);
  const std::size_t left_out = found.skipped.size();
  rows_left_out_ = left_out;
  if (left_out > 0 && warned_of_ != source) {  // once, though a judge may read the same again
    warned_of_ = source;
    constexpr std::size_t kShown = 3;
    std::string shown;
    for (std::size_t k = 0; k < std::min(kShown, left_out); ++k)
      shown += (k == 0 ? "" : "; ") + found.skipped[k].text();
    log().warn("{}: {} of {} rows left out: {}{}", found.data.source, left_out, found.rows, shown,
               left_out > kShown ? "; …" : "");
  }
  return std::move(found.data);
}

Dataset DataOptions::load(const Context& context, Standardizer* applied) {
  const Standardize mode = parse_standardize(standardize);
  const auto start = std::chrono::steady_clock::now();
  Dataset data = read_source(context);
  log().debug("{}: {} x {} read as {} in {:.3f} s", data.source, data.size(), data.dim(), data.format,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  for (const CLI::Option* option : unused(data)) {
    // A default asks for nothing, wherever it was written down.
    if (option->count() > 0 && option->results()[0] != option->get_default_str())
      log().warn("{} means nothing for {}: its format is {}", option->get_name(), data.source, data.format);
  }
  if (sample > 0 && sample < data.size()) {
    std::vector<std::size_t> rows = permutation(data.size(), context.seed, kSampleStream);
    rows.resize(sample);
    std::sort(rows.begin(), rows.end());
    data = select(data, rows);
  } else if (sample > data.size()) {
    log().warn("--sample: {} has {} samples, and all are taken", data.source, data.size());
  }
  // The scale is the training part's, whichever part is taken: that is what a model would have seen.
  Standardizer scale;
  if (part == "all") {
    scale = Standardizer::fit(data, mode);
  } else {
    const std::size_t all = data.size();
    Dataset test = split_off(data, test_fraction, context.seed);
    if (std::min(data.size(), test.size()) < 2) {
      throw Error("--test-fraction",
                  fmt::format("{} leaves {} to train and {} to test of the {} samples of {}", test_fraction,
                              data.size(), test.size(), all, source),
                  "each part needs at least 2");
    }
    scale = Standardizer::fit(data, mode);
    if (part == "test") data = std::move(test);
  }
  if (data.image && mode != Standardize::kNone) data.file_range = picture_range(data);
  scale.apply(data.samples.view());
  if (applied != nullptr) *applied = scale;
  if (mode == Standardize::kImage)
    data.value_range = {-1, 1};
  else if (mode != Standardize::kNone)
    data.value_range.reset();
  return data;
}

void DataOptions::tell_left_out(Json& result) const {
  if (rows_left_out_) result["molecules"]["rows_left_out"] = *rows_left_out_;
}

std::string left_out_text(const Json& result) {
  const auto molecules = result.find("molecules");
  if (molecules == result.end()) return {};
  const std::size_t rows = molecules->value("rows_left_out", std::size_t{0});
  return rows == 0 ? "" : fmt::format("; {} row{} left out", rows, rows == 1 ? "" : "s");
}

void write_embedding(const std::string& file, const FloatMatrix& y, const Dataset& data) {
  if (lower(std::filesystem::path(file).extension().string()) == ".npy") {
    write_npy(file, y.view());
    return;
  }
  Dataset table;
  table.samples = FloatMatrix(y.rows(), y.cols());
  std::copy_n(y.data(), y.size(), table.samples.data());
  for (std::size_t k = 0; k < y.cols(); ++k) table.feature_names.push_back(fmt::format("y{}", k + 1));
  table.labels = data.labels;
  table.properties = data.properties;
  table.molecules = data.molecules;
  write_csv(file, table);
}

}  // namespace cpfm::app
