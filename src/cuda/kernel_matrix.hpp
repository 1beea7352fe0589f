// A kernel on a device. Most kernels that an expression names are sums of products of simple functions of a pair of
// samples, most of these of an inner product: that much can be described, sent to a device, and evaluated there in the
// registers that have just computed the inner products. The kernel matrix is never stored.
//
// Values are in float, as on the CPU, and differ from the CPU's by rounding (dot_tile.cuh has the precision of inner
// products); a sample with itself is exact. Sums are in double and in a fixed order: the same bytes every time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cpfm/device.hpp"

namespace cpfm {

// One function of two samples.
struct DeviceFactor {
  enum class Kind {
    kHeat,       // exp(-|x - x'|² rate); table, scalar: |x|²
    kDistance2,  // |x - x'|²; table, scalar: |x|²
    kDot,        // ⟨x, x'⟩; table
    kCosine,     // ⟨x, x'⟩ s s', 1 for a sample with itself; table, scalar: s = 1 / |x|
    kTanimoto,  // both / (c + c' - both) with both = ⟨x, x'⟩, 1 where that is 0 / 0; table of 0 and 1, scalar: c = |x|²
    kLabel,   // 1 for equal labels, else 0; labels
    kAbs,     // |s - s'|; scalar
    kNegAbs,  // -|s - s'|; scalar
    kExp,     // exp(-|s - s'| rate); scalar
  };
  Kind kind = Kind::kHeat;
  float rate = 0;
  std::size_t table = 0, scalar = 0, labels = 0;  // places in the description; those that the kind reads
};

// weight · Π factors; a constant has none.
struct DeviceTerm {
  double weight = 1;
  std::vector<DeviceFactor> factors;
};

// K = Σ terms, over n samples.
struct DeviceDescription {
  struct Table {
    const float* values = nullptr;  // n × dim, row-major, on the host; read when a DeviceKernel is made
    std::size_t dim = 0;
  };
  std::size_t n = 0;
  std::vector<DeviceTerm> terms;
  std::vector<Table> tables;
  std::vector<std::vector<float>> scalars;        // n each
  std::vector<std::vector<std::int32_t>> labels;  // n each
  // K(i, j) = 0 unless groups[i] == groups[j]; empty: no such structure.
  std::vector<std::int64_t> groups;

  // What the kernels on the device have room for; the CPU serves the others.
  static constexpr std::size_t kMostTerms = 8, kMostFactors = 24, kMostTables = 2;
};

// Rows and columns of K by lists of samples in memory of the device: out[r · pitch + c] = K(rows[r], columns[c]).
struct DeviceBlock {
  const std::int32_t* rows = nullptr;
  const std::int32_t* columns = nullptr;
  std::size_t row_count = 0, column_count = 0;
  float* out = nullptr;
  std::size_t pitch = 0;
};

class DeviceKernel {
 public:
  DeviceKernel(Device device, const DeviceDescription& description);
  // The same kernel on some of the samples, sharing what is on the device: sample i of it is rows[i] of `whole`.
  DeviceKernel(const DeviceKernel& whole, const std::vector<std::size_t>& rows);
  ~DeviceKernel();
  DeviceKernel& operator=(const DeviceKernel&) = delete;

  Device device() const;
  std::size_t size() const;
  // out = K M, M and out n × d on the host, row-major; exact, over all pairs of a group. Calls between(share done)
  // after each launch, every tenth of a second or so; what that throws ends it.
  void times(const double* m, std::size_t d, double* out, const std::function<void(double)>& between = {}) const;
  // Fills the blocks, on the default stream; returns before it is done. Samples are those of the whole kernel. Not from
  // two threads at once.
  void blocks(const std::vector<DeviceBlock>& blocks) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cpfm
