#include "flow/interpolant.hpp"

#include <numbers>

#include "exact_flows.hpp"
#include "support/files.hpp"

namespace cpfm {
namespace {

using namespace test;
using Function = Interpolant::Function;

constexpr double kPi = std::numbers::pi;

TEST(Interpolant, BeginsAtNoiseAndEndsAtData) {
  for (const std::string& name : kPaths) {
    SCOPED_TRACE(name);
    for (const auto type : {torch::kFloat64, torch::kFloat32}) {
      const Interpolant path = make_interpolant(name);
      EXPECT_EQ(path.name, name);
      const torch::Tensor ends = torch::tensor({0.0, 1.0}, type);
      EXPECT_TRUE(torch::allclose(path.a(ends), torch::tensor({1.0, 0.0}, type), 0, 1e-7));
      EXPECT_TRUE(torch::allclose(path.b(ends), torch::tensor({0.0, 1.0}, type), 0, 1e-7));
      for (const Function& function : {path.a, path.b, path.da, path.db}) {
        EXPECT_EQ(function(ends).scalar_type(), type);
        EXPECT_TRUE(function(ends).isfinite().all().item<bool>());
      }
    }
  }
}

TEST(Interpolant, HasTheDerivativesOfItsFunctions) {
  for (const std::string& name : kPaths) {
    SCOPED_TRACE(name);
    const Interpolant path = make_interpolant(name);
    const torch::Tensor t = torch::linspace(0, 1, 101, torch::kFloat64).requires_grad_(true);
    const std::pair<const Function&, const Function&> pairs[] = {{path.a, path.da}, {path.b, path.db}};
    for (const auto& [function, derivative] : pairs) {
      const torch::Tensor slope = torch::autograd::grad({function(t).sum()}, {t})[0];
      EXPECT_LT(largest_difference(slope, derivative(t.detach())), 1e-12);
    }
  }
}

TEST(Interpolant, KeepsTheVarianceWhereItSaysSo) {
  const torch::Tensor t = torch::linspace(0, 1, 101, torch::kFloat64);
  for (const char* name : {"trigonometric", "variance-preserving"}) {
    const Interpolant path = make_interpolant(name);
    EXPECT_LT(largest_difference(path.a(t).square() + path.b(t).square(), torch::ones_like(t)), 1e-14) << name;
  }
  EXPECT_LT(largest_difference(make_interpolant("variance-preserving").b(t), (t * (kPi / 2)).sin().square()), 1e-15);
}

TEST(Interpolant, OfAnUnknownNameSuggestsOne) {
  EXPECT_CONTAINS(error_of([] { make_interpolant("liner"); }), "did you mean 'linear'?");
  const std::string error = error_of([] { make_interpolant("cubic-spline"); });
  EXPECT_CONTAINS(error, "'cubic-spline'");
  EXPECT_CONTAINS(error, "trigonometric");
}

// t² and what goes with it, with one of the four replaced.
Interpolant quadratic_path(const Function& a = {}, const Function& b = {}, const Function& da = {},
                           const Function& db = {}) {
  return make_interpolant(
      "mine", a ? a : [](const torch::Tensor& t) { return 1 - t * t; },
      b ? b : [](const torch::Tensor& t) { return t * t; }, da ? da : [](const torch::Tensor& t) { return -2 * t; },
      db ? db : [](const torch::Tensor& t) { return 2 * t; });
}

TEST(Interpolant, MayBeOnesOwn) {
  const Interpolant path = quadratic_path();
  EXPECT_EQ(path.name, "mine");
  EXPECT_EQ(path.b(doubles({0.5})).item<double>(), 0.25);
  for (const std::string& name : kPaths) {
    const Interpolant one = make_interpolant(name);
    EXPECT_NO_THROW(make_interpolant("copy", one.a, one.b, one.da, one.db)) << name;
  }
}

TEST(Interpolant, OfOnesOwnIsRefusedWhereAnEndIsWrong) {
  const std::string a = error_of([] { quadratic_path([](const torch::Tensor& t) { return 1.25 - t * t; }); });
  EXPECT_CONTAINS(a, "interpolant 'mine', a(t): is 1.25 at t = 0; it must be 1 there");
  const std::string b = error_of([] { quadratic_path({}, [](const torch::Tensor& t) { return t * t * 0.5; }); });
  EXPECT_CONTAINS(b, "interpolant 'mine', b(t): is 0.5 at t = 1; it must be 1 there");
}

TEST(Interpolant, OfOnesOwnIsRefusedWhereADerivativeIsWrong) {
  const std::string da = error_of([] { quadratic_path({}, {}, [](const torch::Tensor& t) { return 2 * t; }); });
  EXPECT_CONTAINS(da, "interpolant 'mine', da(t): is");
  EXPECT_CONTAINS(da, "the slope of interpolant 'mine', a(t) is -");
  // Right at 0, ½ and 1 and wrong by little between them.
  const std::string db = error_of(
      [] { quadratic_path({}, {}, {}, [](const torch::Tensor& t) { return 2 * t + (t * (2 * kPi)).sin() * 1e-3; }); });
  EXPECT_CONTAINS(db, "db(t): is");
}

TEST(Interpolant, OfOnesOwnIsRefusedWhereItIsNotFiniteOrOfAnotherShape) {
  const auto root = [](const torch::Tensor& t) { return t.sqrt(); };
  const auto slope = [](const torch::Tensor& t) { return 0.5 / t.sqrt(); };
  EXPECT_CONTAINS(error_of([&] { quadratic_path({}, root, {}, slope); }), "db(t): is inf at t = 0");
  const auto logarithm = [](const torch::Tensor& t) { return 1 + t.log(); };
  EXPECT_CONTAINS(error_of([&] { quadratic_path({}, logarithm); }), "b(t): is -inf at t = 0");
  const auto scalar = [](const torch::Tensor&) { return torch::tensor(-1.0, torch::kFloat64); };
  EXPECT_CONTAINS(error_of([&] { quadratic_path({}, {}, scalar); }), "da(t): gives 1 values for 11 times");
  EXPECT_CONTAINS(error_of([] { make_interpolant("mine", {}, {}, {}, {}); }), "a(t): there is no such function");
}

TEST(PathPoint, LiesBetweenItsEndsAndMovesAsItsVelocitySays) {
  const torch::Tensor t = doubles({0, 0.25, 1});
  for (const std::string& name : kPaths) {
    const Interpolant path = make_interpolant(name);
    for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{{3}, {3, 4}, {3, 2, 4, 5}}) {
      const torch::Tensor z0 = torch::arange(1, 1 + torch::zeros(shape).numel(), torch::kFloat64).reshape(shape);
      const torch::Tensor z1 = z0.square();
      const PathPoint point = path_point(path, t, z0, z1);
      EXPECT_LT(largest_difference(point.z[0], z0[0]), 1e-12);
      EXPECT_LT(largest_difference(point.z[2], z1[2]), 1e-12);
      const double h = 1e-4;
      const torch::Tensor change = path_point(path, t + h, z0, z1).z - path_point(path, t - h, z0, z1).z;
      EXPECT_TRUE(torch::allclose(change / (2 * h), point.velocity, 1e-6, 1e-4)) << name;
    }
  }
}

TEST(PathPoint, RefusesWhatDoesNotBelongTogether) {
  const Interpolant path = make_interpolant("linear");
  const torch::Tensor z = torch::zeros({3, 2}, torch::kFloat64);
  EXPECT_CONTAINS(error_of([&] { path_point(path, doubles({0, 1}), z, z); }), "2 times");
  EXPECT_CONTAINS(error_of([&] { path_point(path, doubles({0, 1, 0}), z, z.narrow(1, 0, 1)); }), "of 6 and 3 entries");
}

}  // namespace
}  // namespace cpfm
