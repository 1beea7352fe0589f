#include <cmath>
#include <string>
#include <vector>

#include "exact_flows.hpp"
#include "flow/ode.hpp"
#include "support/files.hpp"

namespace cpfm {
namespace {

using namespace test;

std::vector<OdeOptions> solvers() {
  OdeOptions rk4, dopri5;
  rk4.method = "rk4";
  rk4.steps = 50;
  dopri5.method = "dopri5";
  dopri5.relative = dopri5.absolute = 1e-8;
  return {rk4, dopri5};
}

torch::Tensor log_of_noise(const torch::Tensor& z) {
  return gaussian(std::vector<double>(z.size(1), 0.0), 1).log_density(z);
}

TEST(LogDensity, OfAGaussianIsExact) {
  for (const std::string& path : kPaths)
    for (const std::vector<double>& mean : std::vector<std::vector<double>>{{0.7}, {0.7, -1}, {0.7, -1, 2, 0, -0.3}})
      for (const double deviation : {0.4, 1.7})
        for (const OdeOptions& options : solvers()) {
          SCOPED_TRACE(path + ", " + options.method);
          const Mixture law = gaussian(mean, deviation);
          const auto dims = static_cast<std::int64_t>(mean.size());
          const torch::Tensor z = doubles(mean) + deviation * normals(20, dims);
          const torch::Tensor found = log_density(law.field(make_interpolant(path)), z, options);
          EXPECT_LT(largest_difference(found, law.log_density(z)), 1e-5) << dims << " dimensions";
        }
}

TEST(LogDensity, OfALinearFieldFollowsItsMatrixExponential) {
  // exp(-A) of A = (p, c; 0, q) is (e^-p, c (e^-p - e^-q) / (p - q); 0, e^-q).
  const double p = 0.8, q = -0.5, c = 1.3;
  const torch::Tensor matrix = doubles({p, c, 0, q}).reshape({2, 2});
  const torch::Tensor inverse =
      doubles({std::exp(-p), c * (std::exp(-p) - std::exp(-q)) / (p - q), 0, std::exp(-q)}).reshape({2, 2});
  EXPECT_LT(largest_difference(torch::matrix_exp(-matrix), inverse), 1e-12);
  const VectorField field = [&](const torch::Tensor& z, const torch::Tensor&, const torch::Tensor&) {
    return z.matmul(matrix.t());
  };
  const torch::Tensor z = normals(30, 2);
  for (const OdeOptions& options : solvers())
    EXPECT_LT(largest_difference(log_density(field, z, options), log_of_noise(z.matmul(inverse.t())) - (p + q)), 1e-5)
        << options.method;
}

TEST(LogDensity, OfAMixtureIsItsOwnAndIntegratesToOne) {
  const Mixture law{{0.3, 0.7}, doubles({-2, 1.5}).unsqueeze(1), {0.5, 0.8}};
  const torch::Tensor z = torch::linspace(-7, 7, 561, torch::kFloat64).unsqueeze(1);
  for (const std::string& path : kPaths)
    for (const OdeOptions& options : solvers()) {
      SCOPED_TRACE(path + ", " + options.method);
      const torch::Tensor density = log_density(law.field(make_interpolant(path)), z, options).exp();
      EXPECT_NEAR(density.sum().item<double>() * 14 / 560, 1, 1e-3);
      EXPECT_LT(largest_difference(density, law.log_density(z).exp()), 1e-3);
    }
}

TEST(LogDensity, NeedsNoGradModeFromItsCallerAndLeavesNoGraph) {
  const Mixture law = gaussian({0.7, -1}, 0.4);
  const torch::Tensor weight = torch::ones({}, torch::kFloat64).requires_grad_(true);
  const VectorField exact = law.field(make_interpolant("linear"));
  const VectorField field = [&](const torch::Tensor& z, const torch::Tensor& t, const torch::Tensor& rows) {
    return weight * exact(z, t, rows);
  };
  const torch::Tensor z = normals(5, 2).requires_grad_(true);
  for (const bool grad : {false, true}) {
    const torch::AutoGradMode mode(grad);
    const torch::Tensor found = log_density(field, z, solvers()[0]);
    EXPECT_FALSE(found.requires_grad());
    EXPECT_LT(largest_difference(found, law.log_density(z.detach())), 1e-5);
    EXPECT_EQ(at::GradMode::is_enabled(), grad);
  }
  EXPECT_FALSE(weight.grad().defined());
}

TEST(LogDensity, SeesThatAFieldDoesNotDependOnThePlace) {
  const torch::Tensor shift = doubles({0.5, -2}), learned = shift.clone().requires_grad_(true);
  const torch::Tensor z = normals(5, 2);
  for (const torch::Tensor& velocity : {shift, learned}) {
    const VectorField field = [&](const torch::Tensor& state, const torch::Tensor&, const torch::Tensor&) {
      return velocity * torch::ones_like(state);
    };
    for (const OdeOptions& options : solvers())
      EXPECT_LT(largest_difference(log_density(field, z, options), log_of_noise(z - shift)), 1e-12);
  }
}

TEST(LogDensity, PicksTheRowsThatAreLeft) {
  // Row i is stretched by exp(rates[i]); rows with a large rate take longer.
  const torch::Tensor rates = doubles({0, 3, -0.5, 8}), z = normals(4, 3);
  const VectorField field = [&](const torch::Tensor& state, const torch::Tensor&, const torch::Tensor& rows) {
    return pick(rates, rows).unsqueeze(1) * state;
  };
  for (const OdeOptions& options : solvers()) {
    const torch::Tensor exact = log_of_noise(z * (-rates).exp().unsqueeze(1)) - 3 * rates;
    EXPECT_LT(largest_difference(log_density(field, z, options), exact), 1e-5) << options.method;
  }
}

TEST(LogDensity, WorksInFloat) {
  const Mixture law = gaussian({0.7, -1}, 0.4);
  const VectorField exact = law.field(make_interpolant("linear"));
  const VectorField field = [&](const torch::Tensor& z, const torch::Tensor& t, const torch::Tensor& rows) {
    return exact(z.to(torch::kFloat64), t.to(torch::kFloat64), rows);
  };
  const torch::Tensor z = normals(5, 2);
  OdeOptions options = solvers()[1];
  options.relative = options.absolute = 1e-5;
  const torch::Tensor found = log_density(field, z.to(torch::kFloat32), options);
  EXPECT_EQ(found.scalar_type(), torch::kFloat32);
  EXPECT_LT(largest_difference(found.to(torch::kFloat64), law.log_density(z)), 1e-3);
}

TEST(LogDensity, RefusesWhatHasNone) {
  const VectorField field = gaussian({0, 0}, 1).field(make_interpolant("linear"));
  EXPECT_CONTAINS(error_of([&] { log_density(field, torch::zeros({4, 2, 2}), {}); }), "state: has no density");
  const VectorField narrow = [](const torch::Tensor& z, const torch::Tensor&, const torch::Tensor&) {
    return z.narrow(1, 0, 1);
  };
  EXPECT_CONTAINS(error_of([&] { log_density(narrow, torch::zeros({4, 2}), {}); }), "gives 4 entries for a state of 8");
  const VectorField corner = [](const torch::Tensor& z, const torch::Tensor&, const torch::Tensor&) {
    return z.sqrt();
  };
  EXPECT_CONTAINS(error_of([&] { log_density(corner, torch::zeros({4, 2}), {}); }), "is not finite for row 1");
}

}  // namespace
}  // namespace cpfm
