// Φᵀ M: a block takes some rows and 128 columns of Φ, each thread two columns and every fourth row; what blocks of rows
// find is added in a second pass, in order. Φ a: a warp takes a few rows at once, so that it reads `a` once for all of
// them, and its lanes go along the columns.
#include <algorithm>
#include <vector>

#include "cpfm/error.hpp"
#include "cuda/check.cuh"
#include "cuda/factor_times.hpp"
#include "cuda/launch.cuh"

namespace cpfm {
namespace {

constexpr int kThreads = 256;
constexpr int kLanes = 64, kRowLanes = kThreads / kLanes;  // threads of a block along columns and along rows
constexpr int kBlockColumns = 2 * kLanes;
constexpr int kReduceColumns = 32, kReduceLanes = kThreads / kReduceColumns;

// How many rows of Φ a block of the first pass adds up: some 500 blocks of rows, whatever the device.
std::size_t rows_of_block(std::size_t n) {
  return std::min<std::size_t>(std::max<std::size_t>((n + 511) / 512, 32), 1024);
}

// part[block][t · rank + column] = Σ over the block's rows of phi(row, column) m(row, t)
template <int kD>
__global__ void __launch_bounds__(kThreads) transposed_times(const float* phi, std::size_t n, std::size_t rank,
                                                             const double* m, std::size_t block_rows, double* part) {
  __shared__ double sums[kRowLanes][kD][kBlockColumns];
  const int lane = static_cast<int>(threadIdx.x) % kLanes, row_lane = static_cast<int>(threadIdx.x) / kLanes;
  const std::size_t first = static_cast<std::size_t>(blockIdx.y) * kBlockColumns + lane, second = first + kLanes;
  const std::size_t begin = static_cast<std::size_t>(blockIdx.x) * block_rows;
  const std::size_t end = begin + block_rows < n ? begin + block_rows : n;
  double sum[2][kD] = {};
#pragma unroll 4
  for (std::size_t row = begin + row_lane; row < end; row += kRowLanes) {
    const double a = first < rank ? phi[row * rank + first] : 0.0f;
    const double b = second < rank ? phi[row * rank + second] : 0.0f;
#pragma unroll
    for (int t = 0; t < kD; ++t) {
      const double value = m[row * kD + t];
      sum[0][t] += a * value;
      sum[1][t] += b * value;
    }
  }
#pragma unroll
  for (int t = 0; t < kD; ++t) {
    sums[row_lane][t][lane] = sum[0][t];
    sums[row_lane][t][lane + kLanes] = sum[1][t];
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kD * kBlockColumns; i += kThreads) {
    const int t = i / kBlockColumns, column = i % kBlockColumns;
    const std::size_t place = static_cast<std::size_t>(blockIdx.y) * kBlockColumns + column;
    double total = 0;
    for (int r = 0; r < kRowLanes; ++r) total += sums[r][t][column];
    if (place < rank) part[(static_cast<std::size_t>(blockIdx.x) * kD + t) * rank + place] = total;
  }
}

// sum[i] = Σ_block part[block · count + i]
__global__ void __launch_bounds__(kThreads)
    add_parts(const double* part, std::size_t blocks, std::size_t count, double* sum) {
  __shared__ double sums[kReduceLanes][kReduceColumns];
  const int column = static_cast<int>(threadIdx.x) % kReduceColumns;
  const int lane = static_cast<int>(threadIdx.x) / kReduceColumns;
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * kReduceColumns + column;
  double mine = 0;
  if (i < count) {
#pragma unroll 4
    for (std::size_t block = lane; block < blocks; block += kReduceLanes) mine += part[block * count + i];
  }
  sums[lane][column] = mine;
  __syncthreads();
  if (lane != 0 || i >= count) return;
  double total = 0;
  for (int l = 0; l < kReduceLanes; ++l) total += sums[l][column];
  sum[i] = total;
}

// out(row, t) = Σ_c phi(row, c) a[t · rank + c], or what is there less that.
template <int kD, int kRows>
__global__ void __launch_bounds__(kThreads)
    times_sums(const float* phi, std::size_t n, std::size_t rank, const double* a, bool subtract, double* out) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::size_t warp = (static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x) / 32;
  const std::size_t begin = warp * kRows;
  if (begin >= n) return;  // a whole warp
  double sum[kRows][kD] = {};
#pragma unroll 2
  for (std::size_t c = lane; c < rank; c += 32) {
    float value[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) value[r] = begin + r < n ? phi[(begin + r) * rank + c] : 0.0f;
#pragma unroll
    for (int t = 0; t < kD; ++t) {
      const double factor = a[t * rank + c];
#pragma unroll
      for (int r = 0; r < kRows; ++r) sum[r][t] += static_cast<double>(value[r]) * factor;
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int t = 0; t < kD; ++t) {
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) sum[r][t] += __shfl_xor_sync(0xffffffffu, sum[r][t], offset);
      if (lane == 0 && begin + r < n) {
        double& to = out[(begin + r) * kD + t];
        to = subtract ? to - sum[r][t] : sum[r][t];
      }
    }
  }
}

template <int kD>
void add_factor(const float* phi, std::size_t n, std::size_t rank, const double* m, double* part, double* sums,
                bool subtract, double* out) {
  constexpr int kRows = kD <= 3 ? 8 : kD <= 6 ? 4 : 2;  // sums that a thread of the second pass can hold
  const std::size_t block_rows = rows_of_block(n), blocks = (n + block_rows - 1) / block_rows;
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>((rank + kBlockColumns - 1) / kBlockColumns));
  CPFM_LAUNCH(transposed_times<kD>, grid, kThreads)(phi, n, rank, m, block_rows, part);
  check_launch("the transposed factor times a matrix");
  const std::size_t count = rank * kD;
  const unsigned pieces = static_cast<unsigned>((count + kReduceColumns - 1) / kReduceColumns);
  CPFM_LAUNCH(add_parts, pieces, kThreads)(part, blocks, count, sums);
  check_launch("adding parts");
  const std::size_t block = kThreads / 32 * kRows;
  CPFM_LAUNCH((times_sums<kD, kRows>), static_cast<unsigned>((n + block - 1) / block), kThreads)
  (phi, n, rank, sums, subtract, out);
  check_launch("the factor times a matrix");
}

using AddFactor = void (*)(const float*, std::size_t, std::size_t, const double*, double*, double*, bool, double*);
constexpr AddFactor kAddFactor[DeviceFactorTimes::kMostColumns + 1] = {
    nullptr,       add_factor<1>, add_factor<2>, add_factor<3>, add_factor<4>,
    add_factor<5>, add_factor<6>, add_factor<7>, add_factor<8>, add_factor<9>};

}  // namespace

struct DeviceFactorTimes::State {
  struct Matrix {
    std::shared_ptr<const DeviceArray<float>> values;
    std::size_t rank = 0;
  };
  Device device;
  std::size_t n = 0;
  Matrix phi, psi;
  // For kMostColumns columns, once that many were asked for.
  DeviceArray<double> part, sums, m, out;

  Matrix take(const FactorSource& source) const {
    if (source.rank == 0) return {};
    if (source.device != nullptr) {
      CPFM_ASSERT(source.device->size() == n * source.rank, "a factor of another size");
      return {source.device, source.rank};
    }
    require_device_memory(4.0 * static_cast<double>(n) * static_cast<double>(source.rank), "the kernel's factor");
    auto copy = std::make_shared<DeviceArray<float>>(n * source.rank, "the kernel's factor");
    copy->upload(source.host, n * source.rank);
    return {copy, source.rank};
  }

  static void make_room(DeviceArray<double>& array, std::size_t count, const char* what) {
    if (array.size() >= count) return;
    array = DeviceArray<double>();
    array = DeviceArray<double>(count, what);
  }
  void make_room(std::size_t d) {
    const std::size_t rank = std::max(phi.rank, psi.rank), block_rows = rows_of_block(n);
    make_room(part, (n + block_rows - 1) / block_rows * rank * d, "sums over the factor");
    make_room(sums, rank * d, "sums over the factor");
  }
};

DeviceFactorTimes::DeviceFactorTimes(Device device, std::size_t n, const FactorSource& phi, const FactorSource& psi)
    : state_(std::make_unique<State>()) {
  const UseDevice use(device);
  state_->device = device;
  state_->n = n;
  state_->phi = state_->take(phi);
  state_->psi = state_->take(psi);
}
DeviceFactorTimes::~DeviceFactorTimes() = default;

std::size_t DeviceFactorTimes::size() const { return state_->n; }

void DeviceFactorTimes::on_device(const double* m, std::size_t d, double* out) const {
  CPFM_ASSERT(d > 0 && d <= kMostColumns, "too many columns at a time");
  State& s = *state_;
  if (s.n == 0) return;
  const UseDevice use(s.device);
  s.make_room(d);
  if (s.phi.rank == 0) fill_device(out, 0, s.n * d * sizeof(double));
  for (const State::Matrix* matrix : {&s.phi, &s.psi}) {
    if (matrix->rank == 0) continue;
    kAddFactor[d](matrix->values->data(), s.n, matrix->rank, m, s.part.data(), s.sums.data(), matrix == &s.psi, out);
  }
}

void DeviceFactorTimes::operator()(const double* m, std::size_t d, double* out) const {
  State& s = *state_;
  const UseDevice use(s.device);
  std::vector<double> piece;
  for (std::size_t first = 0; first < d; first += kMostColumns) {
    const std::size_t count = std::min(kMostColumns, d - first);
    State::make_room(s.m, s.n * count, "a matrix to multiply with");
    State::make_room(s.out, s.n * count, "a product");
    if (count == d) {
      s.m.upload(m, s.n * d);
      on_device(s.m.data(), d, s.out.data());
      s.out.download(out, s.n * d);
      return;
    }
    piece.resize(s.n * count);
    for (std::size_t i = 0; i < s.n; ++i) std::copy_n(m + i * d + first, count, piece.data() + i * count);
    s.m.upload(piece.data(), piece.size());
    on_device(s.m.data(), count, s.out.data());
    s.out.download(piece.data(), piece.size());
    for (std::size_t i = 0; i < s.n; ++i) std::copy_n(piece.data() + i * count, count, out + i * d + first);
  }
}

}  // namespace cpfm
