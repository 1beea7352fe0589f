#include "cpfm/molecule_coder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/molecule.hpp"
#include "cpfm/parallel.hpp"

namespace cpfm {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kFacts = "molecules", *kTraining = "molecules.training", *kMeasured = "molecules.measured";
constexpr std::size_t kAtOnce = 32;

// In parallel; the first molecule that has none is named.
std::vector<std::string> to_selfies(std::span<const std::string> smiles) {
  std::vector<std::string> strings(smiles.size());
  parallel_for(smiles.size(), kAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) strings[i] = smiles_to_selfies(smiles[i]);
  });
  return strings;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// The deviation is 1 where there is none.
std::pair<double, double> mean_and_deviation(std::span<const float> values) {
  const auto n = static_cast<double>(values.size());
  double mean = 0, square = 0;
  for (const float value : values) mean += value / n;
  for (const float value : values) square += (value - mean) * (value - mean) / n;
  const bool differ = std::ranges::find_if(values, [&](float v) { return v != values.front(); }) != values.end();
  return {mean, differ && square > 0 ? std::sqrt(square) : 1};
}

std::vector<std::string> all_canonical(std::span<const std::string> smiles) {
  std::vector<std::string> written(smiles.size());
  parallel_for(smiles.size(), kAtOnce, [&](std::size_t begin, std::size_t end) {
    check_interrupt();
    for (std::size_t i = begin; i < end; ++i) written[i] = canonical_smiles(smiles[i]);
  });
  return written;
}

// Molecules each once: a second measurement of one would tell what is guessed of the first.
struct Distinct {
  std::vector<std::string> molecules;
  std::vector<std::size_t> of_row;  // which of them each row is

  explicit Distinct(std::span<const std::string> written) {
    std::map<std::string, std::size_t, std::less<>> place;
    for (const std::string& smiles : written) {
      const auto [found, fresh] = place.emplace(smiles, molecules.size());
      if (fresh) molecules.push_back(smiles);
      of_row.push_back(found->second);
    }
  }

  FloatMatrix means(const FloatMatrix& rows) const {
    FloatMatrix sums(molecules.size(), rows.cols());
    std::fill_n(sums.data(), sums.size(), 0.0F);
    std::vector<float> counts(molecules.size());
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      counts[of_row[i]] += 1;
      for (std::size_t k = 0; k < rows.cols(); ++k) sums(of_row[i], k) += rows(i, k);
    }
    for (std::size_t i = 0; i < sums.rows(); ++i) {
      for (std::size_t k = 0; k < sums.cols(); ++k) sums(i, k) /= counts[i];
    }
    return sums;
  }
};

FloatMatrix side_by_side(MatrixView<const float> a, MatrixView<const float> b) {
  FloatMatrix both(a.rows, a.cols + b.cols);
  for (std::size_t i = 0; i < a.rows; ++i) {
    std::copy_n(a.data + i * a.cols, a.cols, both.row(i).data());
    std::copy_n(b.data + i * b.cols, b.cols, both.row(i).data() + a.cols);
  }
  return both;
}

}  // namespace

MoleculeCoder::MoleculeCoder(SelfiesCoder coder, std::unique_ptr<SequenceVae> vae, std::vector<std::string> training,
                             std::optional<Properties> properties)
    : coder_(std::move(coder)),
      vae_(std::move(vae)),
      training_(std::move(training)),
      properties_(std::move(properties)) {
  for (const std::string& smiles : training_) training_text_ += smiles + '\n';
}

MoleculeCoder MoleculeCoder::train(const Dataset& data, const TrainSequences& train, Progress* progress) {
  const std::vector<std::string> written = all_canonical(data.molecules), strings = to_selfies(written);
  const std::vector<std::string> alphabet = selfies_alphabet(strings);
  const SelfiesCoder coder(alphabet);
  std::size_t length = 1;
  for (const std::string& text : strings) length = std::max(length, split_selfies(text).size());
  ++length;  // room for the end
  std::vector<std::int32_t> symbols;
  for (const std::string& text : strings) {
    const std::vector<std::int32_t> row = coder.encode(text, length);
    symbols.insert(symbols.end(), row.begin(), row.end());
  }
  SequenceData sequences;
  sequences.symbols = {symbols.data(), strings.size(), length};
  sequences.alphabet = static_cast<std::int32_t>(coder.symbols().size());
  sequences.features = data.samples.view();
  const Distinct distinct(written);
  std::optional<Properties> properties;
  FloatMatrix values, seen;
  if (!data.properties.empty()) {
    if (distinct.molecules.size() < 2)
      throw Error(data.source, "all its rows are one molecule, " + printable(distinct.molecules.front()),
                  "at least two that differ");
    std::vector<Properties::Scale> scales;
    values = FloatMatrix(data.size(), data.properties.size());
    for (const Property& property : data.properties) {
      const auto [mean, deviation] = mean_and_deviation(property.values);
      scales.push_back({property.name, mean, deviation});
      for (std::size_t i = 0; i < data.size(); ++i) values(i, scales.size() - 1) = scales.back()(property.values[i]);
    }
    FloatMatrix measured = distinct.means(values);
    DescriptorRegressor guesser(molecule_descriptors(distinct.molecules, progress).view(), measured.view());
    properties = Properties{std::move(scales), std::move(measured), std::move(guesser)};
    seen = side_by_side(sequences.features, values.view());
    sequences.features = seen.view();
    sequences.targets = values.view();
  }
  std::unique_ptr<SequenceVae> vae = train(sequences);
  return MoleculeCoder(coder, std::move(vae), distinct.molecules, std::move(properties));
}

bool MoleculeCoder::is_in(const TensorFile& file) { return file.metadata().contains(kFacts); }

MoleculeCoder MoleculeCoder::load(const TensorFile& file, const LoadSequences& load) {
  const Json facts = Json::parse(file.metadata(kFacts), nullptr, false);
  if (!facts.is_object() || !facts.contains("alphabet") || !facts["alphabet"].is_array())
    throw Error(kFacts, "has no alphabet", "the file is damaged");
  std::vector<std::string> alphabet;
  for (const Json& symbol : facts["alphabet"]) {
    if (!symbol.is_string()) throw Error(kFacts, "its alphabet is not of text", "the file is damaged");
    alphabet.push_back(symbol.get<std::string>());
  }
  const TensorView& training = file.tensor(kTraining);
  if (training.dtype != DType::kU8) throw Error(kTraining, "is not text", "the file is damaged");
  const std::string text(reinterpret_cast<const char*>(training.bytes.data()), training.bytes.size());
  std::vector<std::string> lines = lines_of(text);
  if (lines.empty()) throw Error(kTraining, "is empty", "the file is damaged");
  SelfiesCoder coder(alphabet);
  std::unique_ptr<SequenceVae> vae = load(file);
  if (vae->alphabet() != coder.symbols().size())
    throw Error(kFacts, "its alphabet is not that of its network", "the file is damaged");
  std::optional<Properties> properties = load_properties(file, file.metadata(kFacts), lines.size());
  const std::size_t known = properties ? properties->scales.size() : 0, seen = Fingerprints::kBits + known;
  if (vae->features() != seen)
    throw Error(kFacts, fmt::format("its network looks at {} features, and there are {}", vae->features(), seen),
                "the file is damaged");
  if (vae->latent() <= known)
    throw Error(kFacts, fmt::format("its points have {} numbers for {} properties", vae->latent(), known),
                "the file is damaged");
  return MoleculeCoder(std::move(coder), std::move(vae), std::move(lines), std::move(properties));
}

std::optional<MoleculeCoder::Properties> MoleculeCoder::load_properties(const TensorFile& file,
                                                                        const std::string& facts,
                                                                        std::size_t molecules) {
  std::vector<Properties::Scale> scales;
  for (const Json& one : Json::parse(facts).value("properties", Json::array())) {
    const auto number = [&](const char* key) {
      return one.is_object() && one.contains(key) && one[key].is_number() ? one[key].get<double>() : std::nan("");
    };
    const double mean = number("mean"), deviation = number("deviation");
    if (!std::isfinite(mean) || !(deviation > 0) || !std::isfinite(deviation) || !one.contains("name") ||
        !one["name"].is_string())
      throw Error(kFacts, "does not tell the scale of its properties", "the file is damaged");
    scales.push_back({one["name"].get<std::string>(), mean, deviation});
  }
  if (scales.empty()) return std::nullopt;
  const TensorView& tensor = file.tensor(kMeasured);
  if (tensor.dtype != DType::kF32 || tensor.shape.size() != 2 || tensor.shape[0] != molecules ||
      tensor.shape[1] != scales.size())
    throw Error(kMeasured, "does not fit what is beside it", "the file is damaged");
  FloatMatrix measured(tensor.shape[0], tensor.shape[1]);
  std::copy_n(tensor.bytes.data(), tensor.bytes.size(), reinterpret_cast<std::byte*>(measured.data()));
  if (!std::all_of(measured.data(), measured.data() + measured.size(), [](float v) { return std::isfinite(v); }))
    throw Error(kMeasured, "is not finite", "the file is damaged");
  DescriptorRegressor guesser(file);
  if (guesser.left_out().rows() != molecules || guesser.properties() != scales.size())
    throw Error(kTraining, "is not what its properties are guessed from", "the file is damaged");
  return Properties{std::move(scales), std::move(measured), std::move(guesser)};
}

void MoleculeCoder::add_to(TensorFileWriter& writer) const {
  Json facts{{"alphabet", coder_.symbols()}};
  if (properties_) {
    for (const Properties::Scale& scale : properties_->scales)
      facts["properties"].push_back({{"name", scale.name}, {"mean", scale.mean}, {"deviation", scale.deviation}});
    const FloatMatrix& measured = properties_->measured;
    writer.add(kMeasured, {measured.rows(), measured.cols()}, {measured.data(), measured.size()});
    properties_->guesser.add_to(writer);
  }
  writer.set_metadata(kFacts, facts.dump());
  writer.add(kTraining, DType::kU8, {training_text_.size()}, std::as_bytes(std::span(training_text_)));
  vae_->add_to(writer);
}

std::vector<std::int32_t> MoleculeCoder::symbols_of(std::span<const std::string> smiles, std::size_t* unknown) const {
  const std::vector<std::string>& known = coder_.symbols();
  std::map<std::string, std::int32_t, std::less<>> index;
  for (std::size_t k = 0; k < known.size(); ++k) index.emplace(known[k], static_cast<std::int32_t>(k));
  const auto untold = static_cast<std::int32_t>(known.size());
  const std::vector<std::string> strings = to_selfies(smiles);
  const std::size_t length = vae_->length();
  std::vector<std::int32_t> symbols(smiles.size() * length);
  std::size_t odd = 0;
  for (std::size_t i = 0; i < strings.size(); ++i) {
    const std::vector<std::string> parts = split_selfies(strings[i]);
    bool known_all = parts.size() < length;  // the last place is the end's
    for (std::size_t k = 0; k < std::min(parts.size(), length); ++k) {
      const auto found = index.find(parts[k]);
      known_all = known_all && found != index.end();
      symbols[i * length + k] = found == index.end() ? untold : found->second;
    }
    odd += known_all ? 0 : 1;
  }
  if (unknown != nullptr) *unknown = odd;
  return symbols;
}

std::vector<std::string> MoleculeCoder::properties() const {
  std::vector<std::string> names;
  if (!properties_) return names;
  for (const Properties::Scale& scale : properties_->scales) names.push_back(scale.name);
  return names;
}

FloatMatrix MoleculeCoder::guesses(std::span<const std::string> smiles, Progress* progress) const {
  if (!properties_) return FloatMatrix(smiles.size(), 0);
  return known_or_guessed(all_canonical(smiles), properties_->guesser.left_out(), progress);
}

FloatMatrix MoleculeCoder::known_or_guessed(std::span<const std::string> smiles, const FloatMatrix& known,
                                            Progress* progress) const {
  std::map<std::string, std::size_t, std::less<>> learned;
  for (std::size_t i = 0; i < training_.size(); ++i) learned.emplace(training_[i], i);
  const DescriptorRegressor& guesser = properties_->guesser;
  FloatMatrix values(smiles.size(), guesser.properties());
  std::vector<std::size_t> others;
  std::vector<std::string> unmeasured;
  for (std::size_t i = 0; i < smiles.size(); ++i) {
    if (const auto found = learned.find(smiles[i]); found != learned.end()) {
      std::ranges::copy(known.row(found->second), values.row(i).begin());
    } else {
      others.push_back(i);
      unmeasured.push_back(smiles[i]);
    }
  }
  if (others.empty()) return values;
  const FloatMatrix descriptors = molecule_descriptors(unmeasured, progress);
  if (descriptors.cols() != guesser.descriptors())
    throw Error(
        "the model",
        fmt::format("guesses by {} descriptors, and this cpfm has {}", guesser.descriptors(), descriptors.cols()),
        "the version that made it, or make it again");
  const FloatMatrix said = guesser.predict(descriptors.view());
  for (std::size_t k = 0; k < others.size(); ++k) std::ranges::copy(said.row(k), values.row(others[k]).begin());
  return values;
}

FloatMatrix MoleculeCoder::properties_of(const Dataset& molecules, std::span<const std::string> canonical,
                                         Progress* progress) const {
  if (!properties_) return FloatMatrix(canonical.size(), 0);
  const std::vector<Properties::Scale>& scales = properties_->scales;
  std::vector<const Property*> told;  // null: not among those of `molecules`
  for (const Properties::Scale& scale : scales) {
    const auto found = std::ranges::find(molecules.properties, scale.name, &Property::name);
    told.push_back(found == molecules.properties.end() ? nullptr : &*found);
  }
  const bool all_told = std::ranges::find(told, nullptr) == told.end();
  FloatMatrix values = all_told ? FloatMatrix(canonical.size(), scales.size())
                                : known_or_guessed(canonical, properties_->measured, progress);
  for (std::size_t p = 0; p < scales.size(); ++p) {
    for (std::size_t i = 0; told[p] != nullptr && i < values.rows(); ++i) values(i, p) = scales[p](told[p]->values[i]);
  }
  return values;
}

FloatMatrix MoleculeCoder::points_of(const Dataset& molecules, std::span<const std::string> canonical,
                                     const FloatMatrix& properties, std::size_t* unknown) const {
  CPFM_ASSERT(molecules.molecules.size() == molecules.size(), "samples are fingerprints of molecules");
  const std::vector<std::int32_t> symbols = symbols_of(canonical, unknown);
  const MatrixView<const std::int32_t> sequences{symbols.data(), molecules.size(), vae_->length()};
  FloatMatrix points = vae_->encode(sequences, side_by_side(molecules.samples.view(), properties.view()).view());
  // What the encoder was taught to come near.
  for (std::size_t i = 0; i < points.rows(); ++i) std::ranges::copy(properties.row(i), points.row(i).begin());
  return points;
}

FloatMatrix MoleculeCoder::encode(const Dataset& molecules, std::size_t* unknown, Progress* progress) const {
  const std::vector<std::string> written = all_canonical(molecules.molecules);
  return points_of(molecules, written, properties_of(molecules, written, progress), unknown);
}

FloatMatrix MoleculeCoder::encode_by_structure(const Dataset& molecules, Progress* progress) const {
  return points_of(molecules, all_canonical(molecules.molecules), guesses(molecules.molecules, progress), nullptr);
}

std::vector<std::string> MoleculeCoder::decode_selfies(MatrixView<const float> points) const {
  const std::vector<std::int32_t> symbols = vae_->decode(points);
  const std::size_t length = vae_->length();
  std::vector<std::string> strings;
  for (std::size_t i = 0; i < points.rows; ++i) strings.push_back(coder_.decode({&symbols[i * length], length}));
  return strings;
}

std::vector<std::string> MoleculeCoder::decode(MatrixView<const float> points) const {
  std::vector<std::string> molecules = decode_selfies(points);
  const bool read_again = has_rdkit();
  parallel_for(molecules.size(), kAtOnce, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      molecules[i] = selfies_to_smiles(molecules[i]);
      if (molecules[i].empty() || !read_again) continue;
      try {
        molecules[i] = canonical_smiles(molecules[i]);
      } catch (const Error&) {  // SELFIES gives eight bonds to elements that RDKit knows better
        molecules[i].clear();
      }
    }
  });
  return molecules;
}

Dataset as_points(const Dataset& data, FloatMatrix points) {
  Dataset result;
  result.source = data.source;
  result.format = data.format;
  result.dtype = "float32";
  result.samples = std::move(points);
  result.labels = data.labels;
  result.properties = data.properties;
  result.sample_names = data.sample_names;
  result.molecules = data.molecules;
  for (std::size_t k = 0; k < result.samples.cols(); ++k) result.feature_names.push_back(fmt::format("z{}", k + 1));
  return result;
}

}  // namespace cpfm
