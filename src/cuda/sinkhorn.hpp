// Sinkhorn's iteration on a device: what src/coupling/sinkhorn.hpp does, with everything of size n kept there. Points
// lie along space-filling curves in runs of 256; blocks of threads share a run of targets and meet it with the parts of
// the source that its boxes allow (see src/coupling/truncation.hpp for the bound), so no list of tiles is ever stored
// and none is ever stale. Sums are in float over a tile of 256 or 512 sources and in double beyond, always in the same
// order: the same bytes every time on the same device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "cpfm/device.hpp"
#include "cuda/inner_control.hpp"

namespace cpfm {

class DeviceSinkhorn {
 public:
  // y is rows × dim; `drop` is the mass that pairs left out may hold, 0: every pair is computed.
  struct Problem {
    std::size_t rows = 0, columns = 0;
    int dim = 0;
    const double *y = nullptr, *row_mass = nullptr, *column_mass = nullptr;
    double drop = 0;
  };
  DeviceSinkhorn(Device device, const Problem& problem);
  ~DeviceSinkhorn();

  // w: n, p: n × dim. Potentials are multiplied by `rescale` as prices (see Sinkhorn::set_cost); 1: left as they are.
  void set_cost(const double* w, const double* p, double epsilon, double rescale, bool double_precision);

  struct Update {
    double error = 0, gap = 0, dropped = 0;
    std::uint64_t half_iterations = 0, pairs = 0, rescued = 0;
  };
  // One half-iteration. `moments`, where not null, gets rows × (dim + 1) numbers: Σ_j π_ij |y_j|², then Σ_j π_ij y_j,
  // of the rows after the update.
  Update update(bool on_rows, double relaxation, double* moments);
  // Plain rows, then iterations until `control` says stop; `between` is called every few of them. What is told is of
  // all of them, errors and bounds of the last.
  Update solve(InnerControl& control, const std::function<void()>& between);

  // In the order of the rows and columns given.
  void get_potentials(double* row, double* column) const;
  void set_potentials(const double* row, const double* column);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cpfm
