// The Cholesky factorisation's heavy steps on a device: what DeviceCholesky wants to know, and what it found.
#include <fmt/format.h>

#include "base/memory.hpp"
#include "cuda/cholesky.hpp"
#include "kernel/cholesky_backend.hpp"

namespace cpfm {
namespace {

class CudaBackend final : public CholeskyBackend {
 public:
  CudaBackend(const Kernel& kernel, std::shared_ptr<const DeviceKernel> on_device, const Centring* centring,
              const std::vector<CholeskyGroup>& groups)
      : kernel_(kernel),
        device_(on_device->device()),
        columns_(groups.size(), 0),
        work_(std::move(on_device), members(groups), centring == nullptr ? std::vector<double>{} : centring->mean,
              centring == nullptr ? 0.0 : centring->all) {}

  void make_room(const CholeskyGroup& group) override {
    std::size_t& columns = columns_[group.index];
    const std::size_t wanted = group.rank + group.panel_size();
    if (wanted <= columns) return;
    columns = work_.make_room(group.index, group.rank, wanted, grown(wanted, columns, group.members.size()));
  }

  void residual_blocks(const std::vector<CholeskyGroup*>& active) override {
    std::vector<DeviceCholesky::Residuals> wanted;
    for (const CholeskyGroup* group : active) wanted.push_back({group->index, group->rank, group->candidates, {}});
    work_.residual_blocks(wanted);
    for (std::size_t g = 0; g < active.size(); ++g) active[g]->block = std::move(wanted[g].block);
  }

  void extend(const std::vector<CholeskyGroup*>& active) override {
    std::vector<DeviceCholesky::Panel> panels;
    for (const CholeskyGroup* group : active) {
      const CholeskyPanel& panel = group->panel;
      panels.push_back({group->index, group->rank, panel.pivots, group->pivots, panel.triangle, panel.inverse, {}, {}});
    }
    work_.extend(panels);
    for (std::size_t g = 0; g < active.size(); ++g) {
      for (std::size_t i = 0; i < panels[g].fall.size(); ++i) active[g]->residual[i] -= panels[g].fall[i];
      active[g]->gain.insert(active[g]->gain.end(), panels[g].gain.begin(), panels[g].gain.end());
    }
  }

  std::vector<float> column(const CholeskyGroup& group, std::size_t index) override {
    return work_.column(group.index, index);
  }

  void merge(const std::vector<std::vector<std::size_t>>& column_of, std::size_t columns,
             KernelFactor& factor) override {
    const std::size_t n = kernel_.size();
    factor.device_phi = work_.merge(n, columns, column_of);
    require_memory(4.0 * static_cast<double>(n) * static_cast<double>(columns), kernel_.expression(),
                   fmt::format("a factor of {} × {}", n, columns), "explain less, or limit the rank");
    factor.phi = FloatMatrix(n, columns);
    const UseDevice use(device_);
    factor.device_phi->download(factor.phi.data(), factor.phi.size());
  }

 private:
  static std::vector<std::vector<std::size_t>> members(const std::vector<CholeskyGroup>& groups) {
    std::vector<std::vector<std::size_t>> lists;
    for (const CholeskyGroup& group : groups) lists.push_back(group.members);
    return lists;
  }

  const Kernel& kernel_;
  Device device_;
  std::vector<std::size_t> columns_;  // each group's capacity
  DeviceCholesky work_;
};

static_assert(kLargestPanel <= DeviceCholesky::kLargestPanel);

}  // namespace

std::unique_ptr<CholeskyBackend> make_cuda_backend(const Kernel& kernel, std::shared_ptr<const DeviceKernel> on_device,
                                                   const Centring* centring, const std::vector<CholeskyGroup>& groups) {
  return std::make_unique<CudaBackend>(kernel, std::move(on_device), centring, groups);
}

}  // namespace cpfm
