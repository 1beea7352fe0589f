// All parameters of a module as views of one tensor: the optimiser, the average and the norm of the gradient are then a
// few operations each, and a checkpoint is a few tensors.
//
// Where the network computes in bfloat16, a float32 master copy is what is optimised; on float32 both are the same
// tensor.
#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

namespace cpfm {

class FlatParameters {
 public:
  // Moves the module to the device and the precision, and its parameters into the flat tensor.
  FlatParameters(torch::nn::Module& module, torch::Device device, torch::ScalarType precision);

  torch::Tensor& master() { return master_; }
  const torch::Tensor& master() const { return master_; }
  // Of a loss that has just been computed; flat, in float32. Uses up the loss.
  torch::Tensor gradient(const torch::Tensor& loss) const;
  // After master changed: the network computes with it.
  void publish();
  // The network computes with these (float32, flat) until publish().
  void use(const torch::Tensor& values);

  // One parameter of a flat tensor, in its own shape, contiguous, on the CPU.
  struct Entry {
    std::string name;
    std::vector<std::int64_t> shape;
    std::int64_t offset, count;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  torch::Tensor part(const torch::Tensor& flat, const Entry& entry) const;
  void set_part(torch::Tensor& flat, const Entry& entry, const torch::Tensor& values) const;

 private:
  static torch::Tensor view(const torch::Tensor& flat, const Entry& entry);

  std::vector<Entry> entries_;
  std::vector<torch::Tensor> parameters_;
  torch::Tensor compute_, master_;
  torch::Tensor kept_;  // master, while the network computes with something else in its place
};

}  // namespace cpfm
