// cosine: ⟨x, x'⟩ / |x||x'|.
#include <fmt/format.h>

#include <cmath>

#include "kernel/arguments.hpp"
#include "kernel/on_device.hpp"
#include "kernel/points.hpp"

namespace cpfm {
namespace {

class Cosine final : public SampleKernel {
 public:
  explicit Cosine(Points points) : points_(std::move(points)), inverse_(points_.size()) {
    for (std::size_t i = 0; i < inverse_.size(); ++i) inverse_[i] = 1 / std::sqrt(points_.squares()[i]);
  }

  std::size_t size() const override { return points_.size(); }
  void evaluate(std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                MatrixView<float> out) const override {
    points_.dots(columns, rows, out);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      for (std::size_t r = 0; r < rows.size(); ++r) {
        // The factors are multiplied first, so that both orders of a pair round alike.
        out(c, r) = rows[r] == columns[c] ? 1.0f : out(c, r) * (inverse_[columns[c]] * inverse_[rows[r]]);
      }
    }
  }
  void diagonal(std::span<float> out) const override { std::fill(out.begin(), out.end(), 1.0f); }
  std::string expression() const override { return "cosine"; }
  Definiteness definiteness() const override { return Definiteness::kPositive; }
  bool describe(DeviceDescription& description, std::vector<DeviceTerm>& terms) const override {
    const std::size_t table = points_.describe(description);
    terms.push_back({1, {{DeviceFactor::Kind::kCosine, 0, table, add_scalars(description, inverse_)}}});
    return true;
  }

 private:
  Points points_;
  std::vector<float> inverse_;
};

}  // namespace

SampleKernelPtr make_cosine(const KernelSource& source, const Expression& call) {
  const Arguments arguments(source, call, {});
  Points points(source.data, Points::Use::kInnerProducts, "cosine");
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points.squares()[i] < 1e-30f) {
      source.parsed.fail(call, fmt::format("row {} of the samples is zero and has no direction", i + 1),
                         "leave such rows out, or use linear");
    }
  }
  return std::make_unique<Cosine>(std::move(points));
}

}  // namespace cpfm
