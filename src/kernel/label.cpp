// label: 1 for two samples of one class, else 0; a sample without a label is a class of its own.
#include <fmt/format.h>

#include "kernel/arguments.hpp"
#include "kernel/on_device.hpp"

namespace cpfm {
namespace {

class Label final : public SampleKernel {
 public:
  explicit Label(const Labels& labels) : groups_(labels.ids.begin(), labels.ids.end()) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i] < 0) groups_[i] = -1 - static_cast<std::int64_t>(i);
    }
  }

  std::size_t size() const override { return groups_.size(); }
  void evaluate(std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                MatrixView<float> out) const override {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::int64_t group = groups_[columns[c]];
      for (std::size_t r = 0; r < rows.size(); ++r) out(c, r) = groups_[rows[r]] == group ? 1.0f : 0.0f;
    }
  }
  void diagonal(std::span<float> out) const override { std::fill(out.begin(), out.end(), 1.0f); }
  std::string expression() const override { return "label"; }
  Definiteness definiteness() const override { return Definiteness::kPositive; }
  std::span<const std::int64_t> groups() const override { return groups_; }
  bool is_indicator() const override { return true; }
  bool describe(DeviceDescription& description, std::vector<DeviceTerm>& terms) const override {
    terms.push_back({1, {{DeviceFactor::Kind::kLabel, 0, 0, 0, add_labels(description, groups_)}}});
    return true;
  }

 private:
  std::vector<std::int64_t> groups_;
};

}  // namespace

SampleKernelPtr make_label(const KernelSource& source, const Expression& call) {
  const Arguments arguments(source, call, {});
  if (!source.data.labels) {
    source.parsed.fail(call, "the data has no labels",
                       "name a column or a file that holds them: --labels species, --labels classes.npy");
  }
  if (const std::size_t count = source.data.labels->ids.size(); count != source.data.size()) {
    source.parsed.fail(call, fmt::format("there are {} labels for {} samples", count, source.data.size()));
  }
  return std::make_unique<Label>(*source.data.labels);
}

}  // namespace cpfm
