// Coverage of a model: samples are drawn for places by the one way, p(x|y), and judged by the other, p(y|x). What a
// model is comes from its interface alone, so that this layer needs nothing that implements it.
#include <algorithm>

#include "cpfm/flow.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/random.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kCoverStream = 0x636f7665;  // "cove"

}  // namespace

std::vector<double> model_coverage(FlowModel& model, MatrixView<const float> places, const SampleOptions& options,
                                   std::span<const double> levels) {
  const FloatMatrix x = model.generate(places, options);
  SampleOptions of_draws = options;
  of_draws.seed = Rng(options.seed, kCoverStream).bits64();  // not the noise that made the places
  const FloatMatrix draws = model.embed(x.view(), kCoverageDraws, of_draws);
  FloatMatrix repeated_x(x.rows() * kCoverageDraws, x.cols());
  for (std::size_t k = 0; k < repeated_x.rows(); ++k)
    std::copy_n(x.row(k / kCoverageDraws).data(), x.cols(), repeated_x.row(k).data());
  const std::vector<double> own = model.log_density(x.view(), places, of_draws);
  const std::vector<double> theirs = model.log_density(repeated_x.view(), draws.view(), of_draws);
  return coverage(own, {theirs.data(), x.rows(), kCoverageDraws}, levels);
}

}  // namespace cpfm
