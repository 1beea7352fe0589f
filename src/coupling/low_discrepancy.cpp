#include "coupling/low_discrepancy.hpp"

#include <bit>
#include <cmath>

#include "cpfm/error.hpp"
#include "cpfm/random.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kScrambleStream = 0x6c736362;  // "lscb"

// Primitive polynomials and first direction numbers of dimensions 2 to 9 (Joe and Kuo, "Constructing Sobol' sequences
// with better two-dimensional projections", 2008). Dimension 1 needs none.
struct Polynomial {
  std::size_t degree;
  unsigned inner;  // the coefficients between the first and the last, which are 1
  std::array<std::uint64_t, 5> first;
};
constexpr std::array<Polynomial, SobolSequence::kMostDimensions - 1> kPolynomials{{{1, 0, {1}},
                                                                                   {2, 1, {1, 3}},
                                                                                   {3, 1, {1, 3, 1}},
                                                                                   {3, 2, {1, 1, 1}},
                                                                                   {4, 1, {1, 1, 3, 3}},
                                                                                   {4, 4, {1, 3, 5, 13}},
                                                                                   {5, 2, {1, 1, 5, 5, 17}},
                                                                                   {5, 4, {1, 1, 5, 5, 5}}}};

using Directions = std::array<std::uint64_t, SobolSequence::kBits>;

Directions sobol_directions(std::size_t dimension) {
  Directions v{};
  if (dimension == 0) {
    for (std::size_t b = 0; b < v.size(); ++b) v[b] = std::uint64_t{1} << (63 - b);
    return v;
  }
  const auto& [degree, inner, first] = kPolynomials[dimension - 1];
  for (std::size_t b = 0; b < v.size(); ++b) {
    if (b < degree) {
      v[b] = first[b] << (63 - b);
      continue;
    }
    v[b] = v[b - degree] ^ (v[b - degree] >> degree);
    for (std::size_t k = 1; k < degree; ++k) {
      if (inner >> (degree - 1 - k) & 1) v[b] ^= v[b - k];
    }
  }
  return v;
}

using Coefficients = std::array<double, 8>;

double polynomial(const Coefficients& c, double x) {
  double value = 0;
  for (std::size_t k = c.size(); k-- > 0;) value = value * x + c[k];
  return value;
}

// Wichura, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37 (1988), PPND16:
// one rational function around the median and two for the tails.
constexpr Coefficients kCentreAbove{3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427,
                                    13731.693765509461125, 45921.953931549871457, 67265.770927008700853,
                                    33430.575583588128105, 2509.0809287301226727};
constexpr Coefficients kCentreBelow{1.0,
                                    42.313330701600911252,
                                    687.18700749205790830,
                                    5394.1960214247511077,
                                    21213.794301586595867,
                                    39307.895800092710610,
                                    28729.085735721942674,
                                    5226.4952788528545610};
constexpr Coefficients kTailAbove{1.42343711074968357734,    4.63033784615654529590,   5.76949722146069140550,
                                  3.64784832476320460504,    1.27045825245236838258,   2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr Coefficients kTailBelow{1.0,
                                  2.05319162663775882187,
                                  1.67638483018380384940,
                                  6.89767334985100004550e-1,
                                  1.48103976427480074590e-1,
                                  1.51986665636164571966e-2,
                                  5.47593808499534494600e-4,
                                  1.05075007164441684324e-9};
constexpr Coefficients kFarAbove{6.65790464350110377720,    5.46378491116411436990,    1.78482653991729133580,
                                 2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                 2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr Coefficients kFarBelow{1.0,
                                 5.99832206555887937690e-1,
                                 1.36929880922735805310e-1,
                                 1.48753612908506148525e-2,
                                 7.86869131145613259100e-4,
                                 1.84631831751005468180e-5,
                                 1.42151175831644588870e-7,
                                 2.04426310338993978564e-15};

}  // namespace

SobolSequence::SobolSequence(std::size_t dimensions, std::uint64_t seed, std::uint64_t index)
    : dimensions_(dimensions) {
  CPFM_ASSERT(dimensions <= kMostDimensions, "more dimensions than the sequence has");
  Rng rng(seed, kScrambleStream, index);
  for (std::size_t k = 0; k < dimensions; ++k) {
    // Every bit is kept and also changes those below it at random.
    const Directions plain = sobol_directions(k);
    for (int bit = 63; bit >= 0; --bit) {
      const std::uint64_t mask = std::uint64_t{1} << bit, column = mask | (rng.bits64() & (mask - 1));
      for (std::size_t b = 0; b < kBits; ++b) {
        if ((plain[b] & mask) != 0) directions_[k][b] ^= column;
      }
    }
    shift_[k] = rng.bits64();
  }
}

void SobolSequence::point(std::uint64_t j, std::span<double> u) const {
  CPFM_ASSERT(u.size() == dimensions_, "a coordinate for every dimension");
  CPFM_ASSERT(j >> kBits == 0, "more points than the sequence has");
  for (std::size_t k = 0; k < dimensions_; ++k) {
    std::uint64_t x = shift_[k];
    for (std::uint64_t left = j; left != 0; left &= left - 1) x ^= directions_[k][std::size_t(std::countr_zero(left))];
    u[k] = open_unit(x);
  }
}

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kCentreAbove, r) / polynomial(kCentreBelow, r);
  }
  const double r = std::sqrt(-std::log(q < 0 ? p : 1.0 - p));
  const double size = r <= 5 ? polynomial(kTailAbove, r - 1.6) / polynomial(kTailBelow, r - 1.6)
                             : polynomial(kFarAbove, r - 5) / polynomial(kFarBelow, r - 5);
  return q < 0 ? -size : size;
}

}  // namespace cpfm
