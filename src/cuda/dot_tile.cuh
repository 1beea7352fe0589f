// A tile of inner products, all pairs of 128 rows and 64 or 128 others of one table, by a block of 256 threads. Kernel
// matrices and the Cholesky factor are made of such tiles; what becomes of the values is the caller's business, who
// reads them from shared memory, sixteen rows of a warp at a time.
//
// Precision. From compute capability 8.0 on, tensor cores multiply TF32 (11 significant bits). Each float is split into
// two of them, x = hi + lo with |lo| ≤ 2^-11 |x|, and hi·hi + hi·lo + lo·hi is added: what is left out is about 2^-21
// of a product. Tensor cores do not round sums to nearest, which would bias long sums, so 16 features at a time are
// added there, and the rest in ordinary float. Below 8.0 it is multiply-adds in float. Either way the value of a pair
// depends on its two rows alone, and is the same every time.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define CPFM_TENSOR_CORES 1
#include <mma.h>
#else
#define CPFM_TENSOR_CORES 0
#endif

namespace cpfm {

constexpr int kTileThreads = 256;
constexpr int kTileRows = 128;
constexpr int kTileDepth = 16;  // features in shared memory at a time, twice: the next ones arrive during the products
// Floats from row to row in shared memory. Eight rows four floats wide then lie in different banks.
constexpr int kTilePitch = kTileDepth + 4;

// Rows of floats in device memory: 16-byte aligned, `pitch` a multiple of 4 and at least `depth`.
struct RowTable {
  const float* values;
  std::size_t pitch;
  int depth;
};

namespace tile_detail {

// Four floats to shared memory, of which the first `count` (0 to 4) are read and the others are 0.
__device__ inline void copy_four(float* to, const float* from, int count) {
#if CPFM_TENSOR_CORES
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(4 * count) : "memory");
#else
  float4 values = make_float4(0, 0, 0, 0);
  if (count == 4) {
    values = *reinterpret_cast<const float4*>(from);
  } else {
    if (count > 0) values.x = from[0];
    if (count > 1) values.y = from[1];
    if (count > 2) values.z = from[2];
  }
  *reinterpret_cast<float4*>(to) = values;
#endif
}
__device__ inline void end_of_copies() {
#if CPFM_TENSOR_CORES
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits for this thread's copies up to the end_of_copies() before the last.
__device__ inline void wait_for_earlier_copies() {
#if CPFM_TENSOR_CORES
  asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
}

}  // namespace tile_detail

// Eight warps, four above each other and two side by side; a warp has 2 × kFragments squares of 16 × 16.
template <int kFragments>
class DotTile {
 public:
  static constexpr int kColumns = 32 * kFragments;
  static constexpr int kHalf = (kTileRows + kColumns) * kTilePitch;  // floats of one stage
  static constexpr int kStaged = 2 * kHalf;
  static constexpr int kScratchPitch = 16 * kFragments + 4;
  static constexpr int kScratch = 8 * 16 * kScratchPitch;  // floats that store() fills

  // All threads of the block. `rows` (kTileRows) and `columns` (kColumns) are numbers of rows of the table, -1 for none
  // (products are then 0), in shared memory and written by any thread just before. `staged` is kStaged floats of shared
  // memory, 128-byte aligned, and free to use when it returns.
  __device__ void compute(const RowTable& table, const int* rows, const int* columns, float* staged) {
    clear(sums_);
    __syncthreads();  // the numbers are written, and nobody reads `staged` any more
    const int chunks = (table.depth + kTileDepth - 1) / kTileDepth;
    if (chunks > 0) stage(table, rows, columns, 0, staged);
    tile_detail::end_of_copies();
    for (int chunk = 0; chunk < chunks; ++chunk) {
      if (chunk + 1 < chunks) stage(table, rows, columns, chunk + 1, staged + ((chunk + 1) % 2) * kHalf);
      tile_detail::end_of_copies();
      tile_detail::wait_for_earlier_copies();
      __syncthreads();
      multiply(staged + (chunk % 2) * kHalf);
      __syncthreads();  // before the next stage overwrites it
    }
  }

  // Where the values of this thread are, once store(half) has run: eight in one row.
  __device__ static int row(int half) { return warp_row() + 16 * half + lane() / 2; }
  __device__ static int column(int fragment) { return warp_column() + 16 * fragment + 8 * (lane() % 2); }

  // Rows row(half) of the tile, for this warp, to `scratch` (kScratch floats of shared memory, 128-byte aligned).
  __device__ void store(int half, float* scratch) const {
    float* const mine = scratch + warp() * 16 * kScratchPitch;
    __syncwarp();  // what was there is read
#pragma unroll
    for (int j = 0; j < kFragments; ++j) store_square(sums_[half][j], mine + 16 * j);
    __syncwarp();
  }
  // The values of row(half) and columns column(fragment) to column(fragment) + 7, after store(half).
  __device__ static void read(const float* scratch, int fragment, float (&values)[8]) {
    const float* const from =
        scratch + (warp() * 16 + lane() / 2) * kScratchPitch + 16 * fragment + 8 * (static_cast<int>(lane()) % 2);
    const float4 low = *reinterpret_cast<const float4*>(from), high = *reinterpret_cast<const float4*>(from + 4);
    values[0] = low.x, values[1] = low.y, values[2] = low.z, values[3] = low.w;
    values[4] = high.x, values[5] = high.y, values[6] = high.z, values[7] = high.w;
  }

 private:
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ static int warp_row() { return warp() / 2 * 32; }
  __device__ static int warp_column() { return warp() % 2 * 16 * kFragments; }

  __device__ static void stage(const RowTable& table, const int* rows, const int* columns, int chunk, float* staged) {
    constexpr int kQuads = kTileDepth / 4;
    for (int q = static_cast<int>(threadIdx.x); q < (kTileRows + kColumns) * kQuads; q += kTileThreads) {
      const int row = q / kQuads, quad = 4 * (q % kQuads), k = chunk * kTileDepth + quad;
      const int index = row < kTileRows ? rows[row] : columns[row - kTileRows];
      const int count = index < 0 || k >= table.depth ? 0 : min(4, table.depth - k);
      const float* const from =
          count == 0 ? table.values : table.values + static_cast<std::size_t>(index) * table.pitch + k;
      tile_detail::copy_four(staged + row * kTilePitch + quad, from, count);
    }
  }

#if CPFM_TENSOR_CORES
  using Square = nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 8, float>;
  using Left =
      nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 8, nvcuda::wmma::precision::tf32, nvcuda::wmma::row_major>;
  using Right =
      nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 8, nvcuda::wmma::precision::tf32, nvcuda::wmma::col_major>;

  __device__ static void clear(Square (&squares)[2][kFragments]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < kFragments; ++j) nvcuda::wmma::fill_fragment(squares[i][j], 0.0f);
    }
  }

  template <class Fragment>
  __device__ static void load_split(const float* from, Fragment& high, Fragment& low) {
    nvcuda::wmma::load_matrix_sync(high, from, kTilePitch);
#pragma unroll
    for (int e = 0; e < high.num_elements; ++e) {
      const float value = high.x[e];
      high.x[e] = nvcuda::wmma::__float_to_tf32(value);
      low.x[e] = nvcuda::wmma::__float_to_tf32(value - high.x[e]);
    }
  }

  __device__ void multiply(const float* staged) {
    Square part[2][kFragments];
    clear(part);
#pragma unroll
    for (int k = 0; k < kTileDepth; k += 8) {
      Left high[2], low[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) load_split(staged + (warp_row() + 16 * i) * kTilePitch + k, high[i], low[i]);
#pragma unroll
      for (int j = 0; j < kFragments; ++j) {
        Right other_high, other_low;
        load_split(staged + (kTileRows + warp_column() + 16 * j) * kTilePitch + k, other_high, other_low);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          nvcuda::wmma::mma_sync(part[i][j], low[i], other_high, part[i][j]);
          nvcuda::wmma::mma_sync(part[i][j], high[i], other_low, part[i][j]);
          nvcuda::wmma::mma_sync(part[i][j], high[i], other_high, part[i][j]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < kFragments; ++j) {
#pragma unroll
        for (int e = 0; e < part[i][j].num_elements; ++e) sums_[i][j].x[e] += part[i][j].x[e];
      }
    }
  }

  __device__ static void store_square(const Square& square, float* to) {
    nvcuda::wmma::store_matrix_sync(to, square, kScratchPitch, nvcuda::wmma::mem_row_major);
  }
#else
  // The eight values of a square that this thread reads in the end.
  struct Square {
    float x[8];
  };

  __device__ static void clear(Square (&squares)[2][kFragments]) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < kFragments; ++j) {
#pragma unroll
        for (int e = 0; e < 8; ++e) squares[i][j].x[e] = 0;
      }
    }
  }

  __device__ void multiply(const float* staged) {
#pragma unroll
    for (int k = 0; k < kTileDepth; k += 4) {
      float4 a[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) a[i] = *reinterpret_cast<const float4*>(staged + row(i) * kTilePitch + k);
#pragma unroll
      for (int j = 0; j < kFragments; ++j) {
#pragma unroll
        for (int e = 0; e < 8; ++e) {
          const float4 b = *reinterpret_cast<const float4*>(staged + (kTileRows + column(j) + e) * kTilePitch + k);
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            float& sum = sums_[i][j].x[e];
            sum = fmaf(a[i].x, b.x, sum);
            sum = fmaf(a[i].y, b.y, sum);
            sum = fmaf(a[i].z, b.z, sum);
            sum = fmaf(a[i].w, b.w, sum);
          }
        }
      }
    }
  }

  __device__ static void store_square(const Square& square, float* to) {
    float4* const mine = reinterpret_cast<float4*>(to + lane() / 2 * kScratchPitch + 8 * (lane() % 2));
    mine[0] = make_float4(square.x[0], square.x[1], square.x[2], square.x[3]);
    mine[1] = make_float4(square.x[4], square.x[5], square.x[6], square.x[7]);
  }
#endif

  Square sums_[2][kFragments];
};

// The shared memory of a block that works on tiles of kTables tables at once.
template <int kFragments, int kTables>
struct TileMemory {
  using Tile = DotTile<kFragments>;
  static constexpr int kScratch = (kTables < 1 ? 1 : kTables) * Tile::kScratch;
  alignas(128) float values[Tile::kStaged > kScratch ? Tile::kStaged : kScratch];
  int rows[kTileRows], columns[Tile::kColumns];

  __device__ float* scratch(int table) { return values + table * Tile::kScratch; }
};

}  // namespace cpfm
