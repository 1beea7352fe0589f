// Two methods that give a diffusion model a latent point to go by, both with CPFM's network.
//
// diffae (Preechakul and others 2022): a deterministic encoder y(x), and a denoiser that is told y; nothing shapes the
// map. infodiffusion (Wang and others 2023): the encoder is a law q(y | x) = N(μ(x), σ(x)²), and the maximum mean
// discrepancy between the latent points of a batch and the prior N(0, I), β times, shapes it.
//
// The diffusion preserves variance: x(t) = α(t) x + σ(t) ε with log α² = -(0.1 t + 19.9 t²/2), t from 0 to 1. The
// network predicts v = α ε - σ x, from which both x and ε follow without a division that fails where α is small.
// Samples come from the deterministic sampler (DDIM) in as many steps as are asked for; run backwards it finds the
// noise that a sample comes from.
#include <cmath>

#include "baseline/latent_network.hpp"
#include "flow/learner.hpp"

namespace cpfm {
namespace {

struct Level {
  torch::Tensor alpha, sigma;
};
// Of times B, as columns that go with B × … of `dimensions` dimensions.
Level level(const torch::Tensor& t, std::int64_t dimensions) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(dimensions), 1);
  sizes[0] = t.size(0);
  const torch::Tensor log_alpha = -0.5 * (0.1 * t + 0.5 * 19.9 * t.square());
  return {log_alpha.exp().view(sizes), (-torch::expm1(2 * log_alpha)).sqrt().view(sizes)};
}

class DiffusionAutoencoder final : public Learner {
 public:
  DiffusionAutoencoder(const TrainOptions& options, const DriftShape& shape)
      : Learner(shape.x),
        law_(options.method == "infodiffusion"),
        beta_(options.beta.value_or(*default_beta("infodiffusion"))),
        network_(std::make_shared<LatentNetwork>(options.network, shape, law_ ? 2 * shape.y : shape.y, false)) {}

  torch::nn::Module& module() override { return *network_; }

  Losses losses(const torch::Tensor& x, const torch::Tensor&) override {
    const torch::Tensor places = network_->encode(shaped(x));
    const torch::Tensor y =
        law_ ? Posterior(places).draw(torch::randn({x.size(0), places.size(1) / 2}, x.options())) : places;
    const torch::Tensor t = torch::rand({x.size(0)}, x.options()), noise = torch::randn_like(x);
    const Level at = level(t, 2);
    const torch::Tensor found = network_->decode(shaped(at.alpha * x + at.sigma * noise), y, t);
    const torch::Tensor wanted = at.alpha * noise - at.sigma * x;
    const torch::Tensor error = (found.to(torch::kFloat32).reshape(x.sizes()) - wanted).square().mean();
    if (!law_) return {error, torch::zeros_like(error), error};
    const torch::Tensor apart = discrepancy(y, torch::randn_like(y));
    return {error, apart, error + beta_ * apart};
  }

  torch::Tensor embed(const torch::Tensor& x, const torch::Tensor& noise, const OdeOptions&) override {
    const torch::Tensor places = network_->encode(x);
    return law_ ? Posterior(places).draw(noise) : places.repeat_interleave(noise.size(0) / x.size(0), 0);
  }

  torch::Tensor generate(const torch::Tensor& y, const torch::Tensor& noise, const OdeOptions& ode) override {
    return travelled(noise, y, 1, 0, ode.steps);
  }

  torch::Tensor noise_of(const torch::Tensor& x, const torch::Tensor& y, const OdeOptions& ode) override {
    return travelled(x, y, 0, 1, ode.steps);
  }

  torch::Tensor log_density(const torch::Tensor& x, const torch::Tensor& y, const OdeOptions& ode) override {
    return law_ ? Posterior(network_->encode(x)).log_density(y) : Learner::log_density(x, y, ode);
  }

 private:
  // By DDIM, from one time to another.
  torch::Tensor travelled(torch::Tensor x, const torch::Tensor& y, double from, double to, int steps) {
    const auto time = [&](int step) {
      return torch::full({y.size(0)}, from + (to - from) * static_cast<double>(step) / steps, y.options());
    };
    for (int k = 0; k < steps; ++k) {
      const torch::Tensor t = time(k);
      const Level now = level(t, x.dim()), next = level(time(k + 1), x.dim());
      const torch::Tensor found = network_->decode(x, y, t);
      x = next.alpha * (now.alpha * x - now.sigma * found) + next.sigma * (now.sigma * x + now.alpha * found);
    }
    return x;
  }

  bool law_;
  double beta_;
  std::shared_ptr<LatentNetwork> network_;
};

}  // namespace

std::unique_ptr<Learner> make_diffusion_autoencoder(const TrainOptions& options, const DriftShape& shape) {
  return std::make_unique<DiffusionAutoencoder>(options, shape);
}

}  // namespace cpfm
