// The paper's interpolation of the plan by neighbours of the same class, and the pairs that stage 2 learns from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/text.hpp"
#include "cpfm/coupling.hpp"
#include "cpfm/error.hpp"
#include "cpfm/random.hpp"
#include "kernel/dot_block.hpp"
#include "kernel/stream.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kMixtureStream = 0x6d697874;  // "mixt"

struct Class {
  std::string name;
  std::vector<std::uint32_t> coupled, points;
};

// Coupled samples and points by class; one class of all without labels. A point without a label looks at all samples.
std::vector<Class> by_class(const Dataset& coupled, const Dataset& points) {
  const bool classes = coupled.labels && points.labels;
  std::map<std::string, Class> named;
  const auto name_of = [&](const Labels& labels, std::size_t i) {
    return labels.ids[i] < 0 ? std::string() : labels.names[static_cast<std::size_t>(labels.ids[i])];
  };
  for (std::size_t i = 0; i < coupled.size(); ++i) {
    const std::string name = classes ? name_of(*coupled.labels, i) : std::string();
    if (!name.empty()) named[name].coupled.push_back(static_cast<std::uint32_t>(i));
    named[""].coupled.push_back(static_cast<std::uint32_t>(i));
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    Class& of = named[classes ? name_of(*points.labels, i) : std::string()];
    of.points.push_back(static_cast<std::uint32_t>(i));
  }
  std::vector<Class> all;
  for (auto& [name, members] : named) {
    members.name = name;
    if (members.points.empty()) continue;
    if (members.coupled.empty()) {
      throw Error(points.source,
                  fmt::format("sample {} is of class '{}', which no coupled sample is of", members.points[0] + 1,
                              printable(name)),
                  "couple samples of every class");
    }
    all.push_back(std::move(members));
  }
  return all;
}

// About the mean of the coupled samples: far from the origin, |x|² + |x'|² - 2<x, x'> would lose all digits.
FloatMatrix centred(const FloatMatrix& samples, const std::vector<double>& mean) {
  FloatMatrix out(samples.rows(), samples.cols());
  for (std::size_t i = 0; i < samples.rows(); ++i) {
    for (std::size_t k = 0; k < samples.cols(); ++k) out(i, k) = static_cast<float>(samples(i, k) - mean[k]);
  }
  return out;
}

std::vector<double> mean_of(const FloatMatrix& samples) {
  std::vector<double> mean(samples.cols(), 0.0);
  for (std::size_t i = 0; i < samples.rows(); ++i) {
    for (std::size_t k = 0; k < samples.cols(); ++k) mean[k] += samples(i, k);
  }
  for (double& value : mean) value /= static_cast<double>(samples.rows());
  return mean;
}

std::vector<float> squares(const FloatMatrix& samples) {
  std::vector<float> out(samples.rows());
  for (std::size_t i = 0; i < samples.rows(); ++i) {
    double sum = 0;
    for (const float v : samples.row(i)) sum += double(v) * v;
    out[i] = static_cast<float>(sum);
  }
  return out;
}

}  // namespace

Interpolation interpolate(const Dataset& coupled, const Dataset& points, std::size_t k, Progress* progress) {
  if (coupled.dim() != points.dim())
    throw Error(points.source,
                fmt::format("has {} features, and the coupled data has {}", points.dim(), coupled.dim()));
  if (k < 1) throw Error("neighbours", "0 are too few", "at least 1");
  const std::vector<Class> classes = by_class(coupled, points);
  Interpolation result;
  result.k = k;
  result.index.assign(points.size() * k, 0);
  result.weight.assign(points.size() * k, 0.0f);
  const std::vector<double> mean = mean_of(coupled.samples);
  const FloatMatrix coupled_centred = centred(coupled.samples, mean), point_centred = centred(points.samples, mean);
  const std::vector<float> coupled_squares = squares(coupled_centred), point_squares = squares(point_centred);
  for (const Class& members : classes) {
    std::vector<const float*> others;
    for (const std::uint32_t j : members.coupled) others.push_back(coupled_centred.row(j).data());
    const std::size_t found = std::min(k, others.size());
    for_row_chunks(members.points.size(), 32, progress, "neighbours", [&](std::size_t begin, std::size_t end) {
      std::vector<const float*> mine;
      for (std::size_t e = begin; e < end; ++e) mine.push_back(point_centred.row(members.points[e]).data());
      std::vector<float> dots(mine.size() * others.size());
      dot_block(mine, others, points.dim(), dots.data(), others.size());
      std::vector<std::pair<float, std::uint32_t>> near(others.size());
      for (std::size_t e = 0; e < mine.size(); ++e) {
        const std::uint32_t i = members.points[begin + e];
        for (std::size_t j = 0; j < others.size(); ++j) {
          const float square = point_squares[i] + coupled_squares[members.coupled[j]] - 2 * dots[e * others.size() + j];
          near[j] = {std::max(0.0f, square), members.coupled[j]};
        }
        std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(found), near.end());
        double total = 0, weights = 0;
        // exp(-distance) as printed; relative to the nearest, so that large distances do not underflow together.
        const double nearest = std::sqrt(double(near[0].first));
        for (std::size_t r = 0; r < found; ++r) total += std::exp(nearest - std::sqrt(double(near[r].first)));
        for (std::size_t r = 0; r < found; ++r) {
          weights = std::exp(nearest - std::sqrt(double(near[r].first))) / total;
          result.index[i * k + r] = near[r].second;
          result.weight[i * k + r] = static_cast<float>(weights);
        }
        for (std::size_t r = found; r < k; ++r) result.index[i * k + r] = near[0].second;
      }
    });
  }
  return result;
}

PairSampler::PairSampler(const Coupling& coupling) : coupling_(coupling) {}

PairSampler::PairSampler(const Coupling& coupling, Interpolation interpolation, double plan_share)
    : coupling_(coupling), interpolation_(std::move(interpolation)), plan_share_(plan_share) {
  if (!(plan_share >= 0 && plan_share <= 1))
    throw Error("plan share", fmt::format("{} is out of range", plan_share), "0 to 1");
  for (const std::uint32_t row : interpolation_->index) {
    if (row >= coupling.plan.rows())
      throw Error("interpolation", fmt::format("neighbour {} is no row of the plan", row),
                  "interpolate the coupled data");
  }
}

std::size_t PairSampler::size() const {
  return interpolation_ ? interpolation_->index.size() / interpolation_->k : coupling_.plan.rows();
}

std::vector<PairSampler::Pair> PairSampler::epoch(std::uint64_t seed, std::uint64_t epoch) const {
  const std::vector<std::size_t>& coupled = coupling_.rows;
  std::vector<std::size_t> which(size());
  std::vector<Pair> pairs(size());
  // Rows by their masses; of equal masses, each once.
  const std::span<const double> mass = coupling_.plan.row_mass();
  const auto [least, most] = std::minmax_element(mass.begin(), mass.end());
  const bool equal = *most - *least <= 1e-9 * *most;
  std::vector<double> cumulative(mass.size());
  std::partial_sum(mass.begin(), mass.end(), cumulative.begin());
  const auto row_by_mass = [&](Rng& rng) {
    const double u = rng.uniform() * cumulative.back();
    const auto at = std::upper_bound(cumulative.begin(), cumulative.end(), u) - cumulative.begin();
    return std::min(static_cast<std::size_t>(at), mass.size() - 1);
  };
  for (std::size_t e = 0; e < which.size(); ++e) {
    Rng rng(seed, kMixtureStream, epoch << 32 | e);
    which[e] = interpolation_ || equal ? e : row_by_mass(rng);
    pairs[e].sample = static_cast<std::uint32_t>(e);
    bool from_plan = true;
    if (interpolation_) {
      from_plan = rng.uniform() < plan_share_;
      const std::size_t k = interpolation_->k;
      std::vector<double> weights(interpolation_->weight.begin() + static_cast<std::ptrdiff_t>(e * k),
                                  interpolation_->weight.begin() + static_cast<std::ptrdiff_t>((e + 1) * k));
      which[e] = from_plan ? row_by_mass(rng) : interpolation_->index[e * k + rng.categorical(weights)];
    }
    if (from_plan) pairs[e].sample = static_cast<std::uint32_t>(coupled.empty() ? which[e] : coupled[which[e]]);
  }
  const std::vector<std::uint32_t> drawn = coupling_.plan.draw(which, seed, epoch);
  for (std::size_t e = 0; e < pairs.size(); ++e) pairs[e].latent = drawn[e];
  return pairs;
}

}  // namespace cpfm
