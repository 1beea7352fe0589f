// Molecules as points and back: SELFIES and a sequence autoencoder together. The points are what stage 2 learns from.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cpfm/chem.hpp"
#include "cpfm/data.hpp"
#include "cpfm/sequence_vae.hpp"

namespace cpfm {

// Trains the autoencoder of sequences; where libtorch is loaded on demand, through its door.
using TrainSequences = std::function<std::unique_ptr<SequenceVae>(const SequenceData&)>;
using LoadSequences = std::function<std::unique_ptr<SequenceVae>(const TensorFile&)>;

class MoleculeCoder {
 public:
  // Learns the molecules of `data`. The encoder sees their fingerprints (the samples) too, and the properties of `data`
  // are to be readable from the points.
  static MoleculeCoder train(const Dataset& data, const TrainSequences& train);
  // What add_to() wrote. Whether there is any: is_in().
  static MoleculeCoder load(const TensorFile& file, const LoadSequences& load);
  static bool is_in(const TensorFile& file);

  std::size_t dim() const { return vae_->latent(); }
  const std::vector<std::string>& alphabet() const { return coder_.symbols(); }
  // SMILES that it learned from, as RDKit writes them.
  const std::vector<std::string>& training() const { return training_; }

  // The point of each molecule. Symbols it has not learned, and what is longer than all it has learned, it cannot tell:
  // `unknown` gets the number of molecules that have such.
  FloatMatrix encode(const Dataset& molecules, std::size_t* unknown = nullptr) const;
  // The molecule of each point, as SMILES; "" where a point stands for no atoms at all, or for more bonds at one than
  // RDKit allows.
  std::vector<std::string> decode(MatrixView<const float> points) const;
  // The symbols of each point's molecule.
  std::vector<std::string> decode_selfies(MatrixView<const float> points) const;

  // The pieces live as long as this object.
  void add_to(TensorFileWriter& writer) const;

 private:
  MoleculeCoder(SelfiesCoder coder, std::unique_ptr<SequenceVae> vae, std::vector<std::string> training);
  std::vector<std::int32_t> symbols_of(std::span<const std::string> smiles, std::size_t* unknown) const;

  SelfiesCoder coder_;
  std::unique_ptr<SequenceVae> vae_;
  std::vector<std::string> training_;
  std::string training_text_;
};

// `data` with points in the place of fingerprints; labels, properties and molecules stay.
Dataset as_points(const Dataset& data, FloatMatrix points);

}  // namespace cpfm
