// The density a flow gives a point, by the change of variables: along dz/dt = v the log-density falls by ∇·v, so that
// log p(z(1)) = log N(z(0); 0, I) - ∫ ∇·v dt. The integral is one more entry of the state and is found by the same
// solver, to the same tolerance; the divergence is exact, d derivatives by autograd.
#include <cmath>
#include <numbers>

#include "cpfm/error.hpp"
#include "flow/checked_field.hpp"
#include "flow/ode.hpp"

namespace cpfm {
namespace {

// (v, ∇·v), B × (d + 1). Row i of v must depend on row i of z alone.
torch::Tensor with_divergence(const VectorField& field, const torch::Tensor& position, const torch::Tensor& t,
                              const torch::Tensor& rows) {
  const torch::AutoGradMode grad_mode(true);  // whatever the solver and the caller have
  const torch::Tensor z = position.detach().contiguous().requires_grad_(true);
  const torch::Tensor v = field(z, t, rows);
  check_velocity(v, z);
  torch::Tensor divergence = torch::zeros({z.size(0)}, position.options());
  // Without a graph, or with one that z is no part of, v does not depend on z.
  const std::int64_t d = v.requires_grad() ? z.size(1) : 0;
  for (std::int64_t k = 0; k < d; ++k) {
    const bool again = k + 1 < d;
    const torch::Tensor gradient = torch::autograd::grad({v.select(1, k).sum()}, {z}, {}, /*retain_graph=*/again,
                                                         /*create_graph=*/false, /*allow_unused=*/true)[0];
    if (gradient.defined()) divergence = divergence + gradient.select(1, k).detach();
  }
  return torch::cat({v.detach().to(position.scalar_type()), divergence.unsqueeze(1)}, 1);
}

}  // namespace

torch::Tensor log_density(const VectorField& field, const torch::Tensor& z, const OdeOptions& options) {
  const torch::NoGradGuard no_grad;
  if (!z.defined() || z.dim() != 2 || z.size(1) < 1)
    throw Error("state", "has no density", "rows of points, B × d, are needed");
  const std::int64_t d = z.size(1);
  const VectorField augmented = [&](const torch::Tensor& state, const torch::Tensor& t, const torch::Tensor& rows) {
    return with_divergence(field, state.narrow(1, 0, d), t, rows);
  };
  const torch::Tensor start = torch::cat({z.detach(), torch::zeros({z.size(0), 1}, z.options())}, 1);
  const torch::Tensor state = integrate(augmented, start, options, /*backward=*/true);
  const double log_normaliser = 0.5 * static_cast<double>(d) * std::log(2 * std::numbers::pi);
  // Going back, the last entry has become -∫ ∇·v dt.
  return state.narrow(1, 0, d).square().sum(1).mul_(-0.5).sub_(log_normaliser).add_(state.select(1, d));
}

}  // namespace cpfm
