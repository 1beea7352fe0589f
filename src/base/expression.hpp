// The little language of --kernel and --latent: sums and products of named things with arguments, as in
// 0.5*tanimoto + 0.5*property(mu, form=exp), ring(0.6, 1) or gram(my file.npy). Parsing knows no names; who uses an
// expression gives them meaning and reports what does not fit through Expression::fail, which points at the place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cpfm {

struct Expression {
  enum class Kind {
    kNumber,   // number
    kCall,     // name, with arguments; a bare name is a call without any
    kSum,      // terms
    kProduct,  // terms
    kText,     // an argument that is no expression: a file name, a quoted text
  };
  struct Argument;

  Kind kind = Kind::kNumber;
  double number = 0;
  std::string name;                 // kCall, kText
  std::vector<Argument> arguments;  // kCall; also the terms of kSum and kProduct, without keys
  std::size_t begin = 0, end = 0;   // the part of the source it came from

  // The source of this part.
  std::string_view text(std::string_view source) const { return source.substr(begin, end - begin); }
};

struct Expression::Argument {
  std::string key;  // empty for a positional argument
  Expression value;
};

// A source text and its tree; `option` ("--kernel") is for messages.
class ParsedExpression {
 public:
  // + and binary or unary - (which multiplies by -1), *, parentheses, numbers, names with (arguments). An argument is
  // an expression, key=value, a text in single or double quotes, or, where it is none of these, the bare text up to the
  // comma or parenthesis that ends it. Nesting is at most 64 deep, the source at most 4096 bytes. Throws cpfm::Error.
  ParsedExpression(std::string source, std::string option);

  const Expression& root() const { return root_; }
  const std::string& source() const { return source_; }
  // Throws cpfm::Error whose message shows the source with a caret line under the part:
  //   --kernel: unknown kernel 'haet'; did you mean 'heat'?
  //     haet*label
  //     ^~~~
  [[noreturn]] void fail(const Expression& at, const std::string& problem, const std::string& remedy = {}) const;

 private:
  std::string source_, option_;
  Expression root_;
};

}  // namespace cpfm
