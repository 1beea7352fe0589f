// heat(sigma): exp(-|x - x'|² / 2σ²), the paper's kernel; σ is the mean distance of two samples unless it is given.
#include <fmt/format.h>

#include "cpfm/error.hpp"
#include "kernel/arguments.hpp"
#include "kernel/dot_block.hpp"
#include "kernel/on_device.hpp"
#include "kernel/points.hpp"

namespace cpfm {
namespace {

class Heat final : public SampleKernel {
 public:
  Heat(Points points, double sigma)
      : points_(std::move(points)), sigma_(sigma), rate_(static_cast<float>(0.5 / (sigma * sigma))) {}

  std::size_t size() const override { return points_.size(); }
  void evaluate(std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                MatrixView<float> out) const override {
    points_.dots(columns, rows, out);
    std::vector<float> squares(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) squares[r] = points_.squares()[rows[r]];
    for (std::size_t c = 0; c < columns.size(); ++c) {
      heat_from_dots(out.row(c), points_.squares()[columns[c]], squares, rate_);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (rows[r] == columns[c]) out(c, r) = 1;
      }
    }
  }
  void diagonal(std::span<float> out) const override { std::fill(out.begin(), out.end(), 1.0f); }
  std::string expression() const override { return fmt::format("heat(sigma={})", sigma_); }
  Definiteness definiteness() const override { return Definiteness::kPositive; }
  bool describe(DeviceDescription& description, std::vector<DeviceTerm>& terms) const override {
    const std::size_t table = points_.describe(description);
    const std::size_t squares = add_scalars(description, points_.squares());
    terms.push_back({1, {{DeviceFactor::Kind::kHeat, rate_, table, squares}}});
    return true;
  }

 private:
  Points points_;
  double sigma_;
  float rate_;
};

}  // namespace

SampleKernelPtr make_heat(const KernelSource& source, const Expression& call) {
  const Arguments arguments(source, call, {"sigma"});
  std::optional<double> sigma = arguments.positive("sigma");
  Points points(source.data, Points::Use::kDistances, "heat");
  if (!sigma) {
    if (points.size() < 2) source.parsed.fail(call, "one sample has no mean distance", "give sigma: heat(sigma=1)");
    sigma = mean_distance(points, source.progress);
    if (*sigma == 0) {
      source.parsed.fail(call, "all samples are equal, their mean distance is 0",
                         "there is nothing to tell them apart by; give sigma to go on: heat(sigma=1)");
    }
  }
  if (!(0.5 / (*sigma * *sigma) <= 1e37) || !(*sigma <= 1e18)) {
    arguments.fail("sigma", fmt::format("sigma is {}", *sigma), "1e-18 to 1e18 can be computed with");
  }
  return std::make_unique<Heat>(std::move(points), *sigma);
}

}  // namespace cpfm
