// Data of molecules through the commands that read it.
#include <gtest/gtest.h>

#include "support/program.hpp"

namespace cpfm::test {
namespace {

class Molecules : public testing::Test {
 protected:
  Molecules() {
    write_bytes(dir_ / "m.csv", "id,smiles,mu,kind\n1,CCO,1.5,chain\n2,c1ccccc1,0,ring\n3,C1CC,1,ring\n4,CCN,1.25,\n");
    write_bytes(dir_ / "m.smi", "CCO ethanol\nCCN ethylamine\nCCC propane\n");
    here_.folder = dir_.path();
  }
  Outcome run(const std::vector<std::string>& words) const { return run_cpfm(words, here_); }

  TempDir dir_;
  RunOptions here_;
};

TEST_F(Molecules, OptionsMeanNothingForOtherData) {
  const Outcome digits = run({"data", "info", "digits", "--smiles", "1", "--on-bad-row", "skip"});
  EXPECT_EQ(digits.exit_code, 0);
  EXPECT_CONTAINS(digits.err, "warning: --smiles means nothing for digits: its format is built-in");
  EXPECT_CONTAINS(digits.err, "warning: --on-bad-row means nothing for digits");
  EXPECT_EQ(run({"data", "info", "digits", "--on-bad-row", "error"}).err, "");
  expect_refused(run({"data", "info", "m.csv", "--on-bad-row", "drop"}), "is not one of error, skip");
  expect_refused(run({"data", "info", "m.csv", "--smiles", ""}), "--smiles: an empty text is not allowed");
}

TEST_F(Molecules, AreATableOfNumbersWhereTheSmilesAreIgnored) {
  const auto json = run({"data", "info", "m.csv", "--ignore", "smiles", "--labels", "kind", "--json"}).json();
  EXPECT_EQ(json["format"], "csv");
  EXPECT_EQ(json["dim"], 2);
}

#if CPFM_HAS_RDKIT

TEST_F(Molecules, AreDescribed) {
  const Outcome text = run({"data", "info", "m.csv", "--on-bad-row", "skip", "--property", "mu", "--labels", "kind"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.err,
            "cpfm: warning: m.csv: 1 of 4 rows left out: row 3 (line 4): SMILES 'C1CC': RDKit cannot read it\n");
  for (const char* part : {"3 x 2048 (smiles in the file", "format      molecules", "3 as Morgan fingerprints",
                           "longest SMILES of 8 characters; 1 row left out", "mu: 0 to 1.5"})
    EXPECT_CONTAINS(text.out, part);
  const auto json = run({"data", "info", "m.csv", "--on-bad-row", "skip", "--json", "--quiet"}).json();
  EXPECT_EQ(json["n"], 3);
  EXPECT_EQ(json["format"], "molecules");
  EXPECT_EQ(json["molecules"]["rows_left_out"], 1);
  EXPECT_EQ(json["molecules"]["longest_smiles"], 8);
  EXPECT_FALSE(json.contains("features"));
}

TEST_F(Molecules, AreReadByNameColumnAndFromStandardInput) {
  EXPECT_EQ(run({"data", "info", "m.smi", "--json"}).json()["n"], 3);
  EXPECT_CONTAINS(run({"data", "info", "m.smi", "--smiles", "x"}).err, "--smiles means nothing for m.smi");
  here_.input = "structure,mu\nC,1\nCC,2\n";
  EXPECT_EQ(run({"data", "info", "-", "--smiles", "structure", "--json"}).json()["format"], "molecules");
  here_.input = "smiles,mu\nC,1\nCC,2\n";
  expect_refused(run({"data", "info", "-"}), "read the rows as molecules (--smiles smiles)");
}

TEST_F(Molecules, RefuseBadRowsAndScaling) {
  expect_refused(run({"data", "info", "m.csv"}),
                 "m.csv: row 3 (line 4): SMILES 'C1CC': RDKit cannot read it; --on-bad-row skip leaves such rows out");
  expect_refused(run({"data", "info", "m.smi", "--standardize", "zscore"}),
                 "--standardize: m.smi holds molecules, and the bits of fingerprints are not scaled");
  expect_refused(run({"data", "info", "m.csv", "--property", "kind", "--on-bad-row", "skip"}),
                 "column 'kind': holds text ('chain')");
}

TEST_F(Molecules, AreCoupledAndKeptInTheEmbedding) {
  const Outcome coupled =
      run({"couple", "m.csv", "--on-bad-row", "skip", "--property", "mu", "--kernel",
           "0.5*tanimoto+0.5*property(mu, form=exp)", "-o", "c.cpfm", "--embedding", "y.csv", "--quiet"});
  EXPECT_EQ(coupled.exit_code, 0) << coupled.err;
  EXPECT_CONTAINS(coupled.out,
                  "coupled     3 samples with 3 latent points, gaussian in 2 dimensions; 1 row left out\n");
  const std::string table = read_bytes(dir_ / "y.csv");
  EXPECT_TRUE(table.starts_with("smiles,y1,y2,mu\nCCO,")) << table;
  EXPECT_CONTAINS(table, "\nCCN,");
}

TEST_F(Molecules, RowsLeftOutAreCountedInEveryResult) {
  const auto count = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--on-bad-row", "skip", "--json", "--quiet"});
    return run(words).json().at("molecules").at("rows_left_out");
  };
  EXPECT_EQ(count({"data", "convert", "m.csv", "-o", "m.npy"}), 1);
  EXPECT_EQ(count({"couple", "m.csv", "--kernel", "tanimoto", "-o", "c.cpfm"}), 1);
  EXPECT_EQ(count({"data", "info", "m.smi"}), 0);
  EXPECT_EQ(run({"data", "convert", "m.csv", "-o", "m.npy", "--on-bad-row", "skip"}).out,
            "m.npy: 3 x 2048; 1 row left out\n");
  EXPECT_FALSE(run({"data", "convert", "digits", "-o", "d.npy", "--json"}).json().contains("molecules"));
}

#else

TEST_F(Molecules, SayHowToGetRdkit) {
  for (const std::string file : {"m.csv", "m.smi"}) {
    const std::string told = file + ": reading molecules needs RDKit, and this build has none; install it (Debian: ";
    expect_refused(run({"data", "info", file}), told);
    expect_refused(run({"couple", file, "-o", "c.cpfm"}), told);
  }
  here_.input = "smiles\nc1ccccc1\n";
  expect_refused(run({"selfies", "encode", "-", "--quiet"}), "SMILES with aromatic atoms: needs RDKit, and this build");
}

#endif

}  // namespace
}  // namespace cpfm::test
