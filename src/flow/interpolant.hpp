// The path from noise to data, z(t) = a(t) z(0) + b(t) z(1) with a(0) = b(1) = 1 and a(1) = b(0) = 0 (paper, section on
// flow matching), and its velocity a'(t) z(0) + b'(t) z(1).
#pragma once

#include <torch/torch.h>

#include <functional>
#include <string>

#include "cpfm/flow.hpp"

namespace cpfm {

struct Interpolant {
  using Function = std::function<torch::Tensor(const torch::Tensor& t)>;
  std::string name;
  Function a, b, da, db;  // of any tensor of times, elementwise
};

// linear: 1 - t and t; trigonometric: cos(πt/2) and sin(πt/2); variance-preserving: b = sin²(πt/2), a = √(1 - b²),
// smooth at both ends. Throws cpfm::Error with the names there are.
Interpolant make_interpolant(const std::string& name);
// A pair of one's own. Throws cpfm::Error where a boundary condition or a derivative is wrong, and says which.
Interpolant make_interpolant(std::string name, Interpolant::Function a, Interpolant::Function b,
                             Interpolant::Function da, Interpolant::Function db);
// The same from functions of numbers.
Interpolant make_interpolant(const FlowPath& path);

// z(t) and its velocity for t of B, z0 and z1 of B × ….
struct PathPoint {
  torch::Tensor z, velocity;
};
PathPoint path_point(const Interpolant& path, const torch::Tensor& t, const torch::Tensor& z0, const torch::Tensor& z1);

}  // namespace cpfm
