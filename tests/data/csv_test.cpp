#include <gtest/gtest.h>

#include "cpfm/data.hpp"
#include "data/gzip.hpp"
#include "data/readers.hpp"
#include "support/files.hpp"
#include "support/temp_dir.hpp"

namespace cpfm {
namespace {

using namespace test;

Dataset read_text(const std::string& text, const ReadOptions& options = {}, const std::string& name = "t.csv") {
  const TempDir dir;
  write_bytes(dir / name, text);
  return read_dataset((dir / name).string(), options);
}

std::vector<float> values(const Dataset& data) { return {data.samples.values().begin(), data.samples.values().end()}; }

const std::string kPenguins = "bill,mass,species\n39.1,3750,Adelie\n46.5,4500,Gentoo\n38.2,3800,Adelie\n";

TEST(Csv, ReadsNumbersWithAndWithoutHeader) {
  EXPECT_EQ(values(read_text("1,2\n3,4\n")), (std::vector<float>{1, 2, 3, 4}));
  const Dataset data = read_text("a,b\n1,2\n3,4");
  EXPECT_EQ(values(data), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(data.feature_names, (std::vector<std::string>{"a", "b"}));
}

TEST(Csv, FindsTheHeaderBesideATextColumn) {
  ReadOptions options;
  options.labels = "species";
  const Dataset data = read_text(kPenguins, options);
  EXPECT_EQ(data.feature_names, (std::vector<std::string>{"bill", "mass"}));
  EXPECT_EQ(data.labels->names, (std::vector<std::string>{"Adelie", "Gentoo"}));
  options.labels = "3";
  const Dataset headless = read_text("39.1,3750,Adelie\n46.5,4500,Gentoo\n", options);
  EXPECT_EQ(headless.size(), 2u);
  EXPECT_EQ(headless.labels->ids, (std::vector<std::int32_t>{0, 1}));
}

TEST(Csv, ObeysTheHeaderOption) {
  ReadOptions options;
  options.header = Header::kYes;
  EXPECT_EQ(read_text("0,1\n5,6\n7,8\n", options).size(), 2u);
  EXPECT_EQ(read_text("0,1\n5,6\n7,8\n", options).feature_names, (std::vector<std::string>{"0", "1"}));
  options.header = Header::kNo;
  EXPECT_CONTAINS(error_of([&] { read_text("a,b\n1,2\n3,4\n", options); }), "'a' is not a number");
}

TEST(Csv, TakesLabelsPropertiesAndIgnoredColumnsByNameOrNumber) {
  ReadOptions options;
  options.labels = "species";
  options.properties = {"2"};
  Dataset data = read_text(kPenguins, options);
  EXPECT_EQ(values(data), (std::vector<float>{39.1f, 46.5f, 38.2f}));
  EXPECT_EQ(data.properties.at(0).values, (std::vector<float>{3750, 4500, 3800}));
  EXPECT_EQ(data.properties.at(0).name, "mass");
  options.labels.clear();
  options.properties = {"mass"};
  options.ignore = {"species"};
  data = read_text(kPenguins, options);
  EXPECT_FALSE(data.labels);
  EXPECT_EQ(data.properties.at(0).name, "mass");
}

TEST(Csv, KeepsTheOrderInWhichPropertiesWereAskedFor) {
  ReadOptions options;
  options.properties = {"c", "a"};
  const Dataset data = read_text("a,b,c\n1,2,3\n4,5,6\n", options);
  EXPECT_EQ(data.properties.at(0).values, (std::vector<float>{3, 6}));
  EXPECT_EQ(data.properties.at(1).values, (std::vector<float>{1, 4}));
}

TEST(Csv, ReadsQuotesLineEndsAndByteOrderMark) {
  ReadOptions options;
  options.labels = "na\"me";
  const Dataset data = read_text("\xEF\xBB\xBFx,\"na\"\"me\"\r\n1,\"a,b\nc\"\r\n\"2\",z\r\n\r\n", options);
  EXPECT_EQ(values(data), (std::vector<float>{1, 2}));
  EXPECT_EQ(data.labels->names, (std::vector<std::string>{"a,b\nc", "z"}));
  EXPECT_EQ(values(read_text("1,2\r3,4\r")), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Csv, FindsTheDelimiter) {
  const std::vector<float> expected{1, 2, 3, 4};
  EXPECT_EQ(values(read_text("1;2\n3;4\n")), expected);
  EXPECT_EQ(values(read_text("1\t2\n3\t4\n", {}, "t.tsv")), expected);
  EXPECT_EQ(read_text(gzipped("a,b,c\tx\n1\t2\n3\t4\n"), {}, "t.tsv.gz").feature_names.at(0), "a,b,c");
  EXPECT_EQ(values(read_text("  1.0 2e0\n 3   4 \n", {}, "t.txt")), expected);
}

TEST(Csv, ReadsOneColumn) {
  EXPECT_EQ(values(read_text("x\n1\n2\n3\n")), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(values(read_text("x\n1\n2\n3\n\n\r\n")), (std::vector<float>{1, 2, 3}));
  EXPECT_CONTAINS(error_of([] { read_text("x\n1\n\n\n2\n"); }), "row 2 (line 3), column 'x': the cell is empty");
}

TEST(Csv, SaysThatDecimalCommasAreNotRead) {
  for (const char* text : {"1,5;2,5\n3,5;4,5\n", "a;b\n1,5;2,5\n3,5;4,5\n"}) {
    EXPECT_CONTAINS(error_of([&] { read_text(text); }),
                    "'1,5' is not a number; decimal commas are not read; use points");
  }
}

TEST(Csv, KeepsTheOrderOfPropertiesFromColumnsAndFiles) {
  const TempDir dir;
  write_bytes(dir / "weight.txt", "7\n8\n");
  ReadOptions options;
  options.properties = {(dir / "weight.txt").string(), "2"};
  const Dataset data = read_text("a,b\n1,2\n3,4\n", options);
  EXPECT_EQ(data.properties.at(0).name, "weight");
  EXPECT_EQ(data.properties.at(0).values, (std::vector<float>{7, 8}));
  EXPECT_EQ(data.properties.at(1).name, "b");
  EXPECT_EQ(data.properties.at(1).values, (std::vector<float>{2, 4}));
}

TEST(Csv, TreatsAnEmptyLabelAsUnlabelled) {
  ReadOptions options;
  options.labels = "y";
  const Dataset data = read_text("x,y\n1,a\n2,\n3,b\n", options);
  EXPECT_EQ(data.labels->ids, (std::vector<std::int32_t>{0, -1, 1}));
}

TEST(Csv, OrdersNumericClassesByValue) {
  ReadOptions options;
  options.labels = "y";
  const Dataset data = read_text("x,y\n1,10\n2,9\n3,-1\n", options);
  EXPECT_EQ(data.labels->names, (std::vector<std::string>{"9", "10"}));
  EXPECT_EQ(data.labels->ids, (std::vector<std::int32_t>{1, 0, -1}));
}

TEST(Csv, StopsAtTheLimit) {
  ReadOptions options;
  options.limit = 2;
  EXPECT_EQ(values(read_text("x\n1\n2\nnot read\n", options)), (std::vector<float>{1, 2}));
}

TEST(Csv, NamesRowLineAndColumnOfABadCell) {
  EXPECT_CONTAINS(error_of([] { read_text("a,b\n1,2\n3,oops\n"); }),
                  "row 2 (line 3), column 'b': 'oops' is not a number; use the column as labels (--labels b)");
  EXPECT_CONTAINS(error_of([] { read_text("a,b\n1,2\n3,\n"); }), "row 2 (line 3), column 'b': the cell is empty");
  EXPECT_CONTAINS(error_of([] { read_text("a,b\n1,2\n3,nan\n"); }),
                  "row 2 (line 3), column 'b': 'nan' is not a finite number");
  EXPECT_CONTAINS(error_of([] { read_text("a,b\n1,2\n3,NA\n"); }), "'NA' is not a finite number; fill it in");
  EXPECT_CONTAINS(error_of([] { read_text("a,b\n1,2\n3,1e39\n"); }), "'1e39' is too large for a 32-bit float");
  EXPECT_CONTAINS(error_of([] { read_text("a,b\n1,2\n3,-inf\n"); }), "'-inf' is not a finite number");
  EXPECT_CONTAINS(error_of([] { read_text("1,2\n3,x\n"); }), "row 2 (line 2), column 2");
}

TEST(Csv, NamesARaggedRow) {
  EXPECT_CONTAINS(error_of([] { read_text("1,2\n3,4\n5\n"); }),
                  "row 3 (line 3): has 1 cells where the first row has 2");
  EXPECT_CONTAINS(error_of([] { read_text("1,2\n3,4,5\n"); }), "row 2 (line 2): has 3 cells where the first row has 2");
}

TEST(Csv, SuggestsTheNearestColumn) {
  ReadOptions options;
  options.labels = "specie";
  EXPECT_CONTAINS(error_of([&] { read_text(kPenguins, options); }),
                  "has no column 'specie' (option --labels); did you mean 'species'?");
  options.labels = "9";
  EXPECT_CONTAINS(error_of([&] { read_text("1,2\n3,4\n", options); }), "columns are numbered 1 to 2");
  options.labels = "kind";
  EXPECT_CONTAINS(error_of([&] { read_text("size,kind\nbig,a\nsmall,b\n", options); }),
                  "columns are numbered 1 to 2; if the first row names them: --header yes");
  options.labels = "mass";
  options.properties = {"mass"};
  EXPECT_CONTAINS(error_of([&] { read_text(kPenguins, options); }), "asked for twice");
}

TEST(Csv, RefusesWhatIsNoTable) {
  EXPECT_CONTAINS(error_of([] { read_text(""); }), "is empty");
  EXPECT_CONTAINS(error_of([] { read_text("\n\n"); }), "is empty");
  EXPECT_CONTAINS(error_of([] { read_text("1,2\n"); }), "one row");
  EXPECT_CONTAINS(error_of([] { read_text("a,b\n1,2\n"); }), "one row");
  EXPECT_CONTAINS(error_of([] { read_text("a,b\n"); }), "holds a header and no rows");
  EXPECT_CONTAINS(error_of([] { read_text("1,\"2\n3,4\n"); }), "never ends");
  EXPECT_CONTAINS(error_of([] { read_text(std::string("1,2\n3,\0\n", 8)); }), "zero byte");
  ReadOptions options;
  options.labels = "1";
  EXPECT_CONTAINS(error_of([&] { read_text("1\n2\n", options); }), "no column left");
}

TEST(Csv, RefusesFractionsAsLabels) {
  ReadOptions options;
  options.labels = "mass";
  EXPECT_CONTAINS(error_of([&] { read_text("x,mass\n1,2.5\n2,3\n", options); }), "2.5 is not a class");
}

TEST(Csv, ReadsRowsLongerThanTheReadBuffer) {
  std::string text;
  for (int row = 0; row < 2; ++row) {
    for (int k = 0; k < 100000; ++k) text += (k == 0 ? "" : ",") + std::to_string(k);
    text += '\n';
  }
  const Dataset data = read_text(text);
  EXPECT_EQ(data.dim(), 100000u);
  EXPECT_EQ(data.samples(1, 99999), 99999);
}

}  // namespace
}  // namespace cpfm
