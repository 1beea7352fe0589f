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

constexpr const char *kFacts = "molecules", *kTraining = "molecules.training";
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

// Each property to mean 0 and variance 1, a row per sample.
FloatMatrix scaled_properties(const Dataset& data) {
  FloatMatrix targets(data.size(), data.properties.size());
  for (std::size_t p = 0; p < data.properties.size(); ++p) {
    const std::vector<float>& values = data.properties[p].values;
    double mean = 0, square = 0;
    for (const float value : values) mean += value / static_cast<double>(values.size());
    for (const float value : values) square += (value - mean) * (value - mean) / static_cast<double>(values.size());
    const double scale = square > 0 ? std::sqrt(square) : 1;
    for (std::size_t i = 0; i < values.size(); ++i) targets(i, p) = static_cast<float>((values[i] - mean) / scale);
  }
  return targets;
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

  FloatMatrix for_rows(const FloatMatrix& values) const {
    FloatMatrix rows(of_row.size(), values.cols());
    for (std::size_t i = 0; i < of_row.size(); ++i) std::ranges::copy(values.row(of_row[i]), rows.row(i).begin());
    return rows;
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
                             std::optional<DescriptorRegressor> guesser)
    : coder_(std::move(coder)), vae_(std::move(vae)), training_(std::move(training)), guesser_(std::move(guesser)) {
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
  std::optional<DescriptorRegressor> guesser;
  FloatMatrix guesses, seen;
  if (!data.properties.empty()) {
    if (distinct.molecules.size() < 2)
      throw Error(data.source, "all its rows are one molecule, " + printable(distinct.molecules.front()),
                  "at least two that differ");
    const FloatMatrix descriptors = molecule_descriptors(distinct.molecules, progress);
    guesser.emplace(descriptors.view(), distinct.means(scaled_properties(data)).view());
    guesses = distinct.for_rows(guesser->left_out());
    seen = side_by_side(sequences.features, guesses.view());
    sequences.features = seen.view();
    sequences.targets = guesses.view();
  }
  std::unique_ptr<SequenceVae> vae = train(sequences);
  return MoleculeCoder(coder, std::move(vae), distinct.molecules, std::move(guesser));
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
  std::optional<DescriptorRegressor> guesser;
  if (DescriptorRegressor::is_in(file)) {
    guesser.emplace(file);
    if (guesser->left_out().rows() != lines.size())
      throw Error(kTraining, "is not what its properties are guessed from", "the file is damaged");
  }
  if (const std::size_t seen = Fingerprints::kBits + (guesser ? guesser->properties() : 0); vae->features() != seen)
    throw Error(kFacts, fmt::format("its network looks at {} features, and there are {}", vae->features(), seen),
                "the file is damaged");
  return MoleculeCoder(std::move(coder), std::move(vae), std::move(lines), std::move(guesser));
}

void MoleculeCoder::add_to(TensorFileWriter& writer) const {
  writer.set_metadata(kFacts, Json{{"alphabet", coder_.symbols()}}.dump());
  writer.add(kTraining, DType::kU8, {training_text_.size()}, std::as_bytes(std::span(training_text_)));
  vae_->add_to(writer);
  if (guesser_) guesser_->add_to(writer);
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

FloatMatrix MoleculeCoder::guesses(std::span<const std::string> smiles, Progress* progress) const {
  return guesser_ ? guesses_for(all_canonical(smiles), progress) : FloatMatrix(smiles.size(), 0);
}

FloatMatrix MoleculeCoder::guesses_for(std::span<const std::string> smiles, Progress* progress) const {
  std::map<std::string, std::size_t, std::less<>> learned;
  for (std::size_t i = 0; i < training_.size(); ++i) learned.emplace(training_[i], i);
  FloatMatrix guesses(smiles.size(), guesser_->properties());
  std::vector<std::size_t> others;
  std::vector<std::string> unmeasured;
  for (std::size_t i = 0; i < smiles.size(); ++i) {
    if (const auto found = learned.find(smiles[i]); found != learned.end()) {
      std::ranges::copy(guesser_->left_out().row(found->second), guesses.row(i).begin());
    } else {
      others.push_back(i);
      unmeasured.push_back(smiles[i]);
    }
  }
  if (others.empty()) return guesses;
  const FloatMatrix descriptors = molecule_descriptors(unmeasured, progress);
  if (descriptors.cols() != guesser_->descriptors())
    throw Error(
        "the model",
        fmt::format("guesses by {} descriptors, and this cpfm has {}", guesser_->descriptors(), descriptors.cols()),
        "the version that made it, or make it again");
  const FloatMatrix said = guesser_->predict(descriptors.view());
  for (std::size_t k = 0; k < others.size(); ++k) std::ranges::copy(said.row(k), guesses.row(others[k]).begin());
  return guesses;
}

FloatMatrix MoleculeCoder::encode(const Dataset& molecules, std::size_t* unknown, Progress* progress) const {
  CPFM_ASSERT(molecules.molecules.size() == molecules.size(), "samples are fingerprints of molecules");
  const std::vector<std::string> written = all_canonical(molecules.molecules);
  const std::vector<std::int32_t> symbols = symbols_of(written, unknown);
  const MatrixView<const std::int32_t> sequences{symbols.data(), molecules.size(), vae_->length()};
  if (!guesser_) return vae_->encode(sequences, molecules.samples.view());
  const FloatMatrix guesses = guesses_for(written, progress);
  return vae_->encode(sequences, side_by_side(molecules.samples.view(), guesses.view()).view());
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
