#include "cpfm/molecule.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "cpfm/error.hpp"
#include "cpfm/fingerprint_regressor.hpp"

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

#if CPFM_HAS_RDKIT
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
