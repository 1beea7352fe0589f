// Molecules as their users have them: tables, lists and SDF, with rows that are wrong.
#include <gtest/gtest.h>

#include "cpfm/error.hpp"
#include "cpfm/molecule.hpp"
#include "data/gzip.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using namespace test;
using Texts = std::vector<std::string>;

MoleculesRead read_text(const std::string& text, const MoleculeReadOptions& options = {},
                        const std::string& name = "m.csv") {
  const TempDir dir;
  write_bytes(dir / name, text);
  return read_molecules((dir / name).string(), options);
}

std::string problem_of(const std::string& text, const MoleculeReadOptions& options = {},
                       const std::string& name = "m.csv") {
  return error_of([&] { read_text(text, options, name); });
}

bool is_found(const std::string& text, const MoleculeReadOptions& options = {}, const std::string& name = "m.csv") {
  const TempDir dir;
  write_bytes(dir / name, text);
  return holds_molecules((dir / name).string(), options);
}

MoleculeReadOptions with(const std::vector<std::string>& properties, const std::string& labels = "",
                         OnBadRow on_bad_row = OnBadRow::kError) {
  MoleculeReadOptions options;
  options.read.properties = properties;
  options.read.labels = labels;
  options.on_bad_row = on_bad_row;
  return options;
}

const std::string kTable = "id,smiles,mu,kind\n1,CCO,1.5,chain\n2,c1ccccc1,0,ring\n3,CN,1.25,chain\n";

TEST(HoldsMolecules, IsToldByTheNameAColumnOrTheUser) {
  EXPECT_TRUE(is_found("", {}, "a.smi"));
  EXPECT_TRUE(is_found("", {}, "a.SDF.gz"));
  EXPECT_TRUE(is_found(kTable));
  EXPECT_TRUE(is_found("SMILES\tmu\nC\t1\n", {}, "m.tsv"));
  EXPECT_TRUE(is_found(gzipped(kTable), {}, "m.csv.gz"));
  MoleculeReadOptions named;
  named.smiles = "structure";
  EXPECT_TRUE(is_found("structure,mu\nC,1\n", named, "m.txt"));
  EXPECT_FALSE(is_found("structure,mu\nC,1\n"));
  EXPECT_FALSE(is_found("a,smiles\n1,2\n3,4\n"));  // numbers
  EXPECT_FALSE(is_found("smiles\n"));
  EXPECT_FALSE(is_found(kTable, {}, "m.txt"));
  EXPECT_FALSE(holds_molecules("digits", named));
  EXPECT_FALSE(holds_molecules("a.npy", named));
  EXPECT_FALSE(holds_molecules("not-there.csv"));
}

TEST(HoldsMolecules, NotWhereTheColumnIsUsedForSomethingElse) {
  MoleculeReadOptions options;
  options.read.ignore = {"id", "smiles"};
  EXPECT_FALSE(is_found(kTable, options));
  options.read.ignore = {"2"};
  EXPECT_FALSE(is_found(kTable, options));
  options.read.ignore = {"id"};
  EXPECT_TRUE(is_found(kTable, options));
  EXPECT_FALSE(is_found(kTable, with({}, "smiles")));
  options.read.header = Header::kNo;
  EXPECT_FALSE(is_found(kTable, options));
}

#if CPFM_HAS_RDKIT

MoleculeReadOptions skipping(const std::vector<std::string>& properties = {}) {
  return with(properties, "", OnBadRow::kSkip);
}

TEST(ReadMolecules, GivesFingerprintsAndSmilesInTheOrderOfTheFile) {
  const MoleculesRead read = read_text(kTable);
  const Dataset& data = read.data;
  EXPECT_EQ(read.rows, 3u);
  EXPECT_TRUE(read.skipped.empty());
  EXPECT_EQ(data.molecules, (Texts{"CCO", "c1ccccc1", "CN"}));
  EXPECT_EQ(data.format, "molecules");
  EXPECT_EQ(data.dtype, "smiles");
  EXPECT_EQ(data.dim(), 2048u);
  EXPECT_TRUE(data.feature_names.empty());
  EXPECT_TRUE(data.sample_names.empty());
  EXPECT_TRUE(data.properties.empty());
  EXPECT_FALSE(data.labels);
  const Fingerprints prints = morgan_fingerprints(data.molecules);
  for (std::size_t i = 0; i < data.size(); ++i) {
    for (std::size_t k = 0; k < data.dim(); ++k)
      ASSERT_EQ(data.samples(i, k), static_cast<float>(prints.row(i)[k / 64] >> (k % 64) & 1));
  }
}

TEST(ReadMolecules, TakesLabelsAndPropertiesFromColumns) {
  const Dataset data = read_text(kTable, with({"mu", "1"}, "kind")).data;
  EXPECT_EQ(data.labels->names, (Texts{"chain", "ring"}));
  EXPECT_EQ(data.labels->ids, (std::vector<std::int32_t>{0, 1, 0}));
  ASSERT_EQ(data.properties.size(), 2u);
  EXPECT_EQ(data.properties[0].name, "mu");
  EXPECT_EQ(data.properties[0].values, (std::vector<float>{1.5, 0, 1.25}));
  EXPECT_EQ(data.properties[1].name, "id");
}

TEST(ReadMolecules, TakesLabelsAndPropertiesFromFilesAndLeavesBadRowsOutThereToo) {
  const TempDir dir;
  write_bytes(dir / "mu.txt", "1\n2\n3\n4\n");
  write_bytes(dir / "kind.txt", "a\nb\nc\na\n");
  write_bytes(dir / "m.smi", "C\nnothing\nCC\nCCC\n");
  const Dataset data = read_molecules((dir / "m.smi").string(),
                                      with({(dir / "mu.txt").string()}, (dir / "kind.txt").string(), OnBadRow::kSkip))
                           .data;
  EXPECT_EQ(data.properties[0].name, "mu");
  EXPECT_EQ(data.properties[0].values, (std::vector<float>{1, 3, 4}));
  EXPECT_EQ(data.labels->names, (Texts{"a", "c"}));
  EXPECT_EQ(data.labels->ids, (std::vector<std::int32_t>{0, 1, 0}));
  EXPECT_CONTAINS(error_of([&] { read_molecules((dir / "m.smi").string(), with({"mu"})); }),
                  "'mu' is no file, and " + (dir / "m.smi").string() + " has no columns");
}

TEST(ReadMolecules, ReadsTablesOfAnyKind) {
  EXPECT_EQ(read_text("mu\tSmiles\n1\tC\n2\tCC\n", {}, "m.tsv").data.molecules, (Texts{"C", "CC"}));
  EXPECT_EQ(read_text(gzipped(kTable), {}, "m.csv.gz").data.size(), 3u);
  EXPECT_EQ(read_text("Canonical_SMILES\r\nC\r\nCC\r\n\r\n").data.molecules, (Texts{"C", "CC"}));
  EXPECT_EQ(read_text("canonical_smiles,smiles\nC,CC\nC,CCC\n").data.molecules, (Texts{"CC", "CCC"}));
  MoleculeReadOptions first;
  first.smiles = "1";
  EXPECT_EQ(read_text("C,1\nCC,2\n", first).data.molecules, (Texts{"C", "CC"}));
  EXPECT_EQ(read_text("\"C\",a\n CC ,b\n", first).data.molecules, (Texts{"C", "CC"}));
  first.read.header = Header::kYes;
  EXPECT_EQ(read_text("what,name\nC,a\nCC,b\n", first).data.molecules, (Texts{"C", "CC"}));
}

TEST(ReadMolecules, ReadsListsWithCommentsAndNames) {
  const Dataset data = read_text("# made by hand\nCCO ethanol\nCC\tethane, pure\n\n  C methane\n", {}, "m.smi").data;
  EXPECT_EQ(data.molecules, (Texts{"CCO", "CC", "C"}));
  EXPECT_EQ(data.sample_names, (Texts{"ethanol", "ethane, pure", "methane"}));
  EXPECT_TRUE(read_text("CCO ethanol\nCC\n", {}, "m.smi").data.sample_names.empty());
  EXPECT_CONTAINS(problem_of("smiles name\nCC a\nC b\n", {}, "m.smi"), "if the first line is a header: --header yes");
  MoleculeReadOptions header;
  header.read.header = Header::kYes;
  EXPECT_EQ(read_text("smiles name\nCC a\nC b\n", header, "m.smi").data.molecules, (Texts{"CC", "C"}));
}

std::string record(const std::string& name, const std::string& atom, const std::string& fields) {
  return name + "\n  by hand\n\n  2  1  0  0  0  0  0  0  0  0999 V2000\n" +
         "    0.0000    0.0000    0.0000 C   0  0\n    1.5000    0.0000    0.0000 " + atom +
         "   0  0\n  1  2  1  0\nM  END\n" + fields + "$$$$\n";
}

TEST(ReadMolecules, ReadsSdfWithItsFields) {
  const std::string file = record("methanol", "O", "> <mu>\n1.5\n\n>  25 <kind> (x)\nalcohol\n\n") +
                           record("ethane", "C", "> <kind>\nalkane\n\n> <mu>\n0\n\n");
  for (const std::string name : {"m.sdf", "m.sdf.gz"}) {
    const Dataset data = read_text(name.ends_with("gz") ? gzipped(file) : file, with({"mu"}, "kind"), name).data;
    EXPECT_EQ(data.molecules, (Texts{"CO", "CC"}));
    EXPECT_EQ(data.sample_names, (Texts{"methanol", "ethane"}));
    EXPECT_EQ(data.dtype, "sdf");
    EXPECT_EQ(data.properties[0].values, (std::vector<float>{1.5, 0}));
    EXPECT_EQ(data.labels->names, (Texts{"alcohol", "alkane"}));
  }
  EXPECT_CONTAINS(problem_of(file, with({"nu"}), "m.sdf"),
                  "has no data field 'nu' (option --property); did you mean 'mu'?");
  MoleculeReadOptions first;
  first.read.limit = 1;
  first.read.fewest = 1;
  EXPECT_EQ(read_text(file, first, "m.sdf").data.molecules, (Texts{"CO"}));
}

TEST(ReadMolecules, LeavesOutRecordsOfAnSdfThatAreWrong) {
  const std::string file = record("a", "O", "> <mu>\n1\n\n") + "junk\n$$$$\n" + record("b", "Xx", "> <mu>\n1\n\n") +
                           record("c", "N", "") + record("d", "N", "> <mu>\n2\n\n");
  const MoleculesRead read = read_text(file.substr(0, file.size() - 5), skipping({"mu"}), "m.sdf");  // no last $$$$
  EXPECT_EQ(read.data.molecules, (Texts{"CO", "CN"}));
  EXPECT_EQ(read.data.sample_names, (Texts{"a", "d"}));
  EXPECT_EQ(read.rows, 5u);
  ASSERT_EQ(read.skipped.size(), 3u);
  EXPECT_CONTAINS(read.skipped[0].text(), "row 2 (line 13): molecule 'junk': RDKit cannot read it");
  EXPECT_EQ(read.skipped[1].row, 3u);
  EXPECT_CONTAINS(read.skipped[2].text(), "data field 'mu': no value (of 'CN')");
}

const std::string kBad = "smiles,mu\nCCO,1\nC1CC,2\nCC,\n,3\nCN,x\nC C,4\nCCC,inf\nCCN,5\n";

TEST(ReadMolecules, NamesTheFirstBadRow) {
  EXPECT_CONTAINS(problem_of(kBad), "m.csv: row 2 (line 3): SMILES 'C1CC': RDKit cannot read it; --on-bad-row skip");
  EXPECT_CONTAINS(problem_of("smiles\nC\n\nCC\n"), "row 2 (line 3): the SMILES is empty");
  EXPECT_CONTAINS(problem_of("smiles,mu\nC,1\nCC,x\n", with({"mu"})),
                  "row 2 (line 3): column 'mu': 'x' is not a number (of 'CC'); --on-bad-row skip leaves such rows out");
  MoleculeReadOptions first;
  first.smiles = "1";
  EXPECT_CONTAINS(problem_of("what,name\nC,a\nCC,b\n", first), "if the first row names the columns: --header yes");
}

TEST(ReadMolecules, LeavesOutBadRowsAndTellsThem) {
  const MoleculesRead read = read_text(kBad, skipping({"mu"}));
  EXPECT_EQ(read.data.molecules, (Texts{"CCO", "CCN"}));
  EXPECT_EQ(read.data.properties[0].values, (std::vector<float>{1, 5}));
  EXPECT_EQ(read.rows, 8u);
  Texts problems;
  for (const BadRow& bad : read.skipped) problems.push_back(bad.text());
  EXPECT_EQ(problems, (Texts{"row 2 (line 3): SMILES 'C1CC': RDKit cannot read it",
                             "row 3 (line 4): column 'mu': no value (of 'CC')", "row 4 (line 5): the SMILES is empty",
                             "row 5 (line 6): column 'mu': 'x' is not a number (of 'CN')",
                             "row 6 (line 7): SMILES 'C C': character 2 belongs to no SMILES",
                             "row 7 (line 8): column 'mu': 'inf' is not a finite number of 32 bits (of 'CCC')"}));
  EXPECT_EQ(read_text(kBad, skipping()).skipped.size(), 3u);  // mu is not asked for
}

TEST(ReadMolecules, RefusesAPropertyOfTextWhateverBecomesOfBadRows) {
  for (const OnBadRow on_bad_row : {OnBadRow::kError, OnBadRow::kSkip}) {
    EXPECT_CONTAINS(problem_of(kTable, with({"kind"}, "", on_bad_row)),
                    "column 'kind': holds text ('chain'), and a property is a number; classes are labels: "
                    "--labels kind");
  }
  EXPECT_CONTAINS(problem_of("smiles,mu\nC,\nCC,\n", skipping({"mu"})), "column 'mu': is empty");
  EXPECT_CONTAINS(problem_of("smiles;mu\nC;1,5\nCC;2,5\n", skipping({"mu"})), "decimal commas are not read");
}

TEST(ReadMolecules, RefusesWhereNothingIsLeft) {
  EXPECT_CONTAINS(problem_of("smiles,mu\nC1,1\n,2\n", skipping()),
                  "no molecule is left of 2 rows; row 1 (line 2): SMILES 'C1'");
  EXPECT_CONTAINS(problem_of("smiles,mu\nC,1\n,2\n", skipping()), "holds one molecule; at least two");
  EXPECT_CONTAINS(problem_of("smiles,mu\n"), "holds no molecules");
  EXPECT_CONTAINS(problem_of("# nothing\n", {}, "m.smi"), "holds no molecules");
  EXPECT_CONTAINS(problem_of("\n\n", {}, "m.sdf"), "holds no molecules");
  EXPECT_CONTAINS(problem_of(""), "is empty");
}

TEST(ReadMolecules, NamesColumnsThatAreNear) {
  MoleculeReadOptions options;
  options.smiles = "smile";
  EXPECT_CONTAINS(problem_of(kTable, options), "has no column 'smile' (option --smiles); did you mean 'smiles'?");
  EXPECT_CONTAINS(problem_of(kTable, with({"mi"})), "has no column 'mi' (option --property); did you mean 'mu'?");
  EXPECT_CONTAINS(problem_of("smile,mu\nC,1\nCC,2\n"), "has no column 'smiles'; name the column of SMILES");
  EXPECT_CONTAINS(problem_of("C\nCC\n"), "give the number of the column: --smiles 1");
  EXPECT_CONTAINS(problem_of("smiles,Smiles\nC,C\nCC,CC\n"), "has several columns called smiles");
  EXPECT_CONTAINS(problem_of(kTable, with({"mu"}, "mu")), "column 'mu' is asked for twice");
  EXPECT_CONTAINS(problem_of(kTable, with({"smiles"})), "column 'smiles' is asked for twice");
  EXPECT_CONTAINS(problem_of("smiles,mu\nC,1\nCC\n"), "row 2 (line 3): has 1 cells where the first row has 2");
}

TEST(ReadMolecules, CountsBadRowsInTheLimit) {
  MoleculeReadOptions options = skipping();
  options.read.limit = 3;
  const MoleculesRead read = read_text(kBad, options);
  EXPECT_EQ(read.rows, 3u);
  EXPECT_EQ(read.data.molecules, (Texts{"CCO", "CC"}));
  options.read.limit = 1;
  EXPECT_CONTAINS(problem_of(kBad, options), "--limit: 1 is too few");
}

TEST(ReadMolecules, KeepsTheOrderOfManyRows) {
  std::string text = "smiles,n\n";
  for (int i = 0; i < 9000; ++i)
    text += std::string(static_cast<std::size_t>(i % 7) + 1, 'C') + "," + std::to_string(i) + "\n";
  const Dataset data = read_text(text, with({"n"})).data;
  ASSERT_EQ(data.size(), 9000u);
  for (std::size_t i = 0; i < data.size(); ++i) {
    ASSERT_EQ(data.molecules[i].size(), i % 7 + 1);
    ASSERT_EQ(data.properties[0].values[i], static_cast<float>(i));
    ASSERT_EQ(0, std::memcmp(data.samples.row(i).data(), data.samples.row(i % 7).data(), 2048 * sizeof(float)));
  }
}

#else

TEST(ReadMolecules, SaysHowToGetRdkit) {
  EXPECT_FALSE(has_rdkit());
  EXPECT_CONTAINS(problem_of(kTable), "m.csv: reading molecules needs RDKit, and this build has none; install it");
}

#endif

}  // namespace
}  // namespace cpfm
