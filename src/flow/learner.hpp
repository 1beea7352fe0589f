// A method as the trainer and the model see it: a network, its loss on a batch, and the two ways through it. CPFM is
// one of them (coupled_flow.cpp); what it is compared with are others (src/baseline).
#pragma once

#include <torch/torch.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpfm/flow.hpp"
#include "flow/drift.hpp"
#include "flow/ode.hpp"

namespace cpfm {

class Learner {
 public:
  explicit Learner(std::vector<std::int64_t> sample_shape) : sample_shape_(std::move(sample_shape)) {}
  virtual ~Learner() = default;

  virtual torch::nn::Module& module() = 0;
  // The network computes in this from now on.
  void use(torch::ScalarType precision) { precision_ = precision; }

  // Two parts of the loss, which are reported, and what is minimised.
  struct Losses {
    torch::Tensor x, y, total;
  };
  // Of samples, B × D, and latent points, B × d, both float32; most methods make latent points of their own.
  virtual Losses losses(const torch::Tensor& x, const torch::Tensor& y) = 0;

  // One place for each row of `noise`, of which there are K for each of x, a batch of samples in their shape: row
  // b·K + k belongs to sample b.
  virtual torch::Tensor embed(const torch::Tensor& x, const torch::Tensor& noise, const OdeOptions& ode) = 0;
  // Samples from latent points; the noise has the shape of the result.
  virtual torch::Tensor generate(const torch::Tensor& y, const torch::Tensor& noise, const OdeOptions& ode) = 0;
  // The noise from which generate() makes x, a batch of samples in their shape, of y. Throws cpfm::Error where a method
  // does not know it.
  virtual torch::Tensor noise_of(const torch::Tensor& x, const torch::Tensor& y, const OdeOptions& ode);
  // log p(y | x). Throws cpfm::Error where a method has no density.
  virtual torch::Tensor log_density(const torch::Tensor& x, const torch::Tensor& y, const OdeOptions& ode);
  // The network that the method makes where this one is asked for.
  virtual NetworkOptions network(const NetworkOptions& asked) const { return asked; }

 protected:
  // Flat samples as the network takes them. Only these are in its precision: times and places on the map need all
  // digits of a float.
  torch::Tensor shaped(const torch::Tensor& flat) const;

 private:
  std::vector<std::int64_t> sample_shape_;
  torch::ScalarType precision_ = torch::kFloat32;
};

// What options.beta is where it is not given; nothing for methods that have none.
std::optional<double> default_beta(const std::string& method);

// By options.method. Throws cpfm::Error for options that make no network, and with the names there are.
std::unique_ptr<Learner> make_learner(const TrainOptions& options, const DriftShape& shape);
void check_learner(const TrainOptions& options, const DriftShape& shape);

// The methods behind make_learner.
std::unique_ptr<Learner> make_coupled_flow(const TrainOptions& options, const DriftShape& shape);
std::unique_ptr<Learner> make_vae(const TrainOptions& options, const DriftShape& shape);
std::unique_ptr<Learner> make_diffusion_autoencoder(const TrainOptions& options, const DriftShape& shape);

}  // namespace cpfm
