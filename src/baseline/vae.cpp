// The variational autoencoder (Kingma and Welling), with CPFM's network: q(y | x) = N(μ(x), σ(x)²) from the encoder,
// and a decoder that draws on a learned canvas. For samples in D numbers it minimises |x - x̂|²/2 + β KL(q ‖ N(0, I)),
// by default with β = 1, the bound on the likelihood of a decoder of unit variance.
#include "baseline/latent_network.hpp"
#include "flow/learner.hpp"

namespace cpfm {
namespace {

class Vae final : public Learner {
 public:
  Vae(const TrainOptions& options, const DriftShape& shape)
      : Learner(shape.x),
        beta_(options.beta.value_or(1)),
        network_(std::make_shared<LatentNetwork>(options.network, shape, 2 * shape.y, true)) {}

  torch::nn::Module& module() override { return *network_; }

  Losses losses(const torch::Tensor& x, const torch::Tensor&) override {
    const Posterior law(network_->encode(shaped(x)));
    const torch::Tensor &mean = law.mean, &log_variance = law.log_variance;
    const torch::Tensor back =
        network_->decode(law.draw(torch::randn_like(mean))).to(torch::kFloat32).reshape(x.sizes());
    const torch::Tensor error = (back - x).square().mean();
    const torch::Tensor kl = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(1).mean();
    return {error, kl, error + (2 * beta_ / static_cast<double>(x.size(1))) * kl};
  }

  torch::Tensor embed(const torch::Tensor& x, const torch::Tensor& noise, const OdeOptions&) override {
    return Posterior(network_->encode(x)).draw(noise);
  }

  torch::Tensor generate(const torch::Tensor& y, const torch::Tensor&, const OdeOptions&) override {
    return network_->decode(y);
  }

  torch::Tensor log_density(const torch::Tensor& x, const torch::Tensor& y, const OdeOptions&) override {
    return Posterior(network_->encode(x)).log_density(y);
  }

 private:
  double beta_;
  std::shared_ptr<LatentNetwork> network_;
};

}  // namespace

std::unique_ptr<Learner> make_vae(const TrainOptions& options, const DriftShape& shape) {
  return std::make_unique<Vae>(options, shape);
}

}  // namespace cpfm
