// Molecules as points and back: SELFIES and a sequence autoencoder together. The points are what stage 2 learns from.
// Where it learned properties, the first numbers of a point are those properties: as they were measured, or guessed
// from the molecule where they were not.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cpfm/chem.hpp"
#include "cpfm/data.hpp"
#include "cpfm/descriptor_regressor.hpp"
#include "cpfm/sequence_vae.hpp"

namespace cpfm {

// Trains the autoencoder of sequences; where libtorch is loaded on demand, through its door.
using TrainSequences = std::function<std::unique_ptr<SequenceVae>(const SequenceData&)>;
using LoadSequences = std::function<std::unique_ptr<SequenceVae>(const TensorFile&)>;

class MoleculeCoder {
 public:
  // Learns the molecules of `data`. The encoder sees their fingerprints (the samples) and the properties of `data`
  // too. How a molecule is written does not matter: it is read as RDKit writes it.
  static MoleculeCoder train(const Dataset& data, const TrainSequences& train, Progress* progress = nullptr);
  // What add_to() wrote. Whether there is any: is_in().
  static MoleculeCoder load(const TensorFile& file, const LoadSequences& load);
  static bool is_in(const TensorFile& file);

  std::size_t dim() const { return vae_->latent(); }
  const std::vector<std::string>& alphabet() const { return coder_.symbols(); }
  // The molecules it learned from, each once, as RDKit writes them.
  const std::vector<std::string>& training() const { return training_; }

  // The properties it learned, by name.
  std::vector<std::string> properties() const;

  // The point of each molecule. A property it learned is taken from `molecules`; where that has none of the name, from
  // the molecules it learned from, and for others it is guessed. Symbols it has not learned, and what is longer than
  // all it has learned, it cannot tell: `unknown` gets the number of molecules that have such.
  FloatMatrix encode(const Dataset& molecules, std::size_t* unknown = nullptr, Progress* progress = nullptr) const;
  // The point of each molecule with its properties guessed, as guesses() has them, even where they are known.
  FloatMatrix encode_by_structure(const Dataset& molecules, Progress* progress = nullptr) const;
  // Its guesses at the properties it learned, a row per molecule, each property at mean 0 and variance 1; of a molecule
  // it learned from, made without that one. No columns where it learned no properties.
  FloatMatrix guesses(std::span<const std::string> smiles, Progress* progress = nullptr) const;
  // The molecule of each point, as SMILES; "" where a point stands for no atoms at all, or for more bonds at one than
  // RDKit allows.
  std::vector<std::string> decode(MatrixView<const float> points) const;
  // The symbols of each point's molecule.
  std::vector<std::string> decode_selfies(MatrixView<const float> points) const;

  // The pieces live as long as this object.
  void add_to(TensorFileWriter& writer) const;

 private:
  // What it knows of properties; nothing without any.
  struct Properties {
    struct Scale {
      std::string name;
      double mean, deviation;
      float operator()(double value) const { return static_cast<float>((value - mean) / deviation); }
    };
    std::vector<Scale> scales;    // what brings each to mean 0 and variance 1; all below is scaled so
    FloatMatrix measured;         // of the molecules it learned from
    DescriptorRegressor guesser;  // of others
  };

  MoleculeCoder(SelfiesCoder coder, std::unique_ptr<SequenceVae> vae, std::vector<std::string> training,
                std::optional<Properties> properties);
  static std::optional<Properties> load_properties(const TensorFile& file, const std::string& facts,
                                                   std::size_t molecules);
  std::vector<std::int32_t> symbols_of(std::span<const std::string> smiles, std::size_t* unknown) const;
  // The rows of `known` for molecules it learned from, guesses for others.
  FloatMatrix known_or_guessed(std::span<const std::string> canonical, const FloatMatrix& known,
                               Progress* progress) const;
  FloatMatrix properties_of(const Dataset& molecules, std::span<const std::string> canonical, Progress* progress) const;
  FloatMatrix points_of(const Dataset& molecules, std::span<const std::string> canonical, const FloatMatrix& properties,
                        std::size_t* unknown) const;

  SelfiesCoder coder_;
  std::unique_ptr<SequenceVae> vae_;
  std::vector<std::string> training_;
  std::string training_text_;
  std::optional<Properties> properties_;
};

// `data` with points in the place of fingerprints; labels, properties and molecules stay.
Dataset as_points(const Dataset& data, FloatMatrix points);

}  // namespace cpfm
