// The arguments of one call in a kernel expression, matched to the names that a kernel knows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/expression.hpp"
#include "cpfm/data.hpp"
#include "cpfm/progress.hpp"
#include "kernel/sample_kernel.hpp"

namespace cpfm {

struct KernelSource {
  const ParsedExpression& parsed;
  const Dataset& data;
  Progress* progress;
};

class Arguments {
 public:
  // `names` in the order in which they may be given without a key. Fails on others, on too many, and on doubles.
  Arguments(const KernelSource& source, const Expression& call, std::vector<std::string> names);

  bool has(const std::string& name) const { return find(name) != nullptr; }
  // What was written, without quotes; empty when it is not given.
  std::string text(const std::string& name) const;
  // A finite number; nothing when it is not given or "auto".
  std::optional<double> number(const std::string& name) const;
  // As number(), above zero.
  std::optional<double> positive(const std::string& name) const;
  // Points at the argument, or at the call when it is not given.
  [[noreturn]] void fail(const std::string& name, const std::string& problem, const std::string& remedy = {}) const;

 private:
  const Expression* find(const std::string& name) const;

  const ParsedExpression& parsed_;
  const Expression& call_;
  std::vector<std::string> names_;
  std::vector<const Expression*> values_;
};

// `text` as it can stand as an argument and is read back: bare where it is a plain name, else in quotes. Nothing when
// it holds both kinds of quotes.
std::optional<std::string> as_argument(const std::string& text);

// The kernels by name; each reads its arguments.
SampleKernelPtr make_heat(const KernelSource& source, const Expression& call);
SampleKernelPtr make_label(const KernelSource& source, const Expression& call);
SampleKernelPtr make_property(const KernelSource& source, const Expression& call);
SampleKernelPtr make_tanimoto(const KernelSource& source, const Expression& call);
SampleKernelPtr make_linear(const KernelSource& source, const Expression& call);
SampleKernelPtr make_cosine(const KernelSource& source, const Expression& call);
SampleKernelPtr make_euclidean2(const KernelSource& source, const Expression& call);
SampleKernelPtr make_knn(const KernelSource& source, const Expression& call);
SampleKernelPtr make_gram(const KernelSource& source, const Expression& call);

// Combinations. A product's weight is finite; there is at least one factor, and at least one term.
SampleKernelPtr make_constant(double value, std::size_t n);
SampleKernelPtr make_product(double weight, std::vector<SampleKernelPtr> factors);
SampleKernelPtr make_sum(std::vector<SampleKernelPtr> terms);

}  // namespace cpfm
