// Points of the unit cube that fill it more evenly than independent ones, and the quantile that carries them to a
// normal. Sobol' points, scrambled. Every prefix is even too, whatever its length, so the first m of n points remain a
// fair picture of the law. Kronecker sequences (golden ratio and its kin) share that and are simpler, but resonate from
// three dimensions on: 20,000 Gaussian points had a covariance twice as far off as independent ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace cpfm {

// The middle of one of the 2^52 equal parts of (0, 1), chosen by the highest bits: never 0, never 1.
inline double open_unit(std::uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1.0p-52; }

class SobolSequence {
 public:
  static constexpr std::size_t kMostDimensions = 9;
  static constexpr std::size_t kBits = 40;  // there are 2^40 points

  // The scrambling depends on (seed, index) alone: a random triangular matrix over the bits (Matoušek) keeps how even
  // the points are, a random shift makes every single point uniform.
  SobolSequence(std::size_t dimensions, std::uint64_t seed, std::uint64_t index);

  // Point j < 2^40; u has `dimensions` entries.
  void point(std::uint64_t j, std::span<double> u) const;

 private:
  // Fractions of 2^64. directions_[k][b] is what bit b of j adds to coordinate k.
  std::array<std::array<std::uint64_t, kBits>, kMostDimensions> directions_{};
  std::array<std::uint64_t, kMostDimensions> shift_{};
  std::size_t dimensions_;
};

// x with P(N(0, 1) ≤ x) = p, for 0 < p < 1, to about 15 digits.
double normal_quantile(double p);

}  // namespace cpfm
