#include "flow/conditioning.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

#include "cpfm/random.hpp"
#include "flow/compat.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kFourierStream = 0x666f7572;  // "four"
// Angles over the whole of t in [0, 1]: a drift is smooth in t, and so should be what it is made from.
constexpr double kLowestAngle = 1, kHighestAngle = 100;

// Frequencies that bfloat16 holds exactly: converting a network then changes no frequency.
float eight_bits(double value) { return static_cast<float>(c10::BFloat16(static_cast<float>(value))); }

torch::Tensor at_least_float(const torch::Tensor& values) {
  return values.scalar_type() == torch::kFloat64 ? values : values.to(torch::kFloat32);
}

}  // namespace

TimeFeatures::TimeFeatures() {
  torch::Tensor frequencies = torch::empty({kSize / 2}, torch::kFloat32);
  float* out = frequencies.data_ptr<float>();
  for (std::int64_t k = 0; k < kSize / 2; ++k) {
    const double share = static_cast<double>(k) / (kSize / 2 - 1);
    out[k] = eight_bits(kLowestAngle * std::pow(kHighestAngle / kLowestAngle, share));
  }
  frequencies_ = register_buffer("frequencies", frequencies);
}

torch::Tensor TimeFeatures::forward(const torch::Tensor& t) const {
  const torch::Tensor times = at_least_float(t);
  const torch::Tensor angles = times.unsqueeze(1) * frequencies_.to(times.scalar_type());
  return torch::cat({angles.cos(), angles.sin()}, 1);
}

LatentFeatures::LatentFeatures(std::int64_t dim, std::int64_t features, double highest) {
  torch::Tensor frequencies = torch::empty({dim, features}, torch::kFloat32);
  float* out = frequencies.data_ptr<float>();
  std::vector<double> direction(static_cast<std::size_t>(dim));
  for (std::int64_t k = 0; k < features; ++k) {
    Rng rng(0, kFourierStream, static_cast<std::uint64_t>(k));
    for (double& entry : direction) entry = rng.normal();
    const double norm = std::sqrt(std::inner_product(direction.begin(), direction.end(), direction.begin(), 0.0));
    const double angle = 2 * std::numbers::pi * highest * static_cast<double>(k + 1) / static_cast<double>(features);
    for (std::int64_t i = 0; i < dim; ++i)
      out[i * features + k] = eight_bits(angle * direction[static_cast<std::size_t>(i)] / norm);
  }
  frequencies_ = register_buffer("frequencies", frequencies);
}

torch::Tensor LatentFeatures::forward(const torch::Tensor& y) const {
  if (frequencies_.size(1) == 0) return y;
  const torch::Tensor points = at_least_float(y);
  // A sum rather than a matrix product, which autocast and TF32 would round.
  const torch::Tensor angles = (points.unsqueeze(2) * frequencies_.to(points.scalar_type())).sum(1);
  return torch::cat({points, angles.cos(), angles.sin()}, 1);
}

Conditioning::Conditioning(const NetworkOptions& options, std::int64_t latent_dim, std::int64_t width)
    : film_(options.conditioning == "film") {
  latent_ = register_module(
      "latent", std::make_shared<LatentFeatures>(latent_dim, options.fourier_features, options.fourier_scale));
  size_ = film_ ? width : 1 + latent_->size() + 1;
  if (!film_) return;
  time_ = register_module("time", std::make_shared<TimeFeatures>());
  in_ = register_module("in", torch::nn::Linear(TimeFeatures::kSize + latent_->size(), width));
  out_ = register_module("out", torch::nn::Linear(width, width));
  roles_ = register_parameter("roles", torch::randn({2, width}));
}

torch::Tensor Conditioning::forward(const torch::Tensor& t, const torch::Tensor& y, int role) {
  const torch::Tensor latent = latent_->forward(y);
  const auto dtype = latent_->options().dtype();
  if (!film_) {
    const torch::Tensor time = t.unsqueeze(1).to(latent.scalar_type());
    return torch::cat({time, latent, torch::full_like(time, role)}, 1).to(dtype);
  }
  const torch::Tensor time = time_->forward(t);
  const torch::Tensor features = torch::cat({time, latent.to(time.scalar_type())}, 1).to(dtype);
  // t and y are a shift of what the role alone would give.
  return embed(dense(in_, features) + roles_.select(0, role));
}

torch::Tensor Conditioning::role_alone(int role, std::int64_t batch) {
  torch::Tensor row;
  if (film_) {
    row = embed(roles_.narrow(0, role, 1));
  } else {
    row = torch::zeros({1, size_}, latent_->options());
    row.select(1, size_ - 1).fill_(role);
  }
  return row.expand({batch, size_});
}

torch::Tensor Conditioning::embed(const torch::Tensor& hidden) { return torch::silu(dense(out_, torch::silu(hidden))); }

BlockSignals::BlockSignals(std::int64_t condition_size, std::vector<std::int64_t> channels, bool film)
    : film_(film), channels_(std::move(channels)) {
  const std::int64_t total = std::accumulate(channels_.begin(), channels_.end(), std::int64_t{0});
  linear_ = register_module("linear", torch::nn::Linear(condition_size, film_ ? 2 * total : total));
}

std::vector<BlockSignal> BlockSignals::forward(const torch::Tensor& condition) {
  const torch::Tensor all = dense(linear_, condition);
  std::vector<BlockSignal> signals(channels_.size());
  // Splits, not slices: their gradients are one concatenation.
  const std::vector<torch::Tensor> halves = film_ ? all.chunk(2, -1) : std::vector<torch::Tensor>{all};
  const std::vector<torch::Tensor> shifts = halves.back().split_with_sizes(channels_, -1);
  for (std::size_t k = 0; k < signals.size(); ++k) signals[k].shift = shifts[k];
  if (!film_) return signals;
  const std::vector<torch::Tensor> scales = (halves.front() + 1).split_with_sizes(channels_, -1);
  for (std::size_t k = 0; k < signals.size(); ++k) signals[k].scale = scales[k];
  return signals;
}

}  // namespace cpfm
