// property(name, form, scale): how far apart a real-valued property is. abs is |Δ| as the paper prints it, negabs its
// negative (conditionally positive), exp the positive kernel exp(-|Δ| / scale).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "kernel/arguments.hpp"
#include "kernel/on_device.hpp"

namespace cpfm {
namespace {

enum class Form { kAbs, kNegAbs, kExp };
const std::vector<std::string> kForms{"abs", "negabs", "exp"};

class PropertyKernel final : public SampleKernel {
 public:
  PropertyKernel(const std::vector<float>& values, std::string name, Form form, double scale)
      : values_(values), name_(std::move(name)), form_(form), scale_(scale), rate_(static_cast<float>(1 / scale)) {}

  std::size_t size() const override { return values_.size(); }
  void evaluate(std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                MatrixView<float> out) const override {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const float value = values_[columns[c]];
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const float distance = std::abs(value - values_[rows[r]]);
        out(c, r) = form_ == Form::kAbs ? distance : form_ == Form::kNegAbs ? -distance : std::exp(-distance * rate_);
      }
    }
  }
  void diagonal(std::span<float> out) const override {
    std::fill(out.begin(), out.end(), form_ == Form::kExp ? 1.0f : 0.0f);
  }
  std::string expression() const override {
    if (form_ == Form::kExp) return fmt::format("property({}, form=exp, scale={})", name_, scale_);
    return fmt::format("property({}, form={})", name_, kForms[static_cast<std::size_t>(form_)]);
  }
  Definiteness definiteness() const override {
    return form_ == Form::kExp      ? Definiteness::kPositive
           : form_ == Form::kNegAbs ? Definiteness::kConditionallyPositive
                                    : Definiteness::kUnknown;
  }
  Definiteness negated() const override {
    return form_ == Form::kAbs ? Definiteness::kConditionallyPositive : Definiteness::kUnknown;
  }
  bool describe(DeviceDescription& description, std::vector<DeviceTerm>& terms) const override {
    const DeviceFactor::Kind kind = form_ == Form::kAbs      ? DeviceFactor::Kind::kAbs
                                    : form_ == Form::kNegAbs ? DeviceFactor::Kind::kNegAbs
                                                             : DeviceFactor::Kind::kExp;
    terms.push_back({1, {{kind, rate_, 0, add_scalars(description, values_)}}});
    return true;
  }

 private:
  const std::vector<float>& values_;
  std::string name_;  // as it stands in an expression
  Form form_;
  double scale_;
  float rate_;
};

// The mean of |Δ| over pairs: sorted, value k is added k times and taken away n - 1 - k times.
double mean_difference(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double sum = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    // Counted from the smallest, so that a large common offset costs no digits.
    sum += (2 * static_cast<double>(k) - n + 1) * (static_cast<double>(values[k]) - values[0]);
  }
  return sum / (0.5 * n * (n - 1));
}

const Property& find_property(const KernelSource& source, const Expression& call, const Arguments& arguments) {
  const std::vector<Property>& properties = source.data.properties;
  if (properties.empty()) {
    source.parsed.fail(call, "the data has no properties",
                       "name a column or a file that holds one: --property mass, --property mass.npy");
  }
  std::vector<std::string> names;
  for (const Property& property : properties) names.push_back(property.name);
  if (!arguments.has("name")) {
    if (properties.size() == 1) return properties[0];
    source.parsed.fail(call, fmt::format("there are {} properties", properties.size()),
                       fmt::format("say which: property({}), …", printable(names[0])));
  }
  const std::string wanted = arguments.text("name");
  for (const Property& property : properties) {
    if (property.name == wanted) return property;
  }
  arguments.fail("name", fmt::format("there is no property '{}'", printable(wanted)), suggest(wanted, names));
}

}  // namespace

SampleKernelPtr make_property(const KernelSource& source, const Expression& call) {
  const Arguments arguments(source, call, {"name", "form", "scale"});
  const Property& property = find_property(source, call, arguments);
  if (property.values.size() != source.data.size()) {
    source.parsed.fail(
        call, fmt::format("the property has {} values for {} samples", property.values.size(), source.data.size()));
  }
  for (std::size_t i = 0; i < property.values.size(); ++i) {
    if (!std::isfinite(property.values[i])) {
      source.parsed.fail(call, fmt::format("the property is {} for sample {}", property.values[i], i + 1));
    }
  }
  Form form = Form::kAbs;
  if (arguments.has("form")) {
    const std::string wanted = arguments.text("form");
    const auto at = std::find(kForms.begin(), kForms.end(), wanted);
    if (at == kForms.end())
      arguments.fail("form", fmt::format("there is no form '{}'", printable(wanted)), suggest(wanted, kForms));
    form = static_cast<Form>(at - kForms.begin());
  }
  std::optional<double> scale = arguments.positive("scale");
  if (scale && form != Form::kExp)
    arguments.fail("scale", "a scale belongs to form=exp", "weights scale the other forms: 0.5*property(…)");
  if (!scale && form == Form::kExp) {
    scale = property.values.size() < 2 ? 0 : mean_difference(property.values);
    if (*scale == 0)
      source.parsed.fail(call, "all values of the property are equal, their mean difference is 0",
                         "give a scale to go on: scale=1");
  }
  if (scale && !(*scale >= 1e-30 && *scale <= 1e30)) {
    arguments.fail("scale", fmt::format("scale is {}", *scale), "1e-30 to 1e30 can be computed with");
  }
  const std::optional<std::string> name = as_argument(property.name);
  if (!name)
    source.parsed.fail(call, "a property's name with both kinds of quotes cannot be written in an expression",
                       "rename it");
  return std::make_unique<PropertyKernel>(property.values, *name, form, scale.value_or(1));
}

}  // namespace cpfm
