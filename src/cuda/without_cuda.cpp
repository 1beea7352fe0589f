// What the layer offers where nvcc is missing: the news that there is no device. choose_device() never gives one then,
// so nothing else is ever called.
#include "cpfm/error.hpp"
#include "cuda/cholesky.hpp"
#include "cuda/device.hpp"
#include "cuda/factor_times.hpp"
#include "cuda/kernel_matrix.hpp"
#include "cuda/memory.hpp"
#include "cuda/plan.hpp"
#include "cuda/sinkhorn.hpp"
#include "cuda/throughput.hpp"

namespace cpfm {

CudaFacts cuda_facts() {
  CudaFacts facts;
  facts.why_none = "built without CUDA";
  return facts;
}

namespace {
[[noreturn]] void no_device() { throw InternalError("a device is used in a build without CUDA"); }
}  // namespace

std::size_t device_peak() { return 0; }

double exponentials_per_second(Device) { no_device(); }

struct DeviceSinkhorn::Impl {};
DeviceSinkhorn::DeviceSinkhorn(Device, const Problem&) { no_device(); }
DeviceSinkhorn::~DeviceSinkhorn() = default;
void DeviceSinkhorn::set_cost(const double*, const double*, double, double, bool) { no_device(); }
DeviceSinkhorn::Update DeviceSinkhorn::update(bool, double, double*) { no_device(); }
DeviceSinkhorn::Update DeviceSinkhorn::solve(InnerControl&, const std::function<void()>&) { no_device(); }
void DeviceSinkhorn::get_potentials(double*, double*) const { no_device(); }
void DeviceSinkhorn::set_potentials(const double*, const double*) { no_device(); }

struct DevicePlan::Impl {};
DevicePlan::DevicePlan(Device, const Parts&) { no_device(); }
DevicePlan::~DevicePlan() = default;
void DevicePlan::draw(bool, const std::size_t*, std::size_t, const double*, std::uint32_t*) { no_device(); }
void DevicePlan::means(bool, const float*, std::size_t, float*, unsigned char*) { no_device(); }
void DevicePlan::top(bool, std::size_t, std::uint32_t*, double*) { no_device(); }
void DevicePlan::log2_sums(const double*, const double*, std::size_t, double*) { no_device(); }

UseDevice::UseDevice(Device) { no_device(); }
UseDevice::~UseDevice() = default;
void* device_allocate(std::size_t, const char*) { no_device(); }
void device_free(void*) noexcept {}
void copy_to_device(void*, const void*, std::size_t) { no_device(); }
void copy_from_device(void*, const void*, std::size_t) { no_device(); }
void fill_device(void*, int, std::size_t) { no_device(); }

struct DeviceKernel::State {};
DeviceKernel::DeviceKernel(Device, const DeviceDescription&) { no_device(); }
DeviceKernel::DeviceKernel(const DeviceKernel&, const std::vector<std::size_t>&) { no_device(); }
DeviceKernel::~DeviceKernel() = default;
Device DeviceKernel::device() const { no_device(); }
std::size_t DeviceKernel::size() const { no_device(); }
void DeviceKernel::times(const double*, std::size_t, double*, const std::function<void(double)>&) const { no_device(); }
void DeviceKernel::blocks(const std::vector<DeviceBlock>&) const { no_device(); }

struct DeviceCholesky::State {};
DeviceCholesky::DeviceCholesky(std::shared_ptr<const DeviceKernel>, const std::vector<std::vector<std::size_t>>&,
                               const std::vector<double>&, double) {
  no_device();
}
DeviceCholesky::~DeviceCholesky() = default;
std::size_t DeviceCholesky::make_room(std::size_t, std::size_t, std::size_t, std::size_t) { no_device(); }
void DeviceCholesky::residual_blocks(std::vector<Residuals>&) { no_device(); }
void DeviceCholesky::extend(std::vector<Panel>&) { no_device(); }
std::vector<float> DeviceCholesky::column(std::size_t, std::size_t) const { no_device(); }
std::shared_ptr<DeviceArray<float>> DeviceCholesky::merge(std::size_t, std::size_t,
                                                          const std::vector<std::vector<std::size_t>>&) {
  no_device();
}

struct DeviceFactorTimes::State {};
DeviceFactorTimes::DeviceFactorTimes(Device, std::size_t, const FactorSource&, const FactorSource&) { no_device(); }
DeviceFactorTimes::~DeviceFactorTimes() = default;
std::size_t DeviceFactorTimes::size() const { no_device(); }
void DeviceFactorTimes::operator()(const double*, std::size_t, double*) const { no_device(); }
void DeviceFactorTimes::on_device(const double*, std::size_t, double*) const { no_device(); }

}  // namespace cpfm
