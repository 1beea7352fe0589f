#include "cpfm/molecule_coder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cpfm/error.hpp"
#include "cpfm/molecule.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

#if CPFM_HAS_RDKIT

// An autoencoder whose points are what it is given besides the fingerprint, and the symbols.
class Transparent final : public SequenceVae {
 public:
  Transparent(std::size_t length, std::size_t alphabet, std::size_t features)
      : length_(length), alphabet_(alphabet), features_(features) {}

  std::size_t length() const override { return length_; }
  std::size_t alphabet() const override { return alphabet_; }
  std::size_t latent() const override { return features_ - Fingerprints::kBits + length_; }
  std::size_t features() const override { return features_; }
  std::string device() const override { return "none"; }
  FloatMatrix encode(MatrixView<const std::int32_t> symbols, MatrixView<const float> features) override {
    EXPECT_EQ(features.cols, features_);
    FloatMatrix points(symbols.rows, latent());
    for (std::size_t i = 0; i < symbols.rows; ++i) {
      float* rest = std::copy_n(features.data + i * features_ + Fingerprints::kBits, features_ - Fingerprints::kBits,
                                points.row(i).data());
      std::copy_n(symbols.data + i * length_, length_, rest);
    }
    return points;
  }
  std::vector<std::int32_t> decode(MatrixView<const float> points) override {
    std::vector<std::int32_t> symbols;
    for (std::size_t i = 0; i < points.rows; ++i) {
      for (std::size_t k = latent() - length_; k < latent(); ++k)
        symbols.push_back(static_cast<std::int32_t>(points(i, k)));
    }
    return symbols;
  }
  void add_to(TensorFileWriter&) override {}

 private:
  std::size_t length_, alphabet_, features_;
};

Dataset table_of(const std::string& text, bool property) {
  const test::TempDir folder;
  std::FILE* file = std::fopen((folder / "m.csv").c_str(), "w");
  std::fputs(text.c_str(), file);
  std::fclose(file);
  MoleculeReadOptions options;
  if (property) options.read.properties = {"p"};
  return std::move(read_molecules((folder / "m.csv").string(), options).data);
}

// What training was given, too.
struct Trained {
  FloatMatrix values, targets;
  MoleculeCoder coder;
};
Trained train(const Dataset& data) {
  FloatMatrix values, targets;
  MoleculeCoder coder = MoleculeCoder::train(data, [&](const SequenceData& given) {
    const std::size_t besides = given.features.cols - Fingerprints::kBits;
    values = FloatMatrix(given.features.rows, besides);
    targets = FloatMatrix(given.targets.rows, given.targets.cols);
    for (std::size_t i = 0; i < values.rows(); ++i)
      std::copy_n(given.features.data + i * given.features.cols + Fingerprints::kBits, besides, values.row(i).data());
    std::copy_n(given.targets.data, targets.size(), targets.data());
    return std::make_unique<Transparent>(given.symbols.cols, given.alphabet, given.features.cols);
  });
  return {std::move(values), std::move(targets), std::move(coder)};
}

constexpr const char* kTable =
    "smiles,p\nCCO,1\nCC=O,2.5\nCCCO,1.2\nCCC=O,2.6\nCCN,1\nCCC,0\nCCCC,0.1\nCCF,1.8\nCC#N,3.9\nOCC,3\n";

TEST(MoleculeCoder, PointsBeginWithWhatWasMeasured) {
  const Dataset data = table_of(kTable, true);
  const Trained trained = train(data);
  EXPECT_EQ(trained.coder.properties(), std::vector<std::string>{"p"});
  ASSERT_EQ(trained.values.cols(), 1u);
  EXPECT_EQ(trained.coder.training().size(), 9u);  // ethanol is there twice
  const FloatMatrix points = trained.coder.encode(data);
  double mean = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    EXPECT_EQ(trained.targets(i, 0), trained.values(i, 0));
    EXPECT_EQ(points(i, 0), trained.values(i, 0));
    mean += points(i, 0);
  }
  EXPECT_NEAR(mean, 0, 1e-5);
  EXPECT_LT(points(0, 0), points(9, 0));  // measured as 1 and as 3
  EXPECT_EQ(trained.coder.decode(points.view())[1], canonical_smiles("CC=O"));
  // A new molecule is told on the same scale; one that was learned has the mean of its measurements where it is not.
  EXPECT_EQ(trained.coder.encode(table_of("smiles,p\nCC(C)O,2.5\nCCCCC,0\n", true))(0, 0), points(1, 0));
  const FloatMatrix untold = trained.coder.encode(table_of("smiles\nOCC\nO=CC\n", false));
  EXPECT_NEAR(untold(0, 0), (points(0, 0) + points(9, 0)) / 2, 1e-6);
  EXPECT_EQ(untold(1, 0), points(1, 0));
}

TEST(MoleculeCoder, GuessesWhatWasNotMeasuredHoweverAMoleculeIsWritten) {
  const Trained trained = train(table_of(kTable, true));
  const FloatMatrix twice = trained.coder.encode(table_of("smiles\nCCCC=O\nO=CCCC\nCCCCC\n", false));
  for (std::size_t k = 0; k < twice.cols(); ++k) EXPECT_EQ(twice(0, k), twice(1, k));
  EXPECT_GT(twice(0, 0), twice(2, 0));  // butanal, beside pentane
  // Guesses at what was learned are made without it: other values of one molecule hardly move the guess at it.
  const std::vector<std::string> nitrile{"CC#N"};
  std::string other = kTable;
  other.replace(other.find("CC#N,3.9"), 8, "CC#N,0.3");
  const Trained changed = train(table_of(other, true));
  EXPECT_LT(std::abs(changed.coder.guesses(nitrile)(0, 0) - trained.coder.guesses(nitrile)(0, 0)), 1.0);
  // By structure alone nothing is told, of what was learned neither.
  const Dataset data = table_of(kTable, true);
  const FloatMatrix points = trained.coder.encode(data), alone = trained.coder.encode_by_structure(data),
                    guesses = trained.coder.guesses(data.molecules);
  for (std::size_t i = 0; i < data.size(); ++i) {
    EXPECT_EQ(alone(i, 0), guesses(i, 0));
    EXPECT_NE(alone(i, 0), points(i, 0));
  }
}

TEST(MoleculeCoder, APropertyWithoutSpreadHasAScaleAllTheSame) {
  const Trained trained = train(table_of("smiles,p\nCCO,0.1\nCCC,0.1\nCCN,0.1\n", true));
  EXPECT_NEAR(trained.coder.encode(table_of("smiles,p\nCCO,0.1\nCC,1.1\n", true))(1, 0), 1, 1e-5);
}

TEST(MoleculeCoder, WithoutPropertiesGuessesNothing) {
  const Trained trained = train(table_of(kTable, false));
  EXPECT_EQ(trained.values.cols(), 0u);
  EXPECT_TRUE(trained.coder.properties().empty());
  EXPECT_EQ(trained.targets.cols(), 0u);
}

TEST(MoleculeCoder, IsTheSameFromAFileAndRefusesOneWhosePartsDoNotFit) {
  const test::TempDir folder;
  const Dataset data = table_of(kTable, true);
  const Trained trained = train(data);
  TensorFileWriter writer;
  trained.coder.add_to(writer);
  writer.save(folder / "coder.cpfm");
  const TensorFile file = TensorFile::open(folder / "coder.cpfm");
  const FloatMatrix points = trained.coder.encode(data);
  const auto load = [&](const TensorFile& from, std::size_t features) {
    return MoleculeCoder::load(from, [&](const TensorFile&) {
      return std::make_unique<Transparent>(points.cols() - 1, trained.coder.alphabet().size(), features);
    });
  };
  const MoleculeCoder loaded = load(file, Fingerprints::kBits + 1);
  const FloatMatrix again = loaded.encode(data);
  for (std::size_t k = 0; k < points.size(); ++k) EXPECT_EQ(points.data()[k], again.data()[k]);
  EXPECT_THROW(load(file, Fingerprints::kBits + 2), Error);
  // Without what it measured, or what guesses.
  for (const char* part : {"molecules.measured", "descriptor_regressor"}) {
    TensorFileWriter rest;
    for (const auto& [key, value] : file.metadata()) {
      if (key != kFormatVersionKey) rest.set_metadata(key, value);
    }
    for (const auto& [name, tensor] : file.tensors()) {
      if (!name.starts_with(part)) rest.add(name, tensor.dtype, tensor.shape, tensor.bytes);
    }
    rest.save(folder / "rest.cpfm");
    EXPECT_THROW(load(TensorFile::open(folder / "rest.cpfm"), Fingerprints::kBits + 1), Error) << part;
  }
}

#else

TEST(MoleculeCoder, NeedsRdkit) {
  Dataset data;
  data.samples = FloatMatrix(2, Fingerprints::kBits);
  data.molecules = {"CCO", "CC"};
  EXPECT_THROW(MoleculeCoder::train(data, {}), Error);
}

#endif

}  // namespace
}  // namespace cpfm
