// Vector fields whose flow is known in closed form, in double.
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "cpfm/random.hpp"
#include "flow/interpolant.hpp"
#include "flow/ode.hpp"

namespace cpfm::test {

inline const std::vector<std::string> kPaths = {"linear", "trigonometric", "variance-preserving"};
inline const std::vector<std::string> kFixedMethods = {"euler", "midpoint", "heun", "rk4"};
inline const std::vector<std::string> kAllMethods = {"euler", "midpoint", "heun", "rk4", "dopri5"};

inline torch::Tensor doubles(const std::vector<double>& values) {
  return torch::tensor(at::ArrayRef<double>(values), torch::kFloat64);
}

// Standard normal, rows × dims.
inline torch::Tensor normals(std::int64_t rows, std::int64_t dims, std::uint64_t seed = 1) {
  std::vector<double> values;
  Rng rng(seed, 1);
  for (std::int64_t i = 0; i < rows * dims; ++i) values.push_back(rng.normal());
  return doubles(values).reshape({rows, dims});
}

inline double largest_difference(const torch::Tensor& a, const torch::Tensor& b) {
  EXPECT_EQ(a.sizes(), b.sizes());
  return (a - b).abs().max().item<double>();
}

// What there is for the rows that are left of a batch.
inline torch::Tensor pick(const torch::Tensor& from, const torch::Tensor& rows) {
  return rows.defined() ? from.index_select(0, rows) : from;
}

// Σ_k weights_k N(means_k, deviations_k² I): the velocity is that of each component, weighted by the chance of being in
// it. With one component it is linear and its flow map is m + s z.
struct Mixture {
  std::vector<double> weights;
  torch::Tensor means;  // K × d
  std::vector<double> deviations;

  VectorField field(const Interpolant& path) const {
    return [*this, path](const torch::Tensor& z, const torch::Tensor& time, const torch::Tensor&) {
      const torch::Tensor t = time.unsqueeze(1);
      const torch::Tensor a = path.a(t), b = path.b(t), da = path.da(t), db = path.db(t);
      const auto dims = static_cast<double>(z.size(1));
      std::vector<torch::Tensor> chances, velocities;
      for (std::size_t k = 0; k < weights.size(); ++k) {
        const torch::Tensor mean = means[static_cast<std::int64_t>(k)];
        const double s2 = deviations[k] * deviations[k];
        const torch::Tensor variance = a * a + b * b * s2, away = z - b * mean;
        chances.push_back(away.square().sum(1, true) / (-2 * variance) - variance.log() * (dims / 2) +
                          std::log(weights[k]));
        velocities.push_back(db * mean + (da * a + db * b * s2) / variance * away);
      }
      const torch::Tensor share = torch::cat(chances, 1).softmax(1).unsqueeze(2);
      return (share * torch::stack(velocities, 1)).sum(1);
    };
  }

  torch::Tensor log_density(const torch::Tensor& z) const {
    const auto dims = static_cast<double>(z.size(1));
    std::vector<torch::Tensor> logs;
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const double s = deviations[k];
      logs.push_back((z - means[static_cast<std::int64_t>(k)]).square().sum(1) / (-2 * s * s) - dims * std::log(s) -
                     dims / 2 * std::log(2 * std::numbers::pi) + std::log(weights[k]));
    }
    return torch::stack(logs).logsumexp(0);
  }
};

inline Mixture gaussian(const std::vector<double>& mean, double deviation) {
  return {{1}, doubles(mean).unsqueeze(0), {deviation}};
}

// dz/dt = cos(t) z², nonlinear and moving: z(1) = 1 / (1 / z(0) - sin 1).
inline torch::Tensor squares(const torch::Tensor& z, const torch::Tensor& t, const torch::Tensor&) {
  return t.cos().unsqueeze(1) * z.square();
}
inline torch::Tensor squares_end(const torch::Tensor& z) { return 1 / (1 / z - std::sin(1.0)); }

}  // namespace cpfm::test
