// The network u(x, y, t, r) behind one interface. Role 0 moves x given y, role 1 moves y given x; the roles share an
// encoder and have a head each (paper, "Architecture of the Model"). Whatever is not needed for a role is not computed.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <utility>
#include <vector>

#include "cpfm/flow.hpp"

namespace cpfm {

class Backbone;
class Conditioning;

struct DriftShape {
  std::vector<std::int64_t> x;  // one sample: {C, H, W} for pictures, {D} for vectors
  std::int64_t y = 2;           // dimensions of the latent space
};

// Tensors are B × …, t is B, all on one device. x has the dtype of the network; y and t are float32, whatever that is:
// bfloat16 would blur places on the map.
class Drift : public torch::nn::Module {
 public:
  // Role 0: v_x at x(t), given y(1). Shaped as x.
  virtual torch::Tensor drift_x(const torch::Tensor& x, const torch::Tensor& y, const torch::Tensor& t) = 0;
  // Role 1 in two parts: what depends on x(1) alone, once, and v_y at y(t), as often as wanted. With the paper's head
  // nothing depends on x alone, and features(x) is x.
  virtual torch::Tensor features(const torch::Tensor& x) = 0;
  virtual torch::Tensor drift_y(const torch::Tensor& features, const torch::Tensor& y, const torch::Tensor& t) = 0;
  // Both roles with one pass through the encoder: (drift_x(x_t, y, t), drift_y(features(x), y_t, s)), the two batches
  // being of any sizes. With the deep head y_t and s may have K rows for each of x: row b·K + k belongs to sample b.
  virtual std::pair<torch::Tensor, torch::Tensor> both(const torch::Tensor& x_t, const torch::Tensor& y,
                                                       const torch::Tensor& t, const torch::Tensor& x,
                                                       const torch::Tensor& y_t, const torch::Tensor& s) = 0;
};

// Throws cpfm::Error that names the option which makes no network for such samples.
void check_drift(const NetworkOptions& options, const DriftShape& shape);
// `options.kind` may be auto. Throws cpfm::Error for options that make no network, and for a U-Net on vectors.
std::shared_ptr<Drift> make_drift(const NetworkOptions& options, const DriftShape& shape);

// The parts of such a network, for others of the same size. `options` and `shape` have been checked.
std::shared_ptr<Conditioning> make_conditioning(const NetworkOptions& options, const DriftShape& shape);
std::shared_ptr<Backbone> make_backbone(const NetworkOptions& options, const DriftShape& shape,
                                        std::int64_t condition_size);

std::uint64_t count_parameters(const torch::nn::Module& module);

}  // namespace cpfm
