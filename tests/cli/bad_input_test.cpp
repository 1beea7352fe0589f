// Every kind of bad input ends with exit 1, one clear sentence, and no output file.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>

#include "cpfm/data.hpp"
#include "support/program.hpp"

namespace cpfm::test {
namespace {

namespace fs = std::filesystem;

class BadInput : public testing::Test {
 protected:
  const TempDir dir_;
  const fs::path out_ = dir_ / "out.npy";

  std::string put(const std::string& name, const std::string& bytes) const {
    write_bytes(dir_ / name, bytes);
    return (dir_ / name).string();
  }
  // Through `convert`, which reads everything and would write a file.
  void expect_bad(const std::string& source, const std::string& part, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"data", "convert", source, "-o", out_.string()};
    words.insert(words.end(), more.begin(), more.end());
    expect_refused(run_cpfm(words), part);
    EXPECT_FALSE(fs::exists(out_)) << part;
    for (const auto& entry : fs::directory_iterator(dir_.path())) {
      EXPECT_FALSE(entry.path().filename().string().ends_with(".tmp")) << "a partial file is left: " << entry.path();
    }
  }
};

TEST_F(BadInput, NanOrInfinityNamesRowAndColumn) {
  expect_bad(put("a.npy", npy("<f4", "(2, 2)", raw<float>({1, 2, 3, NAN}))), "row 2, column 2: the value is NaN");
  expect_bad(put("b.npy", npy("<f8", "(2, 2)", raw<double>({1, -INFINITY, 3, 4}))),
             "row 1, column 2: the value is infinite");
  expect_bad(put("c.npy", npy("<f8", "(2, 2)", raw<double>({1, 2, 1e300, 4}))),
             "row 2, column 1: the value is infinite");
  expect_bad(put("a.csv", "x,y\n1,2\nnan,3\n"), "row 2 (line 3), column 'x'");
}

TEST_F(BadInput, EmptyFilesAndOneRow) {
  for (const char* name : {"e.npy", "e.npz", "e.csv", "e.bin", "e.h5", "e", "e.gz"})
    expect_bad(put(name, ""), "is empty");
  expect_bad(put("one.csv", "1,2,3\n"), "one row");
  expect_bad(put("one.npy", npy("<f4", "(1, 3)", raw<float>({1, 2, 3}))), "one row");
  RunOptions options;
  expect_refused(run_cpfm({"data", "info", "-"}, options), "standard input: is empty");
}

TEST_F(BadInput, RaggedTablesAndTextWhereNumbersBelong) {
  expect_bad(put("r.csv", "1,2\n3\n"), "row 2 (line 2): has 1 cells");
  expect_bad(put("t.csv", "a,b\n1,2\n3,four\n"), "row 2 (line 3), column 'b': 'four' is not a number");
}

TEST_F(BadInput, TruncatedArrays) {
  const std::string whole = npy("<f4", "(4, 4)", raw(std::vector<float>(16, 1)));
  expect_bad(put("t.npy", whole.substr(0, whole.size() - 4)), "truncated");
  expect_bad(put("h.npy", whole.substr(0, 20)), "truncated");
  expect_bad(put("t-idx3", idx({2, 2, 2}, "abcdefg")), "truncated");
  expect_bad(put("t.bin", std::string(3073 + 5, '\1')), "truncated");
  expect_bad(put("t.npz", std::string("PK\x03\x04", 4) + std::string(100, 'x')), "truncated or damaged");
  expect_bad(put("t.h5", std::string("\x89HDF\r\n\x1a\n", 8) + std::string(100, '\0')), "t.h5");
  expect_bad(put("t.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\3", 10)), "truncated");
}

TEST_F(BadInput, TruncatedPictures) {
  const Dataset digits = read_dataset("digits");
  fs::create_directory(dir_ / "pngs");
  GridOptions grid;
  grid.range = {0, 16};
  write_png_grid(dir_ / "pngs" / "a.png", {digits.samples.data(), 4, 64}, {1, 8, 8}, grid);
  const std::string png = read_bytes(dir_ / "pngs" / "a.png");
  write_bytes(dir_ / "pngs" / "b.png", png.substr(0, png.size() / 2));
  expect_bad((dir_ / "pngs").string(), "b.png");
  fs::create_directory(dir_ / "jpgs");
  write_bytes(dir_ / "jpgs" / "a.jpg", std::string("\xFF\xD8\xFF\xE0\x00\x10JFIF\x00\x01", 12));
  expect_bad((dir_ / "jpgs").string(), "a.jpg");
}

TEST_F(BadInput, LabelsThatDoNotFit) {
  const std::string data = put("d.npy", npy("<f4", "(3, 2)", raw<float>({1, 2, 3, 4, 5, 6})));
  expect_bad(data, "holds 2 values for 3 samples", {"--labels", put("two.txt", "a\nb\n")});
  expect_bad(data, "holds 5 values for 3 samples", {"--labels", put("five.txt", "a\nb\nc\nd\ne\n")});
  expect_bad(put("p.csv", "bill,species\n1,a\n2,b\n"), "did you mean 'species'?", {"--labels", "specis"});
  expect_bad(put("q.csv", "bill,mass\n1,2\n2,heavy\n"), "row 2: 'heavy' is not a finite number",
             {"--property", "mass"});
}

TEST_F(BadInput, FoldersWithoutPicturesAndPathsThatAreNotThere) {
  fs::create_directory(dir_ / "empty");
  expect_bad((dir_ / "empty").string(), "empty");
  write_bytes(dir_ / "empty" / "readme.txt", "no picture");
  expect_bad((dir_ / "empty").string(), "empty");
  expect_bad((dir_ / "none.npy").string(), "there is no such file");
}

TEST_F(BadInput, UnwritableOutputKeepsWhatWasThere) {
  const auto convert_to = [](const fs::path& file) {
    return run_cpfm({"data", "convert", "digits", "--limit", "20", "-o", file.string()});
  };
  expect_refused(convert_to(dir_ / "none" / "x.npy"), "there is no folder");
  fs::create_directory(dir_ / "folder.npy");
  expect_refused(convert_to(dir_ / "folder.npy"), "is a folder");
  if (geteuid() == 0) {
    expect_refused(convert_to("/proc/x.npy"), "/proc/x.npy");
  } else {
    fs::create_directory(dir_ / "locked");
    chmod((dir_ / "locked").c_str(), 0500);
    expect_refused(convert_to(dir_ / "locked" / "x.npy"), "choose a place you may write to");
  }
}

TEST_F(BadInput, FullDiskKeepsTheOldFile) {
  write_bytes(out_, "old");
  RunOptions options;
  options.before_exec = [] {  // the child may write 1000 bytes per file
    const rlimit small{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &small);
  };
  expect_refused(run_cpfm({"data", "convert", "digits", "-o", out_.string()}, options), "free some space");
  EXPECT_EQ(read_bytes(out_), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_.path()), fs::directory_iterator()), 1);
  fs::create_symlink("/dev/full", dir_ / "full.npy");
  expect_refused(run_cpfm({"data", "convert", "digits", "-o", (dir_ / "full.npy").string()}), "No space left");
  RunOptions full;
  full.before_exec = [] { dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO); };
  EXPECT_EQ(run_cpfm({"data", "info", "digits"}, full).exit_code, 1);
}

}  // namespace
}  // namespace cpfm::test
