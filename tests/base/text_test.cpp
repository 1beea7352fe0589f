#include "base/text.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cpfm {
namespace {

TEST(Suggest, FindsASlipOfTheHand) {
  EXPECT_EQ(nearest_name("specis", {"mass", "species"}), "species");
  EXPECT_EQ(nearest_name("SPECIES", {"mass", "species"}), "species");
  EXPECT_EQ(nearest_name("inof", {"info", "get"}), "info");
  EXPECT_EQ(nearest_name("colour", {"mass", "species"}), "");
  EXPECT_EQ(suggest("specis", {"mass", "species"}), "did you mean 'species'?");
  EXPECT_EQ(suggest("q", {"mass", "species"}), "there are: mass, species");
  EXPECT_EQ(suggest("q", {}), "there are none");
  EXPECT_EQ(suggest("", {"a", "b"}), "there are: a, b");
}

TEST(Printable, IsSafeInOneLineWhateverItWasGiven) {
  EXPECT_EQ(printable("plain ü"), "plain ü");
  EXPECT_EQ(printable("a\nb\x1b[31m\xff"), "a?b?[31m?");
  EXPECT_EQ(printable("abcdef", 3), "abc…");
  EXPECT_EQ(printable("aüü", 2), "a…");
}

TEST(Printable, NeutralisesC1ControlsOverlongFormsAndSurrogates) {
  EXPECT_EQ(printable("a\xC2\x9B"
                      "31mb"),
            "a?31mb");                                      // U+009B is another escape sequence's start
  EXPECT_EQ(printable("\xC2\x80|\xC2\xA0"), "?|\xC2\xA0");  // U+00A0 is a space and stays
  EXPECT_EQ(printable("\xE0\x80\x8A"), "???");              // an overlong line feed
  EXPECT_EQ(printable("\xF0\x80\x80\x8A"), "????");
  EXPECT_EQ(printable("\xED\xA0\x80"), "???");       // a surrogate
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "????");  // beyond Unicode
  EXPECT_EQ(printable("€😀"), "€😀");
}

TEST(PrintableMessage, KeepsItsOwnIndentedLinesAndNothingElse) {
  EXPECT_EQ(printable_message("kernel: unknown\n  exp(x)\n  ^~~"), "kernel: unknown\n  exp(x)\n  ^~~");
  EXPECT_EQ(printable_message("a\ncpfm: all is well\x1b[2J: is empty"), "a?cpfm: all is well?[2J: is empty");
  const std::string whole(5000, 'x');
  EXPECT_EQ(printable_message(whole), whole);
}

TEST(CutToWidth, CountsCharactersNotBytes) {
  EXPECT_EQ(cut_to_width("aüb", 2), "aü");
  EXPECT_EQ(cut_to_width("ab", 5), "ab");
  EXPECT_EQ(cut_to_width("ab", 0), "");
}

TEST(HumanBytes, ReadsEasily) {
  EXPECT_EQ(human_bytes(12), "12 bytes");
  EXPECT_EQ(human_bytes(1500), "1.5 kB");
  EXPECT_EQ(human_bytes(460032), "460 kB");
  EXPECT_EQ(human_bytes(2.5e9), "2.5 GB");
}

TEST(ParseNumber, TellsTooLargeFromTooSmallHoweverTheDigitsAreSpread) {
  const std::string zeros(400, '0');
  double value = 7;
  EXPECT_TRUE(parse_number("1" + zeros + "e-5", value));
  EXPECT_TRUE(std::isinf(value) && value > 0) << value;
  EXPECT_TRUE(parse_number("0." + zeros + "1", value));
  EXPECT_EQ(value, 0);
  EXPECT_TRUE(parse_number("-1e999", value));
  EXPECT_TRUE(std::isinf(value) && value < 0) << value;
  EXPECT_TRUE(parse_number("1" + zeros + "e-400", value));
  EXPECT_EQ(value, 1);
}

TEST(ParseNumber, TakesWholeNumbersOnlyAsAWhole) {
  double value = 0;
  EXPECT_TRUE(parse_number(" -1.5e3 ", value));
  EXPECT_EQ(value, -1500);
  EXPECT_TRUE(parse_number("+2", value));
  EXPECT_EQ(value, 2);
  EXPECT_TRUE(parse_number("1e-999", value));
  EXPECT_EQ(value, 0);
  EXPECT_TRUE(parse_number("1e999", value));
  EXPECT_TRUE(std::isinf(value));
  EXPECT_TRUE(parse_number("nan", value));
  EXPECT_TRUE(std::isnan(value));
  for (const char* text : {"", " ", "abc", "1x", "1 2", "+-2", "0x10", "1,5"})
    EXPECT_FALSE(parse_number(text, value)) << text;
}

}  // namespace
}  // namespace cpfm
