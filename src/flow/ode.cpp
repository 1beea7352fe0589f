// The methods with a fixed number of steps, and the choice of a method. A step goes from t0 to t1 with t0 > t1 on the
// way back; nothing else differs between the two directions.
#include "flow/ode.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "flow/checked_field.hpp"

namespace cpfm {
namespace {

torch::Tensor times(const torch::Tensor& z, double t) { return torch::full({z.size(0)}, t, z.options()); }

torch::Tensor euler(CheckedField& field, const torch::Tensor& z, double t0, double t1) {
  return z.add(field(z, times(z, t0)), t1 - t0);
}

torch::Tensor midpoint(CheckedField& field, const torch::Tensor& z, double t0, double t1) {
  const double h = t1 - t0;
  const torch::Tensor middle = z.add(field(z, times(z, t0)), h / 2);
  return z.add(field(middle, times(z, t0 + h / 2)), h);
}

torch::Tensor heun(CheckedField& field, const torch::Tensor& z, double t0, double t1) {
  const double h = t1 - t0;
  const torch::Tensor k1 = field(z, times(z, t0));
  const torch::Tensor k2 = field(z.add(k1, h), times(z, t1));
  return z.add(k1 + k2, h / 2);
}

torch::Tensor rk4(CheckedField& field, const torch::Tensor& z, double t0, double t1) {
  const double h = t1 - t0;
  const torch::Tensor middle = times(z, t0 + h / 2);
  const torch::Tensor k1 = field(z, times(z, t0));
  const torch::Tensor k2 = field(z.add(k1, h / 2), middle);
  const torch::Tensor k3 = field(z.add(k2, h / 2), middle);
  const torch::Tensor k4 = field(z.add(k3, h), times(z, t1));
  return z.add((k2 + k3).mul_(2).add_(k1).add_(k4), h / 6);
}

struct Method {
  const char* name;
  torch::Tensor (*step)(CheckedField& field, const torch::Tensor& z, double t0, double t1);  // null: not of this file
};
constexpr Method kMethods[] = {
    {"euler", euler}, {"midpoint", midpoint}, {"heun", heun}, {"rk4", rk4}, {"dopri5", nullptr}};

const Method& find_method(const std::string& name) {
  std::vector<std::string> names;
  for (const Method& method : kMethods) {
    if (name == method.name) return method;
    names.emplace_back(method.name);
  }
  throw Error("method", fmt::format("there is none called '{}'", printable(name)), suggest(name, names));
}

// Time k of T, exactly 0 and 1 at the ends.
double grid_time(bool quadratic, int k, int steps) {
  const double share = static_cast<double>(k) / steps;
  return quadratic ? share * (2 - share) : share;
}

torch::Tensor integrate_fixed(CheckedField& field, torch::Tensor z, const Method& method, const OdeOptions& options,
                              bool backward) {
  const bool quadratic = options.grid == "quadratic";
  for (int k = 0; k < options.steps; ++k) {
    check_interrupt();
    const double t0 = grid_time(quadratic, backward ? options.steps - k : k, options.steps);
    const double t1 = grid_time(quadratic, backward ? options.steps - k - 1 : k + 1, options.steps);
    z = method.step(field, z, t0, t1);
    const torch::Tensor taint = field.take_taint();
    if (std::isnan(taint.sum().item<double>()))
      throw_not_finite(taint.isnan().nonzero()[0].item<std::int64_t>(), t0, t1);
  }
  return z;
}

}  // namespace

void check_ode_options(const OdeOptions& options) {
  static const std::vector<std::string> kGrids = {"uniform", "quadratic"};
  find_method(options.method);
  if (options.grid != kGrids[0] && options.grid != kGrids[1])
    throw Error("grid", fmt::format("there is none called '{}'", printable(options.grid)),
                suggest(options.grid, kGrids));
  const auto need_one = [](const char* name, int value) {
    if (value < 1) throw Error(name, fmt::format("{} is out of range", value), "1 or more");
  };
  need_one("steps", options.steps);
  need_one("most_steps", options.most_steps);
  const auto need_positive = [](const char* name, double value) {
    if (!(value > 0 && std::isfinite(value)))
      throw Error(name, fmt::format("{} is out of range", value), "a positive number");
  };
  need_positive("relative", options.relative);
  need_positive("absolute", options.absolute);
}

torch::Tensor integrate(const VectorField& field, torch::Tensor z, const OdeOptions& options, bool backward,
                        OdeStats* stats) {
  check_ode_options(options);
  const torch::NoGradGuard no_grad;
  if (!z.defined() || z.dim() < 1 || (z.scalar_type() != torch::kFloat32 && z.scalar_type() != torch::kFloat64))
    throw Error("state", "cannot be integrated", "rows of float or double numbers are needed");
  z = z.detach();
  if (z.numel() == 0) return z.clone();
  if (!z.isfinite().all().item<bool>())
    throw Error("state", "holds values that are not finite", "finite numbers are needed");
  CheckedField checked(field, stats);
  const Method& method = find_method(options.method);
  if (method.step == nullptr) return integrate_dopri5(checked, z, options, backward ? 1 : 0, backward ? 0 : 1);
  return integrate_fixed(checked, z, method, options, backward);
}

}  // namespace cpfm
