// From an expression, or from a function of the caller's, to a kernel.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/kernel.hpp"
#include "kernel/arguments.hpp"
#include "kernel/stream.hpp"

namespace cpfm {
namespace {

struct Named {
  const char* name;
  SampleKernelPtr (*make)(const KernelSource&, const Expression&);
};
constexpr std::array kKernels{Named{"heat", make_heat},
                              Named{"label", make_label},
                              Named{"property", make_property},
                              Named{"tanimoto", make_tanimoto},
                              Named{"linear", make_linear},
                              Named{"cosine", make_cosine},
                              Named{"euclidean2", make_euclidean2},
                              Named{"knn", make_knn},
                              Named{"gram", make_gram}};

SampleKernelPtr build(const KernelSource& source, const Expression& e);

std::vector<SampleKernelPtr> build_all(const KernelSource& source, const std::vector<Expression::Argument>& terms) {
  std::vector<SampleKernelPtr> kernels;
  for (const Expression::Argument& term : terms) kernels.push_back(build(source, term.value));
  return kernels;
}

// Weights are applied in float; what is no float would silently become infinite.
void check_weight(const KernelSource& source, const Expression& e, double weight) {
  if (!(std::abs(weight) <= 1e30))
    source.parsed.fail(e, fmt::format("the weight {} is too large", weight), "at most 1e30");
}

SampleKernelPtr build(const KernelSource& source, const Expression& e) {
  switch (e.kind) {
    case Expression::Kind::kNumber:
      check_weight(source, e, e.number);
      return make_constant(e.number, source.data.size());
    case Expression::Kind::kSum:
      return make_sum(build_all(source, e.arguments));
    case Expression::Kind::kProduct: {
      double weight = 1;
      std::vector<SampleKernelPtr> factors;
      for (const Expression::Argument& factor : e.arguments) {
        if (factor.value.kind == Expression::Kind::kNumber) {
          weight *= factor.value.number;
        } else {
          factors.push_back(build(source, factor.value));
        }
      }
      check_weight(source, e, weight);
      return factors.empty() ? make_constant(weight, source.data.size()) : make_product(weight, std::move(factors));
    }
    case Expression::Kind::kText:
      source.parsed.fail(e, "a text is no kernel");
    case Expression::Kind::kCall:
      break;
  }
  std::vector<std::string> names;
  for (const Named& kernel : kKernels) {
    if (e.name == kernel.name) return kernel.make(source, e);
    names.emplace_back(kernel.name);
  }
  Expression name = e;
  name.end = name.begin + name.name.size();
  source.parsed.fail(name, fmt::format("unknown kernel '{}'", printable(e.name)), suggest(e.name, names));
}

class FunctionKernel final : public Kernel {
 public:
  FunctionKernel(std::size_t n, BlockFunction block, Definiteness definiteness, std::string name)
      : n_(n), block_(std::move(block)), definiteness_(definiteness), name_(std::move(name)) {}

  std::size_t size() const override { return n_; }
  void block(std::span<const std::size_t> columns, std::size_t begin, std::size_t end,
             MatrixView<float> out) const override {
    block_(columns, begin, end, out);
  }
  void diagonal(std::span<float> out) const override {
    parallel_for(n_, 256, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) block_(std::span(&i, 1), i, i + 1, {&out[i], 1, 1});
    });
  }
  std::string expression() const override { return name_; }
  Definiteness definiteness() const override { return definiteness_; }
  bool extends() const override { return false; }

 private:
  std::size_t n_;
  BlockFunction block_;
  Definiteness definiteness_;
  std::string name_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const std::string& expression, const Dataset& data, Progress* progress) {
  if (data.size() == 0 || data.dim() == 0) throw Error(data.source, "there are no samples to compare");
  const ParsedExpression parsed(expression, "--kernel");
  return build({parsed, data, progress}, parsed.root());
}

std::unique_ptr<Kernel> make_kernel(std::size_t n, BlockFunction block, Definiteness definiteness, std::string name) {
  if (n == 0) throw Error(name, "a kernel needs at least one sample");
  if (!block) throw Error(name, "the function that fills a block is empty");
  return std::make_unique<FunctionKernel>(n, std::move(block), definiteness, std::move(name));
}

}  // namespace cpfm
