// A recursive-descent parser that can change its mind once per argument: what is no expression up to the comma or
// parenthesis that ends it is bare text, so that file names need no quotes. A failed attempt therefore is no error yet;
// it is kept as failure_ and thrown only where nothing else can be made of the text.
#include "base/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.hpp"
#include "cpfm/error.hpp"

namespace cpfm {
namespace {

constexpr std::size_t kLongestSource = 4096;
constexpr int kDeepest = 64;
// An argument that turns out to be bare text is read again; nested ones again and again. No sensible source comes near.
constexpr int kMostSteps = 200'000;
constexpr std::size_t kWidestLine = 100;  // columns of the source shown around a caret

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// Columns on a terminal, counted as code points.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string_view columns_between(std::string_view text, std::size_t first, std::size_t last) {
  std::size_t begin = text.size(), end = text.size(), column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xC0) == 0x80) continue;
    if (column == first) begin = i;
    if (column == last) end = i;
    ++column;
  }
  return text.substr(begin, end - begin);
}

// The source and a line that marks [begin, end) in it; a long source is cut around the mark.
std::string marked(std::string_view source, std::size_t begin, std::size_t end) {
  begin = std::min(begin, source.size());
  end = std::clamp(end, begin, source.size());
  const auto shown_as = [](std::string_view part) { return printable(part, part.size()); };
  std::string line =
      shown_as(source.substr(0, begin)) + shown_as(source.substr(begin, end - begin)) + shown_as(source.substr(end));
  std::size_t column = columns(shown_as(source.substr(0, begin)));
  std::size_t width = std::max<std::size_t>(1, columns(shown_as(source.substr(begin, end - begin))));
  if (const std::size_t all = columns(line); all > kWidestLine) {
    const std::size_t first =
        std::min(column - std::min<std::size_t>(column, kWidestLine / 3), all - std::min(all, kWidestLine));
    const std::size_t last = std::min(all, first + kWidestLine);
    line = (first > 0 ? "…" : "") + std::string(columns_between(line, first, last)) + (last < all ? "…" : "");
    width = std::max<std::size_t>(1, std::min(width, last - std::min(last, column)));
    column = column - first + (first > 0 ? 1 : 0);
  }
  return fmt::format("\n  {}\n  {}^{}", line, std::string(column, ' '), std::string(width - 1, '~'));
}

[[noreturn]] void fail_at(const std::string& source, const std::string& option, std::size_t begin, std::size_t end,
                          const std::string& problem, const std::string& remedy) {
  const std::string mark = marked(source, begin, end);
  throw Error(option, remedy.empty() ? problem + mark : problem, remedy.empty() ? remedy : remedy + mark);
}

class Parser {
 public:
  Parser(const std::string& source, const std::string& option) : source_(source), option_(option) {}

  Expression parse() {
    std::optional<Expression> root = sum();
    skip_space();
    if (root && at_ == source_.size()) return std::move(*root);
    if (root) expected("an operator");
    fail_at(source_, option_, failure_.begin, failure_.end, failure_.problem, failure_.remedy);
  }

 private:
  using Kind = Expression::Kind;
  struct Failure {
    std::size_t begin = 0, end = 0;
    std::string problem, remedy;
  };

  char peek() {
    skip_space();
    return at_ < source_.size() ? source_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c || at_ == source_.size()) return false;
    ++at_;
    return true;
  }
  void skip_space() {
    while (at_ < source_.size() && is_space(source_[at_])) ++at_;
  }
  std::nullopt_t fail(std::size_t begin, std::size_t end, std::string problem, std::string remedy = {}) {
    failure_ = {begin, end, std::move(problem), std::move(remedy)};
    return std::nullopt;
  }
  std::nullopt_t expected(const char* what) {
    skip_space();
    if (at_ == source_.size()) return fail(at_, at_, fmt::format("ends where {} is expected", what));
    std::size_t end = at_ + 1;  // a whole code point
    while (end < source_.size() && (source_[end] & 0xC0) == 0x80) ++end;
    return fail(at_, end,
                fmt::format("'{}' is found where {} is expected", printable(source_.substr(at_, end - at_)), what));
  }

  Expression number(double value, std::size_t begin, std::size_t end) {
    Expression e;
    e.number = value;
    e.begin = begin;
    e.end = end;
    return e;
  }
  static Expression combined(Kind kind, std::vector<Expression::Argument> terms, std::size_t begin, std::size_t end) {
    Expression e;
    e.kind = kind;
    e.arguments = std::move(terms);
    e.begin = begin;
    e.end = end;
    return e;
  }

  // `minus` is the place of the sign.
  Expression negated(Expression e, std::size_t minus) {
    if (e.kind == Kind::kNumber) {
      e.number = -e.number;
      e.begin = minus;
      return e;
    }
    const std::size_t end = e.end;
    std::vector<Expression::Argument> terms;
    terms.push_back({"", number(-1, minus, minus + 1)});
    append_factors(terms, std::move(e));
    return combined(Kind::kProduct, std::move(terms), minus, end);
  }
  // Products of products are one product.
  static void append_factors(std::vector<Expression::Argument>& terms, Expression e) {
    if (e.kind == Kind::kProduct) {
      for (Expression::Argument& factor : e.arguments) terms.push_back(std::move(factor));
    } else {
      terms.push_back({"", std::move(e)});
    }
  }

  std::optional<Expression> sum() {
    std::optional<Expression> first = product();
    if (!first) return first;
    const std::size_t begin = first->begin;
    std::vector<Expression::Argument> terms;
    terms.push_back({"", std::move(*first)});
    for (char sign = peek(); sign == '+' || sign == '-'; sign = peek()) {
      const std::size_t place = at_++;
      std::optional<Expression> term = product();
      if (!term) return term;
      terms.push_back({"", sign == '-' ? negated(std::move(*term), place) : std::move(*term)});
    }
    if (terms.size() == 1) return std::move(terms[0].value);
    const std::size_t end = terms.back().value.end;
    return combined(Kind::kSum, std::move(terms), begin, end);
  }

  std::optional<Expression> product() {
    std::optional<Expression> first = factor();
    if (!first || peek() != '*') return first;
    const std::size_t begin = first->begin;
    std::size_t end = first->end;
    std::vector<Expression::Argument> terms;
    append_factors(terms, std::move(*first));
    while (take('*')) {
      std::optional<Expression> next = factor();
      if (!next) return next;
      end = next->end;
      append_factors(terms, std::move(*next));
    }
    return combined(Kind::kProduct, std::move(terms), begin, end);
  }

  std::optional<Expression> factor() {
    std::size_t minus = 0;
    bool negative = false;
    for (char sign = peek(); sign == '+' || sign == '-'; sign = peek()) {
      if (sign == '-') {
        negative = !negative;
        minus = at_;
      }
      ++at_;
    }
    std::optional<Expression> e = primary();
    if (e && negative) return negated(std::move(*e), minus);
    return e;
  }

  std::optional<Expression> primary() {
    if (++steps_ > kMostSteps)
      fail_at(source_, option_, 0, 0, "is too complicated", "put file names with parentheses in quotes");
    const char c = peek();
    const std::size_t begin = at_;
    if (is_digit(c) || (c == '.' && at_ + 1 < source_.size() && is_digit(source_[at_ + 1]))) return literal();
    if (is_letter(c)) {
      while (at_ < source_.size() && (is_letter(source_[at_]) || is_digit(source_[at_]))) ++at_;
      Expression call;
      call.kind = Kind::kCall;
      call.name = source_.substr(begin, at_ - begin);
      call.begin = begin;
      call.end = at_;
      if (peek() != '(') {
        at_ = call.end;
        return call;
      }
      return arguments(std::move(call));
    }
    if (c != '(') return expected("a name, a number or '('");
    enter(begin);
    ++at_;
    std::optional<Expression> inner = sum();
    if (!inner) return inner;
    if (!take(')')) return unclosed(begin);
    --depth_;
    inner->begin = begin;
    inner->end = at_;
    return inner;
  }

  std::optional<Expression> literal() {
    const std::size_t begin = at_;
    double value = 0;
    const char* const last = source_.data() + source_.size();
    const auto [end, problem] = std::from_chars(source_.data() + at_, last, value);
    at_ = static_cast<std::size_t>(end - source_.data());
    if (problem != std::errc{} || !std::isfinite(value)) {
      return fail(begin, at_, fmt::format("{} is out of range", printable(source_.substr(begin, at_ - begin))));
    }
    return number(value, begin, at_);
  }

  // Depth is restored by whoever backtracks.
  void enter(std::size_t at) {
    if (++depth_ > kDeepest)
      fail_at(source_, option_, at, at + 1, fmt::format("parentheses are more than {} deep", kDeepest), "");
  }
  std::nullopt_t unclosed(std::size_t open) {
    if (peek() == '\0' && at_ == source_.size()) return fail(open, open + 1, "this parenthesis is not closed");
    return expected("')' or an operator");
  }

  // The parenthesis is next.
  std::optional<Expression> arguments(Expression call) {
    const std::size_t open = at_;
    enter(open);
    ++at_;
    if (!take(')')) {
      do {
        std::optional<Expression::Argument> next = argument(open);
        if (!next) return std::nullopt;
        call.arguments.push_back(std::move(*next));
      } while (take(','));
      if (!take(')')) return unclosed(open);
    }
    --depth_;
    call.end = at_;
    return call;
  }

  std::optional<Expression::Argument> argument(std::size_t open) {
    Expression::Argument result;
    peek();
    const std::size_t begin = at_;
    if (at_ < source_.size() && is_letter(source_[at_])) {
      while (at_ < source_.size() && (is_letter(source_[at_]) || is_digit(source_[at_]))) ++at_;
      const std::size_t end = at_;
      if (take('=')) {
        result.key = source_.substr(begin, end - begin);
      } else {
        at_ = begin;
      }
    }
    const char c = peek();
    std::optional<Expression> value = c == '\'' || c == '"' ? quoted() : expression_or_text(open);
    if (!value) return std::nullopt;
    result.value = std::move(*value);
    return result;
  }

  std::optional<Expression> quoted() {
    const std::size_t begin = at_;
    const std::size_t close = source_.find(source_[begin], begin + 1);
    if (close == std::string::npos) return fail(begin, begin + 1, "this quote is not closed");
    at_ = close + 1;
    Expression text = text_between(begin, at_);
    text.name = source_.substr(begin + 1, close - begin - 1);
    if (const char c = peek(); c != ',' && c != ')') return expected("',' or ')'");
    return text;
  }

  std::optional<Expression> expression_or_text(std::size_t open) {
    const std::size_t begin = at_;
    const int depth = depth_;
    std::optional<Expression> e = sum();
    if (const char c = peek(); e && (c == ',' || c == ')')) return e;
    depth_ = depth;
    at_ = std::min(source_.find_first_of(",)", begin), source_.size());
    if (at_ == source_.size()) return fail(open, open + 1, "this parenthesis is not closed");
    std::size_t end = at_;
    while (end > begin && is_space(source_[end - 1])) --end;
    if (end == begin) return fail(begin, begin + 1, "an argument is missing before this");
    return text_between(begin, end);
  }

  Expression text_between(std::size_t begin, std::size_t end) {
    Expression text;
    text.kind = Kind::kText;
    text.name = source_.substr(begin, end - begin);
    text.begin = begin;
    text.end = end;
    return text;
  }

  const std::string& source_;
  const std::string& option_;
  std::size_t at_ = 0;
  int depth_ = 0, steps_ = 0;
  Failure failure_;
};

}  // namespace

ParsedExpression::ParsedExpression(std::string source, std::string option)
    : source_(std::move(source)), option_(std::move(option)) {
  if (source_.size() > kLongestSource) {
    throw Error(option_, fmt::format("an expression of {} bytes is too long", source_.size()),
                fmt::format("at most {}", kLongestSource));
  }
  if (trim(source_).empty()) throw Error(option_, "the expression is empty");
  root_ = Parser(source_, option_).parse();
}

void ParsedExpression::fail(const Expression& at, const std::string& problem, const std::string& remedy) const {
  fail_at(source_, option_, at.begin, at.end, problem, remedy);
}

}  // namespace cpfm
