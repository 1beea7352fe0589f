// Sheets of molecules as their readers meet them: what kind of file, how large, with which captions, and what is
// refused.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cpfm/molecule.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm::test {
namespace {

using Strings = std::vector<std::string>;

std::string png_error(const Strings& smiles, const MoleculeSheetOptions& options = {}) {
  return error_of([&] { molecule_sheet_png(smiles, options); });
}

TEST(MoleculePairs, SetOriginalsAboveReconstructions) {
  EXPECT_EQ(molecule_pairs(Strings{"a", "b", "c"}, Strings{"A", "B", "C"}, 2),
            (Strings{"a", "b", "A", "B", "c", "", "C", ""}));
  EXPECT_EQ(molecule_pairs(Strings{"a"}, Strings{"A"}, 1), (Strings{"a", "A"}));
}

TEST(MoleculePairs, AreRefusedWhereTheyAreNone) {
  const Strings none, one{"C"}, two{"C", "N"};
  EXPECT_CONTAINS(error_of([&] { molecule_pairs(one, two, 1); }), "1 originals and 2 reconstructions");
  EXPECT_CONTAINS(error_of([&] { molecule_pairs(none, none, 1); }), "there are none");
  EXPECT_CONTAINS(error_of([&] { molecule_pairs(one, one, 0); }), "columns: 0");
}

#if CPFM_HAS_RDKIT

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Width and height, as a PNG's header tells them.
std::pair<int, int> png_size(const std::string& png) {
  const auto number = [&](std::size_t at) {
    int value = 0;
    for (std::size_t k = at; k < at + 4; ++k) value = value * 256 + static_cast<unsigned char>(png.at(k));
    return value;
  };
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  return {number(16), number(20)};
}

TEST(MoleculeSheet, IsAPngOfAsManyCells) {
  const Strings smiles{"CCO", "c1ccccc1", "", "CC(=O)O", "N"};
  EXPECT_EQ(png_size(text_of(molecule_sheet_png(smiles))), std::pair(400, 480));
  MoleculeSheetOptions options;
  options.columns = 5;
  options.cell_width = 100;
  options.cell_height = 90;
  options.captions = {"ethanol", "benzene", "", "acetic acid, in a caption that is much too long", "NH₃"};
  EXPECT_EQ(png_size(text_of(molecule_sheet_png(smiles, options))), std::pair(500, 90));
  options.columns = 90;  // no more than there are molecules
  EXPECT_EQ(png_size(text_of(molecule_sheet_png(smiles, options))), std::pair(500, 90));
}

TEST(MoleculeSheet, ShowsMoleculesAndNothingInEmptyCells) {
  const std::string drawn = text_of(molecule_sheet_png(Strings{"c1ccccc1"}));
  const std::string blank = text_of(molecule_sheet_png(Strings{""}));
  EXPECT_EQ(png_size(drawn), png_size(blank));
  EXPECT_GT(drawn.size(), blank.size() + 500);
  MoleculeSheetOptions captioned;
  captioned.captions = {"benzene"};
  EXPECT_NE(text_of(molecule_sheet_png(Strings{"c1ccccc1"}, captioned)), drawn);
}

TEST(MoleculeSheet, SvgHoldsTheCaptions) {
  MoleculeSheetOptions options;
  options.captions = {"ethanol", "1 < 2 & µ", std::string(300, 'x')};
  const std::string svg = molecule_sheet_svg(Strings{"CCO", "CC", "C"}, options);
  EXPECT_CONTAINS(svg, "<svg");
  EXPECT_CONTAINS(svg, ">ethanol</text>");
  EXPECT_CONTAINS(svg, ">1 &lt; 2 &amp; µ</text>");
  EXPECT_CONTAINS(svg, "xxx…</text>");
  EXPECT_EQ(svg.find(std::string(100, 'x')), std::string::npos);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(MoleculeSheet, IsWrittenAsTheNameSays) {
  const TempDir dir;
  const Strings smiles{"CCO"};
  write_molecule_sheet(dir / "a.PNG", smiles);
  write_molecule_sheet(dir / "a.svg", smiles);
  EXPECT_EQ(png_size(read_bytes(dir / "a.PNG")), std::pair(200, 160));
  EXPECT_CONTAINS(read_bytes(dir / "a.svg"), "<svg");
  EXPECT_CONTAINS(error_of([&] { write_molecule_sheet(dir / "a.jpg", smiles); }), "does not end in .png or .svg");
}

TEST(MoleculeSheet, AFailureLeavesTheOldFile) {
  const TempDir dir;
  write_bytes(dir / "a.png", "old");
  EXPECT_NE(error_of([&] { write_molecule_sheet(dir / "a.png", Strings{"C("}); }), "");
  EXPECT_EQ(read_bytes(dir / "a.png"), "old");
}

TEST(MoleculeSheet, NamesTheMoleculeThatCannotBeRead) {
  EXPECT_CONTAINS(png_error({"CCO", "C(("}), "molecule 2, SMILES 'C(('");
}

TEST(MoleculeSheet, RefusesWhatNobodyCouldLookAt) {
  EXPECT_CONTAINS(png_error({}), "there are no molecules to draw");
  EXPECT_CONTAINS(png_error(Strings(2501, "C")), "2501 molecules; at most 2500");
  MoleculeSheetOptions options;
  options.columns = 1;
  EXPECT_CONTAINS(png_error(Strings(101, "C"), options), "200 × 16160 pixels (width × height); at most 16000 a side");
  options.columns = 0;
  options.cell_width = options.cell_height = 2000;
  EXPECT_CONTAINS(png_error(Strings(36, "C"), options), "100 million");
  options.cell_width = 39;
  EXPECT_CONTAINS(png_error({"C"}, options), "cell_width: 39 pixels; 40 to 2000");
  options = {};
  options.captions = {"a", "b"};
  EXPECT_CONTAINS(png_error({"C"}, options), "2 captions for 1 molecules");
}

#else

TEST(MoleculeSheet, SaysWhatIsMissing) {
  const TempDir dir;
  const Strings smiles{"C"};
  for (const std::string& message : {png_error(smiles), error_of([&] { molecule_sheet_svg(smiles); }),
                                     error_of([&] { write_molecule_sheet(dir / "a.png", smiles); })})
    EXPECT_CONTAINS(message, "drawing molecules: needs RDKit, and this build has none; install it");
}

#endif

}  // namespace
}  // namespace cpfm::test
