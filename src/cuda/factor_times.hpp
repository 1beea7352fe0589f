// K M through a factor of K on a device: out = Φ (Φᵀ M) - Ψ (Ψᵀ M). Both passes over Φ are bound by reading it; sums
// are in double and in a fixed order, so that results are the same every time.
#pragma once

#include <cstddef>
#include <memory>

#include "cpfm/device.hpp"
#include "cuda/memory.hpp"

namespace cpfm {

// An n × rank matrix, row-major: already on the device, or else on the host, to be copied there.
struct FactorSource {
  const float* host = nullptr;
  std::shared_ptr<const DeviceArray<float>> device;
  std::size_t rank = 0;  // 0: there is none
};

class DeviceFactorTimes {
 public:
  static constexpr std::size_t kMostColumns = 9;  // of M at a time; more are done in pieces

  // What is on the device is shared, and must be on this one.
  DeviceFactorTimes(Device device, std::size_t n, const FactorSource& phi, const FactorSource& psi = {});
  ~DeviceFactorTimes();
  DeviceFactorTimes(const DeviceFactorTimes&) = delete;
  DeviceFactorTimes& operator=(const DeviceFactorTimes&) = delete;

  std::size_t size() const;
  // M and out are n × d, row-major, on the host. Not from two threads at once: there is one set of buffers.
  void operator()(const double* m, std::size_t d, double* out) const;
  // The same for M and out in memory of the device, d ≤ kMostColumns; returns before it is done (default stream).
  void on_device(const double* m, std::size_t d, double* out) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cpfm
