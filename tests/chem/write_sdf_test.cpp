#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cpfm/molecule.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm::test {
namespace {

using Strings = std::vector<std::string>;

#if CPFM_HAS_RDKIT

std::string sdf_of(const Strings& smiles, const std::vector<MoleculeColumn>& columns = {}) {
  const TempDir dir;
  write_sdf(dir / "a.sdf", smiles, columns);
  return read_bytes(dir / "a.sdf");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  }
  return lines;
}

TEST(WriteSdf, HasTitleAtomsBondsAndFields) {
  const std::string text = sdf_of({"CCO", "C=O"}, {{"name", {"ethanol", ""}}, {"gap", {"0.25", ""}}});
  const auto lines = lines_of(text);
  EXPECT_EQ(lines.at(0), "ethanol");
  EXPECT_EQ(lines.at(3).substr(0, 6), "  3  2");  // atoms and bonds
  EXPECT_EQ(lines.at(6).substr(31, 2), "O ");
  EXPECT_CONTAINS(lines.at(3), "V2000");
  EXPECT_CONTAINS(text, "M  END\n>  <name>\nethanol\n\n>  <gap>\n0.25\n\n$$$$\n");
  EXPECT_TRUE(text.ends_with("M  END\n$$$$\n"));  // the second molecule's values are empty
  EXPECT_EQ(text.find("<gap>"), text.rfind("<gap>"));
}

TEST(WriteSdf, AtomsLieInThePlane) {
  const auto lines = lines_of(sdf_of({"CC"}));
  EXPECT_EQ(lines.at(0), "CC");  // its SMILES, for want of a name
  EXPECT_NE(lines.at(4).substr(0, 20), lines.at(5).substr(0, 20));
  EXPECT_EQ(lines.at(4).substr(20, 10), "    0.0000");
}

TEST(WriteSdf, NoValueCanBreakTheFile) {
  const std::string text = sdf_of({"C"}, {{"a<b>\n", {"$$$$\n>  <evil>\n1"}}, {"c", {"> <d>"}}});
  EXPECT_CONTAINS(text, ">  <a_b_?>\n $$$$?>  <evil>?1\n\n>  <c>\n > <d>\n\n$$$$\n");
}

TEST(WriteSdf, RefusesWhatDoesNotFitAndLeavesTheOldFile) {
  const TempDir dir;
  write_bytes(dir / "a.sdf", "old");
  const auto problem = [&](const Strings& smiles, const std::vector<MoleculeColumn>& columns = {}) {
    return error_of([&] { write_sdf(dir / "a.sdf", smiles, columns); });
  };
  EXPECT_CONTAINS(problem({"C", "C("}), "molecule 2, SMILES 'C('");
  EXPECT_CONTAINS(problem({"C", ""}), "molecule 2, SMILES: is empty");
  EXPECT_CONTAINS(problem({"C"}, {{"gap", {"1", "2"}}}), "column 'gap': 2 values for 1 molecules");
  EXPECT_CONTAINS(problem({"C"}, {{"", {"1"}}}), "a column without a name");
  EXPECT_EQ(read_bytes(dir / "a.sdf"), "old");
}

#else

TEST(WriteSdf, SaysWhatIsMissing) {
  const TempDir dir;
  const Strings smiles{"C"};
  EXPECT_CONTAINS(error_of([&] { write_sdf(dir / "a.sdf", smiles); }), "writing SDF: needs RDKit");
}

#endif

}  // namespace
}  // namespace cpfm::test
