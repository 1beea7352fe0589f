// Constants, products and sums of kernels. A product with a kernel that has groups has them too, and evaluates its
// other factors inside the groups only: heat*label on ten classes costs a tenth of heat.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "cpfm/error.hpp"
#include "kernel/arguments.hpp"

namespace cpfm {
namespace {

using Indices = std::span<const std::size_t>;

class Constant final : public SampleKernel {
 public:
  Constant(double value, std::size_t n) : value_(value), n_(n) {}

  std::size_t size() const override { return n_; }
  void evaluate(Indices, Indices, MatrixView<float> out) const override {
    std::fill(out.data, out.data + out.size(), static_cast<float>(value_));
  }
  void diagonal(std::span<float> out) const override { std::fill(out.begin(), out.end(), static_cast<float>(value_)); }
  std::string expression() const override { return fmt::format("{}", value_); }
  // c·11ᵀ vanishes when it is centred, whatever the sign.
  Definiteness definiteness() const override {
    return value_ >= 0 ? Definiteness::kPositive : Definiteness::kConditionallyPositive;
  }
  Definiteness negated() const override {
    return value_ <= 0 ? Definiteness::kPositive : Definiteness::kConditionallyPositive;
  }
  bool describe(DeviceDescription&, std::vector<DeviceTerm>& terms) const override {
    terms.push_back({value_, {}});
    return true;
  }

 private:
  double value_;
  std::size_t n_;
};

// Samples are together when they are in both groupings; alone when they are in either.
std::vector<std::int64_t> intersected(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> names;
  std::vector<std::int64_t> groups(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    groups[i] = a[i] < 0 || b[i] < 0
                    ? -1 - static_cast<std::int64_t>(i)
                    : names.try_emplace({a[i], b[i]}, static_cast<std::int64_t>(names.size())).first->second;
  }
  return groups;
}

class Product final : public SampleKernel {
 public:
  Product(double weight, std::vector<SampleKernelPtr> factors) : weight_(weight), factors_(std::move(factors)) {
    for (const SampleKernelPtr& factor : factors_) {
      if (factor->groups().empty()) continue;
      groups_ = groups_.empty() ? std::vector<std::int64_t>(factor->groups().begin(), factor->groups().end())
                                : intersected(groups_, factor->groups());
    }
  }

  std::size_t size() const override { return factors_[0]->size(); }

  void evaluate(Indices columns, Indices rows, MatrixView<float> out) const override {
    if (columns.empty() || rows.empty()) return;
    const auto in_one_group = [&] {
      const std::int64_t group = groups_[columns[0]];
      const auto inside = [&](std::size_t i) { return groups_[i] == group; };
      return std::all_of(columns.begin(), columns.end(), inside) && std::all_of(rows.begin(), rows.end(), inside);
    };
    if (groups_.empty() || in_one_group()) {
      multiply(columns, rows, out);
      return;
    }
    std::fill(out.data, out.data + out.size(), 0.0f);
    std::vector<std::size_t> order(columns.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return groups_[columns[a]] < groups_[columns[b]]; });
    std::vector<std::size_t> places, inner_rows, inner_columns;
    std::vector<float> inner;
    for (std::size_t first = 0; first < order.size();) {
      const std::int64_t group = groups_[columns[order[first]]];
      std::size_t last = first;
      inner_columns.clear();
      for (; last < order.size() && groups_[columns[order[last]]] == group; ++last)
        inner_columns.push_back(columns[order[last]]);
      places.clear();
      inner_rows.clear();
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (groups_[rows[r]] != group) continue;
        places.push_back(r);
        inner_rows.push_back(rows[r]);
      }
      if (!inner_rows.empty()) {
        inner.resize(inner_columns.size() * inner_rows.size());
        multiply(inner_columns, inner_rows, {inner.data(), inner_columns.size(), inner_rows.size()});
        for (std::size_t c = 0; c < inner_columns.size(); ++c) {
          for (std::size_t r = 0; r < places.size(); ++r)
            out(order[first + c], places[r]) = inner[c * places.size() + r];
        }
      }
      first = last;
    }
  }

  void diagonal(std::span<float> out) const override {
    std::vector<float> values(out.size());
    std::fill(out.begin(), out.end(), static_cast<float>(weight_));
    for (const SampleKernelPtr& factor : factors_) {
      factor->diagonal(values);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] *= values[i];
    }
  }

  std::string expression() const override {
    std::string text = weight_ == 1 ? "" : weight_ == -1 ? "-" : fmt::format("{}*", weight_);
    for (std::size_t i = 0; i < factors_.size(); ++i) {
      const std::string factor = factors_[i]->expression();
      text += i == 0 ? "" : "*";
      text += is_sum(*factors_[i]) ? "(" + factor + ")" : factor;
    }
    return text;
  }

  Definiteness definiteness() const override { return of_signed_factors(weight_); }
  Definiteness negated() const override { return of_signed_factors(-weight_); }
  std::span<const std::int64_t> groups() const override { return groups_; }
  bool extends() const override {
    return std::all_of(factors_.begin(), factors_.end(),
                       [](const SampleKernelPtr& factor) { return factor->extends(); });
  }
  // Multiplied out.
  bool describe(DeviceDescription& description, std::vector<DeviceTerm>& terms) const override {
    std::vector<DeviceTerm> products{{weight_, {}}};
    for (const SampleKernelPtr& factor : factors_) {
      std::vector<DeviceTerm> others, longer;
      if (!factor->describe(description, others)) return false;
      for (const DeviceTerm& product : products) {
        for (const DeviceTerm& other : others) {
          longer.push_back({product.weight * other.weight, product.factors});
          longer.back().factors.insert(longer.back().factors.end(), other.factors.begin(), other.factors.end());
        }
      }
      if (longer.size() > DeviceDescription::kMostTerms) return false;
      products = std::move(longer);
    }
    terms.insert(terms.end(), products.begin(), products.end());
    return true;
  }

 private:
  static bool is_sum(const SampleKernel& kernel);

  // The product of all factors; indicators are 1, because all samples are in one group.
  void multiply(Indices columns, Indices rows, MatrixView<float> out) const {
    std::vector<float> values;
    bool first = true;
    for (const SampleKernelPtr& factor : factors_) {
      if (factor->is_indicator()) continue;
      if (first) {
        factor->evaluate(columns, rows, out);
        first = false;
        continue;
      }
      values.resize(out.size());
      factor->evaluate(columns, rows, {values.data(), out.rows, out.cols});
      for (std::size_t i = 0; i < values.size(); ++i) out.data[i] *= values[i];
    }
    if (first) std::fill(out.data, out.data + out.size(), 1.0f);
    if (weight_ != 1) {
      for (std::size_t i = 0; i < out.size(); ++i) out.data[i] *= static_cast<float>(weight_);
    }
  }

  // By Schur, a product of positive kernels is positive; of others nothing is known.
  Definiteness of_signed_factors(double sign) const {
    if (sign == 0) return Definiteness::kPositive;
    if (factors_.size() == 1) return sign > 0 ? factors_[0]->definiteness() : factors_[0]->negated();
    if (sign < 0) return Definiteness::kUnknown;
    const bool positive = std::all_of(factors_.begin(), factors_.end(), [](const SampleKernelPtr& factor) {
      return factor->definiteness() == Definiteness::kPositive;
    });
    return positive ? Definiteness::kPositive : Definiteness::kUnknown;
  }

  double weight_;
  std::vector<SampleKernelPtr> factors_;
  std::vector<std::int64_t> groups_;
};

class Sum final : public SampleKernel {
 public:
  explicit Sum(std::vector<SampleKernelPtr> terms) : terms_(std::move(terms)) {
    // Where all terms have the same groups, so has the sum.
    const std::span<const std::int64_t> first = terms_[0]->groups();
    const bool same = std::all_of(terms_.begin(), terms_.end(), [&](const SampleKernelPtr& term) {
      return std::ranges::equal(term->groups(), first);
    });
    if (same) groups_.assign(first.begin(), first.end());
  }

  std::size_t size() const override { return terms_[0]->size(); }
  void evaluate(Indices columns, Indices rows, MatrixView<float> out) const override {
    std::vector<float> values(out.size());
    terms_[0]->evaluate(columns, rows, out);
    for (std::size_t t = 1; t < terms_.size(); ++t) {
      terms_[t]->evaluate(columns, rows, {values.data(), out.rows, out.cols});
      for (std::size_t i = 0; i < values.size(); ++i) out.data[i] += values[i];
    }
  }
  void diagonal(std::span<float> out) const override {
    std::vector<float> values(out.size());
    std::fill(out.begin(), out.end(), 0.0f);
    for (const SampleKernelPtr& term : terms_) {
      term->diagonal(values);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += values[i];
    }
  }
  std::string expression() const override {
    std::string text;
    for (const SampleKernelPtr& term : terms_) {
      const std::string part = term->expression();
      text += (text.empty() || part.starts_with('-') ? "" : "+") + part;
    }
    return text;
  }
  Definiteness definiteness() const override { return weakest(&SampleKernel::definiteness); }
  Definiteness negated() const override { return weakest(&SampleKernel::negated); }
  std::span<const std::int64_t> groups() const override { return groups_; }
  bool extends() const override {
    return std::all_of(terms_.begin(), terms_.end(), [](const SampleKernelPtr& term) { return term->extends(); });
  }
  bool describe(DeviceDescription& description, std::vector<DeviceTerm>& terms) const override {
    return std::all_of(terms_.begin(), terms_.end(),
                       [&](const SampleKernelPtr& term) { return term->describe(description, terms); });
  }

 private:
  template <class Method>
  Definiteness weakest(Method method) const {
    Definiteness result = Definiteness::kPositive;
    for (const SampleKernelPtr& term : terms_) result = std::max(result, ((*term).*method)());
    return result;
  }

  std::vector<SampleKernelPtr> terms_;
  std::vector<std::int64_t> groups_;
};

bool Product::is_sum(const SampleKernel& kernel) { return dynamic_cast<const Sum*>(&kernel) != nullptr; }

}  // namespace

SampleKernelPtr make_constant(double value, std::size_t n) { return std::make_unique<Constant>(value, n); }

SampleKernelPtr make_product(double weight, std::vector<SampleKernelPtr> factors) {
  CPFM_ASSERT(!factors.empty(), "a product of nothing");
  if (weight == 1 && factors.size() == 1) return std::move(factors[0]);
  return std::make_unique<Product>(weight, std::move(factors));
}

SampleKernelPtr make_sum(std::vector<SampleKernelPtr> terms) {
  CPFM_ASSERT(!terms.empty(), "a sum of nothing");
  return std::make_unique<Sum>(std::move(terms));
}

}  // namespace cpfm
