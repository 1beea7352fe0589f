#include <gtest/gtest.h>

#include <cstring>

#include "cpfm/model.hpp"
#include "support/program.hpp"

namespace cpfm::test {
namespace {

TEST(Info, TellsHowTheBuildWasMade) {
  const Outcome text = run_cpfm({"info"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_CONTAINS(text.out, "cpfm 0.");
  const auto json = run_cpfm({"info", "--json", "--threads", "3"}).json();
  EXPECT_EQ(json["threads"], 3);
  EXPECT_EQ(json["components"]["hdf5"], CPFM_HAS_HDF5 != 0);
  EXPECT_EQ(json["components"]["torch"], CPFM_HAS_TORCH != 0);
  EXPECT_EQ(json.contains("cuda"), CPFM_HAS_CUDA != 0);
}

TEST(Info, LoadsTheFlowLibraryOnDemand) {
  if (!CPFM_HAS_TORCH) GTEST_SKIP() << "SKIPPED: this build has no libtorch";
  const auto torch = run_cpfm({"info", "--json"}).json()["torch"];
  EXPECT_FALSE(torch["version"].get<std::string>().empty());
  EXPECT_EQ(torch["devices"][0], "cpu");
}

TEST(Info, TellsTheRestWhereTheFlowLibraryCannotBeLoaded) {
  if (!CPFM_HAS_TORCH) GTEST_SKIP() << "SKIPPED: this build has no libtorch";
  const TempDir dir;
  RunOptions alone;  // a copy of the program without its libraries beside it
  alone.program = dir / "cpfm";
  std::filesystem::copy_file(CPFM_BINARY, alone.program);
  const Outcome text = run_cpfm({"info"}, alone);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_CONTAINS(text.out, "not loadable: libcpfm_flow.so: cannot be loaded");
  EXPECT_CONTAINS(text.out, "threads");
  EXPECT_CONTAINS(run_cpfm({"info", "--json"}, alone).json()["torch"]["error"].get<std::string>(), "libcpfm_flow.so");
}

TEST(Info, ShowsWhatATensorFileHolds) {
  const TempDir dir;
  TensorFileWriter writer;
  const std::vector<float> weights{1, 2, 3, 4, 5, 6};
  writer.add("layer.weight", {2, 3}, weights);
  writer.set_metadata("cpfm.kind", "model");
  writer.save(dir / "m.cpfm");
  const Outcome text = run_cpfm({"info", (dir / "m.cpfm").string()});
  for (const char* part : {"cpfm format version 1", "layer.weight", "F32", "[2, 3]", "cpfm.kind", "model"})
    EXPECT_CONTAINS(text.out, part);
  const auto json = run_cpfm({"info", (dir / "m.cpfm").string(), "--json"}).json();
  EXPECT_EQ(json["tensors"][0]["shape"], (std::vector<int>{2, 3}));
  EXPECT_EQ(json["metadata"]["cpfm.kind"], "model");
}

TEST(Info, LooksIntoWhatMetadataSaysHoweverDeepItIs) {
  const TempDir dir;
  TensorFileWriter writer;
  writer.set_metadata("model", R"({"network":{"kind":"unet","channel_mult":[1,2]},"training":"{\"batch\":128}"})");
  std::string objects, arrays = "{\"deep\":";
  for (int k = 0; k < 50000; ++k) objects += "{\"a\":";
  writer.set_metadata("objects", objects + "1" + std::string(50000, '}'));
  writer.set_metadata("arrays", arrays + std::string(50000, '[') + std::string(50000, ']') + "}");
  writer.save(dir / "m.cpfm");
  const Outcome told = run_cpfm({"info", (dir / "m.cpfm").string()});
  EXPECT_EQ(told.exit_code, 0) << told.err;
  for (const char* line :
       {"model.network.kind           unet", "model.network.channel_mult   [1,2]", "model.training.batch         128",
        "objects.a.a.a", "arrays.deep                  1 entries"})
    EXPECT_CONTAINS(told.out, line);
  EXPECT_LT(told.out.size(), 2000u);
}

TEST(Info, RefusesBrokenAndNewerFiles) {
  const TempDir dir;
  TensorFileWriter writer;
  const std::vector<float> weights{1, 2};
  writer.add("w", {2}, weights);
  writer.save(dir / "m.cpfm");
  std::string bytes = read_bytes(dir / "m.cpfm");
  write_bytes(dir / "t.cpfm", bytes.substr(0, bytes.size() - 1));
  expect_refused(run_cpfm({"info", (dir / "t.cpfm").string()}),
                 "t.cpfm, tensor 'w': ends at byte 8 of the data, but the file holds 7; it may be truncated");
  const std::string key = "\"cpfm.format_version\":\"1\"";
  ASSERT_NE(bytes.find(key), std::string::npos);
  bytes.replace(bytes.find(key), key.size(), "\"cpfm.format_version\":\"9\"");
  write_bytes(dir / "n.cpfm", bytes);
  expect_refused(run_cpfm({"info", (dir / "n.cpfm").string()}),
                 "n.cpfm: has format version 9, but this cpfm knows versions up to 1; update cpfm");
  expect_refused(run_cpfm({"info", (dir / "none.cpfm").string()}), "none.cpfm: cannot open it: No such file");
  expect_refused(run_cpfm({"info", dir.path().string()}), dir.path().string() + ": is a folder; name a file");
  expect_refused(run_cpfm({"info", ""}), "FILE: an empty text is not allowed");
}

}  // namespace
}  // namespace cpfm::test
