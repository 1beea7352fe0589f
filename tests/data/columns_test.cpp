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
  EXPECT_CONTAINS(error_of([] { to_labels({"y", Texts{"", ""}}, "y"); }), "every entry is missing");
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
  EXPECT_CONTAINS(error_of([] { to_property({"p", Numbers{1, std::nan("")}}, "p"); }), "row 2");
}

TEST(ColumnFile, MayHaveAHeaderAndBlankLinesAtItsEnd) {
  const TempDir dir;
  write_bytes(dir / "a.csv", "name\nx\n\ny\n\n\n");
  const Column column = read_column_file((dir / "a.csv").string(), 3, false);
  EXPECT_EQ(column.name, "name");
  EXPECT_EQ(std::get<Texts>(column.values), (Texts{"x", "", "y"}));
  write_bytes(dir / "b.txt", "1\n2\n3\n");
  EXPECT_EQ(read_column_file((dir / "b.txt").string(), 3, false).name, "b");
}

TEST(ColumnFile, MayGoOnBehindLimitedSamples) {
  const TempDir dir;
  write_bytes(dir / "a.csv", "mass\n1\n2\n3\n4\n");
  EXPECT_EQ(std::get<Texts>(read_column_file((dir / "a.csv").string(), 2, true).values), (Texts{"1", "2"}));
  EXPECT_CONTAINS(error_of([&] { read_column_file((dir / "a.csv").string(), 9, true); }),
                  "holds 4 values for 9 samples");
}

TEST(ColumnFile, RefusesTables) {
  const TempDir dir;
  write_bytes(dir / "a.csv", "1,2\n3,4\n");
  EXPECT_CONTAINS(error_of([&] { read_column_file((dir / "a.csv").string(), 2, false); }), "line 1 has 2 cells");
}

}  // namespace
}  // namespace cpfm
