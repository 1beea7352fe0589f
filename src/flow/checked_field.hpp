// A vector field as the solvers call it: evaluations are counted, shapes checked, and values that are not finite are
// remembered until the solver asks, once per step, so that a GPU need not stop after every evaluation.
#pragma once

#include <torch/torch.h>

#include "flow/ode.hpp"

namespace cpfm {

class CheckedField {
 public:
  // Both are borrowed; `stats` may be null.
  CheckedField(const VectorField& field, OdeStats* stats) : field_(field), stats_(stats) {}

  // v(z, t) in the type of z; t of B, `rows` as a VectorField gets them.
  torch::Tensor operator()(const torch::Tensor& z, const torch::Tensor& t, const torch::Tensor& rows = {});

  // For each row of the evaluations since the last call, all of one B: 0, or NaN where a value was not finite.
  torch::Tensor take_taint();

 private:
  const VectorField& field_;
  OdeStats* stats_;
  torch::Tensor taint_;
};

// Throws cpfm::Error where what a field gave has another shape than its state.
void check_velocity(const torch::Tensor& v, const torch::Tensor& z);

// `row` is a place in the whole batch.
[[noreturn]] void throw_not_finite(std::int64_t row, double from, double to);

// dopri5 from `start` to `end`, which are 0 and 1 or 1 and 0; z is not empty.
torch::Tensor integrate_dopri5(CheckedField& field, const torch::Tensor& z, const OdeOptions& options, double start,
                               double end);

}  // namespace cpfm
