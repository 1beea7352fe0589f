// What builds of libtorch do differently, behind one name.
#pragma once

#include <torch/torch.h>

namespace cpfm {

// What the layer makes of the rows of x (… × in). A libtorch without MKL, such as Debian's, multiplies matrices by
// whatever BLAS the system has, and the reference BLAS is ten times slower than the same product as a 1×1 convolution.
torch::Tensor dense(torch::nn::Linear& layer, const torch::Tensor& x);
// The same with samples as columns: 1 × in × n to 1 × out × n.
torch::Tensor dense_columns(torch::nn::Linear& layer, const torch::Tensor& x);

}  // namespace cpfm
