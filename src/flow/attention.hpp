// softmax(q kᵀ / √c) v, the core of attention.
#pragma once

#include <torch/torch.h>

namespace cpfm {

// For tensors of B × heads × tokens × c: one fused kernel where libtorch has it, our own on a CPU where it has not.
torch::Tensor dot_product_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v);

// The same by products of matrices: what the others are measured against.
torch::Tensor plain_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v);

}  // namespace cpfm
