// Between torch tensors and tensor files. No torch serialisation: files are parsed, never executed.
#pragma once

#include <torch/torch.h>

#include <string>

#include "cpfm/model.hpp"

namespace cpfm {

// `values` is float32 or float64, contiguous, on the CPU, and stays alive until the file is saved.
inline void add_tensor(TensorFileWriter& writer, const std::string& name, const torch::Tensor& values) {
  const bool is_double = values.scalar_type() == torch::kFloat64;
  writer.add(name, is_double ? DType::kF64 : DType::kF32, {values.sizes().begin(), values.sizes().end()},
             {static_cast<const std::byte*>(values.data_ptr()), values.nbytes()});
}

// A copy, on the CPU.
inline torch::Tensor from_tensor_view(const TensorView& view) {
  const std::vector<std::int64_t> shape(view.shape.begin(), view.shape.end());
  const auto type = view.dtype == DType::kF64 ? torch::kFloat64 : torch::kFloat32;
  torch::Tensor values = torch::empty(shape, torch::TensorOptions().dtype(type));
  if (view.dtype == DType::kF64 || view.dtype == DType::kF32) {
    std::memcpy(values.data_ptr(), view.bytes.data(), view.bytes.size());
  } else {
    const std::vector<float> floats = view.to_floats();
    std::memcpy(values.data_ptr(), floats.data(), floats.size() * sizeof(float));
  }
  return values;
}

}  // namespace cpfm
