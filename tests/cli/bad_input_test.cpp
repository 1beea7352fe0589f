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
  // Whole files: 8 × 8 numbers as npz and HDF5, a grey JPEG of 16 × 16.
  const fs::path kFiles = fs::path(CPFM_TEST_SOURCE_DIR) / "cli/files";

  std::string put(const std::string& name, const std::string& bytes) const {
    write_bytes(dir_ / name, bytes);
    return (dir_ / name).string();
  }
  // Its description is longer than what stdout holds back.
  static std::string wide_table() {
    std::string header, row;
    for (int i = 0; i < 1000; ++i) {
      header += (i == 0 ? "column" : ",column") + std::to_string(i);
      row += i == 0 ? "1" : ",1";
    }
    return header + "\n" + row + "\n" + row + "\n";
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
  for (const std::size_t cut : {1u, 30u, 150u}) {
    const std::string npz = read_bytes(kFiles / "matrix.npz");
    expect_bad(put("t.npz", npz.substr(0, npz.size() - cut)), "t.npz: is not a whole npz file; it is truncated");
    if (!CPFM_HAS_HDF5) continue;
    const std::string hdf5 = read_bytes(kFiles / "matrix.h5");
    expect_bad(put("t.h5", hdf5.substr(0, hdf5.size() - cut)), "t.h5: cannot be opened as HDF5: truncated or damaged");
  }
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
  expect_bad((dir_ / "pngs").string(), "b.png: the PNG file is truncated or damaged");
  fs::create_directory(dir_ / "jpgs");
  const std::string jpg = read_bytes(kFiles / "picture.jpg");
  write_bytes(dir_ / "jpgs" / "a.jpg", jpg);
  for (const std::size_t cut : {40u, 250u, 440u}) {
    write_bytes(dir_ / "jpgs" / "b.jpg", jpg.substr(0, jpg.size() - cut));
    expect_bad((dir_ / "jpgs").string(), "b.jpg: the JPEG file is truncated or damaged");
  }
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
  fs::create_directory(dir_ / "photos");
  expect_bad((dir_ / "photos").string(), "photos: holds no pictures; looked for *.png");
  write_bytes(dir_ / "photos" / "readme.txt", "no picture");
  expect_bad((dir_ / "photos").string(), "photos: holds no pictures; looked for *.png");
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
    expect_refused(convert_to("/proc/x.npy"), "/proc/x.npy: cannot create a file there");
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
  expect_refused(run_cpfm({"data", "info", "digits"}, full), "standard output: cannot be written");
  // More than a buffer holds fails earlier, while it is printed.
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--help-all"}, {"data", "info", put("wide.csv", wide_table()), "--json"}}) {
    EXPECT_GT(run_cpfm(words).out.size(), 4096u);
    expect_refused(run_cpfm(words, full), "No space left on device");
  }
}

TEST_F(BadInput, WhatTheSystemRefusesIsNotABugOfOurs) {
  expect_bad(std::string(300, 'x'), "File name too long");
  expect_bad((dir_ / std::string(300, 'x') / "y").string(), "File name too long");
  expect_refused(run_cpfm({"info", std::string(5000, 'x')}), "File name too long");
}

TEST_F(BadInput, NamesCannotBreakOutOfAMessage) {
  const std::string name = "a\ncpfm: all is well\x1b[2J\xC2\x9B.csv";
  expect_bad((dir_ / name).string(), "a?cpfm: all is well?[2J?.csv: there is no such file");
  expect_bad(put(name, ""), "is empty");
  expect_refused(run_cpfm({"info", (dir_ / name).string()}), "a?cpfm: all is well?[2J?.csv");
  expect_refused(run_cpfm({"data", "convert", "digits", "-o", (dir_ / "none\n\n" / "x.npy").string()}), "none??");
  const Outcome warned = run_cpfm({"data", "info", put(name, "1,2\n3,4\n"), "--key", "x"});
  EXPECT_EQ(warned.exit_code, 0) << warned.err;
  EXPECT_EQ(std::count(warned.err.begin(), warned.err.end(), '\n'), 1) << warned.err;
  for (const std::string& text : {warned.out, warned.err}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_CONTAINS(text, "a?cpfm: all is well?[2J?.csv");
  }
}

}  // namespace
}  // namespace cpfm::test
