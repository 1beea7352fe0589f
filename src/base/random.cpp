// The key is the seed; the counter is (block, stream, index low, index high), so distinct (seed, stream, index, block)
// never share a block.
#include "cpfm/random.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

#include "cpfm/error.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;  // golden ratio, sqrt(3) - 1
constexpr int kRounds = 10;

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> c, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMultiplier0} * c[0];
    const std::uint64_t p1 = std::uint64_t{kMultiplier1} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ key[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return c;
}

std::uint32_t Rng::bits() {
  if (used_ == 4) {
    buffer_ =
        philox4x32({block_++, stream_, static_cast<std::uint32_t>(index_), static_cast<std::uint32_t>(index_ >> 32)},
                   {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
    used_ = 0;
  }
  return buffer_[used_++];
}

std::uint64_t Rng::bits64() {
  const std::uint64_t low = bits();
  return low | std::uint64_t{bits()} << 32;
}

double Rng::uniform() { return static_cast<double>(bits64() >> 11) * 0x1.0p-53; }

double Rng::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));  // 1 - u is in (0, 1]
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

std::uint64_t Rng::below(std::uint64_t bound) {
  CPFM_ASSERT(bound > 0, "there is no number below 0");
  // Values in the last, incomplete run of `bound` would be over-represented: draw again (at most half the time).
  const std::uint64_t excess = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t value = bits64();
    if (value <= ~std::uint64_t{0} - excess) return value % bound;
  }
}

std::size_t Rng::categorical(std::span<const double> weights) {
  double total = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0) || !std::isfinite(weights[i])) {
      throw Error("weights[" + std::to_string(i) + "]", std::to_string(weights[i]) + " is not a weight",
                  "weights are finite and at least 0");
    }
    total += weights[i];
  }
  if (!(total > 0) || !std::isfinite(total)) {
    throw Error("weights", "their sum is " + std::to_string(total), "the sum must be positive and finite");
  }
  double left = uniform() * total;
  std::size_t last_positive = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    last_positive = i;
    left -= weights[i];
    if (left < 0) break;
  }
  return last_positive;  // rounding may leave left ≥ 0 at the end
}

std::vector<std::size_t> permutation(std::size_t n, std::uint64_t seed, std::uint32_t stream, std::uint64_t index) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Rng rng(seed, stream, index);
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

}  // namespace cpfm
