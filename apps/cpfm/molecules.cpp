#include "molecules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "base/text.hpp"
#include "checks.hpp"
#include "cpfm/error.hpp"
#include "flow_library.hpp"

namespace cpfm::app {
namespace fs = std::filesystem;
namespace {

constexpr const char* kGroup = "Molecules";
constexpr const char *kKind = "molecule coder", *kMadeOf = "made_of";

// What a coder was made of, to tell it from others.
std::string made_of(const Dataset& data, const SequenceVaeOptions& o) {
  return Json{{"data", fmt::format("{:016x}", fingerprint(data))},
              {"dim", o.latent},
              {"hidden", o.hidden},
              {"beta", o.beta},
              {"epochs", o.epochs},
              {"minutes", o.minutes},
              {"seed", o.seed}}
      .dump();
}

// The first key of two such texts with another value; "" where all are the same.
std::string first_difference(const std::string& theirs, const std::string& mine) {
  const Json a = Json::parse(theirs, nullptr, false), b = Json::parse(mine);
  if (!a.is_object()) return "data";
  for (const auto& [key, value] : b.items()) {
    if (!a.contains(key) || a[key] != value) return key;
  }
  return "";
}

MoleculeCoder load_coder(const TensorFile& file, const std::string& device) {
  return MoleculeCoder::load(file,
                             [&](const TensorFile& from) { return flow_library().load_sequence_vae(from, device); });
}

}  // namespace

void MoleculeArguments::add_to(CLI::App& command) {
  command.add_option("--encoder-epochs", options.epochs, "Passes over the molecules of the autoencoder")
      ->check(positive_number())
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--encoder-minutes", options.minutes, "Minutes at most of training it; 0: no limit")
      ->check(number_between(0, 1e9))
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--encoder-dim", options.latent, "Numbers that stand for a molecule")
      ->transform(whole_number(1, 4096))
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--encoder-hidden", options.hidden, "Width of its recurrent units")
      ->transform(whole_number(1, 4096))
      ->type_name("N")
      ->capture_default_str()
      ->group(kGroup);
  command.add_option("--encoder-beta", options.beta, "Weight of the KL divergence: more is smoother, less is exacter")
      ->check(number_between(0, 1e9))
      ->capture_default_str()
      ->group(kGroup);
}

bool MoleculeArguments::owns(const CLI::Option& option) { return option.get_group() == kGroup; }

void MoleculeArguments::check(const Dataset& data) const {
  if (data.molecules.empty() || data.properties.size() < static_cast<std::size_t>(options.latent)) return;
  throw Error("--encoder-dim",
              fmt::format("is {}, and there are {} properties", options.latent, data.properties.size()),
              "more numbers than properties");
}

MoleculeCoder coder_of_run(const fs::path& folder, const Dataset& data, SequenceVaeOptions options, FlowEntry& flow,
                           const Context& context) {
  const fs::path file = folder / "molecules.cpfm";
  options.seed = context.seed;
  const std::string mine = made_of(data, options);
  std::error_code ignored;
  if (fs::exists(file, ignored)) {
    const TensorFile there = TensorFile::open(file);
    const auto theirs = there.metadata().find(kMadeOf);
    const std::string other = theirs == there.metadata().end() ? "data" : first_difference(theirs->second, mine);
    if (!other.empty()) {
      throw Error(printable(file.string(), 200),
                  other == "data"
                      ? std::string("was made of other molecules or properties")
                      : fmt::format("was made with another {}", other == "seed" ? "--seed" : "--encoder-" + other),
                  "give the same to go on, or name another folder for a new run");
    }
    return load_coder(there, options.device);
  }
  options.checkpoint = file.string() + ".partial";
  const auto progress = context.progress();
  try {
    MoleculeCoder coder = MoleculeCoder::train(
        data,
        [&](const SequenceData& sequences) { return flow.train_sequence_vae(sequences, options, progress.get()); },
        progress.get());
    TensorFileWriter writer;
    writer.set_metadata("cpfm.kind", kKind);
    writer.set_metadata(kMadeOf, mine);
    coder.add_to(writer);
    writer.save(file);
    fs::remove(options.checkpoint, ignored);
    return coder;
  } catch (const Interrupted&) {
    if (!fs::exists(options.checkpoint, ignored) && !fs::exists(folder / "coupling.cpfm", ignored)) throw;
    throw Interrupted(fmt::format("{} holds the state; the same command with --resume goes on", folder.string()));
  }
}

void add_to_model(const fs::path& model, const MoleculeCoder& coder) {
  const TensorFile there = TensorFile::open(model);
  TensorFileWriter writer;
  for (const auto& [name, tensor] : there.tensors()) writer.add(name, tensor.dtype, tensor.shape, tensor.bytes);
  for (const auto& [key, value] : there.metadata()) {
    if (key != kFormatVersionKey) writer.set_metadata(key, value);
  }
  coder.add_to(writer);
  writer.save(model);
}

std::optional<MoleculeCoder> coder_in(const fs::path& model, const std::string& device) {
  std::error_code ignored;
  const TensorFile file = TensorFile::open(fs::is_directory(model, ignored) ? model / "model.cpfm" : model);
  if (!MoleculeCoder::is_in(file)) return std::nullopt;
  try {
    return load_coder(file, device);
  } catch (const Error& error) {
    throw Error(model.string(), error.what(), "the model is damaged; make it again");
  }
}

Dataset samples_for(const std::optional<MoleculeCoder>& coder, Dataset data, const Context& context) {
  if (!coder) {
    if (data.molecules.empty()) return data;
    throw Error(data.source, "holds molecules, and the model was made of something else", "give data of the same kind");
  }
  if (data.molecules.empty())
    throw Error(data.source, "holds no molecules, and the model was made of molecules",
                "--smiles names the column of a table; .smi and .sdf files are molecules");
  const std::vector<std::string> learned = coder->properties();
  for (const std::string& name : learned) {
    if (std::ranges::find(data.properties, name, &Property::name) == data.properties.end())
      log().info("{}: {} is guessed from the molecules; --property tells it where it was measured", data.source,
                 printable(name));
  }
  for (const Property& property : data.properties) {
    if (!learned.empty() && std::ranges::find(learned, property.name) == learned.end())
      log().warn("{}: the model knows nothing of the property '{}'; {}", data.source, printable(property.name),
                 suggest(property.name, learned));
  }
  std::size_t unknown = 0;
  FloatMatrix points = coder->encode(data, &unknown, context.progress().get());
  if (unknown > 0) {
    log().warn("{}: {} of {} molecules have symbols the model has not learned, or are longer than all it has learned",
               data.source, unknown, data.size());
  }
  return as_points(data, std::move(points));
}

}  // namespace cpfm::app
