// Counter-based randomness: Philox-4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// SC'11). A generator is a pure function of (seed, stream, index), so that sample i draws the same numbers whatever the
// number of threads, the batch it sits in, or what was drawn before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cpfm {

// One Philox-4x32-10 block: 128 random bits from a 128-bit counter and a 64-bit key.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// The random numbers of one item. `seed` is the user's, `stream` names the purpose (two purposes must not share one),
// `index` the item (a row, a sample, an epoch). Yields up to 2^34 words.
class Rng {
 public:
  Rng(std::uint64_t seed, std::uint32_t stream, std::uint64_t index = 0)
      : seed_(seed), index_(index), stream_(stream) {}

  std::uint32_t bits();
  std::uint64_t bits64();
  double uniform();                          // [0, 1), 53 bits
  double normal();                           // N(0, 1), Box–Muller
  std::uint64_t below(std::uint64_t bound);  // 0 .. bound-1 without bias; bound ≥ 1
  // Index i with probability weights[i] / sum. Weights are finite, ≥ 0, with a positive sum, else cpfm::Error.
  std::size_t categorical(std::span<const double> weights);

 private:
  std::uint64_t seed_, index_;
  std::uint32_t stream_, block_ = 0;
  std::array<std::uint32_t, 4> buffer_{};
  int used_ = 4;
  double spare_normal_ = 0;
  bool has_spare_ = false;
};

// A uniformly random order of 0..n-1 (Fisher–Yates).
std::vector<std::size_t> permutation(std::size_t n, std::uint64_t seed, std::uint32_t stream, std::uint64_t index = 0);

}  // namespace cpfm
