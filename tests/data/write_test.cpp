#include <gtest/gtest.h>

#include "base/subprocess.hpp"
#include "cpfm/data.hpp"
#include "cpfm/interrupt.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using namespace test;

TEST(WriteNpy, IsReadBackTheSame) {
  const TempDir dir;
  const Dataset digits = read_dataset("digits");
  write_npy(dir / "a.npy", digits.samples.view());
  const Dataset again = read_dataset((dir / "a.npy").string());
  EXPECT_EQ(again.dim(), 64u);
  EXPECT_TRUE(std::equal(digits.samples.values().begin(), digits.samples.values().end(), again.samples.values().begin(),
                         again.samples.values().end()));
  EXPECT_EQ(read_bytes(dir / "a.npy").find('\n') % 64, 63u);  // the data is aligned as numpy does it
}

TEST(WriteNpy, TakesAnyShapeThatFits) {
  const TempDir dir;
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  write_npy(dir / "a.npy", values, {6});
  EXPECT_EQ(read_dataset((dir / "a.npy").string()).dim(), 1u);
  write_npy(dir / "b.npy", values, {2, 1, 3});
  EXPECT_EQ(*read_dataset((dir / "b.npy").string()).image, (ImageShape{1, 1, 3}));
  EXPECT_THROW(write_npy(dir / "c.npy", values, {2, 2}), Error);
  EXPECT_FALSE(std::filesystem::exists(dir / "c.npy"));
}

TEST(WriteNpy, IsReadByNumpy) {
  const TempDir dir;
  if (run_process({"/usr/bin/env", "python3", "-c", "import numpy"}).exit_code != 0 &&
      run_process({"/usr/bin/python3", "-c", "import numpy"}).exit_code != 0) {
    GTEST_SKIP() << "SKIPPED: no python3 with numpy here (Debian: python3-numpy)";
  }
  const std::string python =
      run_process({"/usr/bin/env", "python3", "-c", "import numpy"}).exit_code == 0 ? "python3" : "/usr/bin/python3";
  write_npy(dir / "a.npy", std::vector<float>{1, 2, 3, 4, 5, 6.5}, {3, 2});
  const auto result = run_process(
      {python, "-c", "import sys, numpy as np; a = np.load(sys.argv[1]); print(a.dtype, a.shape, a.tolist())",
       (dir / "a.npy").string()});
  EXPECT_EQ(result.output, "float32 (3, 2) [[1.0, 2.0], [3.0, 4.0], [5.0, 6.5]]\n");
  // and the other way round, every order and type numpy writes
  const auto made =
      run_process({python, "-c",
                   "import sys, numpy as np\n"
                   "a = np.arange(12).reshape(4, 3)\n"
                   "np.savez_compressed(sys.argv[1] + '/z.npz', X=a.astype('>f8'), y=np.array(['b', 'a', 'b', 'ü']))\n"
                   "np.save(sys.argv[1] + '/f.npy', np.asfortranarray(a.astype('i2')))\n",
                   dir.path().string()});
  ASSERT_EQ(made.exit_code, 0) << made.output;
  ReadOptions options;
  options.labels = "y";
  const Dataset z = read_dataset((dir / "z.npz").string(), options);
  const Dataset f = read_dataset((dir / "f.npy").string());
  for (std::size_t k = 0; k < 12; ++k) {
    EXPECT_EQ(z.samples.data()[k], static_cast<float>(k));
    EXPECT_EQ(f.samples.data()[k], static_cast<float>(k));
  }
  EXPECT_EQ(z.labels->names, (std::vector<std::string>{"a", "b", "ü"}));
}

TEST(WriteCsv, KeepsSamplesPropertiesAndLabels) {
  const TempDir dir;
  write_bytes(dir / "a.csv", "x,\"odd, name\",kind,mass\n0.1,2,\"say \"\"hi\"\"\",5\n3e-8,-4,,6.25\n");
  ReadOptions options;
  options.labels = "kind";
  options.properties = {"mass"};
  const Dataset data = read_dataset((dir / "a.csv").string(), options);
  write_csv(dir / "b.csv", data);
  EXPECT_EQ(read_bytes(dir / "b.csv"), "x,\"odd, name\",mass,label\n0.1,2,5,\"say \"\"hi\"\"\"\n3e-08,-4,6.25,\n");
  options.labels = "label";
  const Dataset again = read_dataset((dir / "b.csv").string(), options);
  EXPECT_EQ(again.samples(0, 0), data.samples(0, 0));
  EXPECT_EQ(again.samples(1, 0), data.samples(1, 0));
  EXPECT_EQ(again.labels->names, data.labels->names);
}

TEST(WriteCsv, QuotesWhatOtherReadersWouldSplitAndKeepsNamesApart) {
  const TempDir dir;
  Dataset data;
  data.samples = FloatMatrix(2, 2);
  std::fill_n(data.samples.data(), 4, 1.0f);
  data.feature_names = {"label", "a;b"};
  data.properties = {{"label_2", {3, 4}}};
  data.labels = Labels{{0, 1}, {" x", "two words"}};
  write_csv(dir / "a.csv", data);
  EXPECT_EQ(read_bytes(dir / "a.csv"), "label,\"a;b\",label_2,label_3\n1,1,3,\" x\"\n1,1,4,two words\n");
  data.feature_names = {"one name"};
  data.properties.clear();
  data.labels.reset();
  data.samples.reshape(2, 1);
  write_csv(dir / "b.csv", data);
  EXPECT_EQ(read_dataset((dir / "b.csv").string()).feature_names, (std::vector<std::string>{"one name"}));
}

TEST(WriteCsv, PutsMoleculesFirst) {
  const TempDir dir;
  Dataset data;
  data.samples = FloatMatrix(2, 1);
  std::fill_n(data.samples.data(), 2, 1.0f);
  data.feature_names = {"y1"};
  data.molecules = {"CCO", "C#C"};
  data.properties = {{"mu", {3, 4}}};
  write_csv(dir / "a.csv", data);
  EXPECT_EQ(read_bytes(dir / "a.csv"), "smiles,y1,mu\nCCO,1,3\nC#C,1,4\n");
}

TEST(Writers, StopWhenInterruptedAndLeaveNothingBehind) {
  const TempDir dir;
  const Dataset digits = read_dataset("digits");
  request_interrupt();
  EXPECT_THROW(write_csv(dir / "a.csv", digits), Interrupted);
  EXPECT_THROW(write_npy(dir / "a.npy", digits.samples.view()), Interrupted);
  EXPECT_THROW(write_png_grid(dir / "a.png", digits.samples.view(), *digits.image), Interrupted);
  clear_interrupt();
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

}  // namespace
}  // namespace cpfm
