// Where an axis has its marks and what they say: round numbers, few enough to read. Free of any drawing, so that it can
// be tested by itself.
#pragma once

#include <string>
#include <vector>

namespace cpfm::report {

// An interval of values; low < high once it has been made by padded().
struct Range {
  double low = 0, high = 0;
  double length() const { return high - low; }
};

struct Ticks {
  std::vector<double> major;        // ascending, inside the range
  std::vector<std::string> labels;  // one per major mark
  std::vector<double> minor;        // unlabelled marks of a logarithmic axis
};

// Multiples of the smallest 1, 2 or 5 × 10^k that is not below `least_step` > 0, inside the range.
Ticks step_ticks(Range range, double least_step);

// The same with at most `most` ≥ 2 marks (the smallest step that allows it). A range without length has one, its value.
Ticks linear_ticks(Range range, int most);

// The same for a logarithmic axis, range.low > 0: powers of ten, every second or third … where there are many; with
// less than two of them 1, 2 and 5 times powers; and where even those are too coarse, linear_ticks().
Ticks log_ticks(Range range, int most);

// The range with a margin of `fraction` of its length at both ends (in the logarithm for `log`). Widens what has no
// length, or so little that marks would be the same number.
Range padded(Range range, double fraction, bool log);

}  // namespace cpfm::report
