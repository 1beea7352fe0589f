// SELFIES as its users meet it: known molecules in both directions, strings that ask for more bonds than there are,
// strings that mean nothing, and the reference library's results where a folder with them is named.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "chem/molecule_graph.hpp"
#include "cpfm/chem.hpp"
#include "cpfm/error.hpp"
#include "cpfm/molecule.hpp"

namespace cpfm {
namespace {

std::string problem_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string decode_problem(const std::string& selfies) {
  return problem_of([&] { selfies_to_smiles(selfies); });
}

std::string encode_problem(const std::string& smiles) {
  return problem_of([&] { smiles_to_selfies(smiles); });
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Case {
  const char *left, *right;
};

TEST(Selfies, SplitsIntoSymbolsAndDots) {
  EXPECT_EQ(split_selfies("[C][=O].[Na+1]"), (std::vector<std::string>{"[C]", "[=O]", ".", "[Na+1]"}));
  EXPECT_TRUE(split_selfies("").empty());
}

TEST(Selfies, SplittingNamesTheCharacterThatDoesNotFit) {
  EXPECT_TRUE(contains(problem_of([] { split_selfies("[C][O"); }), "character 4"));
  EXPECT_TRUE(contains(problem_of([] { split_selfies("[C]O[N]"); }), "character 4"));
  EXPECT_TRUE(contains(problem_of([] { split_selfies("[C[O]"); }), "character 1"));
  EXPECT_TRUE(contains(problem_of([] { split_selfies("]"); }), "character 1"));
}

// Every pair is the same molecule, atoms in the same order and rings numbered as the decoder numbers them.
constexpr Case kBothWays[] = {
    {"C", "[C]"},
    {"C=CC#N", "[C][=C][C][#N]"},
    {"CC(=O)O", "[C][C][=Branch1][C][=O][O]"},
    {"CC(C)(C)C", "[C][C][Branch1][C][C][Branch1][C][C][C]"},
    {"C(CO)N", "[C][Branch1][Ring1][C][O][N]"},
    {"C1CC1", "[C][C][C][Ring1][Ring1]"},
    {"C1=CC=CC=C1", "[C][=C][C][=C][C][=C][Ring1][=Branch1]"},
    {"C=1C=CC=CC=1", "[C][C][=C][C][=C][C][=Ring1][=Branch1]"},
    {"C1CC2CCC12", "[C][C][C][C][C][C][Ring1][=Branch1][Ring1][Ring2]"},
    {"[O-1]C(=O)C[NH3+1]", "[O-1][C][=Branch1][C][=O][C][NH3+1]"},
    {"[Na+1].[Cl-1]", "[Na+1].[Cl-1]"},
    {"[13CH4]", "[13CH4]"},
    {"[2H]O", "[2H][O]"},
    {"[CH0]", "[CH0]"},
    {"F/C=C/F", "[F][/C][=C][/F]"},
    {"F/C=C\\F", "[F][/C][=C][\\F]"},
    {"N[C@@H1](C)C(=O)O", "[N][C@@H1][Branch1][C][C][C][=Branch1][C][=O][O]"},
    {"C/1=C/CCCCCC1", "[C][=C][/C][C][C][C][C][C][/-Ring1][Branch2]"},
    {"CCCCCCCCCCCCCCCCCC(CCCCCCCCCCCCCCCCC)O",
     "[C][C][C][C][C][C][C][C][C][C][C][C][C][C][C][C][C][C][Branch2][Ring1][C][C][C][C][C][C][C][C][C][C][C][C][C][C]["
     "C]"
     "[C][C][C][O]"},
};

TEST(Selfies, KnownMoleculesTranslateBothWays) {
  for (const auto& [smiles, selfies] : kBothWays) {
    EXPECT_EQ(smiles_to_selfies(smiles), selfies) << smiles;
    EXPECT_EQ(selfies_to_smiles(selfies), smiles) << selfies;
  }
}

TEST(Selfies, SmilesHasManySpellingsOfOneMolecule) {
  constexpr Case kCases[] = {
      {"[O-]C", "[O-1][C]"},
      {"[CH3:7]-C", "[CH3][C]"},
      {"[Ca++]", "[Ca+2]"},
      {"C%12CC%12", "[C][C][C][Ring1][Ring1]"},
      {"C(C)(C)", "[C][Branch1][C][C][C]"},
      {"C1.C1", "[C].[C][Ring1][C]"},
      {"C=1CC1", "[C][C][C][=Ring1][Ring1]"},
  };
  for (const auto& [smiles, selfies] : kCases) EXPECT_EQ(smiles_to_selfies(smiles), selfies) << smiles;
}

TEST(Selfies, BondsThatDoNotFitAreMadeWeakerOrLeftOut) {
  constexpr Case kCases[] = {
      {"[F][=C][=C][#N]", "FC=C=N"},
      {"[C][F][C][C]", "CF"},
      {"[C][O][=C][#O][C]", "COC=O"},
      {"[O][Branch1][C][C][C]", "O(C)C"},
      {"[F][Branch1][C][C]", "FCC"},  // no room for a branch: the symbol is skipped, its length is an atom
      {"[C][C][=Ring1][C]", "C#C"},   // a ring to the atom before strengthens the bond
      {"[C][Ring1][C]", "C"},         // a ring to itself
      {"[C][C][C][C][=Ring1][Ring2][#Ring1][Ring2]", "C#1CCC#1"},
      {"[C][=Branch1][Branch1][Branch1][C][C][Cl][F]", "C(C)(Cl)F"},
      {"[CH4][C]", "[CH4]"},
      {"[C][CH4][C]", "C"},
      {"[Ring1][C][Branch1][O]", "C"},
      {"[C][Ring1]", "C"},
      {"[C][epsilon][O]", "C"},
      {"[epsilon][C][O]", "CO"},
      {"[nop][C][nop][O][nop]", "CO"},
      {"[nop]", ""},
      {"", ""},
      {"[C+1][#C][#C]", "[C+1]#CC"},
  };
  for (const auto& [selfies, smiles] : kCases) EXPECT_EQ(selfies_to_smiles(selfies), smiles) << selfies;
}

// The decoder writes ring numbers first; where the SMILES has them after a branch the neighbours change places.
TEST(Selfies, ChiralityFollowsTheOrderOfNeighbours) {
  EXPECT_EQ(smiles_to_selfies("N[C@]1(F)CCO1"), "[N][C@][Branch1][C][F][C][C][O][Ring1][Branch1]");
  EXPECT_EQ(selfies_to_smiles(smiles_to_selfies("N[C@]1(F)CCO1")), "N[C@]1(F)CCO1");
  EXPECT_EQ(selfies_to_smiles(smiles_to_selfies("N[C@](F)1CCO1")), "N[C@@]1(F)CCO1");
  // The ring that is told inside the branch comes before the one that is told after it.
  EXPECT_EQ(selfies_to_smiles(smiles_to_selfies("C1.[C@](OC2)12N")), "C1.[C@@]21(OC2)N");
}

TEST(Selfies, AnUnknownSymbolIsNamedWithItsPlace) {
  for (const char* symbol : {"[Xx]", "[]", "[Branch4]", "[Ring0]", "[--Ring1]", "[c]", "[C@@@]", "[C+0]", "[CH9]",
                             "[*]", "[CH]", "[/Branch1]", "[C+123]", "[1234C]"}) {
    const std::string problem = decode_problem(std::string("[C][O]") + symbol);
    EXPECT_TRUE(contains(problem, "symbol 3")) << problem;
    EXPECT_TRUE(contains(problem, symbol)) << problem;
  }
  // Also where it would not be read: after the end, or as a length.
  EXPECT_TRUE(contains(decode_problem("[F][F][Xx]"), "symbol 3"));
  EXPECT_TRUE(contains(decode_problem("[C][Ring1][Xx]"), "symbol 3"));
}

TEST(Selfies, BadSmilesIsRefusedWithItsPlace) {
  constexpr Case kCases[] = {
      {"", "nothing there"},
      {"C(", "'(' still open"},
      {"C)", "character 2"},
      {"C1CC", "ring 1"},
      {"C=", "no atom after"},
      {"=C", "no atom before"},
      {"C==C", "no atom after"},
      {"C[Xx]", "character 3"},
      {"C[NH", "character 2"},
      {"C()C", "without atoms"},
      {"C.", "no molecule after"},
      {".C", "character 1"},
      {"C11", "itself"},
      {"C1C1", "bonded already"},
      {"C=1CC#1", "different bonds"},
      {"C$C", "cannot express"},
      {"*C", "no atom"},
      {"C%1", "ring number"},
      {"[C@TH1]", "chirality"},
      {"FC(F)(F)(F)F", "atom 2 (C)"},
      {"O=Cl=O", "atom 2 (Cl)"},
      {"[CH5]", "hydrogens"},
      {"C(1CC1)C", "character 3"},
      {"[1234C]", "isotope"},
      {"[C+100]", "charge"},
      {"(C)C", "character 1"},
      {"C\n", "character 2"},
  };
  for (const auto& [smiles, part] : kCases)
    EXPECT_TRUE(contains(encode_problem(smiles), part)) << smiles << " → " << encode_problem(smiles);
}

TEST(Selfies, AromaticSmilesNeedsRdkitAndSaysSo) {
  if (!CPFM_HAS_RDKIT) {
    EXPECT_TRUE(contains(encode_problem("c1ccccc1"), "librdkit-dev")) << encode_problem("c1ccccc1");
    return;
  }
  EXPECT_EQ(smiles_to_selfies("c1ccccc1"), "[C][=C][C][=C][C][=C][Ring1][=Branch1]");
  EXPECT_EQ(smiles_to_selfies("Cc1c[nH]cc1"), "[C][C][=C][N][C][=C][Ring1][Branch1]");
  EXPECT_TRUE(contains(encode_problem("c1cccc1"), "kekulize"));
  EXPECT_TRUE(contains(encode_problem("c1ccccc1 benzene"), "character 9"));
  EXPECT_TRUE(contains(encode_problem("c1ccccc1" + std::string(1000, 'C')), "at most 1000"));
  EXPECT_NE(encode_problem("c1ccc("), "");
}

TEST(Selfies, ALengthBeyondThreeDigitsIsRefused) {
  EXPECT_EQ(encode_problem("C(" + std::string(4096, 'C') + ")C"), "");
  EXPECT_TRUE(contains(encode_problem("C(" + std::string(4097, 'C') + ")C"), "4096"));
  EXPECT_TRUE(contains(encode_problem("C1" + std::string(5000, 'C') + "1"), "4096"));
}

TEST(Selfies, DepthAndLengthDoNotMatter) {
  constexpr int kDepth = 100'000;
  std::string nested, chain, smiles;
  for (int i = 0; i < kDepth; ++i) {
    nested += "[C][Branch3][P][P][P]";
    chain += "[C]";
    smiles += "C(";
  }
  EXPECT_GE(selfies_to_smiles(nested).size(), std::size_t{kDepth});
  EXPECT_EQ(selfies_to_smiles(chain).size(), std::size_t{kDepth});
  EXPECT_EQ(encode_problem(smiles + "C" + std::string(kDepth, ')')), "");
}

// Element, hydrogens and charge of every atom and the bonds by atom, however the rings are numbered.
std::string skeleton(const std::string& smiles) {
  const chem::MoleculeGraph molecule = chem::read_smiles(smiles);
  std::set<std::tuple<std::size_t, std::size_t, int>> bonds;
  std::string text;
  for (std::size_t i = 0; i < molecule.atoms.size(); ++i) {
    chem::Atom atom = molecule.atoms[i];
    atom.chirality.clear();
    text += chem::atom_text(atom) + " ";
    for (const chem::Bond& bond : molecule.bonds[i])
      bonds.emplace(std::min(i, bond.to), std::max(i, bond.to), bond.order);
  }
  for (const auto& [a, b, order] : bonds)
    text += std::to_string(a) + "-" + std::to_string(b) + ":" + std::to_string(order) + " ";
  return text;
}

TEST(Selfies, WhateverIsDecodedCanBeReadAgain) {
  const std::vector<std::string> symbols = split_selfies(
      "[C][=C][#C][N][=N][O][S][=S][P][F][B-1][N+1][O-1][C@@H1][/"
      "C][\\N][Branch1][=Branch1][#Branch2][Branch2][Ring1][=Ring1]"
      "[Ring2][#Ring1][-/Ring1][\\-Ring2][epsilon][nop].[Fe]");
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string selfies;
    const unsigned length = round % 100 == 0 ? 3000 : random() % 60;
    for (unsigned i = 0; i < length; ++i) selfies += symbols[random() % symbols.size()];
    const std::string smiles = selfies_to_smiles(selfies);
    if (smiles.empty()) continue;
    EXPECT_EQ(skeleton(selfies_to_smiles(smiles_to_selfies(smiles))), skeleton(smiles)) << selfies;
  }
}

TEST(Selfies, MoreThan99RingsAreNumbered) {
  // 300 three-membered rings one after another, then 120 that are all open at once.
  std::string rings, open = "[Fe]";
  for (int i = 0; i < 300; ++i) rings += "[C][C][C][Ring1][Ring1]";
  for (int i = 0; i < 240; ++i) open += "[C]";
  for (int i = 0; i < 120; ++i) open += "[C][Ring2][O][C]";
  for (const std::string& selfies : {rings, open}) {
    const std::string smiles = selfies_to_smiles(selfies);
    EXPECT_EQ(skeleton(selfies_to_smiles(smiles_to_selfies(smiles))), skeleton(smiles));
  }
  EXPECT_FALSE(contains(selfies_to_smiles(rings), "%("));
  EXPECT_TRUE(contains(selfies_to_smiles(open), "%(100)"));
}

TEST(Selfies, TheAlphabetIsEverySymbolOnceInOrder) {
  const std::vector<std::string> strings = {"[O][C]", "[C][=O][C]", "[nop]"};
  EXPECT_EQ(selfies_alphabet(strings), (std::vector<std::string>{"[=O]", "[C]", "[O]", "[nop]"}));
}

TEST(Selfies, IndicesComeBackAsTheString) {
  const std::vector<std::string> alphabet = {"[=O]", "[C]", "[O]"};
  const SelfiesCoder coder(alphabet);
  EXPECT_EQ(coder.symbols(), (std::vector<std::string>{"[nop]", "[=O]", "[C]", "[O]"}));
  EXPECT_EQ(coder.encode("[C][=O]", 4), (std::vector<std::int32_t>{2, 1, 0, 0}));
  EXPECT_EQ(coder.decode(std::vector<std::int32_t>{2, 1, 0, 0}), "[C][=O]");
}

TEST(Selfies, IndicesOutsideTheAlphabetAreRefused) {
  const std::vector<std::string> alphabet = {"[C]"}, twice = {"[C]", "[C]"};
  const SelfiesCoder coder(alphabet);
  EXPECT_TRUE(contains(problem_of([&] { coder.encode("[C][O]", 4); }), "'[O]'"));
  EXPECT_TRUE(contains(problem_of([&] { coder.encode("[C][C]", 1); }), "at most 1"));
  EXPECT_TRUE(contains(problem_of([&] { coder.decode(std::vector<std::int32_t>{0, 2}); }), "symbol 2"));
  EXPECT_TRUE(contains(problem_of([&] { coder.decode(std::vector<std::int32_t>{-1}); }), "number -1"));
  EXPECT_TRUE(contains(problem_of([&] { SelfiesCoder{twice}; }), "twice"));
}

TEST(Selfies, OneHotRowsComeBackByTheLargest) {
  const std::vector<std::string> alphabet = {"[C]", "[O]"};
  const SelfiesCoder coder(alphabet);
  const auto indices = coder.encode("[O][C]", 3);
  const std::vector<float> rows = coder.one_hot(indices);
  EXPECT_EQ(rows, (std::vector<float>{0, 0, 1, 0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(coder.largest(rows), indices);
  EXPECT_EQ(coder.largest(std::vector<float>{-3, -1, -2, 5, 5, 5}), (std::vector<std::int32_t>{1, 0}));
  EXPECT_TRUE(coder.one_hot({}).empty());
  EXPECT_TRUE(coder.largest({}).empty());
}

TEST(Selfies, OneHotRefusesWhatStandsForNoSymbol) {
  const std::vector<std::string> alphabet = {"[C]"};
  const SelfiesCoder coder(alphabet);
  EXPECT_TRUE(contains(problem_of([&] { coder.one_hot(std::vector<std::int32_t>{0, 2}); }), "symbol 2: number 2"));
  EXPECT_TRUE(contains(problem_of([&] { coder.largest(std::vector<float>{1, 2, 3}); }), "3 scores"));
  EXPECT_TRUE(contains(problem_of([&] { coder.largest(std::vector<float>{1, 2, std::nanf(""), 0}); }), "symbol 2"));
}

std::vector<std::vector<std::string>> rows_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::vector<std::string> cells(1);
    for (const char c : line) {
      if (c == ',')
        cells.emplace_back();
      else
        cells.back() += c;
    }
    rows.push_back(std::move(cells));
  }
  if (!rows.empty()) rows.erase(rows.begin());
  return rows;
}

// selfies_qm9.csv (smiles, selfies, decoded_smiles) and selfies_random.csv (selfies, decoded_smiles), as made by
// version 2.2 of the reference library. The same text is more than the same molecule, and is what we give.
TEST(Selfies, AgreesWithTheReferenceLibrary) {
  const char* folder = std::getenv("CPFM_TEST_SELFIES");
  if (folder == nullptr) GTEST_SKIP() << "CPFM_TEST_SELFIES names no folder with the reference library's results";
  const auto qm9 = rows_of(std::filesystem::path(folder) / "selfies_qm9.csv");
  const auto random = rows_of(std::filesystem::path(folder) / "selfies_random.csv");
  ASSERT_FALSE(qm9.empty());
  ASSERT_FALSE(random.empty());
  for (const auto& row : qm9) {
    EXPECT_EQ(selfies_to_smiles(row.at(1)), row.at(2)) << row[1];
    EXPECT_EQ(smiles_to_selfies(row.at(2)), row.at(1)) << row[2];
    // There and back from what was given, aromatic or not.
    if (has_rdkit()) {
      EXPECT_EQ(canonical_smiles(selfies_to_smiles(smiles_to_selfies(row.at(0)))), canonical_smiles(row.at(0)));
    }
  }
  for (const auto& row : random) EXPECT_EQ(selfies_to_smiles(row.at(0)), row.at(1)) << row[0];
}

}  // namespace
}  // namespace cpfm
