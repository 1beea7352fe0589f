#include "cpfm/molecule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cpfm/descriptor_regressor.hpp"
#include "cpfm/error.hpp"
#include "cpfm/fingerprint_regressor.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

TEST(Tanimoto, IsSharedBitsOverAllBits) {
  Fingerprints prints(3);
  prints.row(0)[0] = 0b1110;
  prints.row(1)[0] = 0b0111;
  prints.row(1)[31] = 1;
  EXPECT_DOUBLE_EQ(tanimoto(prints.row(0), prints.row(1)), 2.0 / 5);
  EXPECT_DOUBLE_EQ(tanimoto(prints.row(0), prints.row(0)), 1);
  EXPECT_DOUBLE_EQ(tanimoto(prints.row(2), prints.row(2)), 1);  // two empty ones are alike
  EXPECT_DOUBLE_EQ(tanimoto(prints.row(0), prints.row(2)), 0);
}

TEST(SharedAtoms, CountsElementByElement) {
  EXPECT_DOUBLE_EQ(shared_atoms({{"C", 3}, {"O", 1}}, {{"C", 2}, {"N", 1}}), 2.0 / 5);
  EXPECT_DOUBLE_EQ(shared_atoms({{"C", 3}}, {{"C", 3}}), 1);
  EXPECT_DOUBLE_EQ(shared_atoms({}, {{"C", 3}}), 0);
  EXPECT_DOUBLE_EQ(shared_atoms({}, {}), 1);
}

TEST(FingerprintRegressor, LearnsWhatBitsMean) {
  // A bit is worth 3, the others are noise.
  Fingerprints molecules(60);
  std::vector<double> values(60);
  for (std::size_t i = 0; i < 60; ++i) {
    molecules.row(i)[0] = (i % 2 == 0 ? 1 : 0) | (std::uint64_t{2} << i % 7) | (std::uint64_t{256} << i % 11);
    values[i] = i % 2 == 0 ? 3 : 0;
  }
  const std::vector<double> said = FingerprintRegressor(molecules, values).predict(molecules);
  for (std::size_t i = 0; i < 60; ++i) EXPECT_NEAR(said[i], values[i], 1) << i;
  Fingerprints other(1);
  EXPECT_NEAR(FingerprintRegressor(molecules, values).predict(other)[0], 1.5, 1e-9);  // nothing in common: the mean
}

TEST(FingerprintRegressor, RefusesWhatItCannotLearn) {
  const Fingerprints molecules(3);
  const std::vector<double> few{1, 2}, odd{1, 2, std::numeric_limits<double>::quiet_NaN()}, good{1, 2, 3};
  EXPECT_THROW(FingerprintRegressor(molecules, few), Error);
  EXPECT_THROW(FingerprintRegressor(molecules, odd), Error);
  EXPECT_THROW(FingerprintRegressor(molecules, good, {.most = 1}), Error);
}

// Three numbers a sample, of which one never changes; two values: a smooth one of both others, and its negative.
struct Samples {
  FloatMatrix x, values;

  explicit Samples(std::size_t n, float shift = 0) : x(n, 3), values(n, 2) {
    for (std::size_t i = 0; i < n; ++i) {
      const float a = std::sin(0.7F * static_cast<float>(i) + shift), b = std::cos(1.3F * static_cast<float>(i));
      x(i, 0) = 100 * a;
      x(i, 1) = 7;
      x(i, 2) = 0.01F * b;
      values(i, 0) = 5 + a * b;
      values(i, 1) = -values(i, 0);
    }
  }
};

TEST(DescriptorRegressor, LearnsWhatNumbersMeanWhateverTheirScale) {
  const Samples known(40), others(25, 0.3F);
  const DescriptorRegressor regressor(known.x.view(), known.values.view(), {.ridge = 0.01});
  EXPECT_EQ(regressor.properties(), 2u);
  const FloatMatrix said = regressor.predict(others.x.view());
  for (std::size_t i = 0; i < 25; ++i) {
    EXPECT_NEAR(said(i, 0), others.values(i, 0), 0.3) << i;
    EXPECT_NEAR(said(i, 1), -said(i, 0), 1e-4) << i;
  }
}

TEST(DescriptorRegressor, KnowsWhatItWouldSayWithoutASample) {
  // Values that nothing tells, so that a sample's own value is seen where it leaks.
  Samples known(40);
  for (std::size_t i = 0; i < 40; ++i) known.values(i, 0) = i * 7 % 5 < 2 ? 1.0F : -1.0F;
  const DescriptorRegressor regressor(known.x.view(), known.values.view());
  const FloatMatrix told = regressor.predict(known.x.view());
  for (std::size_t out = 0; out < 40; out += 3) {
    FloatMatrix x(39, 3), values(39, 2), one(1, 3);
    std::ranges::copy(known.x.row(out), one.row(0).begin());
    for (std::size_t i = 0, at = 0; i < 40; ++i) {
      if (i == out) continue;
      std::ranges::copy(known.x.row(i), x.row(at).begin());
      std::ranges::copy(known.values.row(i), values.row(at++).begin());
    }
    const double without = DescriptorRegressor(x.view(), values.view()).predict(one.view())(0, 0);
    // Means and scales are of all samples here and of the others there.
    EXPECT_LT(std::abs(regressor.left_out()(out, 0) - without), 0.3 * std::abs(told(out, 0) - without)) << out;
  }
}

TEST(DescriptorRegressor, OfManySamplesLearnsFromSomeAndIsAskedAboutTheRest) {
  const Samples known(60);
  const DescriptorRegressor regressor(known.x.view(), known.values.view(), {.ridge = 0.01, .most = 20});
  const FloatMatrix said = regressor.predict(known.x.view());
  ASSERT_EQ(regressor.left_out().rows(), 60u);
  std::size_t as_asked = 0;
  for (std::size_t i = 0; i < 60; ++i) as_asked += regressor.left_out()(i, 0) == said(i, 0) ? 1 : 0;
  EXPECT_EQ(as_asked, 40u);
}

TEST(DescriptorRegressor, IsTheSameFromAFileAndRefusesADamagedOne) {
  const test::TempDir folder;
  const Samples known(30), others(5, 0.2F);
  const DescriptorRegressor regressor(known.x.view(), known.values.view());
  TensorFileWriter writer;
  regressor.add_to(writer);
  writer.save(folder / "whole.cpfm");
  const TensorFile whole = TensorFile::open(folder / "whole.cpfm");
  const DescriptorRegressor loaded(whole);
  const FloatMatrix a = regressor.predict(others.x.view()), b = loaded.predict(others.x.view());
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(a(i, 0), b(i, 0));
  EXPECT_EQ(loaded.left_out()(3, 1), regressor.left_out()(3, 1));
  TensorFileWriter damaged;
  for (const auto& [name, tensor] : whole.tensors()) {
    if (name != "descriptor_regressor.weights") damaged.add(name, tensor.dtype, tensor.shape, tensor.bytes);
  }
  damaged.add("descriptor_regressor.weights", {3, 1}, std::vector<float>{1, 2, 3});
  damaged.save(folder / "damaged.cpfm");
  EXPECT_THROW(DescriptorRegressor(TensorFile::open(folder / "damaged.cpfm")), Error);
}

TEST(DescriptorRegressor, RefusesWhatItCannotLearn) {
  Samples known(10);
  EXPECT_THROW(DescriptorRegressor(known.x.view(), FloatMatrix(9, 1).view()), Error);
  EXPECT_THROW(DescriptorRegressor(known.x.view(), known.values.view(), {.ridge = 0}), Error);
  EXPECT_THROW(DescriptorRegressor(known.x.view(), known.values.view()).predict(FloatMatrix(1, 4).view()), Error);
  known.x(3, 2) = std::numeric_limits<float>::infinity();
  EXPECT_THROW(DescriptorRegressor(known.x.view(), known.values.view()), Error);
}

#if CPFM_HAS_RDKIT
TEST(Descriptors, TellPolarMoleculesFromOthers) {
  // Methane, fluoromethane (1.86 D), carbon dioxide (0 D), formamide (3.73 D), and one RDKit has no force field for.
  const std::vector<std::string> smiles{"C", "CF", "O=C=O", "NC=O", "[Na+].[Cl-]", "CB(C)C"};
  const FloatMatrix all = molecule_descriptors(smiles);
  ASSERT_EQ(all.rows(), smiles.size());
  const std::size_t first = all.cols() - 10;  // dipoles with charges of the force field
  EXPECT_NEAR(all(0, first), 0, 0.05);
  EXPECT_NEAR(all(1, first), 1.86, 0.5);
  EXPECT_NEAR(all(2, first), 0, 0.1);
  EXPECT_NEAR(all(3, first), 3.73, 1.0);
  for (std::size_t k = 0; k < all.rows() * all.cols(); ++k) EXPECT_TRUE(std::isfinite(all.data()[k]));
  request_interrupt();
  EXPECT_THROW(molecule_descriptors(smiles), Interrupted);
  clear_interrupt();
  // The same whatever else is asked about, and on how many threads.
  set_threads(1);
  const FloatMatrix again = molecule_descriptors(std::vector<std::string>{"NC=O"});
  set_threads(0);
  for (std::size_t k = 0; k < all.cols(); ++k) EXPECT_EQ(again(0, k), all(3, k)) << k;
}

TEST(Molecule, IsKnownByItsCanonicalSmilesAndItsAtoms) {
  EXPECT_EQ(canonical_smiles("OCC"), canonical_smiles("C(O)C"));
  EXPECT_EQ(composition("OCC(=O)[O-]"), (Composition{{"C", 2}, {"O", 3}}));
  EXPECT_THROW(canonical_smiles("C1CC"), Error);
  EXPECT_THROW(canonical_smiles(""), Error);
  const std::vector<std::string> smiles{"CCO", "CCO", "c1ccccc1"};
  const Fingerprints prints = morgan_fingerprints(smiles);
  EXPECT_DOUBLE_EQ(tanimoto(prints.row(0), prints.row(1)), 1);
  EXPECT_LT(tanimoto(prints.row(0), prints.row(2)), 0.2);
}
#endif

}  // namespace
}  // namespace cpfm
