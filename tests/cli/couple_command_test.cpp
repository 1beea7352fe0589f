#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "cpfm/data.hpp"
#include "support/program.hpp"

namespace cpfm::test {
namespace {

std::string three_clusters(std::size_t n) {
  std::string text = "a,b,c,kind,mass\n";
  for (std::size_t i = 0; i < n; ++i) {
    const double noise = std::sin(12.9898 * double(i)) * 0.5;
    text += fmt::format("{},{},{},{},{}\n", (i % 3 == 0 ? 4 : 0) + noise, (i % 3 == 1 ? 4 : 0) - noise,
                        (i % 3 == 2 ? 4 : 0) + noise * noise, "xyz"[i % 3], double(i % 3) + noise);
  }
  return text;
}

// A folder with a table of three clusters in it.
struct Folder {
  TempDir dir;
  std::string table = (dir / "t.csv").string(), out = (dir / "c.cpfm").string();

  explicit Folder(std::size_t n = 90) { write_bytes(table, three_clusters(n)); }
  Outcome couple(std::vector<std::string> more, const RunOptions& options = {}) const {
    std::vector<std::string> words{"couple", table, "--labels", "kind",     "--property",
                                   "mass",   "-o",  out,        "--starts", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return run_cpfm(words, options);
  }
};

TEST(CoupleCommand, WritesACouplingAndSaysHowItWent) {
  const Folder folder;
  const Outcome text = folder.couple({});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* part : {"90 samples with 90 latent points, gaussian in 2 dimensions", "heat(sigma=", "*label; rank",
                           "a random coupling has", "converged at ε"})
    EXPECT_CONTAINS(text.out, part);
  const auto json = folder.couple({"--json", "--quiet"}).json();
  for (const char* field : {"n", "m", "dim", "kernel", "latent", "rank", "explained", "epsilon", "objective",
                            "objective_random", "marginal_error", "half_iterations", "outer_iterations", "starts",
                            "dropped_bound", "status", "seconds", "peak_rss_mb", "device"})
    EXPECT_TRUE(json.contains(field)) << field;
  EXPECT_EQ(json["n"], 90);
  EXPECT_EQ(json["status"], "converged");
  EXPECT_EQ(json["starts"].size(), 3u);
  EXPECT_LT(json["objective"].get<double>(), 0.6 * json["objective_random"].get<double>());
  const Outcome info = run_cpfm({"info", folder.out});
  EXPECT_CONTAINS(info.out, "plan.row_potential");
}

TEST(CoupleCommand, WritesTheEmbeddingAndThePicture) {
  const Folder folder;
  const std::string npy = (folder.dir / "y.npy").string(), csv = (folder.dir / "y.csv").string();
  ASSERT_EQ(folder.couple({"--embedding", npy}).exit_code, 0);
  const Dataset y = read_dataset(npy);
  EXPECT_EQ(y.size(), 90u);
  EXPECT_EQ(y.dim(), 2u);
  ASSERT_EQ(folder.couple({"--embedding", csv, "--barycentric", "--latent", "square", "--dim", "3"}).exit_code, 0);
  ReadOptions options;
  options.labels = "label";
  const Dataset table = read_dataset(csv, options);
  EXPECT_EQ(table.feature_names, (std::vector<std::string>{"y1", "y2", "y3", "mass"}));
  for (std::size_t i = 0; i < 90; ++i) EXPECT_LE(std::abs(table.samples(i, 1)), 1.0f);
#if CPFM_HAS_CAIRO && !CPFM_SANITIZED
  const std::string png = (folder.dir / "map.png").string();
  const Outcome drawn = folder.couple({"--png", png});
  ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_TRUE(read_bytes(png).starts_with("\x89PNG"));
#endif
}

TEST(CoupleCommand, TheSameSeedGivesTheSameBytesForAnyNumberOfThreads) {
  const Folder folder;
  const std::string y = (folder.dir / "y.npy").string();
  std::string first;
  for (const char* threads : {"1", "2", "4"}) {
    ASSERT_EQ(folder.couple({"--embedding", y, "--threads", threads}).exit_code, 0);
    if (first.empty()) first = read_bytes(y);
    EXPECT_EQ(read_bytes(y), first) << threads;
  }
  ASSERT_EQ(folder.couple({"--embedding", y, "--seed", "2"}).exit_code, 0);
  EXPECT_NE(read_bytes(y), first);
}

TEST(CoupleCommand, AnswersEveryKernelAndLaw) {
  const Folder folder(40);
  for (const char* kernel : {"heat", "label", "property(mass)", "0.5*heat+0.5*property(mass,form=exp)", "linear",
                             "cosine", "-euclidean2", "knn(5)"}) {
    const Outcome outcome = folder.couple({std::string("--kernel=") + kernel, "--json", "--quiet"});
    ASSERT_EQ(outcome.exit_code, 0) << kernel << outcome.err;
    EXPECT_EQ(outcome.json()["status"], "converged") << kernel;
  }
  for (const char* latent : {"circle", "disk", "ring(0.6,1)", "sphere", "torus", "grid", "mixture(square,disk)"})
    EXPECT_EQ(folder.couple({"--latent", latent}).exit_code, 0) << latent;
  EXPECT_EQ(folder.couple({"--latent-points", "17", "--low-discrepancy"}).exit_code, 0);
  EXPECT_EQ(folder.couple({"--exact", "--double"}).exit_code, 0);
  EXPECT_EQ(folder.couple({"--algorithm", "paper"}).exit_code, 0);
  EXPECT_EQ(folder.couple({"--rank", "3", "--explained", "1", "--drop", "0"}).exit_code, 0);
}

TEST(CoupleCommand, CouplesASubsampleAndPlacesTheRest) {
  const Folder folder;
  const std::string y = (folder.dir / "y.npy").string();
  const Outcome outcome = folder.couple({"--subsample", "50", "--embedding", y, "--json", "--quiet"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["n"], 50);
  EXPECT_EQ(read_dataset(y).size(), 90u);
}

TEST(CoupleCommand, InterruptedItSavesAndResumesToTheSameResult) {
  const TempDir dir;
  const std::string out = (dir / "c.cpfm").string();
  const std::vector<std::string> words{"couple", "digits", "-o", out, "--starts", "4", "--seed", "3", "--threads", "1"};
  const Outcome whole = run_cpfm(words);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const std::string expected = read_bytes(out);
  std::filesystem::remove(out);
  int interrupted = 0;
  for (int after = 150; after < 20000; after += 150) {
    RunOptions options;
    options.while_running = [after](pid_t child) {
      std::this_thread::sleep_for(std::chrono::milliseconds(after));
      kill(child, SIGINT);
    };
    std::vector<std::string> again = words;
    if (std::filesystem::exists(out + ".partial")) again.push_back("--resume");
    const Outcome outcome = run_cpfm(again, options);
    if (outcome.exit_code == 0) break;
    ASSERT_EQ(outcome.exit_code, 130) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(out));
    if (outcome.err.find("--resume goes on") != std::string::npos) ++interrupted;
  }
  EXPECT_GE(interrupted, 1);
  EXPECT_FALSE(std::filesystem::exists(out + ".partial"));
  // All but the seconds in the metadata: the tensors.
  const std::string bytes = read_bytes(out);
  const auto tensors = [](const std::string& file) {
    std::uint64_t header = 0;
    std::memcpy(&header, file.data(), 8);
    return file.substr(8 + header);
  };
  EXPECT_EQ(tensors(bytes), tensors(expected));
}

TEST(CoupleCommand, RefusesBadInputWithAReason) {
  const Folder folder;
  const auto refused = [&](std::vector<std::string> more, const std::string& part, int more_lines = 0) {
    expect_refused(folder.couple(std::move(more)), part, more_lines);
    EXPECT_FALSE(std::filesystem::exists(folder.out));
  };
  refused({"--epsilon", "0"}, "--epsilon: '0' is not allowed; a positive number");
  refused({"--epsilon", "-1"}, "--epsilon: '-1' is not allowed");
  refused({"--explained", "0"}, "--explained: '0' is not allowed; a number above 0 and at most 1");
  refused({"--explained", "1.5"}, "--explained: '1.5' is not allowed");
  refused({"--dim", "9"}, "--dim: '9' is not allowed; a whole number from 1 to 8");
  refused({"--latent", "circle", "--dim", "3"}, "circle", 2);
  refused({"--latent", "hexagon"}, "hexagon", 2);
  refused({"--kernel", "heet*label"}, "unknown kernel 'heet'", 2);
  refused({"--kernel", "0*heat"}, "zero");
  refused({"--algorithm", "papre"}, "did you mean 'paper'?");
  refused({"--embedding", "y.txt"}, "does not end in .npy or .csv");
  refused({"--embedding", "/nowhere/y.npy"}, "there is no folder /nowhere");
  refused({"--barycentric"}, "nothing is embedded");
  refused({"--resume"}, "nothing to resume");
  refused({"--embedding", folder.dir.path().string() + "/./c.cpfm.npy", "--png", folder.out + ".npy"},
          "is also --embedding");
  refused({"--kernel", "knn(5)", "--subsample", "50"}, "others cannot be placed");
  expect_refused(run_cpfm({"couple", folder.table, "-o", folder.table}), "is also DATA; name different files");
  EXPECT_FALSE(read_bytes(folder.table).empty());
  write_bytes(folder.out + ".partial", "something");
  refused({}, "holds an unfinished run");
  EXPECT_EQ(read_bytes(folder.out + ".partial"), "something");
  std::filesystem::remove(folder.out + ".partial");
  write_bytes(folder.dir / "w.txt", "0.5\n0.2\n");
  refused({"--weights", (folder.dir / "w.txt").string()}, "2");
  std::string heavy;
  for (int i = 0; i < 90; ++i) heavy += "0.02\n";
  write_bytes(folder.dir / "w.txt", heavy);
  refused({"--weights", (folder.dir / "w.txt").string()}, "they sum to 1.8; masses sum to 1");
  write_bytes(folder.dir / "p.csv", "1,2,3\n4,5,6\n7,8,9\n");
  refused({"--latent", fmt::format("points({})", (folder.dir / "p.csv").string()), "--dim", "2"}, "3", 2);
  expect_refused(run_cpfm({"couple", folder.table, "--labels", "kind"}), "--output is required");
  expect_refused(run_cpfm({"couple", folder.table, "-o", folder.dir.path().string()}), "is a folder");
}

TEST(CoupleCommand, RefusesDataThatTellsNothing) {
  const TempDir dir;
  const std::string out = (dir / "c.cpfm").string();
  write_bytes(dir / "one.csv", "1,2\n");
  expect_refused(run_cpfm({"couple", (dir / "one.csv").string(), "-o", out}), "one");
  write_bytes(dir / "equal.csv", "1,2\n1,2\n1,2\n");
  expect_refused(run_cpfm({"couple", (dir / "equal.csv").string(), "-o", out}), "equal", 2);
  // One class is no obstacle: heat still tells samples apart.
  write_bytes(dir / "class.csv", "a,b,kind\n1,2,x\n2,1,x\n3,3,x\n4,9,x\n");
  EXPECT_EQ(run_cpfm({"couple", (dir / "class.csv").string(), "--labels", "kind", "-o", out}).exit_code, 0);
}

TEST(CoupleCommand, RefusesGramMatricesThatAreNone) {
  const Folder folder(3);
  const auto gram = [&](const std::vector<float>& values, const std::string& part) {
    const std::string file = (folder.dir / "k.npy").string();
    write_npy(file, values, {3, 3});
    expect_refused(folder.couple({"--kernel", "gram(" + file + ")"}), part);
  };
  gram({1, 0, 0, 0, NAN, 0, 0, 0, 1}, "row 2");
  gram({1, 0.5, 0, 0.25, 1, 0, 0, 0, 1}, "0.5");
  gram({0, 0, 0, 0, 0, 0, 0, 0, 0}, "the same for all pairs");
}

}  // namespace
}  // namespace cpfm::test
