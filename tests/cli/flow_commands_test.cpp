// fit, train, embed, generate and reconstruct, of every method.
#include "flow_commands.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cpfm/data.hpp"
#include "cpfm/model.hpp"
#include "support/program.hpp"

// A program under a sanitizer that draws would be blamed for what fontconfig keeps, and libtorch is not built for one.
#if !CPFM_SANITIZED
namespace cpfm::test {
namespace {

TEST_F(FlowCommands, FitWritesTheWholeRun) {
  for (const char* file : {"model.cpfm", "coupling.cpfm", "checkpoint.cpfm", "config.toml", "metrics.jsonl",
                           "report.html", "reconstructions.png", "grid.png"})
    EXPECT_TRUE(std::filesystem::exists(*dir_ / "run" / file)) << file;
  EXPECT_FALSE(std::filesystem::exists(*dir_ / "run" / "coupling.cpfm.partial"));
  EXPECT_EQ(made_["steps"], 6);
  EXPECT_TRUE(made_.contains("label_kept"));
  EXPECT_TRUE(made_.contains("w2_gaussian"));
  EXPECT_CONTAINS(read_bytes(*dir_ / "run" / "report.html"), "There and back");
  EXPECT_CONTAINS(run_cpfm({"info", model()}).out, "model");
}

TEST_F(FlowCommands, AFinishedRunIsNotOverwrittenButTrainedFurther) {
  expect_refused(run_cpfm(fit_words("run", {"--steps", "6"})), "holds a finished run");
  const Outcome first = run_cpfm(fit_words("further", {"--steps", "3"}));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const Outcome more = run_cpfm(fit_words("further", {"--steps", "5", "--resume"}));
  ASSERT_EQ(more.exit_code, 0) << more.err;
  EXPECT_EQ(more.json()["steps"], 5);
  expect_refused(run_cpfm(fit_words("further", {"--steps", "9", "--resume", "--alpha", "0.3"})),
                 "alpha is 0.3 here and was 0.5");
}

TEST_F(FlowCommands, ResumingWithOtherDataOrAnotherCouplingIsRefusedAndWritesNothing) {
  copy_run("run", "same");
  const auto before = files_of("same");
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    std::vector<std::string> words = fit_words("same", {"--steps", "7", "--resume"});
    for (std::size_t k = 0; k < more.size(); k += 2) {  // in place of what is there
      const auto at = std::find(words.begin(), words.end(), more[k]);
      if (at != words.end()) words.erase(at, at + 2);
      words.insert(words.end(), {more[k], more[k + 1]});
    }
    expect_refused(run_cpfm(words), part);
  };
  refused({"--latent", "square"}, "latent is square here and was gaussian in " + path("same"));
  refused({"--kernel", "heat", "--epsilon", "0.01"},
          "kernel is heat here and was not given, epsilon is 0.01 here and was 0.02 in");
  refused({"--seed", "2"}, "seed is 2 here and was 1");
  refused({"--limit", "90"}, "limit is 90 here and was 100");
  refused({"--alpha", "0.3"}, "alpha is 0.3 here and was 0.5");
  EXPECT_EQ(files_of("same"), before);

  // What was changed in place is other data under the same options.
  (void)table_model();
  copy_run("table", "changed");
  const auto changed = files_of("changed");
  const std::vector<std::string> words = table_words("changed", {"--steps", "6", "--quiet", "--resume"});
  write_table("k.csv", "bcakm");
  expect_refused(run_cpfm(words), path("changed") + " was made of other data");
  EXPECT_EQ(files_of("changed"), changed);
}

TEST_F(FlowCommands, ACouplingThatWasNotTrainedOnIsKept) {
  (void)table_model();
  copy_run("table", "half");
  for (const char* file : {"model.cpfm", "checkpoint.cpfm"}) std::filesystem::remove(*dir_ / "half" / file);
  const std::string coupling = read_bytes(*dir_ / "half" / "coupling.cpfm");
  const auto fit = [](std::vector<std::string> more) {
    more.insert(more.end(), {"--steps", "2", "--quiet"});
    return run_cpfm(table_words("half", more));
  };
  expect_refused(fit({}), "go on with --resume");
  expect_refused(fit({"--resume", "--latent", "disk"}), "latent is disk here and was gaussian");
  const Outcome resumed = fit({"--resume", "--alpha", "0.4"});  // training has not begun, so it may be another one
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(read_bytes(*dir_ / "half" / "coupling.cpfm"), coupling);
}

TEST_F(FlowCommands, AnInterruptedCouplingIsNotLostByChance) {
  const auto words = [](const std::vector<std::string>& more) {
    std::vector<std::string> all = table_words("early", {"--steps", "2", "--quiet"});
    *(std::find(all.begin(), all.end(), "--starts") + 1) = "10000";  // which take a while
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const Outcome stopped = interrupt("early", words({}), "config.toml");
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  const auto before = files_of("early");
  ASSERT_TRUE(before.contains("coupling.cpfm.partial"));
  expect_refused(run_cpfm(words({})), "holds an interrupted run of 'cpfm fit', which was still coupling");
  expect_refused(run_cpfm(words({"--resume", "--latent", "disk"})), "latent is disk here and was gaussian in");
  const std::vector<std::string> same = words({"--resume"});
  // Without the configuration the coupling's own record refuses; that writes nothing either.
  std::filesystem::rename(*dir_ / "early" / "config.toml", *dir_ / "config.kept");
  const auto bare = files_of("early");
  expect_refused(run_cpfm(words({"--resume", "--latent", "disk"})), "latent is disk here and was gaussian");
  EXPECT_EQ(files_of("early"), bare);
  std::filesystem::rename(*dir_ / "config.kept", *dir_ / "early" / "config.toml");
  write_table("k.csv", "bcakm");
  expect_refused(run_cpfm(same), path("early") + " was made of other data");
  EXPECT_EQ(files_of("early"), before);
}

TEST_F(FlowCommands, ResumeGoesOnOnlyWithWhatIsThere) {
  const auto train = [&](const std::string& coupling, const std::string& folder) {
    return run_cpfm({"train", path(coupling), "digits", "--limit", "100", "-o", path(folder), "--steps", "2",
                     "--preset", "tiny", "--device", "cpu", "--quiet", "--resume"});
  };
  const auto refused = [&](const std::string& coupling, const std::string& folder, const std::string& part) {
    const auto before = files_of(folder);
    expect_refused(train(coupling, folder), part);
    EXPECT_EQ(files_of(folder), before);
  };
  refused("run/coupling.cpfm", "run", "does not hold a run of 'cpfm train'");
  const Outcome anew = train("run/coupling.cpfm", "lost");  // nothing there: a new run
  ASSERT_EQ(anew.exit_code, 0) << anew.err;
  ASSERT_EQ(run_cpfm({"couple", "digits", "--limit", "100", "--starts", "1", "--latent", "disk", "--epsilon", "0.02",
                      "-o", path("disk.cpfm"), "--quiet"})
                .exit_code,
            0);
  refused("disk.cpfm", "lost", "holds another coupling");
  std::filesystem::remove(*dir_ / "lost" / "checkpoint.cpfm");
  refused("run/coupling.cpfm", "lost", "holds a model, and no checkpoint.cpfm to go on from");
}

TEST_F(FlowCommands, TrainTakesACouplingThatLiesInItsFolder) {
  (void)table_model();
  std::filesystem::create_directory(*dir_ / "own");
  std::filesystem::copy_file(*dir_ / "table" / "coupling.cpfm", *dir_ / "own" / "coupling.cpfm");
  const std::string own = path("own");
  expect_refused(run_cpfm(table_words("own", {"--steps", "2", "--quiet"})), "holds a coupling");
  expect_refused(run_cpfm(table_words("own", {"--steps", "2", "--quiet", "--resume"})), "holds no config.toml");
  const Outcome trained =
      run_cpfm({"train", own + "/coupling.cpfm", path("k.csv"), "--labels", "kind", "--property", "mass", "-o", own,
                "--steps", "2", "--width", "8", "--depth", "1", "--device", "cpu", "--quiet"});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  expect_refused(run_cpfm(table_words("own", {"--steps", "9", "--quiet", "--resume"})),
                 "does not hold a run of 'cpfm fit'");
}

TEST_F(FlowCommands, ColumnsAreMatchedByName) {
  const auto use = [&](const char* command, const std::string& table, std::vector<std::string> more) {
    std::vector<std::string> words{command, table_model(), path(table), "--steps", "2", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return run_cpfm(words);
  };
  const std::vector<std::string> named{"--labels", "kind", "--property", "mass"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), named.begin(), named.end());
    return more;
  };
  write_table("k.csv", "abckm");
  write_table("mixed.csv", "mcakb");
  for (const char* command : {"embed", "reconstruct"}) {
    Outcome outcome = use(command, "k.csv", with({"-o", path("in-order.csv")}));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    outcome = use(command, "mixed.csv", with({"-o", path("mixed.out.csv")}));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(read_bytes(*dir_ / "mixed.out.csv"), read_bytes(*dir_ / "in-order.csv"));
  }
  const auto evaluate = [&](const char* table, const char* judge) {
    const Outcome outcome = use("evaluate", table, with({"--judge", path(judge), "--runs", "1", "--json"}));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    auto json = outcome.json();
    json.erase("data");
    return json;
  };
  EXPECT_EQ(evaluate("mixed.csv", "k.csv"), evaluate("k.csv", "mixed.csv"));

  const Outcome forgotten = use("embed", "k.csv", {"--labels", "kind", "-o", path("y.npy")});
  expect_refused(forgotten, path("k.csv") + ": its columns are not those the model was made of; extra: mass;");
  EXPECT_CONTAINS(forgotten.err, "--ignore mass");
  ASSERT_EQ(use("embed", "k.csv", {"--labels", "kind", "--ignore", "mass", "-o", path("y.npy")}).exit_code, 0);
  write_bytes(*dir_ / "other.csv", "a,c,body mass\n1,2,3\n3,4,4\n");
  const Outcome other = use("embed", "other.csv", {"-o", path("y.npy")});
  expect_refused(other, "missing: b; extra: 'body mass'");
  EXPECT_CONTAINS(other.err, "--ignore 'body mass'");
  write_bytes(*dir_ / "bare.csv", "1,2,3\n3,4,4\n");  // without names their number counts
  EXPECT_EQ(use("embed", "bare.csv", {"-o", path("y.npy")}).exit_code, 0);
}

TEST_F(FlowCommands, TheFolderOfARunIsItsModel) {
  const auto grid = [&](const std::string& model, const char* out) {
    EXPECT_EQ(run_cpfm({"generate", model, "--grid", "2", "--steps", "2", "-o", path(out), "--quiet"}).exit_code, 0);
    return read_bytes(*dir_ / out);
  };
  EXPECT_EQ(grid(path("run"), "folder.npy"), grid(model(), "file.npy"));
}

TEST_F(FlowCommands, AFewLabelsAreEnoughForAReport) {
  const auto fit = [](const std::string& run, int labelled) {
    write_table("few.csv", "abckm", [&](int i) { return i < labelled ? std::string{"xy"[i % 2]} : std::string(); });
    return run_cpfm({"fit", path("few.csv"), "--labels", "kind", "--property", "mass", "--method", "kpca", "-o",
                     path(run), "--json", "--quiet"});
  };
  const Outcome five = fit("five", 5), one = fit("one", 1);
  ASSERT_EQ(five.exit_code, 0) << five.err;
  EXPECT_EQ(five.json()["knn_label"]["k"], 4);
  EXPECT_EQ(five.json()["label_kept"]["n"], 5);
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_FALSE(one.json().contains("knn_label"));
}

TEST_F(FlowCommands, TheConfigurationOfATableIsSilentAboutPictures) {
  (void)table_model();
  write_table("k.csv", "abckm");
  const std::string config = read_bytes(*dir_ / "table" / "config.toml");
  EXPECT_EQ(config.find("image-"), std::string::npos) << config;
  EXPECT_CONTAINS(config, "header = \"auto\"");  // which means something for a table
  // Nor does it matter where somebody wrote the defaults down. The device ends the command once the data is read.
  const auto messages = [&](const char* color) {
    write_bytes(*dir_ / "all.toml", fmt::format("[fit]\nimage-fit = \"crop\"\nimage-color = \"{}\"\n", color));
    const Outcome outcome = run_cpfm(
        {"fit", path("k.csv"), "--labels", "kind", "--config", path("all.toml"), "-o", path("v"), "--device", "tpu"});
    EXPECT_CONTAINS(outcome.err, "tpu");
    return outcome.err;
  };
  EXPECT_EQ(messages("auto").find("means nothing"), std::string::npos);
  EXPECT_CONTAINS(messages("grey"), "--image-color means nothing for");
}

TEST_F(FlowCommands, ProgressOfATimedRunCountsItsSteps) {
  const Outcome timed = run_cpfm(table_words("timed", {"--minutes", "0.02"}));
  ASSERT_EQ(timed.exit_code, 0) << timed.err;
  const std::size_t at = timed.err.find("train  ");
  ASSERT_NE(at, std::string::npos) << timed.err;
  EXPECT_GT(std::stoi(timed.err.substr(at + 7)), 0) << timed.err;
  EXPECT_CONTAINS(timed.err, " samples/s");
  EXPECT_EQ(timed.err.find("images/s"), std::string::npos) << timed.err;
}

TEST_F(FlowCommands, TheConfigurationMakesTheRunAgain) {
  const Outcome again = run_cpfm({"fit", "--config", path("run/config.toml"), "--output", path("again"), "--quiet"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  const auto y = [&](const std::string& run) {
    EXPECT_EQ(run_cpfm({"embed", path(run + "/model.cpfm"), "digits", "--limit", "9", "-o", path("y.npy"), "--quiet"})
                  .exit_code,
              0);
    return read_bytes(*dir_ / "y.npy");
  };
  EXPECT_EQ(y("again"), y("run"));
}

TEST_F(FlowCommands, EmbedGivesDrawsMeansAndDensities) {
  const auto embed = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"embed", model(), "digits", "--limit", "20", "--quiet", "--steps", "4"};
    words.insert(words.end(), more.begin(), more.end());
    return run_cpfm(words);
  };
  ASSERT_EQ(embed({"-o", path("y.npy")}).exit_code, 0);
  EXPECT_EQ(read_dataset(path("y.npy")).size(), 20u);
  ASSERT_EQ(embed({"-o", path("k.npy"), "--draws", "3"}).exit_code, 0);
  EXPECT_CONTAINS(read_bytes(*dir_ / "k.npy"), "(20, 3, 2)");
  ASSERT_EQ(embed({"-o", path("m.csv"), "--mean"}).exit_code, 0);
  EXPECT_CONTAINS(read_bytes(*dir_ / "m.csv"), "y1,y2,label");
  EXPECT_CONTAINS(embed({"-o", path("y.npy"), "--density", path("p.npy")}).out, path("p.npy") + ": 20, log p(y|x)");
  const Outcome density = embed({"-o", path("y.npy"), "--density", path("p.npy"), "--json"});
  ASSERT_EQ(density.exit_code, 0) << density.err;
  EXPECT_TRUE(density.json().contains("mean_log_density"));
  expect_refused(embed({"-o", path("k.csv"), "--draws", "3"}), "do not fit a table");
  expect_refused(embed({"-o", path("k.txt")}), "does not end in .npy or .csv");
}

TEST_F(FlowCommands, GenerateTakesPlacesFromAnywhere) {
  const auto generate = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"generate", model(), "--quiet", "--steps", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return run_cpfm(words);
  };
  ASSERT_EQ(generate({"--grid", "3", "-o", path("g.png")}).exit_code, 0);
  EXPECT_TRUE(read_bytes(*dir_ / "g.png").starts_with("\x89PNG"));
  ASSERT_EQ(generate({"--at", "0.5,-1", "--at", "0,0", "--each", "2", "-o", path("a.npy")}).exit_code, 0);
  EXPECT_EQ(read_dataset(path("a.npy")).size(), 4u);
  write_bytes(*dir_ / "places.csv", "0,1\n1,0\n0.5,0.5\n");
  ASSERT_EQ(generate({"--y", path("places.csv"), "-o", path("x.csv")}).exit_code, 0);
  EXPECT_EQ(read_dataset(path("x.csv")).size(), 3u);
  expect_refused(generate({"-o", path("x.npy")}), "exactly one of them says where");
  expect_refused(generate({"--grid", "3", "--at", "0,0", "-o", path("x.npy")}), "exactly one of them");
  expect_refused(generate({"--at", "0,0,0", "-o", path("x.npy")}), "has 3 numbers; the model's map has 2 dimensions");
  EXPECT_CONTAINS(run_cpfm({"generate", "--help"}).out, "first two dimensions of the map, 0 in any others");
  // n x K x d, as embed --draws writes it.
  const std::vector<float> clouds{0, 1, 1, 0, 0.5, 0.5, -1, 0, 0, 0, 2, 0};
  write_npy(path("clouds.npy"), clouds, {2, 3, 2});
  ASSERT_EQ(generate({"--y", path("clouds.npy"), "-o", path("c.npy")}).exit_code, 0);
  write_npy(path("flat.npy"), clouds, {6, 2});
  ASSERT_EQ(generate({"--y", path("flat.npy"), "-o", path("f.npy")}).exit_code, 0);
  EXPECT_EQ(read_bytes(*dir_ / "c.npy"), read_bytes(*dir_ / "f.npy"));
  EXPECT_EQ(read_dataset(path("c.npy")).size(), 6u);
  write_npy(path("three.npy"), clouds, {4, 3});
  expect_refused(generate({"--y", path("three.npy"), "-o", path("x.npy")}),
                 "--y: " + path("three.npy") + " is 4 x 3, and the model's map has 2 dimensions");
  write_npy(path("three.npy"), clouds, {2, 2, 3});
  expect_refused(generate({"--y", path("three.npy"), "-o", path("x.npy")}), "three.npy is 2 x 2 x 3, and");
  expect_refused(generate({"--at", "zero", "-o", path("x.npy")}), "'zero' is not a point");
}

TEST_F(FlowCommands, OneNewSampleIsEnough) {
  const std::string one = path("one.csv"), y = path("one.y.csv");
  ASSERT_EQ(run_cpfm({"data", "convert", "digits", "--limit", "2", "-o", path("two.csv"), "--quiet"}).exit_code, 0);
  const std::string two = read_bytes(*dir_ / "two.csv");
  write_bytes(*dir_ / "one.csv", two.substr(0, two.find('\n', two.find('\n') + 1) + 1));  // header and one row
  const std::vector<std::string> read{"--labels", "label", "--steps", "2", "--quiet", "--image", "8x8"};
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.end(), read.begin(), read.end());
    return run_cpfm(words);
  };
  Outcome outcome = with({"embed", model(), one, "-o", y});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  outcome = run_cpfm({"generate", model(), "--y", y, "-o", path("one.x.npy"), "--steps", "2", "--quiet"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  outcome = with({"reconstruct", model(), one, "-o", path("one.back.npy")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_refused(run_cpfm({"couple", one, "-o", path("one.cpfm")}), "at least two samples are needed");
}

TEST_F(FlowCommands, ReconstructGoesThereAndBack) {
  const Outcome outcome = run_cpfm({"reconstruct", model(), "digits", "--limit", "12", "-o", path("b.npy"), "--png",
                                    path("b.png"), "--steps", "2", "--json", "--quiet"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GT(outcome.json()["mse"].get<double>(), 0);
  EXPECT_EQ(read_dataset(path("b.npy")).dim(), 64u);
  EXPECT_TRUE(read_bytes(*dir_ / "b.png").starts_with("\x89PNG"));
}

TEST_F(FlowCommands, OtherMethodsGoThroughTheSameCommands) {
  for (const std::string method : {"vae", "diffae", "infodiffusion"}) {
    const std::string run = path("by-" + method);
    const Outcome fit = run_cpfm({"fit", "digits", "--limit", "200", "--method", method, "-o", run, "--steps", "4",
                                  "--batch", "16", "--json", "--quiet"});
    ASSERT_EQ(fit.exit_code, 0) << fit.err;
    EXPECT_EQ(fit.json()["method"], method);
    EXPECT_FALSE(fit.json().contains("coupling"));
    const std::string facts = TensorFile::open(run + "/model.cpfm").metadata("model");
    EXPECT_CONTAINS(facts, method == "vae" ? "\"conditioning\":\"concat\"" : "\"conditioning\":\"film\"");
    EXPECT_TRUE(std::filesystem::exists(run + "/report.html"));
    EXPECT_FALSE(std::filesystem::exists(run + "/coupling.cpfm"));
    // More of it: the same run goes on.
    const Outcome more = run_cpfm({"fit", "digits", "--limit", "200", "--method", method, "-o", run, "--steps", "6",
                                   "--batch", "16", "--resume", "--json", "--quiet"});
    ASSERT_EQ(more.exit_code, 0) << more.err;
    EXPECT_EQ(more.json()["steps"], 6);
    // Its configuration makes it again, and another method writes nothing into it.
    const Outcome again = run_cpfm({"fit", "--config", run + "/config.toml", "-o", run + "-again", "--quiet"});
    EXPECT_EQ(again.exit_code, 0) << again.err;
    const std::string config = read_bytes(run + "/config.toml");
    expect_refused(run_cpfm({"fit", "digits", "--limit", "200", "-o", run, "--steps", "8", "--resume", "--quiet"}),
                   run);
    EXPECT_EQ(read_bytes(run + "/config.toml"), config);
    EXPECT_FALSE(std::filesystem::exists(run + "/coupling.cpfm"));
    const Outcome back = run_cpfm(
        {"reconstruct", run, "digits", "--limit", "9", "-o", path("b.npy"), "--steps", "2", "--json", "--quiet"});
    ASSERT_EQ(back.exit_code, 0) << back.err;
    const Outcome kept = run_cpfm({"reconstruct", run, "digits", "--limit", "9", "--keep-noise", "-o", path("k.npy"),
                                   "--steps", "20", "--json", "--quiet"});
    if (method == "vae") {
      expect_refused(kept, "--keep-noise: vae");
      expect_refused(run_cpfm({"generate", run, "--at", "0,0", "--at", "1e30,1e30", "-o", path("far.npy"), "--quiet"}),
                     run + ": makes numbers that are not finite of place 2");
      EXPECT_FALSE(std::filesystem::exists(path("far.npy")));
    } else {
      ASSERT_EQ(kept.exit_code, 0) << kept.err;
      EXPECT_LT(kept.json()["mse"].get<double>(), back.json()["mse"].get<double>() / 2);
    }
    const Outcome measured = run_cpfm({"evaluate", run, "digits", "--limit", "60", "--runs", "1", "--steps", "2",
                                       "--gaussian-points", "50", "--json", "--quiet"});
    ASSERT_EQ(measured.exit_code, 0) << measured.err;
    EXPECT_EQ(measured.json()["method"], method);
    EXPECT_TRUE(measured.json().contains("w2_gaussian"));
  }
  expect_refused(run_cpfm({"fit", "digits", "--method", "vae", "--kernel", "heat", "-o", path("v"), "--quiet"}),
                 "--kernel: means nothing for --method vae");
  expect_refused(run_cpfm({"fit", "digits", "--method", "diffae", "--beta", "2", "-o", path("v"), "--quiet"}),
                 "--beta: means nothing for --method diffae");
  expect_refused(run_cpfm({"fit", "digits", "--beta", "2", "-o", path("v"), "--quiet"}),
                 "--beta: means nothing for --method cpfm");
  EXPECT_FALSE(std::filesystem::exists(path("v")));
}

TEST_F(FlowCommands, MethodsWithoutTrainingGoThroughThemToo) {
  const std::string run = path("by-kpca"), map = path("by-tsne");
  const auto fit = [&](const std::string& method, const std::string& folder, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"fit",  "digits", "--limit", "200",    "--method",
                                   method, "-o",     folder,    "--json", "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return run_cpfm(words);
  };
  Outcome outcome = fit("kpca", run);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["method"], "kpca");
  EXPECT_GT(outcome.json()["knn_label"]["value"].get<double>(), 0.4);
  EXPECT_TRUE(std::filesystem::exists(run + "/grid.png"));
  expect_refused(fit("kpca", run), "holds a finished run");
  expect_refused(fit("kpca", run, {"--resume"}), "there is nothing to go on with");
  std::filesystem::remove(run + "/report.html");  // as an interrupt would leave it
  EXPECT_EQ(fit("kpca", run, {"--resume"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(run + "/report.html"));
  expect_refused(fit("vae", run, {"--resume"}), run);
  expect_refused(fit("kpca", path("v"), {"--minutes", "1"}), "--minutes: means nothing for --method kpca");
  outcome =
      run_cpfm({"evaluate", run, "digits", "--part", "test", "--judge", "digits", "--runs", "1", "--json", "--quiet"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GT(outcome.json()["label_kept"]["mean"].get<double>(), 0.25);
  EXPECT_EQ(outcome.json()["frechet"]["features"], "classifier");
  expect_refused(run_cpfm({"evaluate", run, "digits", "--coverage", "--quiet"}), "--coverage: kpca has no density");
  EXPECT_EQ(run_cpfm({"generate", run, "--grid", "3", "-o", path("g3.png"), "--quiet"}).exit_code, 0);
  EXPECT_EQ(run_cpfm({"reconstruct", run, "digits", "--limit", "9", "-o", path("r3.png"), "--quiet"}).exit_code, 0);
  expect_refused(run_cpfm({"embed", run, path("t9.npy"), "-o", path("y.npy"), "--quiet"}), "t9.npy");
  std::string damaged = read_bytes(run + "/model.cpfm");
  damaged.resize(damaged.size() - 100);
  write_bytes(*dir_ / "damaged.cpfm", damaged);
  expect_refused(run_cpfm({"embed", path("damaged.cpfm"), "digits", "-o", path("y.npy"), "--quiet"}), "damaged.cpfm");
  damaged = read_bytes(run + "/model.cpfm");
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x40);
  write_bytes(*dir_ / "damaged.cpfm", damaged);
  expect_refused(run_cpfm({"embed", path("damaged.cpfm"), "digits", "-o", path("y.npy"), "--quiet"}),
                 "its bytes are not those that were written");
  expect_refused(run_cpfm({"embed", run, "digits", "-o", path("y9.npy"), "--density", path("d9.npy"), "--quiet"}),
                 "--density: kpca has one place for a sample and no density");
  EXPECT_FALSE(std::filesystem::exists(path("y9.npy")));
  expect_refused(run_cpfm({"fit", "digits", "--limit", "2", "--method", "kpca", "-o", path("v"), "--quiet"}),
                 "needs at least 3");
  EXPECT_FALSE(std::filesystem::exists(path("v")));

  outcome = fit("tsne", map);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_GT(outcome.json()["knn_label"]["value"].get<double>(), 0.8);
  EXPECT_GT(outcome.json()["trustworthiness"]["value"].get<double>(), 0.9);
  ReadOptions with_labels;
  with_labels.labels = "label";
  EXPECT_EQ(read_dataset(map + "/embedding.csv", with_labels).size(), 200u);
  expect_refused(run_cpfm({"embed", map, "digits", "-o", path("y.npy"), "--quiet"}), "holds a map alone");
  expect_refused(fit("tsne", map), "holds a finished map");
  expect_refused(fit("tsne", path("v"), {"--dim", "3"}), "t-SNE is for the plane");
  expect_refused(fit("tsne", path("v"), {"--perplexity", "70"}), "--perplexity: 70 of 200 samples");
  expect_refused(fit("tsne", path("v"), {"--sigma", "1"}), "--sigma: means nothing for --method tsne");
  EXPECT_FALSE(std::filesystem::exists(path("v")));
  ASSERT_EQ(fit("tsne", path("near"), {"--perplexity", "5"}).exit_code, 0);
  EXPECT_NE(read_bytes(path("near/embedding.csv")), read_bytes(map + "/embedding.csv"));
  ASSERT_EQ(fit("kpca", path("narrow"), {"--sigma", "2"}).exit_code, 0);
  EXPECT_NE(read_bytes(path("narrow/model.cpfm")), read_bytes(run + "/model.cpfm"));
}

TEST_F(FlowCommands, SayWhatDoesNotFit) {
  write_bytes(*dir_ / "t.csv", "a,b,c\n1,2,3\n4,5,6\n7,8,9\n2,4,1\n");
  expect_refused(run_cpfm({"embed", model(), path("t.csv"), "-o", path("y.npy"), "--quiet"}),
                 "t.csv: has 3 features, and the model was made for 64 features (1 x 8 x 8)");
  expect_refused(run_cpfm({"embed", path("t.csv"), "digits", "-o", path("y.npy"), "--quiet"}),
                 "t.csv: is not a cpfm model");
  expect_refused(run_cpfm({"embed", dir_->path().string(), "digits", "-o", path("y.npy"), "--quiet"}),
                 "is a folder without a model.cpfm");
  expect_refused(run_cpfm({"embed", path("run/coupling.cpfm"), "digits", "-o", path("y.npy"), "--quiet"}),
                 "is a coupling, not a model");
  expect_refused(run_cpfm({"fit", path("t.csv"), "-o", path("v"), "--preset", "mnist", "--quiet"}), "is for pictures");
  expect_refused(run_cpfm({"fit", path("t.csv"), "-o", path("v"), "--preset", "mnits", "--quiet"}), "mnist");
  expect_refused(run_cpfm({"train", path("run/coupling.cpfm"), "digits", "-o", path("v"), "--quiet"}),
                 "was made of other data");
  // What is wrong with the training is said before anything is coupled, and leaves no folder.
  expect_refused(run_cpfm({"fit", "digits", "-o", path("v"), "--device", "tpu", "--quiet"}), "tpu");
  expect_refused(run_cpfm({"fit", "digits", "-o", path("v"), "--device", "cuda:99", "--quiet"}), "cuda:99");
  expect_refused(run_cpfm({"fit", "digits", "-o", path("v"), "--num-heads", "7", "--quiet"}), "7 heads do not divide");
  expect_refused(run_cpfm({"fit", "digits", "-o", path("v"), "--width", "64", "--quiet"}),
                 "--width: means nothing for a network of kind unet");
  expect_refused(run_cpfm({"fit", path("t.csv"), "-o", path("v"), "--model-channels", "64", "--quiet"}),
                 "--model-channels: means nothing for a network of kind mlp");
  EXPECT_FALSE(std::filesystem::exists(*dir_ / "v"));
  expect_refused(run_cpfm({"fit", path("t.csv"), "-o", path("v2"), "--validation", "0.9", "--starts", "1", "--quiet"}),
                 "--validation");
  std::string newer = read_bytes(*dir_ / "run" / "model.cpfm");
  const std::string version = "\"cpfm.format_version\":\"1\"";
  ASSERT_NE(newer.find(version), std::string::npos);
  newer.replace(newer.find(version), version.size(), "\"cpfm.format_version\":\"9\"");
  write_bytes(*dir_ / "newer.cpfm", newer);
  expect_refused(run_cpfm({"embed", path("newer.cpfm"), "digits", "-o", path("y.npy"), "--quiet"}), "format version 9");
  std::string bytes = read_bytes(*dir_ / "run" / "model.cpfm");
  bytes.resize(bytes.size() / 2);
  write_bytes(*dir_ / "half.cpfm", bytes);
  expect_refused(run_cpfm({"generate", path("half.cpfm"), "--grid", "2", "-o", path("g.png"), "--quiet"}), "half.cpfm");
}

TEST_F(FlowCommands, ATableWithClassesAndAPropertyIsFitted) {
  ASSERT_EQ(
      run_cpfm({"generate", table_model(), "--at", "0,0", "--each", "4", "-o", path("new.csv"), "--quiet"}).exit_code,
      0);
  EXPECT_CONTAINS(read_bytes(*dir_ / "new.csv"), "a,b,c");
  // Where samples lie, as 'embed' writes it, is what 'generate' takes, classes and all.
  const std::vector<std::string> embed{
      "embed", path("table/model.cpfm"), path("k.csv"), "--labels", "kind", "--property", "mass", "--quiet",
      "-o",    path("places.csv")};
  ASSERT_EQ(run_cpfm(embed).exit_code, 0);
  EXPECT_CONTAINS(read_bytes(*dir_ / "places.csv"), "label");
  const Outcome back = run_cpfm(
      {"generate", path("table/model.cpfm"), "--y", path("places.csv"), "-o", path("back.csv"), "--quiet", "--json"});
  ASSERT_EQ(back.exit_code, 0) << back.err;
  EXPECT_CONTAINS(back.out, "\"n\": 60");
  EXPECT_CONTAINS(read_bytes(*dir_ / "table" / "report.html"), "explained variance");
  EXPECT_CONTAINS(read_bytes(*dir_ / "table" / "report.html"), "cpfm fit ");
}

TEST_F(FlowCommands, AFolderIsWrittenIntoByOneCommandAtATime) {
  const std::vector<std::string> words = fit_words("busy", {"--minutes", "10"});
  Outcome second;
  RunOptions options;
  options.while_running = [&](pid_t child) {
    for (int k = 0; k < 400 && !std::filesystem::exists(*dir_ / "busy/metrics.jsonl"); ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    second = run_cpfm(fit_words("busy", {"--minutes", "10", "--resume"}));
    kill(child, SIGINT);
  };
  EXPECT_EQ(run_cpfm(words, options).exit_code, 130);
  expect_refused(second, "--output: another command writes into " + path("busy"));
  EXPECT_EQ(run_cpfm(fit_words("busy", {"--steps", "1", "--resume"})).exit_code, 0);
}

TEST_F(FlowCommands, InterruptedTrainingResumes) {
  const Outcome stopped = interrupt("stop", fit_words("stop", {"--minutes", "10"}), "metrics.jsonl");
  EXPECT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_CONTAINS(stopped.err, "--resume goes on");
  EXPECT_TRUE(std::filesystem::exists(*dir_ / "stop" / "checkpoint.cpfm"));
  EXPECT_FALSE(std::filesystem::exists(*dir_ / "stop" / "model.cpfm"));
  // What an interrupted run left is not overwritten by chance.
  const auto before = files_of("stop");
  expect_refused(run_cpfm(fit_words("stop", {"--steps", "1"})), "holds an interrupted run at step ");
  expect_refused(run_cpfm({"train", path("run/coupling.cpfm"), "digits", "--limit", "100", "-o", path("stop"),
                           "--steps", "1", "--quiet"}),
                 "go on with --resume, or name another folder");
  expect_refused(run_cpfm({"embed", path("stop"), "digits", "-o", path("y.npy")}), "its run is not finished");
  EXPECT_EQ(files_of("stop"), before);
  const Outcome resumed = run_cpfm(fit_words("stop", {"--steps", "1", "--resume"}));
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_TRUE(std::filesystem::exists(*dir_ / "stop" / "model.cpfm"));
}

}  // namespace
}  // namespace cpfm::test
#endif
