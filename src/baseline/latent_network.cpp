#include "baseline/latent_network.hpp"

namespace cpfm {

NetworkOptions latent_network_options(NetworkOptions options) {
  options.fourier_features = 0;
  return options;
}

Posterior::Posterior(const torch::Tensor& encoded) {
  // Laws begin narrow: places that say nothing at first teach the decoder not to look at them. Beyond the bounds the
  // exponential says nothing any more.
  constexpr double kFirst = -4, kMost = 20;
  const std::vector<torch::Tensor> parts = encoded.chunk(2, 1);
  mean = parts[0];
  log_variance = (parts[1] + kFirst).clamp(-kMost, kMost);
}

torch::Tensor Posterior::draw(const torch::Tensor& noise) const {
  const std::int64_t draws = noise.size(0) / mean.size(0);
  return mean.repeat_interleave(draws, 0) + (0.5 * log_variance).exp().repeat_interleave(draws, 0) * noise;
}

torch::Tensor Posterior::log_density(const torch::Tensor& y) const {
  constexpr double kLogTwoPi = 1.8378770664093453;
  return -0.5 * ((y - mean).square() / log_variance.exp() + log_variance + kLogTwoPi).sum(1);
}

torch::Tensor discrepancy(const torch::Tensor& a, const torch::Tensor& b) {
  const auto n = static_cast<double>(a.size(0));
  const auto distances = [](const torch::Tensor& p, const torch::Tensor& q) {
    return (p.unsqueeze(1) - q.unsqueeze(0)).square().sum(2);
  };
  const torch::Tensor aa = distances(a, a), bb = distances(b, b), ab = distances(a, b);
  torch::Tensor sum = torch::zeros({}, a.options());
  for (const double scale : {0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0}) {
    const double c = 2 * static_cast<double>(a.size(1)) * scale;
    const auto kernel = [&](const torch::Tensor& d) { return c / (c + d); };
    sum = sum + ((kernel(aa).sum() - n) + (kernel(bb).sum() - n)) / (n * (n - 1)) - 2 * kernel(ab).mean();
  }
  return sum;
}

LatentNetwork::LatentNetwork(const NetworkOptions& given, const DriftShape& shape, std::int64_t outputs, bool canvas) {
  const NetworkOptions options = latent_network_options(given);
  condition_ = register_module("condition", make_conditioning(options, shape));
  backbone_ = register_module("backbone", make_backbone(options, shape, condition_->size()));
  pool_ = register_module("pool", std::make_shared<Pool>(*backbone_, true));
  head_ = register_module("head", torch::nn::Linear(pool_->size(), outputs));
  if (!canvas) return;
  std::vector<std::int64_t> sizes{1};
  sizes.insert(sizes.end(), shape.x.begin(), shape.x.end());
  canvas_ = register_parameter("canvas", torch::randn(sizes));
}

torch::Tensor LatentNetwork::encode(const torch::Tensor& x) {
  const torch::Tensor condition = condition_->role_alone(1, x.size(0));
  const torch::Tensor pooled = pool_->forward(backbone_->encode(x.to(condition.scalar_type()), condition).bottleneck);
  return head_->forward(pooled).to(torch::kFloat32);
}

torch::Tensor LatentNetwork::decode(const torch::Tensor& x, const torch::Tensor& y, const torch::Tensor& t) {
  const torch::Tensor condition = condition_->forward(t, y, 0);
  return backbone_->decode(backbone_->encode(x.to(condition.scalar_type()), condition), condition);
}

torch::Tensor LatentNetwork::decode(const torch::Tensor& y) {
  std::vector<std::int64_t> sizes = canvas_.sizes().vec();
  sizes[0] = y.size(0);
  return decode(canvas_.expand(sizes), y, torch::zeros({y.size(0)}, y.options()));
}

}  // namespace cpfm
