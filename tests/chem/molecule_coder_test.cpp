#include "cpfm/molecule_coder.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cpfm/error.hpp"
#include "cpfm/molecule.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

#if CPFM_HAS_RDKIT

// An autoencoder whose points are the symbols and what it is given besides the fingerprint.
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
      float* point = std::copy_n(symbols.data + i * length_, length_, points.row(i).data());
      std::copy_n(features.data + i * features_ + Fingerprints::kBits, features_ - Fingerprints::kBits, point);
    }
    return points;
  }
  std::vector<std::int32_t> decode(MatrixView<const float> points) override {
    std::vector<std::int32_t> symbols;
    for (std::size_t i = 0; i < points.rows; ++i) {
      for (std::size_t k = 0; k < length_; ++k) symbols.push_back(static_cast<std::int32_t>(points(i, k)));
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
  FloatMatrix guesses, targets;
  MoleculeCoder coder;
};
Trained train(const Dataset& data) {
  FloatMatrix guesses, targets;
  MoleculeCoder coder = MoleculeCoder::train(data, [&](const SequenceData& given) {
    const std::size_t besides = given.features.cols - Fingerprints::kBits;
    guesses = FloatMatrix(given.features.rows, besides);
    targets = FloatMatrix(given.targets.rows, given.targets.cols);
    for (std::size_t i = 0; i < guesses.rows(); ++i)
      std::copy_n(given.features.data + i * given.features.cols + Fingerprints::kBits, besides, guesses.row(i).data());
    std::copy_n(given.targets.data, targets.size(), targets.data());
    return std::make_unique<Transparent>(given.symbols.cols, given.alphabet, given.features.cols);
  });
  return {std::move(guesses), std::move(targets), std::move(coder)};
}

constexpr const char* kTable =
    "smiles,p\nCCO,1\nCC=O,2.5\nCCCO,1.2\nCCC=O,2.6\nCCN,1\nCCC,0\nCCCC,0.1\nCCF,1.8\nCC#N,3.9\nOCC,3\n";

TEST(MoleculeCoder, GuessesWithoutTheMoleculeItselfHoweverOftenAndHoweverItIsWritten) {
  const Dataset data = table_of(kTable, true);
  const Trained trained = train(data);
  ASSERT_EQ(trained.guesses.cols(), 1u);
  EXPECT_EQ(trained.coder.training().size(), 9u);           // ethanol is there twice
  EXPECT_EQ(trained.guesses(0, 0), trained.guesses(9, 0));  // with the same guess
  for (std::size_t i = 0; i < data.size(); ++i) EXPECT_EQ(trained.targets(i, 0), trained.guesses(i, 0));
  // The points of what was learned are those that were learned.
  const FloatMatrix points = trained.coder.encode(data);
  const std::size_t last = points.cols() - 1;
  for (std::size_t i = 0; i < data.size(); ++i) EXPECT_EQ(points(i, last), trained.guesses(i, 0)) << i;
  for (std::size_t k = 0; k <= last; ++k) EXPECT_EQ(points(0, k), points(9, k));
  // Other values of one molecule change the guesses at the others, not at itself, up to the mean and the scale of all.
  std::string other = kTable;
  other.replace(other.find("CC#N,3.9"), 8, "CC#N,0.3");
  const Trained changed = train(table_of(other, true));
  const auto moved = [&](std::size_t i) { return std::abs(changed.guesses(i, 0) - trained.guesses(i, 0)); };
  EXPECT_LT(moved(8), 1.0);  // its value has moved by three deviations
  // New ones too have one guess, however they are written.
  const FloatMatrix twice = trained.coder.encode(table_of("smiles\nCC(C)O\nC(O)(C)C\n", false));
  for (std::size_t k = 0; k <= last; ++k) EXPECT_EQ(twice(0, k), twice(1, k));
  EXPECT_EQ(trained.coder.decode(points.view())[1], canonical_smiles("CC=O"));
}

TEST(MoleculeCoder, WithoutPropertiesGuessesNothing) {
  const Trained trained = train(table_of(kTable, false));
  EXPECT_EQ(trained.guesses.cols(), 0u);
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
  // Without what guesses: a network that looks at fingerprints alone is whole, another is not.
  TensorFileWriter older;
  for (const auto& [key, value] : file.metadata()) {
    if (key != kFormatVersionKey) older.set_metadata(key, value);
  }
  for (const auto& [name, tensor] : file.tensors()) {
    if (!name.starts_with("descriptor_regressor")) older.add(name, tensor.dtype, tensor.shape, tensor.bytes);
  }
  older.save(folder / "older.cpfm");
  const TensorFile before = TensorFile::open(folder / "older.cpfm");
  EXPECT_EQ(load(before, Fingerprints::kBits).training(), trained.coder.training());
  EXPECT_THROW(load(before, Fingerprints::kBits + 1), Error);
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
