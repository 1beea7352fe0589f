// What differs between libtorch versions and builds (Debian's 1.13 on the CPU, newer ones with CUDA) sits in this file.
#include <torch/torch.h>
#include <torch/version.h>

#include "flow/entry.hpp"

namespace cpfm {
namespace {

class TorchRuntime final : public FlowEntry {
 public:
  std::string torch_version() const override { return TORCH_VERSION; }

  std::vector<std::string> devices() const override {
    std::vector<std::string> names{"cpu"};
    if (!torch::cuda::is_available()) return names;
    const auto count = static_cast<int>(torch::cuda::device_count());
    for (int i = 0; i < count; ++i) names.push_back("cuda:" + std::to_string(i));
    return names;
  }

  void set_threads(int count) override { at::set_num_threads(count); }
};

}  // namespace
}  // namespace cpfm

cpfm::FlowEntry* cpfm_flow_entry() {
  static cpfm::TorchRuntime runtime;
  return &runtime;
}
