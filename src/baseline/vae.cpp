// The variational autoencoder (Kingma and Welling), with CPFM's network: q(y | x) = N(μ(x), σ(x)²) from the encoder,
// and a decoder that draws on a learned canvas.
//
// The decoder's variance is the one that fits best, the mean squared error itself, so for samples of D numbers
// D/2 log(error) + β KL(q ‖ N(0, I)) is minimised; β = 1, the default, is the bound on the likelihood. Half a nat of
// each latent number is free: else the map is given up before the decoder has learned to read it.
#include "baseline/latent_network.hpp"
#include "flow/learner.hpp"

namespace cpfm {
namespace {

class Vae final : public Learner {
 public:
  Vae(const TrainOptions& options, const DriftShape& shape)
      : Learner(shape.x),
        beta_(options.beta.value_or(*default_beta("vae"))),
        network_(std::make_shared<LatentNetwork>(direct(options.network), shape, 2 * shape.y, true)) {}

  torch::nn::Module& module() override { return *network_; }

  Losses losses(const torch::Tensor& x, const torch::Tensor&) override {
    constexpr double kSmall = 1e-6, kFree = 0.5;
    const Posterior law(network_->encode(shaped(x)));
    const torch::Tensor back = network_->decode(law.draw(torch::randn_like(law.mean)));
    const torch::Tensor error = (back.to(torch::kFloat32).reshape(x.sizes()) - x).square().mean();
    const torch::Tensor kl =
        0.5 * (law.mean.square() + law.log_variance.exp() - 1 - law.log_variance).mean(0);  // of each number
    const torch::Tensor paid = torch::clamp_min(kl, kFree).sum();
    return {error, kl.sum(), (error + kSmall).log() + (2 * beta_ / static_cast<double>(x.size(1))) * paid};
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
  NetworkOptions network(const NetworkOptions& asked) const override { return direct(asked); }

 private:
  // The place is all the decoder has to go by: it enters as it is, in every block. Scales and shifts made of it (film),
  // which begin as nothing, are learned too late: the map has been given up by then.
  static NetworkOptions direct(NetworkOptions options) {
    options.conditioning = "concat";
    return options;
  }

  double beta_;
  std::shared_ptr<LatentNetwork> network_;
};

}  // namespace

std::unique_ptr<Learner> make_vae(const TrainOptions& options, const DriftShape& shape) {
  return std::make_unique<Vae>(options, shape);
}

}  // namespace cpfm
