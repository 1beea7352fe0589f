// The three paths there are, and the check of a path of one's own: a wrong derivative would train without complaint and
// sample nonsense, so it is compared with differences of the function before it is used.
#include "flow/interpolant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "cpfm/error.hpp"

namespace cpfm {
namespace {

constexpr double kPi = std::numbers::pi;
// Times a function is looked at: both ends, and irregular places between them where no symmetry hides a mistake.
const std::vector<double> kTimes = {0, 0.013, 0.11, 0.237, 0.4, 0.5, 0.619, 0.77, 0.9, 0.981, 1};
constexpr double kDifference = 1e-4;         // half the distance of a central difference
constexpr double kBoundaryTolerance = 1e-6;  // of a and b at 0 and 1
constexpr double kSlopeTolerance = 1e-5;     // of a derivative, relative to 1 + its size

Interpolant linear() {
  return {.name = "linear",
          .a = [](const torch::Tensor& t) { return 1 - t; },
          .b = [](const torch::Tensor& t) { return t; },
          .da = [](const torch::Tensor& t) { return torch::full_like(t, -1); },
          .db = [](const torch::Tensor& t) { return torch::ones_like(t); }};
}

Interpolant trigonometric() {
  return {.name = "trigonometric",
          .a = [](const torch::Tensor& t) { return (t * (kPi / 2)).cos(); },
          .b = [](const torch::Tensor& t) { return (t * (kPi / 2)).sin(); },
          .da = [](const torch::Tensor& t) { return (t * (kPi / 2)).sin() * (-kPi / 2); },
          .db = [](const torch::Tensor& t) { return (t * (kPi / 2)).cos() * (kPi / 2); }};
}

// With s = sin(πt/2): b = s², and 1 - b² = (1 - s²)(1 + s²) makes a = cos(πt/2) √(1 + s²), which loses no digits near
// t = 1 and has the finite slope -π s³ / √(1 + s²) there.
Interpolant variance_preserving() {
  return {
      .name = "variance-preserving",
      .a = [](const torch::Tensor& t) { return (t * (kPi / 2)).cos() * (1 + (t * (kPi / 2)).sin().square()).sqrt(); },
      .b = [](const torch::Tensor& t) { return (t * (kPi / 2)).sin().square(); },
      .da =
          [](const torch::Tensor& t) {
            const torch::Tensor s = (t * (kPi / 2)).sin();
            return s.pow(3) * -kPi / (1 + s.square()).sqrt();
          },
      .db = [](const torch::Tensor& t) { return (t * kPi).sin() * (kPi / 2); }};
}

std::vector<Interpolant> built_in() { return {linear(), trigonometric(), variance_preserving()}; }

// The values of `function` at `times`, checked to be as many, and finite.
std::vector<double> values_at(const Interpolant::Function& function, const std::string& name,
                              const std::vector<double>& times) {
  if (!function) throw Error(name, "there is no such function", "a path needs a, b and their derivatives");
  const torch::Tensor t = torch::tensor(at::ArrayRef<double>(times), torch::kFloat64);
  torch::Tensor values = function(t);
  if (!values.defined() || values.sizes() != t.sizes())
    throw Error(name, fmt::format("gives {} values for {} times", values.defined() ? values.numel() : 0, times.size()),
                "one for each, in the shape of the times");
  values = values.detach().to(torch::kCPU, torch::kFloat64).contiguous();
  const double* first = values.data_ptr<double>();
  std::vector<double> list(first, first + times.size());
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!std::isfinite(list[i]))
      throw Error(name, fmt::format("is {} at t = {}", list[i], times[i]), "finite values from 0 to 1 are needed");
  return list;
}

void check_end(const std::string& name, double t, double found, double wanted) {
  if (std::abs(found - wanted) > kBoundaryTolerance)
    throw Error(name, fmt::format("is {:.6g} at t = {}", found, t), fmt::format("it must be {} there", wanted));
}

void check_slope(const Interpolant::Function& function, const Interpolant::Function& derivative,
                 const std::string& name, const std::string& derivative_name) {
  std::vector<double> before, after;
  for (const double t : kTimes) {
    before.push_back(std::max(0.0, t - kDifference));
    after.push_back(std::min(1.0, t + kDifference));
  }
  const std::vector<double> low = values_at(function, name, before), high = values_at(function, name, after),
                            slopes = values_at(derivative, derivative_name, kTimes);
  // Not at the ends, where the difference is one-sided and less exact.
  for (std::size_t i = 1; i + 1 < kTimes.size(); ++i) {
    const double slope = (high[i] - low[i]) / (after[i] - before[i]);
    if (std::abs(slopes[i] - slope) > kSlopeTolerance * (1 + std::abs(slope)))
      throw Error(derivative_name, fmt::format("is {:.6g} at t = {}", slopes[i], kTimes[i]),
                  fmt::format("the slope of {} is {:.6g} there", name, slope));
  }
}

}  // namespace

Interpolant make_interpolant(const std::string& name) {
  std::vector<std::string> names;
  for (const Interpolant& one : built_in()) {
    if (one.name == name) return one;
    names.push_back(one.name);
  }
  throw Error("interpolant", fmt::format("there is none called '{}'", printable(name)), suggest(name, names));
}

Interpolant make_interpolant(std::string name, Interpolant::Function a, Interpolant::Function b,
                             Interpolant::Function da, Interpolant::Function db) {
  const torch::NoGradGuard no_grad;
  const auto called = [&](const char* function) {
    return fmt::format("interpolant '{}', {}(t)", printable(name), function);
  };
  const std::vector<double> a_ends = values_at(a, called("a"), {0, 1}), b_ends = values_at(b, called("b"), {0, 1});
  check_end(called("a"), 0, a_ends[0], 1);
  check_end(called("a"), 1, a_ends[1], 0);
  check_end(called("b"), 0, b_ends[0], 0);
  check_end(called("b"), 1, b_ends[1], 1);
  check_slope(a, da, called("a"), called("da"));
  check_slope(b, db, called("b"), called("db"));
  return {std::move(name), std::move(a), std::move(b), std::move(da), std::move(db)};
}

Interpolant make_interpolant(const FlowPath& path) {
  const std::vector<Interpolant> taken = built_in();
  const bool is_taken = std::any_of(taken.begin(), taken.end(), [&](const auto& one) { return one.name == path.name; });
  if (path.name.empty() || is_taken || printable(path.name) != path.name)
    throw Error("interpolant", fmt::format("'{}' cannot be the name of a path of one's own", printable(path.name)),
                "a printable name that no other path has");
  const auto elementwise = [](const std::function<double(double)>& function) -> Interpolant::Function {
    if (!function) return {};
    return [function](const torch::Tensor& t) {
      torch::Tensor values = t.to(torch::kCPU, torch::kFloat64).clone(at::MemoryFormat::Contiguous);
      double* entries = values.data_ptr<double>();
      std::transform(entries, entries + values.numel(), entries, function);
      return values.to(t.options());
    };
  };
  return make_interpolant(path.name, elementwise(path.a), elementwise(path.b), elementwise(path.da),
                          elementwise(path.db));
}

PathPoint path_point(const Interpolant& path, const torch::Tensor& t, const torch::Tensor& z0,
                     const torch::Tensor& z1) {
  if (t.dim() != 1 || z0.dim() < 1 || z0.sizes() != z1.sizes() || z0.size(0) != t.size(0))
    throw Error(
        "path_point",
        fmt::format("{} times and ends of {} and {} entries do not belong together", t.numel(), z0.numel(), z1.numel()),
        "a time for each row, and two ends of one shape");
  std::vector<std::int64_t> per_row(static_cast<std::size_t>(z0.dim()), 1);
  per_row[0] = t.size(0);
  const torch::Tensor time = t.reshape(per_row);
  return {path.a(time) * z0 + path.b(time) * z1, path.da(time) * z0 + path.db(time) * z1};
}

}  // namespace cpfm
