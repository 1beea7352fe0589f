#include "base/expression.hpp"

#include <gtest/gtest.h>

#include <random>

#include "support/files.hpp"

namespace cpfm {
namespace {

using Kind = Expression::Kind;
using test::error_of;

// The tree in one line: sums and products as (+ a b) and (* a b), texts in ''.
std::string shown(const Expression& e) {
  const auto inside = [&](std::string text) {
    for (const auto& argument : e.arguments) {
      text += " " + (argument.key.empty() ? "" : argument.key + "=") + shown(argument.value);
    }
    return text + ")";
  };
  switch (e.kind) {
    case Kind::kNumber: {
      std::ostringstream out;
      out << e.number;
      return out.str();
    }
    case Kind::kText:
      return "'" + e.name + "'";
    case Kind::kSum:
      return inside("(+");
    case Kind::kProduct:
      return inside("(*");
    case Kind::kCall:
      return e.arguments.empty() ? e.name : inside("(" + e.name);
  }
  return {};
}

std::string tree(const std::string& source) { return shown(ParsedExpression(source, "--kernel").root()); }
std::string problem(const std::string& source) {
  return error_of([&] { ParsedExpression(source, "--kernel"); });
}

TEST(Expression, ReadsSumsProductsAndSigns) {
  EXPECT_EQ(tree("heat"), "heat");
  EXPECT_EQ(tree(" heat * label "), "(* heat label)");
  EXPECT_EQ(tree("0.5*tanimoto + .5*property(mu)"), "(+ (* 0.5 tanimoto) (* 0.5 (property mu)))");
  EXPECT_EQ(tree("a+b*c"), "(+ a (* b c))");
  EXPECT_EQ(tree("(a+b)*c"), "(* (+ a b) c)");
  EXPECT_EQ(tree("-euclidean2"), "(* -1 euclidean2)");
  EXPECT_EQ(tree("--euclidean2"), "euclidean2");
  EXPECT_EQ(tree("-2*a"), "(* -2 a)");
  EXPECT_EQ(tree("a - b*c - 2"), "(+ a (* -1 b c) -2)");
  EXPECT_EQ(tree("2*-a"), "(* 2 -1 a)");
  EXPECT_EQ(tree("-(a+b)"), "(* -1 (+ a b))");
  EXPECT_EQ(tree("1e-3*a"), "(* 0.001 a)");
  EXPECT_EQ(tree("f()"), "f");
}

TEST(Expression, TakesArgumentsByPlaceAndByName) {
  EXPECT_EQ(tree("heat(sigma=9.5)"), "(heat sigma=9.5)");
  EXPECT_EQ(tree("ring(0.6, 1)"), "(ring 0.6 1)");
  EXPECT_EQ(tree("property(mu, form = exp, scale=auto)"), "(property mu form=exp scale=auto)");
  EXPECT_EQ(tree("mix(0.5*a + b, c(d))"), "(mix (+ (* 0.5 a) b) (c d))");
}

TEST(Expression, TakesWhatIsNoExpressionAsText) {
  EXPECT_EQ(tree("gram(my dir/file-1.npy)"), "(gram 'my dir/file-1.npy')");
  EXPECT_EQ(tree("gram( /data/K.npy )*label"), "(* (gram '/data/K.npy') label)");
  EXPECT_EQ(tree("gram(file=../K 2.npy)"), "(gram file='../K 2.npy')");
  EXPECT_EQ(tree("property(obs:mu, form=exp)"), "(property 'obs:mu' form=exp)");
  EXPECT_EQ(tree("gram(my (file.npy)"), "(gram 'my (file.npy')");
  EXPECT_EQ(tree("gram('a, b).npy')"), "(gram 'a, b).npy')");
  EXPECT_EQ(tree("gram(\"it's.npy\")"), "(gram 'it's.npy')");
  EXPECT_EQ(tree("gram(größe.npy)"), "(gram 'größe.npy')");
}

TEST(Expression, KeepsTheSourceOfEveryPart) {
  const ParsedExpression parsed("0.5*gram( a-b ) + property(mu)", "--kernel");
  const Expression& sum = parsed.root();
  const Expression& gram = sum.arguments[0].value.arguments[1].value;
  EXPECT_EQ(gram.text(parsed.source()), "gram( a-b )");
  EXPECT_EQ(gram.arguments[0].value.kind, Kind::kSum);
  EXPECT_EQ(gram.arguments[0].value.text(parsed.source()), "a-b");
  EXPECT_EQ(sum.arguments[1].value.arguments[0].value.text(parsed.source()), "mu");
}

TEST(Expression, PointsAtTheMistake) {
  const ParsedExpression parsed("haet*label", "--kernel");
  EXPECT_EQ(
      error_of([&] { parsed.fail(parsed.root().arguments[0].value, "unknown kernel 'haet'", "did you mean 'heat'?"); }),
      "--kernel: unknown kernel 'haet'; did you mean 'heat'?\n  haet*label\n  ^~~~");
  EXPECT_EQ(problem("heat+"), "--kernel: ends where a name, a number or '(' is expected\n  heat+\n       ^");
  EXPECT_EQ(problem("heat label"), "--kernel: 'l' is found where an operator is expected\n  heat label\n       ^");
  EXPECT_EQ(problem("heat*(label"), "--kernel: this parenthesis is not closed\n  heat*(label\n       ^");
  EXPECT_EQ(problem("heat(sigma=1"), "--kernel: this parenthesis is not closed\n  heat(sigma=1\n      ^");
  EXPECT_EQ(problem("heat(sigma=)"), "--kernel: an argument is missing before this\n  heat(sigma=)\n             ^");
  EXPECT_EQ(problem("ring(1,,2)"), "--kernel: an argument is missing before this\n  ring(1,,2)\n         ^");
  EXPECT_EQ(problem("gram('a)"), "--kernel: this quote is not closed\n  gram('a)\n       ^");
  EXPECT_EQ(problem("gram('a' b)"), "--kernel: 'b' is found where ',' or ')' is expected\n  gram('a' b)\n           ^");
  EXPECT_EQ(problem("1e999*a"), "--kernel: 1e999 is out of range\n  1e999*a\n  ^~~~~");
  EXPECT_EQ(problem("  "), "--kernel: the expression is empty");
  EXPECT_EQ(problem("heat)"), "--kernel: ')' is found where an operator is expected\n  heat)\n      ^");
}

TEST(Expression, CountsColumnsAndNotBytes) {
  EXPECT_EQ(problem("gram(ü.npy)+§"),
            "--kernel: '§' is found where a name, a number or '(' is expected\n  gram(ü.npy)+§\n              ^");
  EXPECT_EQ(problem("\x1b[31m"), "--kernel: '?' is found where a name, a number or '(' is expected\n  ?[31m\n  ^");
}

TEST(Expression, ShowsALongSourceAroundTheMistake) {
  const std::string text = problem(std::string(600, 'a') + "+*" + std::string(600, 'b'));
  EXPECT_CONTAINS(text, "a+*b");
  EXPECT_LT(text.size(), 400u);
  const std::size_t source = text.find("\n  ") + 3, caret = text.rfind("\n  ") + 3;
  // The ellipsis in front is three bytes in one column.
  EXPECT_EQ(text[source + (text.find('^') - caret) + 2], '*');
}

TEST(Expression, RefusesWhatIsTooDeepTooLongOrTooCostly) {
  EXPECT_EQ(tree(std::string(64, '(') + "a" + std::string(64, ')')), "a");
  EXPECT_CONTAINS(problem(std::string(65, '(') + "a" + std::string(65, ')')), "more than 64 deep");
  EXPECT_CONTAINS(problem(std::string(4096, '(')), "more than 64 deep");
  EXPECT_CONTAINS(problem(std::string(4097, 'a')), "4097 bytes is too long; at most 4096");
  std::string nested;
  for (int i = 0; i < 60; ++i) nested += "a(a,";
  EXPECT_CONTAINS(problem(nested), "is too complicated");
  EXPECT_EQ(tree(std::string(4095, '-') + "a"), "(* -1 a)");
}

TEST(Expression, AnswersAnyBytesWithATreeOrAnError) {
  std::mt19937 random(1);
  const std::string alphabet("ab1.e+-*(),='\" \n\x80\xc3\xbc\0", 20);
  for (int round = 0; round < 20000; ++round) {
    std::string source(random() % 24, ' ');
    for (char& c : source) c = alphabet[random() % alphabet.size()];
    try {
      const ParsedExpression parsed(source, "--kernel");
      EXPECT_LE(parsed.root().end, source.size());
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()), "");
    }
  }
}

}  // namespace
}  // namespace cpfm
