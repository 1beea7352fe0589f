// euclidean2: |x - x'|². Its negative is the kernel of standard Gromov–Wasserstein, and conditionally positive.
#include "kernel/arguments.hpp"
#include "kernel/on_device.hpp"
#include "kernel/points.hpp"

namespace cpfm {
namespace {

class Euclidean2 final : public SampleKernel {
 public:
  explicit Euclidean2(Points points) : points_(std::move(points)) {}

  std::size_t size() const override { return points_.size(); }
  void evaluate(std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                MatrixView<float> out) const override {
    points_.distances2(columns, rows, out);
  }
  void diagonal(std::span<float> out) const override { std::fill(out.begin(), out.end(), 0.0f); }
  std::string expression() const override { return "euclidean2"; }
  Definiteness negated() const override { return Definiteness::kConditionallyPositive; }
  bool describe(DeviceDescription& description, std::vector<DeviceTerm>& terms) const override {
    const std::size_t table = points_.describe(description);
    const std::size_t squares = add_scalars(description, points_.squares());
    terms.push_back({1, {{DeviceFactor::Kind::kDistance2, 0, table, squares}}});
    return true;
  }

 private:
  Points points_;
};

}  // namespace

SampleKernelPtr make_euclidean2(const KernelSource& source, const Expression& call) {
  const Arguments arguments(source, call, {});
  return std::make_unique<Euclidean2>(Points(source.data, Points::Use::kDistances, "euclidean2"));
}

}  // namespace cpfm
