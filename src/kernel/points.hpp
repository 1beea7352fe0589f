// The samples as vectors, for kernels that are made of inner products or distances.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpfm/data.hpp"
#include "kernel/arguments.hpp"

namespace cpfm {

class Points {
 public:
  enum class Use { kInnerProducts, kDistances };
  // Reads `data`, which must outlive it. Distances come from |x|² + |x'|² - 2⟨x, x'⟩ in float, which loses digits when
  // points lie far from the origin compared with their spread; then a copy about the mean is kept. `what` (the kernel's
  // name) is for messages.
  Points(const Dataset& data, Use use, const char* what);

  std::size_t size() const { return squares_.size(); }
  const float* row(std::size_t i) const { return values_.data + i * values_.cols; }
  std::size_t dim() const { return values_.cols; }
  // |x|², of the centred point where a centred copy is kept.
  const std::vector<float>& squares() const { return squares_; }
  // out(c, r) = ⟨columns[c], rows[r]⟩.
  void dots(std::span<const std::size_t> columns, std::span<const std::size_t> rows, MatrixView<float> out) const;
  // out(c, r) = |columns[c] - rows[r]|²; exactly 0 where both are the same sample.
  void distances2(std::span<const std::size_t> columns, std::span<const std::size_t> rows, MatrixView<float> out) const;
  // The place of the points among the description's tables.
  std::size_t describe(DeviceDescription& description) const;

 private:
  FloatMatrix centred_;
  MatrixView<const float> values_;
  std::vector<float> squares_;
};

// The mean of |x - x'| over all pairs of different samples: exact up to kExactSamples samples whose pairs have no more
// than kExactNumbers numbers to subtract, above that from a random sample of pairs, and then logged with its standard
// error.
inline constexpr std::size_t kExactSamples = 20'000;
inline constexpr double kExactNumbers = 2e11;  // 20,000 digits of MNIST have as many; seconds on two cores
double mean_distance(const Points& points, Progress* progress, std::size_t exact_up_to = kExactSamples,
                     double exact_numbers = kExactNumbers);

}  // namespace cpfm
