#include "data/columns.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using namespace test;
using Texts = std::vector<std::string>;
using Numbers = std::vector<double>;
using Ids = std::vector<std::int32_t>;

TEST(Labels, ComeFromTextOrWholeNumbers) {
  EXPECT_EQ(to_labels({"y", Texts{"b", "a", "b"}}, "y").ids, (Ids{1, 0, 1}));
  EXPECT_EQ(to_labels({"y", Numbers{7, 3, 7}}, "y").names, (Texts{"3", "7"}));
  EXPECT_EQ(to_labels({"y", Texts{"10", "9"}}, "y").names, (Texts{"9", "10"}));
}

TEST(Labels, AreMissingWhereEmptyNanOrMinusOne) {
  EXPECT_EQ(to_labels({"y", Texts{"", "a"}}, "y").ids, (Ids{-1, 0}));
  EXPECT_EQ(to_labels({"y", Numbers{-1, std::nan(""), 4}}, "y").ids, (Ids{-1, -1, 0}));
  EXPECT_EQ(to_labels({"y", Texts{"", "nan", "a", "NaN", "NA"}}, "y").ids, (Ids{-1, -1, 0, -1, -1}));
  EXPECT_EQ(to_labels({"y", Texts{"NA", "10", "9", "-1"}}, "y").ids, (Ids{-1, 1, 0, -1}));
  EXPECT_CONTAINS(error_of([] { to_labels({"y", Texts{"", ""}}, "y"); }), "every entry is missing");
}

TEST(Labels, OfMinusOneAndOneAloneAreTwoClasses) {
  EXPECT_EQ(to_labels({"y", Numbers{-1, 1, std::nan("")}}, "y").ids, (Ids{0, 1, -1}));
  EXPECT_EQ(to_labels({"y", Texts{"1", "-1", ""}}, "y").names, (Texts{"-1", "1"}));
  EXPECT_EQ(to_labels({"y", Numbers{-1, 1, 0}}, "y").ids, (Ids{-1, 1, 0}));
}

TEST(Labels, RefuseFractionsAndInfinity) {
  EXPECT_CONTAINS(error_of([] { to_labels({"y", Numbers{1, 2.5}}, "y"); }), "y, row 2: 2.5 is not a class");
  EXPECT_CONTAINS(error_of([] { to_labels({"y", Numbers{1, INFINITY}}, "y"); }), "inf is not a class");
}

TEST(Property, IsFiniteNumbersOrNamesTheRow) {
  EXPECT_EQ(to_property({"p", Texts{"1.5", "-2"}}, "p").values, (std::vector<float>{1.5f, -2}));
  EXPECT_CONTAINS(error_of([] {
                    to_property({"p", Texts{"1", "high"}}, "p");
                  }),
                  "p, row 2: 'high' is not a finite number");
  EXPECT_CONTAINS(error_of([] {
                    to_property({"p", Numbers{1, std::nan("")}}, "p");
                  }),
                  "p, row 2: 'nan' is not a finite number");
}

Column column_of(const std::string& text, std::size_t samples, bool limited = false, Header header = Header::kAuto,
                 const std::string& name = "y.txt") {
  const TempDir dir;
  write_bytes(dir / name, text);
  return read_column_file((dir / name).string(), samples, limited, header);
}

TEST(ColumnFile, TakesTheWholeLineForOneValue) {
  const Column column = column_of("New York, NY\r\n  \"say \"\"hi\"\"\" \r\na;b\tc\r\n\"open\r\n", 4);
  EXPECT_EQ(std::get<Texts>(column.values), (Texts{"New York, NY", "say \"hi\"", "a;b\tc", "\"open"}));
  EXPECT_EQ(std::get<Texts>(column_of("\xEF\xBB\xBFx\ry", 2).values), (Texts{"x", "y"}));
  EXPECT_EQ(std::get<Texts>(column_of("a;b\nc d\n", 2, false, Header::kAuto, "y.csv").values), (Texts{"a;b", "c d"}));
  EXPECT_CONTAINS(error_of([] { column_of("a\tb\n1\t2\n", 2, false, Header::kAuto, "y.tsv"); }), "line 1 has 2 cells");
  EXPECT_CONTAINS(error_of([] { column_of(std::string("a\n\0\n", 4), 2); }), "line 2: holds a zero byte");
}

TEST(ColumnFile, HasAHeaderOnlyWhereTheFirstLineCannotBeAValue) {
  // text above numbers
  EXPECT_EQ(column_of("mass\n1\n2\n", 2).name, "mass");
  EXPECT_CONTAINS(error_of([] { column_of("mass\n1\n2\n", 3); }), "holds 2 values for 3 samples");
  // one too many, and the first never comes again
  EXPECT_EQ(column_of("kind\na\nb\na\n", 3).name, "kind");
  EXPECT_CONTAINS(error_of([] { column_of("a\nb\na\n", 2); }), "holds 3 values for 2 samples");
  EXPECT_CONTAINS(error_of([] { column_of("1\n2\n3\n4\n5\n6\n", 5); }), "holds 6 values for 5 samples");
  EXPECT_CONTAINS(error_of([] { column_of("NA\n2\n3\n", 2); }), "holds 3 values for 2 samples");
  EXPECT_EQ(std::get<Texts>(column_of("kind\na\nb\na\n", 2, true).values), (Texts{"a", "b"}));
  EXPECT_EQ(std::get<Texts>(column_of("a\nb\na\n", 2, true).values), (Texts{"a", "b"}));
  // as asked for
  EXPECT_EQ(column_of("5\n1\n2\n\n", 3, false, Header::kYes).name, "5");
  EXPECT_CONTAINS(error_of([] { column_of("kind\na\nb\n", 2, false, Header::kNo); }), "holds 3 values for 2 samples");
  EXPECT_EQ(column_of("mass\n1\n2\n", 3, false, Header::kNo).size(), 3u);
}

TEST(ColumnFile, ObeysTheHeaderOptionOfTheDataset) {
  const TempDir dir;
  write_bytes(dir / "x.npy", npy("<f4", "(3,)", raw<float>({1, 2, 3})));
  write_bytes(dir / "y.txt", "mass\n1\n2\n");
  ReadOptions options;
  options.labels = (dir / "y.txt").string();
  options.header = Header::kNo;
  EXPECT_EQ(read_dataset((dir / "x.npy").string(), options).labels->names, (Texts{"1", "2", "mass"}));
}

TEST(ColumnFile, SaysThatAnIdxArrayIsNoColumn) {
  EXPECT_CONTAINS(error_of([] { column_of(idx({2, 2}, "abcd"), 2); }), "is not one value per sample");
  EXPECT_CONTAINS(error_of([] {
                    to_labels(column_of(idx({2}, raw_big_endian<std::int32_t>({1, 16777217}), 0x0C), 2), "y");
                  }),
                  "y, row 2: 16777216 is too large for a class");
}

TEST(ColumnFile, MayHaveAHeaderAndBlankLinesAtItsEnd) {
  const TempDir dir;
  write_bytes(dir / "a.csv", "name\nx\n\ny\n\n\n");
  const Column column = read_column_file((dir / "a.csv").string(), 3, false, Header::kAuto);
  EXPECT_EQ(column.name, "name");
  EXPECT_EQ(std::get<Texts>(column.values), (Texts{"x", "", "y"}));
  write_bytes(dir / "b.txt", "1\n2\n3\n");
  EXPECT_EQ(read_column_file((dir / "b.txt").string(), 3, false, Header::kAuto).name, "b");
}

TEST(ColumnFile, MayGoOnBehindLimitedSamples) {
  const TempDir dir;
  write_bytes(dir / "a.csv", "mass\n1\n2\n3\n4\n");
  const auto read = [&](std::size_t samples) {
    return read_column_file((dir / "a.csv").string(), samples, true, Header::kAuto);
  };
  EXPECT_EQ(std::get<Texts>(read(2).values), (Texts{"1", "2"}));
  EXPECT_CONTAINS(error_of([&] { read(9); }), "holds 4 values for 9 samples");
}

TEST(ColumnFile, RefusesTables) {
  const TempDir dir;
  write_bytes(dir / "a.csv", "1,2\n3,4\n");
  EXPECT_CONTAINS(error_of([&] { read_column_file((dir / "a.csv").string(), 2, false, Header::kAuto); }),
                  "line 1 has 2 cells");
}

}  // namespace
}  // namespace cpfm
