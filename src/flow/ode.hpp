// Integrates dz/dt = v(z, t) from noise at t = 0 to data at t = 1 and back: Euler as in the paper's Algorithm 4, and
// methods that need fewer evaluations. Every row of a batch is a problem of its own: the adaptive method keeps a time
// and a step for each, so that a sample does not depend on the batch it is in.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <string>

namespace cpfm {

struct OdeOptions {
  std::string method = "midpoint";  // euler, midpoint, heun, rk4, dopri5
  int steps = 20;
  std::string grid = "uniform";             // uniform; quadratic: t_k = 1 - (1 - k/T)², finer towards t = 1
  double relative = 1e-4, absolute = 1e-4;  // dopri5, per row, root mean square over its entries
  int most_steps = 10000;                   // dopri5, per row; more is cpfm::Error
};
// Throws cpfm::Error that names the field.
void check_ode_options(const OdeOptions& options);

// Rows that are done may be left out: `rows` are the places in the batch of the rows of z (undefined: all, in order).
// Row i of the result depends on row i alone, and is a new tensor at every call. Going forward heun, rk4 and dopri5
// look at t = 1 itself; going back every method does.
using VectorField =
    std::function<torch::Tensor(const torch::Tensor& z, const torch::Tensor& t, const torch::Tensor& rows)>;

struct OdeStats {
  std::uint64_t evaluations = 0;  // of the field, summed over rows
};

// z at t = 1 from z at t = 0, or the other way with `backward`.
torch::Tensor integrate(const VectorField& field, torch::Tensor z, const OdeOptions& options, bool backward = false,
                        OdeStats* stats = nullptr);

// log p(z) of rows z of B × d under the flow of N(0, I): integrates back to t = 0 with the exact divergence (d
// derivatives), d small.
torch::Tensor log_density(const VectorField& field, const torch::Tensor& z, const OdeOptions& options);

}  // namespace cpfm
