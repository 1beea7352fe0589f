#include "flow/ode.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "cpfm/interrupt.hpp"
#include "exact_flows.hpp"
#include "support/files.hpp"

namespace cpfm {
namespace {

using namespace test;

OdeOptions fixed(const std::string& method, int steps, const std::string& grid = "uniform") {
  OdeOptions options;
  options.method = method;
  options.steps = steps;
  options.grid = grid;
  return options;
}

OdeOptions dopri5(double tolerance) {
  OdeOptions options;
  options.method = "dopri5";
  options.relative = options.absolute = tolerance;
  return options;
}

// A method with about the same effort, whichever it is.
OdeOptions any(const std::string& method) { return method == "dopri5" ? dopri5(1e-6) : fixed(method, 50); }

// Least squares of log y on log x.
double slope(const std::vector<double>& x, const std::vector<double>& y) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double u = std::log(x[i]), v = std::log(y[i]);
    sx += u, sy += v, sxx += u * u, sxy += u * v;
  }
  const auto n = static_cast<double>(x.size());
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

// Row i turns by the angle speeds[i] in the plane while t goes from 0 to 1; counts the evaluations of each row.
struct Turning {
  torch::Tensor speeds;  // B
  std::map<std::int64_t, int>* evaluations = nullptr;

  torch::Tensor operator()(const torch::Tensor& z, const torch::Tensor&, const torch::Tensor& rows) const {
    if (evaluations != nullptr)
      for (std::int64_t i = 0; i < z.size(0); ++i) ++(*evaluations)[rows.defined() ? rows[i].item<std::int64_t>() : i];
    const torch::Tensor quarter = torch::stack({-z.select(1, 1), z.select(1, 0)}, 1);
    return pick(speeds, rows).unsqueeze(1).to(z.scalar_type()) * quarter;
  }

  torch::Tensor end(const torch::Tensor& z) const {
    const torch::Tensor c = speeds.cos(), s = speeds.sin(), x = z.select(1, 0), y = z.select(1, 1);
    return torch::stack({c * x - s * y, s * x + c * y}, 1);
  }
};

TEST(Integrate, MovesNoiseToAGaussianAlongEveryPath) {
  const torch::Tensor z = normals(64, 3), mean = doubles({0.7, -1.2, 2.5});
  const double deviation = 0.4;
  const std::map<std::string, std::pair<int, double>> effort = {
      {"euler", {2000, 2e-3}}, {"midpoint", {400, 4e-5}}, {"heun", {400, 4e-5}}, {"rk4", {100, 1e-6}}};
  for (const std::string& path : kPaths) {
    SCOPED_TRACE(path);
    const VectorField field = gaussian({0.7, -1.2, 2.5}, deviation).field(make_interpolant(path));
    const torch::Tensor exact = mean + deviation * z;
    for (const auto& [method, e] : effort)
      for (const char* grid : {"uniform", "quadratic"})
        EXPECT_LT(largest_difference(integrate(field, z, fixed(method, e.first, grid)), exact), e.second)
            << method << ", " << grid;
    EXPECT_LT(largest_difference(integrate(field, z, dopri5(1e-4)), exact), 1e-3);
    EXPECT_LT(largest_difference(integrate(field, z, dopri5(1e-9)), exact), 1e-8);
  }
}

TEST(Integrate, ConvergesWithTheOrderOfItsMethod) {
  const torch::Tensor z = doubles({0.5, 0.3, -0.8}).unsqueeze(1);
  const VectorField gaussian_field = gaussian({0.7}, 0.4).field(make_interpolant("trigonometric"));
  const std::map<std::string, double> orders = {{"euler", 1}, {"midpoint", 2}, {"heun", 2}, {"rk4", 4}};
  for (const auto& [method, order] : orders)
    for (const char* grid : {"uniform", "quadratic"}) {
      SCOPED_TRACE(method + ", " + grid);
      const std::vector<double> steps = {32, 64, 128, 256};
      std::vector<double> nonlinear, gaussians;
      for (const double count : steps) {
        const OdeOptions options = fixed(method, static_cast<int>(count), grid);
        nonlinear.push_back(largest_difference(integrate(squares, z, options), squares_end(z)));
        gaussians.push_back(largest_difference(integrate(gaussian_field, z, options), 0.7 + 0.4 * z));
      }
      RecordProperty(method + "_" + grid, std::to_string(-slope(steps, nonlinear)));
      RecordProperty(method + "_" + grid + "_gaussian", std::to_string(-slope(steps, gaussians)));
      EXPECT_NEAR(-slope(steps, nonlinear), order, 0.15);
      EXPECT_NEAR(-slope(steps, gaussians), order, 0.15);
    }
}

TEST(Integrate, CountsTheEvaluationsOfEveryRow) {
  const torch::Tensor z = torch::full({5, 1}, 0.5, torch::kFloat64);
  const std::map<std::string, int> per_step = {{"euler", 1}, {"midpoint", 2}, {"heun", 2}, {"rk4", 4}};
  for (const auto& [method, evaluations] : per_step) {
    OdeStats stats;
    integrate(squares, z, fixed(method, 7), false, &stats);
    EXPECT_EQ(stats.evaluations, static_cast<std::uint64_t>(5 * 7 * evaluations)) << method;
  }
}

TEST(Integrate, LooksAtTheTimesOfItsGridInBothDirections) {
  std::vector<double> seen;
  const VectorField field = [&](const torch::Tensor& z, const torch::Tensor& t, const torch::Tensor& rows) {
    EXPECT_EQ(t.sizes(), (std::vector<std::int64_t>{3}));
    EXPECT_FALSE(rows.defined());
    seen.push_back(t[2].item<double>());
    return torch::zeros_like(z);
  };
  const torch::Tensor z = torch::zeros({3, 1}, torch::kFloat64);
  const auto times = [&](const OdeOptions& options, bool backward) {
    seen.clear();
    integrate(field, z, options, backward);
    return seen;
  };
  using List = std::vector<double>;
  EXPECT_EQ(times(fixed("euler", 4), false), (List{0, 0.25, 0.5, 0.75}));
  EXPECT_EQ(times(fixed("euler", 4), true), (List{1, 0.75, 0.5, 0.25}));
  EXPECT_EQ(times(fixed("euler", 4, "quadratic"), false), (List{0, 0.4375, 0.75, 0.9375}));
  EXPECT_EQ(times(fixed("euler", 4, "quadratic"), true), (List{1, 0.9375, 0.75, 0.4375}));
  EXPECT_EQ(times(fixed("midpoint", 2, "quadratic"), false), (List{0, 0.375, 0.75, 0.875}));
  EXPECT_EQ(times(fixed("heun", 1), false), (List{0, 1}));
  EXPECT_EQ(times(fixed("rk4", 1), true), (List{1, 0.5, 0.5, 0}));
  EXPECT_EQ(times(dopri5(1e-3), false).back(), 1);
  EXPECT_EQ(times(dopri5(1e-3), true).back(), 0);
}

TEST(Integrate, BackwardUndoesForward) {
  const torch::Tensor z = normals(32, 2);
  const VectorField field =
      Mixture{{0.3, 0.7}, doubles({-2, 1, 2, 0}).reshape({2, 2}), {0.6, 0.9}}.field(make_interpolant("linear"));
  const std::map<std::string, double> tolerances = {{"euler", 0.1}, {"midpoint", 1e-3}, {"heun", 1e-3}, {"rk4", 1e-6}};
  for (const auto& [method, tolerance] : tolerances)
    for (const char* grid : {"uniform", "quadratic"}) {
      const OdeOptions options = fixed(method, 200, grid);
      const torch::Tensor back = integrate(field, integrate(field, z, options), options, true);
      EXPECT_LT(largest_difference(back, z), tolerance) << method << ", " << grid;
    }
  const torch::Tensor back = integrate(field, integrate(field, z, dopri5(1e-8)), dopri5(1e-8), true);
  EXPECT_LT(largest_difference(back, z), 1e-6);
}

TEST(Integrate, KeepsTypeAndShapeAndNoGraph) {
  const torch::Tensor rate = torch::tensor(-1.0).requires_grad_(true);
  const VectorField decay = [&](const torch::Tensor& z, const torch::Tensor& t, const torch::Tensor&) {
    EXPECT_EQ(t.scalar_type(), z.scalar_type());
    return (z * rate).to(torch::kFloat32);  // whatever the state is
  };
  for (const auto type : {torch::kFloat32, torch::kFloat64})
    for (const std::string& method : kAllMethods) {
      SCOPED_TRACE(method);
      const torch::Tensor z = torch::linspace(-1, 2, 2 * 3 * 4 * 5, type).reshape({2, 3, 4, 5}).requires_grad_(true);
      const torch::Tensor before = z.detach().clone(), end = integrate(decay, z, any(method));
      EXPECT_EQ(end.scalar_type(), type);
      EXPECT_FALSE(end.requires_grad());
      EXPECT_TRUE(torch::equal(z.detach(), before));
      EXPECT_LT(largest_difference(end, before * std::exp(-1.0)), 0.02);
    }
}

TEST(Integrate, TakesAnEmptyBatch) {
  for (const std::string& method : kAllMethods)
    EXPECT_EQ(integrate(squares, torch::zeros({0, 3}), any(method)).sizes(), (std::vector<std::int64_t>{0, 3}));
}

// The optimal drift of finitely many points on the linear path is Σ_i ω_i (x_i - x) / (1 - t).
TEST(Integrate, OfTheOptimalDriftOfPointsEndsAtThemAsOftenAsTheyWeigh) {
  const torch::Tensor points = doubles({-2, -1, 2, -1, 0, 2}).reshape({3, 2}), weights = doubles({0.5, 0.3, 0.2});
  const auto drift = [&](const torch::Tensor& z, const torch::Tensor& time) {
    const torch::Tensor t = time.unsqueeze(1), left = 1 - t;
    const torch::Tensor away = z.unsqueeze(1) - t.unsqueeze(2) * points;
    const torch::Tensor share = (weights.log() - away.square().sum(2) / (2 * left.square())).softmax(1);
    return (share.matmul(points) - z) / left;
  };
  const std::int64_t count = 4000;
  const torch::Tensor z = normals(count, 2);
  const auto expect_points = [&](const torch::Tensor& end, double distance) {
    const torch::Tensor distances = torch::cdist(end, points);
    const auto [nearest, which] = distances.min(1);
    // What ends between two points is rare: it has to be undecided until the last step.
    EXPECT_GT((nearest < distance).to(torch::kFloat64).mean().item<double>(), 0.995);
    for (std::int64_t i = 0; i < 3; ++i) {
      const double share = (which == i).to(torch::kFloat64).mean().item<double>();
      EXPECT_NEAR(share, weights[i].item<double>(), 0.03) << i;
    }
  };
  const VectorField whole = [&](const torch::Tensor& x, const torch::Tensor& t, const torch::Tensor&) {
    return drift(x, t);
  };
  for (const char* method : {"euler", "midpoint"}) {
    SCOPED_TRACE(method);
    expect_points(integrate(whole, z, fixed(method, 100, "quadratic")), 1e-6);
  }
  // The drift has a pole at t = 1, so the adaptive method goes to 0.999 and is off by 0.001 of |x_i| + |z|.
  const VectorField almost = [&](const torch::Tensor& x, const torch::Tensor& t, const torch::Tensor&) {
    return drift(x, t * 0.999) * 0.999;
  };
  expect_points(integrate(almost, z, dopri5(1e-5)), 0.01);
}

TEST(Dopri5, ErrsAsItsToleranceSays) {
  const torch::Tensor z = normals(16, 2);
  const VectorField field = gaussian({0.7, -1}, 0.4).field(make_interpolant("trigonometric"));
  const std::vector<double> tolerances = {1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10};
  std::vector<double> errors;
  for (const double tolerance : tolerances) {
    errors.push_back(largest_difference(integrate(field, z, dopri5(tolerance)), doubles({0.7, -1}) + 0.4 * z));
    EXPECT_LT(errors.back(), 10 * tolerance);
  }
  RecordProperty("slope", std::to_string(slope(tolerances, errors)));
  EXPECT_NEAR(slope(tolerances, errors), 1, 0.25);
}

TEST(Dopri5, NeedsFewerEvaluationsThanEulerForTheSameError) {
  const torch::Tensor z = doubles({0.5, 0.3, -0.8}).unsqueeze(1), exact = squares_end(z);
  OdeStats adaptive, euler;
  const double error = largest_difference(integrate(squares, z, dopri5(1e-6), false, &adaptive), exact);
  EXPECT_LT(error, largest_difference(integrate(squares, z, fixed("euler", 1000), false, &euler), exact));
  EXPECT_LT(adaptive.evaluations, euler.evaluations / 10);
}

TEST(Dopri5, GivesARowTheSameAloneAsInABatch) {
  for (const auto type : {torch::kFloat64, torch::kFloat32}) {
    const double tolerance = type == torch::kFloat64 ? 1e-12 : 1e-5;
    const torch::Tensor z = normals(40, 2).to(type);
    std::map<std::int64_t, int> together;
    const Turning batch{torch::linspace(0, 30, 40, torch::kFloat64), &together};
    const torch::Tensor end = integrate(batch, z, dopri5(1e-4));
    EXPECT_LT(largest_difference(end.to(torch::kFloat64), batch.end(z.to(torch::kFloat64))), 0.02);
    for (std::int64_t i = 0; i < 40; ++i) {
      std::map<std::int64_t, int> alone;
      const Turning one{batch.speeds.narrow(0, i, 1), &alone};
      ASSERT_LT(largest_difference(integrate(one, z.narrow(0, i, 1), dopri5(1e-4)), end.narrow(0, i, 1)), tolerance);
      ASSERT_EQ(alone[0], together[i]);
    }
  }
}

TEST(Dopri5, LeavesRowsThatAreDoneOutOfTheBatch) {
  const torch::Tensor z = doubles({1, 0, 1, 0, 1, 0, 1, 0}).reshape({4, 2});
  std::map<std::int64_t, int> evaluations;
  const Turning field{doubles({0, 200, 1, 50}), &evaluations};
  OdeStats stats;
  EXPECT_LT(largest_difference(integrate(field, z, dopri5(1e-6), false, &stats), field.end(z)), 1e-3);
  EXPECT_LT(10 * evaluations[2], evaluations[3]);
  EXPECT_LT(2 * evaluations[3], evaluations[1]);
  EXPECT_LT(evaluations[0], 40);
  EXPECT_EQ(stats.evaluations,
            static_cast<std::uint64_t>(evaluations[0] + evaluations[1] + evaluations[2] + evaluations[3]));
}

TEST(Dopri5, GivesUpAfterTheMostStepsThatAreAllowed) {
  const Turning field{doubles({1, 1000})};
  OdeOptions options = dopri5(1e-6);
  options.most_steps = 20;
  const std::string error = error_of([&] { integrate(field, torch::ones({2, 2}, torch::kFloat64), options); });
  EXPECT_CONTAINS(error, "most_steps: row 2 is at t = ");
  EXPECT_CONTAINS(error, "after 20 steps");
}

TEST(Dopri5, FollowsAJumpOfTheField) {
  // Across a jump the error shrinks only as the step does: it costs steps but not the answer.
  const VectorField field = [](const torch::Tensor& z, const torch::Tensor& t, const torch::Tensor&) {
    return torch::where(t.unsqueeze(1) < 0.3, torch::ones_like(z), torch::full_like(z, -2));
  };
  const torch::Tensor end = integrate(field, torch::zeros({2, 3}, torch::kFloat64), dopri5(1e-6));
  EXPECT_LT(largest_difference(end, torch::full({2, 3}, 0.3 - 2 * 0.7, torch::kFloat64)), 1e-3);
}

TEST(Integrate, GivesTheSameOnAGpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "there is no GPU";
  const torch::Tensor z = normals(100, 2), speeds = torch::linspace(-5, 5, 100, torch::kFloat64);
  for (const std::string& method : kAllMethods)
    for (const bool backward : {false, true}) {
      const torch::Tensor there = integrate(Turning{speeds.cuda()}, z.cuda(), any(method), backward);
      EXPECT_TRUE(there.is_cuda());
      EXPECT_LT(largest_difference(there.cpu(), integrate(Turning{speeds}, z, any(method), backward)), 1e-10) << method;
      EXPECT_LT(largest_difference(log_density(Turning{speeds.cuda()}, z.cuda(), any(method)).cpu(),
                                   log_density(Turning{speeds}, z, any(method))),
                1e-10)
          << method;
    }
}

TEST(OdeOptions, AreCheckedAndNamed) {
  const auto error = [](const auto& change) {
    OdeOptions options;
    change(options);
    return error_of([&] { check_ode_options(options); });
  };
  EXPECT_NO_THROW(check_ode_options({}));
  EXPECT_CONTAINS(error([](OdeOptions& o) { o.method = "midpiont"; }), "did you mean 'midpoint'?");
  EXPECT_CONTAINS(error([](OdeOptions& o) { o.method = "leapfrog"; }), "method: there is none called 'leapfrog'");
  EXPECT_CONTAINS(error([](OdeOptions& o) { o.grid = "quadratc"; }), "did you mean 'quadratic'?");
  EXPECT_CONTAINS(error([](OdeOptions& o) { o.steps = 0; }), "steps: 0 is out of range; 1 or more");
  EXPECT_CONTAINS(error([](OdeOptions& o) { o.most_steps = -1; }), "most_steps: -1 is out of range");
  EXPECT_CONTAINS(error([](OdeOptions& o) { o.relative = 0; }), "relative: 0 is out of range; a positive number");
  EXPECT_CONTAINS(error([](OdeOptions& o) { o.absolute = NAN; }), "absolute: nan is out of range");
  EXPECT_CONTAINS(error_of([] { integrate(squares, torch::ones({1, 1}), fixed("euler", 0)); }), "steps: 0");
}

TEST(Integrate, ReportsAFieldThatIsNotFinite) {
  for (const std::string& method : kAllMethods)
    for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
      const VectorField field = [&](const torch::Tensor& z, const torch::Tensor& t, const torch::Tensor&) {
        torch::Tensor v = torch::zeros_like(z);  // forgets what it was given
        if (t.max().item<double>() > 0.5) v[1][2] = bad;
        return v;
      };
      const std::string error = error_of([&] { integrate(field, torch::ones({3, 4}), any(method)); });
      EXPECT_CONTAINS(error, "vector field: is not finite for row 2 between t = ") << method;
    }
}

TEST(Integrate, RefusesStatesAndVelocitiesThatDoNotFit) {
  const torch::Tensor z = torch::ones({3, 4});
  const VectorField narrow = [](const torch::Tensor& state, const torch::Tensor&, const torch::Tensor&) {
    return state.narrow(1, 0, 1);
  };
  for (const std::string& method : kAllMethods) {
    SCOPED_TRACE(method);
    EXPECT_CONTAINS(error_of([&] { integrate(narrow, z, any(method)); }), "gives 3 entries for a state of 12");
    EXPECT_CONTAINS(error_of([&] { integrate(squares, z * NAN, any(method)); }), "state: holds values that are not");
    EXPECT_CONTAINS(error_of([&] { integrate(squares, z.to(torch::kInt64), any(method)); }), "state: cannot be");
  }
}

TEST(Integrate, EndsSoonAfterAnInterrupt) {
  for (const std::string& method : kAllMethods) {
    int evaluations = 0;
    const VectorField field = [&](const torch::Tensor& z, const torch::Tensor& t, const torch::Tensor&) {
      if (++evaluations == 3) request_interrupt();
      return (t * 300).cos().unsqueeze(1) * z;
    };
    EXPECT_THROW(integrate(field, torch::ones({2, 2}, torch::kFloat64), any(method)), Interrupted) << method;
    clear_interrupt();
    EXPECT_LT(evaluations, 10) << method;
  }
}

}  // namespace
}  // namespace cpfm
