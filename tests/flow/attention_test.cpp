#include "flow/attention.hpp"

#include <gtest/gtest.h>

namespace cpfm {
namespace {

TEST(Attention, IsWhatProductsOfMatricesGiveWithItsGradients) {
  torch::manual_seed(2);
  for (const auto& [batch, heads, tokens, c] :
       {std::array<std::int64_t, 4>{3, 2, 16, 10}, {1, 1, 1, 1}, {2, 4, 49, 16}, {5, 1, 7, 3}}) {
    // As they come from one layer: parts of wider rows, heads behind tokens.
    const torch::Tensor qkv = torch::randn({batch, tokens, 3, heads, c}) * 2;
    const auto parts = [&](torch::ScalarType real) {
      std::vector<torch::Tensor> list = qkv.to(real).permute({2, 0, 3, 1, 4}).unbind(0);
      for (torch::Tensor& part : list) part.set_requires_grad(true);
      return list;
    };
    const torch::Tensor wanted = torch::randn({batch, heads, tokens, c});
    std::vector<torch::Tensor> exact = parts(torch::kFloat64), tried = parts(torch::kFloat32);
    const torch::Tensor right = plain_attention(exact[0], exact[1], exact[2]);
    const torch::Tensor found = dot_product_attention(tried[0], tried[1], tried[2]);
    EXPECT_LT((found - right).abs().max().item<double>(), 1e-5);
    const auto right_gradients = torch::autograd::grad({(right * wanted).sum()}, exact);
    const auto found_gradients = torch::autograd::grad({(found * wanted).sum()}, tried);
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_LT((found_gradients[k] - right_gradients[k]).abs().max().item<double>(), 5e-5) << k;
  }
}

TEST(Attention, LargeLogitsDoNotOverflow) {
  const torch::Tensor q = torch::full({1, 1, 4, 2}, 300.0), v = torch::arange(8.0).view({1, 1, 4, 2});
  const torch::Tensor found = dot_product_attention(q, q, v.to(torch::kFloat32));
  EXPECT_TRUE(torch::allclose(found, v.mean(2, true).expand({1, 1, 4, 2}).to(torch::kFloat32)));
}

}  // namespace
}  // namespace cpfm
