// linear: ⟨x, x'⟩.
#include "kernel/arguments.hpp"
#include "kernel/points.hpp"

namespace cpfm {
namespace {

class Linear final : public SampleKernel {
 public:
  explicit Linear(Points points) : points_(std::move(points)) {}

  std::size_t size() const override { return points_.size(); }
  void evaluate(std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                MatrixView<float> out) const override {
    points_.dots(columns, rows, out);
  }
  void diagonal(std::span<float> out) const override {
    std::copy(points_.squares().begin(), points_.squares().end(), out.begin());
  }
  std::string expression() const override { return "linear"; }
  Definiteness definiteness() const override { return Definiteness::kPositive; }
  bool describe(DeviceDescription& description, std::vector<DeviceTerm>& terms) const override {
    terms.push_back({1, {{DeviceFactor::Kind::kDot, 0, points_.describe(description)}}});
    return true;
  }

 private:
  Points points_;
};

}  // namespace

SampleKernelPtr make_linear(const KernelSource& source, const Expression& call) {
  const Arguments arguments(source, call, {});
  return std::make_unique<Linear>(Points(source.data, Points::Use::kInnerProducts, "linear"));
}

}  // namespace cpfm
