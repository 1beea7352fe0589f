// Reading must not hold large data twice: peak memory of a child process that reads N bytes of float32 stays ≤ 1.2 N.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "cpfm/data.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using namespace test;

// Peak growth of resident memory, in bytes, while a fresh child runs `act`.
template <class Act>
double peak_growth(const Act& act) {
  int pipe_ends[2];
  EXPECT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    act();
    getrusage(RUSAGE_SELF, &after);
    const double growth = 1024.0 * static_cast<double>(after.ru_maxrss - before.ru_maxrss);
    (void)!write(pipe_ends[1], &growth, sizeof(growth));
    _exit(0);
  }
  double growth = -1;
  EXPECT_EQ(read(pipe_ends[0], &growth, sizeof(growth)), static_cast<ssize_t>(sizeof(growth)));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  waitpid(child, nullptr, 0);
  return growth;
}

class Memory : public testing::Test {
 protected:
  void SetUp() override {
    if (CPFM_SANITIZED) GTEST_SKIP() << "SKIPPED: sanitizers use memory of their own";
  }
  static constexpr std::size_t kRows = 200000, kCols = 100;
  static constexpr double kBytes = 4.0 * kRows * kCols;  // 80 MB
  const TempDir dir_;

  void make(const std::string& name, const std::string& descr, bool fortran,
            const std::string& shape = "(200000, 100)") {
    std::ofstream out(dir_ / name, std::ios::binary);
    out << npy(descr, shape, "", fortran);
    const std::vector<float> row(kCols, 1.25f);
    for (std::size_t i = 0; i < kRows; ++i) out.write(reinterpret_cast<const char*>(row.data()), kCols * sizeof(float));
  }
};

TEST_F(Memory, OfReadingFloat32NpyIsAtMostOnePointTwoTimesTheFile) {
  make("a.npy", "<f4", false);
  const double growth = peak_growth([&] { read_dataset((dir_ / "a.npy").string()); });
  EXPECT_GE(growth, 0.9 * kBytes);
  EXPECT_LE(growth, 1.2 * kBytes);
}

TEST_F(Memory, OfReadingFortranOrderIsToo) {
  make("a.npy", "<f4", true);
  const double growth = peak_growth([&] { read_dataset((dir_ / "a.npy").string()); });
  EXPECT_GE(growth, 0.9 * kBytes);
  EXPECT_LE(growth, 1.2 * kBytes);
}

TEST_F(Memory, OfReadingFortranOrderOfTwoColumnsIsToo) {
  make("a.npy", "<f4", true, "(10000000, 2)");
  const double growth = peak_growth([&] { read_dataset((dir_ / "a.npy").string()); });
  EXPECT_GE(growth, 0.9 * kBytes);
  EXPECT_LE(growth, 1.2 * kBytes);
}

TEST_F(Memory, OfReadingCsvIsThatOfItsNumbers) {
  {
    std::ofstream out(dir_ / "a.csv");
    std::string row;
    for (std::size_t j = 0; j < kCols; ++j) row += (j == 0 ? "" : ",") + std::to_string(j);
    for (std::size_t i = 0; i < kRows; ++i) out << row << '\n';
  }
  const double growth = peak_growth([&] { read_dataset((dir_ / "a.csv").string()); });
  EXPECT_GE(growth, 0.9 * kBytes);
  EXPECT_LE(growth, 1.2 * kBytes);
}

}  // namespace
}  // namespace cpfm
