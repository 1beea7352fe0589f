#include <gtest/gtest.h>

#include "support/program.hpp"

namespace cpfm::test {
namespace {

RunOptions with_input(const std::string& text) {
  RunOptions options;
  options.input = text;
  return options;
}

TEST(SelfiesCommand, EncodesAColumn) {
  const TempDir dir;
  write_bytes(dir / "in.csv", "id,smiles,gap\r\n1,CC(=O)O,0.2\r\n2,\"C1CC1\",0.3\r\n");
  const std::string in = (dir / "in.csv").string(), out = (dir / "out.csv").string();
  const Outcome told = run_cpfm({"selfies", "encode", in, "-o", out});
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_EQ(told.out, out + ": 2 rows, 0 could not be translated\n");
  EXPECT_EQ(told.err, "");
  EXPECT_EQ(read_bytes(out), "smiles,selfies\nCC(=O)O,[C][C][=Branch1][C][=O][O]\nC1CC1,[C][C][C][Ring1][Ring1]\n");

  const std::string back = (dir / "back.csv").string();
  const auto json = run_cpfm({"selfies", "decode", out, "-o", back, "--json"}).json();
  EXPECT_EQ(json, (nlohmann::json{{"rows", 2}, {"failed", 0}, {"output", back}}));
  EXPECT_EQ(read_bytes(back), "selfies,smiles\n[C][C][=Branch1][C][=O][O],CC(=O)O\n[C][C][C][Ring1][Ring1],C1CC1\n");
}

TEST(SelfiesCommand, ReadsStdinAndWritesStdout) {
  const Outcome told = run_cpfm({"selfies", "decode", "-", "--column", "s"}, with_input("s\n[C][O]\n[N]\n"));
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_EQ(told.out, "selfies,smiles\n[C][O],CO\n[N],N\n");
  EXPECT_CONTAINS(told.err, "2 rows, 0 could not be translated");
  EXPECT_EQ(run_cpfm({"selfies", "decode", "-", "--quiet"}, with_input("selfies\n[C]\n")).err, "");
}

TEST(SelfiesCommand, RowsThatCannotBeTranslatedKeepTheirPlace) {
  const Outcome told = run_cpfm({"selfies", "decode", "-", "-o", "-"},
                                with_input("selfies,n\n[C],1\n[C][Xx],2\n,3\n\"a \"\"b\"\",c\",4\n[O],5\n"));
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_EQ(told.out, "selfies,smiles\n[C],C\n[C][Xx],\n,\n\"a \"\"b\"\",c\",\n[O],O\n");
  EXPECT_CONTAINS(told.err, "row 2: SELFIES, symbol 2: '[Xx]' is not known");
  EXPECT_CONTAINS(told.err, "row 3: the cell is empty");
  EXPECT_CONTAINS(told.err, "row 4: SELFIES, character 1");
  EXPECT_CONTAINS(told.err, "5 rows, 3 could not be translated");
}

TEST(SelfiesCommand, BlankLinesCountButForThoseAtTheEnd) {
  EXPECT_EQ(run_cpfm({"selfies", "encode", "-"}, with_input("smiles\nC\n\nN\n\n\n")).out,
            "smiles,selfies\nC,[C]\n,\nN,[N]\n");
}

TEST(SelfiesCommand, ManyFailuresAreSummarised) {
  std::string table = "smiles\nC\n";
  for (int i = 0; i < 1030; ++i) table += "C(\n";
  const Outcome told = run_cpfm({"selfies", "encode", "-"}, with_input(table));
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_CONTAINS(told.err, "row 21: ");
  EXPECT_EQ(told.err.find("row 22: "), std::string::npos);
  EXPECT_CONTAINS(told.err, "1,010 more rows could not be translated");
  EXPECT_CONTAINS(told.err, "1,031 rows, 1,030 could not be translated");
}

TEST(SelfiesCommand, ManyRowsComeBackInOrder) {
  std::string table = "selfies\n", expected = "selfies,smiles\n";
  for (int i = 0; i < 20000; ++i) {
    const std::string number = std::to_string(i % 299 + 1);
    table += "[" + number + "C]\n";
    expected += "[" + number + "C],[" + number + "C]\n";
  }
  EXPECT_EQ(run_cpfm({"selfies", "decode", "-"}, with_input(table)).out, expected);
}

TEST(SelfiesCommand, ReadsLinesOfASmiFile) {
  const TempDir dir;
  write_bytes(dir / "a.smi", "# alcohols, aldehydes\nCCO ethanol, of wine\n\nC=O formaldehyde\n");
  EXPECT_EQ(run_cpfm({"selfies", "encode", (dir / "a.smi").string()}).out,
            "smiles,selfies\nCCO,[C][C][O]\nC=O,[C][=O]\n");
  write_bytes(dir / "none.smi", "# nothing\n\n");
  expect_refused(run_cpfm({"selfies", "encode", (dir / "none.smi").string()}), "none.smi: holds no molecules");
}

TEST(SelfiesCommand, AllFailedIsAnErrorAndWritesNothing) {
  const TempDir dir;
  const std::string out = (dir / "out.csv").string();
  const Outcome told = run_cpfm({"selfies", "decode", "-", "-o", out}, with_input("selfies\nCCO\nC\n"));
  EXPECT_EQ(told.exit_code, 1);
  EXPECT_CONTAINS(told.err, "row 1: SELFIES, character 1: 'CCO' stands outside of brackets");
  EXPECT_CONTAINS(told.err, "none of its 2 rows could be translated, the first: SELFIES, character 1");
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_EQ(run_cpfm({"selfies", "decode", "-"}, with_input("selfies\nCCO\n")).out, "");
  EXPECT_EQ(run_cpfm({"selfies", "decode", "-"}, with_input("selfies\n")).out, "selfies,smiles\n");
}

TEST(SelfiesCommand, RefusesWhatIsNotThere) {
  const TempDir dir;
  write_bytes(dir / "a.csv", "Smile,mass\nC,1\n");
  write_bytes(dir / "empty.csv", "");
  const std::string in = (dir / "a.csv").string();
  expect_refused(run_cpfm({"selfies", "encode", in}),
                 "a.csv: has no column 'smiles'; --column names another: did you mean 'Smile'?");
  expect_refused(run_cpfm({"selfies", "decode", in}), "--column names another: there are: Smile, mass");
  expect_refused(run_cpfm({"selfies", "encode", (dir / "empty.csv").string()}), "empty.csv: is empty");
  expect_refused(run_cpfm({"selfies", "encode", (dir / "none.csv").string()}), "none.csv");
  expect_refused(run_cpfm({"selfies", "encode", in, "--column", "Smile", "-o", in}), "--output");
  expect_refused(run_cpfm({"selfies", "encode", in, "-o", "x.txt"}), "'x.txt' does not end in .csv");
  expect_refused(run_cpfm({"selfies", "encode", in, "--json"}), "--json: the table goes to standard output already");
}

}  // namespace
}  // namespace cpfm::test
