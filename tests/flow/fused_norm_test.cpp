// The kernel against the same by operations of torch, in double on the CPU. Without a GPU there is no kernel, and what
// is left to check is the plain form.
#include "flow/fused_norm.hpp"

#include <gtest/gtest.h>

#include "flow/drift.hpp"
#include "flow/networks.hpp"

namespace cpfm {
namespace {

struct Case {
  std::int64_t batch, channels, groups, height, width;
  bool before, signal, silu;
  bool kernel = true;  // whether there is one for it
};
const Case kCases[]{{3, 64, 32, 32, 32, true, true, true},      {2, 192, 32, 16, 16, false, false, true},
                    {5, 128, 32, 4, 4, true, true, true},       {4, 20, 10, 8, 8, true, true, true},
                    {2, 6, 3, 7, 5, true, false, true},         {3, 256, 32, 8, 8, false, true, false},
                    {2, 384, 32, 16, 16, false, true, true},    {1, 9, 3, 1, 1, true, true, false},
                    {7, 40, 20, 3, 9, false, true, true},       {2, 3, 1, 6, 6, false, false, true},
                    {2, 4096, 1, 2, 2, true, true, true, false}};

struct Inputs {
  torch::nn::GroupNorm norm{nullptr};
  torch::Tensor x;
  NormSurroundings around;
  torch::Tensor wanted;  // weights of the outputs in a scalar

  // The same numbers wherever they are wanted; rounded to bfloat16 first, so that every precision starts from the same.
  Inputs(const Case& c, torch::Device device, torch::ScalarType real, double mean) {
    torch::manual_seed(11);
    const auto numbers = [&](std::vector<std::int64_t> shape, double middle) {
      return (torch::randn(shape) + middle).to(torch::kBFloat16).to(device, real);
    };
    norm = torch::nn::GroupNorm(c.groups, c.channels);
    norm->to(device, real);
    torch::NoGradGuard no_grad;
    norm->weight.copy_(numbers({c.channels}, 1));
    norm->bias.copy_(numbers({c.channels}, 0));
    x = numbers({c.batch, c.channels, c.height, c.width}, mean).set_requires_grad(true);
    if (c.before) around.before = numbers({c.channels}, 0).set_requires_grad(true);
    if (c.signal) {
      // Parts of wider rows, as they come from one layer for all blocks.
      around.scale = numbers({c.batch, c.channels + 3}, 1).narrow(1, 3, c.channels).set_requires_grad(true);
      around.shift = numbers({c.batch, c.channels + 1}, 0).narrow(1, 0, c.channels).set_requires_grad(true);
    }
    around.silu = c.silu;
    wanted = numbers({c.batch, c.channels, c.height, c.width}, 0);
  }

  std::vector<torch::Tensor> gradients_of(const torch::Tensor& out) {
    std::vector<torch::Tensor> of{x, norm->weight, norm->bias};
    for (const torch::Tensor& t : {around.before, around.scale, around.shift}) {
      if (t.defined()) of.push_back(t);
    }
    return torch::autograd::grad({(out * wanted).sum()}, of);
  }
};

// |a - b| / |b|, as vectors.
double error(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor exact = b.to(torch::kFloat64).cpu();
  return ((a.to(torch::kFloat64).cpu() - exact).norm() / (exact.norm() + 1e-9)).item<double>();
}

void compare(torch::Device device, torch::ScalarType real, double mean, double tolerance) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(::testing::Message() << c.batch << " x " << c.channels << " x " << c.height << " x " << c.width);
    Inputs exact(c, torch::kCPU, torch::kFloat64, mean), tried(c, device, real, mean);
    const torch::Tensor right = plain_norm(exact.norm, exact.x, exact.around);
    const torch::Tensor found = fused_norm(tried.norm, tried.x, tried.around);
    EXPECT_LT(error(found, right), tolerance);
    const bool kernel = found.grad_fn()->name().find("FusedNorm") != std::string::npos;
    EXPECT_EQ(kernel, CPFM_HAS_CUDA && device.is_cuda() && c.kernel) << found.grad_fn()->name();
    const auto right_gradients = exact.gradients_of(right), found_gradients = tried.gradients_of(found);
    for (std::size_t k = 0; k < right_gradients.size(); ++k)
      EXPECT_LT(error(found_gradients[k], right_gradients[k]), 4 * tolerance) << "gradient " << k;
  }
}

TEST(FusedNorm, OnTheCpuIsTheDefinition) {
  torch::manual_seed(3);
  Inputs in(kCases[3], torch::kCPU, torch::kFloat64, 0.5);
  const torch::Tensor h = in.x + in.around.before.view({1, -1, 1, 1});
  const torch::Tensor groups = h.view({4, 10, 2 * 8 * 8});
  const torch::Tensor hat = ((groups - groups.mean(2, true)) / (groups.var(2, false, true) + 1e-5).sqrt()).view_as(h);
  const torch::Tensor z = hat * in.norm->weight.view({1, -1, 1, 1}) + in.norm->bias.view({1, -1, 1, 1});
  const torch::Tensor u = z * in.around.scale.view({4, 20, 1, 1}) + in.around.shift.view({4, 20, 1, 1});
  EXPECT_LT(error(fused_norm(in.norm, in.x, in.around), u * u.sigmoid()), 1e-12);
}

TEST(FusedNorm, OnTheCpuInFloatAgrees) { compare(torch::kCPU, torch::kFloat32, 0.5, 1e-5); }

TEST(FusedNorm, OnAGpuAgreesInFloatAndBfloat16) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "there is no GPU: the kernel is not tested here";
  compare(torch::kCUDA, torch::kFloat32, 0.5, 1e-5);
  compare(torch::kCUDA, torch::kFloat32, 100, 1e-3);  // a mean far from 0 costs digits of the numbers, not of the sums
  compare(torch::kCUDA, torch::kBFloat16, 0.5, 1e-2);
}

TEST(FusedNorm, ANetworkOnAGpuIsTheOneOnTheCpu) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "there is no GPU: the kernel is not tested here";
  for (const char* conditioning : {"film", "concat"}) {
    const DriftShape shape{{1, 10, 10}, 2};
    const auto here = stirred_drift(small_network(conditioning), shape);
    const auto there = stirred_drift(small_network(conditioning), shape);
    there->to(torch::kCUDA);
    torch::manual_seed(8);
    const torch::Tensor x = torch::randn({6, 1, 10, 10}), y = torch::randn({6, 2}), t = torch::rand({6});
    EXPECT_LT(error(there->drift_x(x.cuda(), y.cuda(), t.cuda()), here->drift_x(x, y, t)), 2e-3) << conditioning;
    EXPECT_LT(
        error(there->drift_y(there->features(x.cuda()), y.cuda(), t.cuda()), here->drift_y(here->features(x), y, t)),
        2e-3)
        << conditioning;
  }
}

}  // namespace
}  // namespace cpfm
