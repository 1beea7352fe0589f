// Molecules through the program: from SMILES to a model, a map and back to molecules.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "flow_commands.hpp"
#include "support/program.hpp"

// As in flow_commands_test.cpp.
#if !CPFM_SANITIZED && CPFM_HAS_RDKIT
namespace cpfm::test {
namespace {
namespace fs = std::filesystem;

// A tiny model of eighty small molecules, made once; the property counts their oxygens.
class MoleculeCommands : public CommandsInAFolder {
 protected:
  static void SetUpTestSuite() {
    dir_ = new TempDir;
    std::string table = "smiles,polarity\n", unseen = "smiles,polarity\n";
    for (int a = 1; a <= 5; ++a) {
      for (int b = 0; b < 4; ++b) {
        for (const char* end : {"", "O", "N", "C(=O)O"}) {
          const std::string smiles = std::string(static_cast<std::size_t>(a), 'C') +
                                     (b > 0 ? "O" + std::string(static_cast<std::size_t>(b), 'C') : "") + end;
          const auto oxygens = std::count(smiles.begin(), smiles.end(), 'O');
          (b == 3 ? unseen : table) += fmt::format("{},{}\n", smiles, static_cast<double>(oxygens) + 0.01 * a);
        }
      }
    }
    fs::create_directory(*dir_ / "data");
    write_bytes(*dir_ / "data/qm9.csv", table + unseen.substr(unseen.find('\n') + 1));
    write_bytes(*dir_ / "train.csv", table);
    write_bytes(*dir_ / "unseen.csv", unseen);
    const Outcome made = run_cpfm(fit_words("run", {"--steps", "8"}));
    ASSERT_EQ(made.exit_code, 0) << made.err;
    made_ = made.json();
  }
  static std::vector<std::string> fit_words(const std::string& run, const std::vector<std::string>& more) {
    std::vector<std::string> words{"fit",
                                   path("train.csv"),
                                   "--property",
                                   "polarity",
                                   "--kernel",
                                   "0.5*tanimoto+0.5*property(polarity, form=exp)",
                                   "-o",
                                   path(run),
                                   "--starts",
                                   "1",
                                   "--encoder-epochs",
                                   "30",
                                   "--encoder-hidden",
                                   "16",
                                   "--encoder-dim",
                                   "6",
                                   "--device",
                                   "cpu",
                                   "--json",
                                   "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(MoleculeCommands, FitWritesAModelWithItsAutoencoderAndDrawsMolecules) {
  for (const char* file :
       {"model.cpfm", "coupling.cpfm", "molecules.cpfm", "report.html", "reconstructions.png", "grid.png", "tsne.png"})
    EXPECT_TRUE(fs::exists(*dir_ / "run" / file)) << file;
  EXPECT_FALSE(fs::exists(*dir_ / "run/molecules.cpfm.partial"));
  for (const char* map : {"coupling", "network", "tsne", "pca"})
    EXPECT_TRUE(made_["knn_r2"][map].contains("polarity")) << map;
  EXPECT_GT(made_["guess_r2"]["polarity"].get<double>(), 0.8);  // oxygens are counted by descriptors
  EXPECT_CONTAINS(run_cpfm({"info", path("run/model.cpfm")}).out, "sequence_vae");
}

TEST_F(MoleculeCommands, MoleculesGoInAndOut) {
  const Outcome placed = run_cpfm({"embed", path("run"), path("unseen.csv"), "-o", path("y.csv"), "--json"});
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  EXPECT_EQ(placed.json()["dim"], 2);
  const std::string places = read_bytes(*dir_ / "y.csv");
  EXPECT_CONTAINS(places, "smiles,");
  EXPECT_CONTAINS(places, "COCCCC(=O)O");
  const Outcome made = run_cpfm({"generate", path("run"), "--y", path("y.csv"), "-o", path("made.csv"), "--png",
                                 path("made.png"), "--svg", path("made.svg"), "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.json()["n"], 20);
  const std::string rows = read_bytes(*dir_ / "made.csv");
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 21);
  EXPECT_CONTAINS(read_bytes(*dir_ / "made.csv"), "smiles,y1,y2,in_training,nearest,tanimoto");
  EXPECT_EQ(read_bytes(*dir_ / "made.png").substr(1, 3), "PNG");
  EXPECT_CONTAINS(read_bytes(*dir_ / "made.svg"), "<svg");
  for (const char* file : {"at.smi", "at.sdf"}) {
    const Outcome at = run_cpfm({"generate", path("run"), "--at", "0,0", "--each", "3", "-o", path(file)});
    ASSERT_EQ(at.exit_code, 0) << at.err;
    EXPECT_CONTAINS(at.out, "3 molecules");
  }
  // What is written can be read again.
  for (const char* file : {"at.smi", "at.sdf"}) {
    const Outcome again = run_cpfm({"data", "info", path(file), "--json"});
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(again.json()["n"], 3) << file;
  }
  const Outcome back = run_cpfm(
      {"reconstruct", path("run"), path("unseen.csv"), "-o", path("back.csv"), "--png", path("back.png"), "--json"});
  ASSERT_EQ(back.exit_code, 0) << back.err;
  for (const char* share : {"tanimoto", "tanimoto_random", "shared_atoms", "shared_atoms_random"}) {
    EXPECT_GT(back.json()[share].get<double>(), 0) << share;
    EXPECT_LE(back.json()[share].get<double>(), 1) << share;
  }
  EXPECT_CONTAINS(read_bytes(*dir_ / "back.csv"), "smiles,back,tanimoto,shared_atoms");
}

TEST_F(MoleculeCommands, EvaluateTellsWhatIsKeptAndAsksAJudge) {
  const Outcome outcome = run_cpfm({"evaluate", path("run"), path("unseen.csv"), "--property", "polarity", "--judge",
                                    path("train.csv"), "--runs", "1", "-o", path("figures.json"), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto molecules = outcome.json()["molecules"];
  EXPECT_GT(molecules["autoencoder"]["symbols"].get<double>(), 0.1);
  EXPECT_EQ(molecules["generated"]["valid"], 1);
  EXPECT_GT(molecules["back"]["shared_atoms"].get<double>(), 0.1);
  EXPECT_GT(molecules["judge"]["judge_r2"].get<double>(), 0.5);  // oxygens are bits
  EXPECT_TRUE(molecules["judge"]["path"].contains("rank_correlation"));
  for (const char* told : {"structure_r2", "structure_r2_of_one_draw", "measured_r2", "measured_r2_of_one_draw"})
    EXPECT_TRUE(molecules["judge"].contains(told)) << told;
  EXPECT_EQ(molecules["judge"]["known_places"], "coupled");
  // Away from its coupling the model itself has to say where the judge's molecules lie.
  std::filesystem::create_directory(*dir_ / "alone");
  std::filesystem::copy_file(*dir_ / "run/model.cpfm", *dir_ / "alone/model.cpfm");
  const Outcome alone = run_cpfm({"evaluate", path("alone"), path("unseen.csv"), "--property", "polarity", "--judge",
                                  path("train.csv"), "--runs", "1", "--json"});
  ASSERT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_EQ(alone.json()["molecules"]["judge"]["known_places"], "drawn");
  EXPECT_TRUE(outcome.json().contains("knn_r2.polarity"));
  EXPECT_CONTAINS(read_bytes(*dir_ / "figures.json"), "judge_r2");
  // A judge that learns some of what is measured, whatever its file is called.
  const std::string unseen = read_bytes(*dir_ / "unseen.csv");
  write_bytes(*dir_ / "more.csv", read_bytes(*dir_ / "train.csv") + unseen.substr(unseen.find('\n') + 1));
  const auto warned_of = [&](const char* judge) {
    return run_cpfm({"evaluate", path("run"), path("unseen.csv"), "--property", "polarity", "--judge", path(judge),
                     "--runs", "1", "--steps", "1"})
        .err;
  };
  EXPECT_EQ(warned_of("train.csv").find("the judge knows"), std::string::npos);
  EXPECT_CONTAINS(warned_of("more.csv"), "more.csv has 20 of the 20 samples that are measured, and the judge knows");
}

TEST_F(MoleculeCommands, RowsLeftOutAreToldOnceByEveryCommand) {
  // A row that is no SMILES, and one without the property.
  write_bytes(*dir_ / "gaps.csv", read_bytes(*dir_ / "train.csv") + "C1CC,1\nCCCl,\n");
  const auto command = [&](const std::string& name) -> std::vector<std::string> {
    if (name == "fit") {
      std::vector<std::string> words = fit_words("gaps", {"--steps", "2"});
      words[1] = path("gaps.csv");
      std::erase_if(words, [](const std::string& word) { return word == "--json" || word == "--quiet"; });
      return words;
    }
    std::vector<std::string> words{name, path("run"), path("gaps.csv"), "--property", "polarity"};
    if (name == "evaluate")
      words.insert(words.end(), {"--runs", "1", "--judge", path("gaps.csv")});
    else
      words.insert(words.end(), {"-o", path("gaps-" + name + ".csv")});
    return words;
  };
  const auto times = [](const std::string& text, const std::string& part) {
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  };
  for (const char* name : {"fit", "embed", "reconstruct", "evaluate"}) {
    std::vector<std::string> words = command(name);
    words.insert(words.end(), {"--on-bad-row", "skip"});
    const Outcome text = run_cpfm(words);
    ASSERT_EQ(text.exit_code, 0) << text.err;
    EXPECT_EQ(times(text.out, "; 2 rows left out"), 1) << name << ": " << text.out;
    EXPECT_EQ(times(text.err, "2 of 62 rows left out"), 1) << name << ": " << text.err;
    words.insert(words.end(), {"--json", "--quiet"});
    if (std::string(name) == "fit") words.push_back("--resume");
    const Outcome json = run_cpfm(words);
    ASSERT_EQ(json.exit_code, 0) << json.err;
    EXPECT_EQ(json.json().at("molecules").at("rows_left_out"), 2) << name;
    if (std::string(name) == "evaluate") {
      EXPECT_EQ(json.json()["molecules"]["judge"]["rows_left_out"], 2);
    }
  }
}

TEST_F(MoleculeCommands, ResumingWithAnotherAutoencoderIsRefused) {
  expect_refused(run_cpfm(fit_words("run", {"--encoder-beta", "0.2", "--steps", "9", "--resume"})), "--encoder-beta");
  const Outcome more = run_cpfm(fit_words("run", {"--steps", "9", "--resume"}));
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(more.json()["steps"], 9);
}

TEST_F(MoleculeCommands, OtherKindsOfDataAreRefused) {
  expect_refused(run_cpfm({"embed", path("run"), "digits", "-o", path("n.csv")}), "holds no molecules");
  expect_refused(run_cpfm({"fit", "digits", "-o", path("n"), "--encoder-epochs", "3"}), "not molecules");
  expect_refused(run_cpfm({"fit", path("train.csv"), "--property", "polarity", "-o", path("n"), "--encoder-dim", "1"}),
                 "more numbers than properties");
  EXPECT_FALSE(std::filesystem::exists(*dir_ / "n"));
  expect_refused(run_cpfm({"generate", path("run"), "--at", "0,0", "-o", path("n.txt")}), ".smi");
  expect_refused(run_cpfm({"reconstruct", path("run"), path("unseen.csv"), "-o", path("n.sdf")}), ".csv");
  expect_refused(run_cpfm({"generate", path("run"), "--at", "0,0", "--each", "3000", "-o", path("n.png")}), "2500");
  expect_refused(run_cpfm({"evaluate", path("run"), path("train.csv"), "--judge", path("train.csv")}), "--property");
  // Before any work.
  const auto judged_by = [&](const std::string& judge) {
    const Outcome outcome =
        run_cpfm({"evaluate", path("run"), path("train.csv"), "--property", "polarity", "--judge", path(judge)});
    EXPECT_EQ(outcome.err.find("generate"), std::string::npos) << outcome.err;
    return outcome;
  };
  expect_refused(judged_by("none.csv"), "--judge, ");
  expect_refused(judged_by("unseen.csv"), "has 20 molecules; at least 24");
  // RDKit reads it, SELFIES has no iodine of five bonds; the nitro group has as many as RDKit writes.
  write_bytes(*dir_ / "odd.smi", "CN(=O)=O\nFI(F)(F)(F)F\n");
  expect_refused(run_cpfm({"embed", path("run"), path("odd.smi"), "-o", path("n.csv")}), "row 2");
  const Outcome rest =
      run_cpfm({"embed", path("run"), path("odd.smi"), "--on-bad-row", "skip", "-o", path("rest.csv"), "--json"});
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_EQ(rest.json()["n"], 1);
  const Outcome coupled =
      run_cpfm({"couple", path("train.csv"), "--kernel", "tanimoto", "-o", path("c.cpfm"), "--quiet"});
  ASSERT_EQ(coupled.exit_code, 0) << coupled.err;
  expect_refused(run_cpfm({"train", path("c.cpfm"), path("train.csv"), "-o", path("n")}), "cpfm fit");
  expect_refused(run_cpfm({"compare", path("train.csv"), "-o", path("n")}), "molecules");
}

TEST_F(MoleculeCommands, ReproduceQm9Quick) {
  const Outcome outcome = run_cpfm({"reproduce", "qm9", "--quick", "--data", path("data"), "-o", path("qm9"), "--steps",
                                    "20", "--runs", "1", "--json", "--quiet"});
  // Its property is the dipole, which these have not.
  expect_refused(outcome, "mu");
  std::string table = read_bytes(*dir_ / "data/qm9.csv");
  table.replace(table.find("polarity"), 8, "mu");
  write_bytes(*dir_ / "data/qm9.csv", table);
  const Outcome again = run_cpfm({"reproduce", "qm9", "--quick", "--data", path("data"), "-o", path("qm9"), "--steps",
                                  "20", "--runs", "1", "--json", "--quiet"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(again.json()["molecules"].contains("judge"));
  EXPECT_TRUE(fs::exists(*dir_ / "qm9/report.html"));
  ASSERT_TRUE(fs::exists(*dir_ / "qm9/evaluation.json"));
  // What is measured stays so, until something else is to be measured.
  const auto measured = fs::last_write_time(*dir_ / "qm9/evaluation.json");
  const Outcome known = run_cpfm({"reproduce", "qm9", "--quick", "--data", path("data"), "-o", path("qm9"), "--steps",
                                  "20", "--runs", "1", "--json", "--quiet"});
  ASSERT_EQ(known.exit_code, 0) << known.err;
  EXPECT_EQ(known.json(), again.json());
  EXPECT_EQ(fs::last_write_time(*dir_ / "qm9/evaluation.json"), measured);
  // Another seed is another split: what was fitted would be measured on what it was fitted to.
  expect_refused(run_cpfm({"reproduce", "qm9", "--quick", "--data", path("data"), "-o", path("qm9"), "--steps", "20",
                           "--runs", "1", "--seed", "2"}),
                 "other options, data or seed");
  write_bytes(*dir_ / "data/qm9.csv", table.substr(0, table.rfind('\n', table.size() - 2) + 1));
  expect_refused(run_cpfm({"reproduce", "qm9", "--quick", "--data", path("data"), "-o", path("qm9"), "--steps", "20",
                           "--runs", "1"}),
                 "other options, data or seed");
}

}  // namespace
}  // namespace cpfm::test
#endif
