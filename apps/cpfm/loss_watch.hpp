// Notices a training that comes apart: a network that has learned to draw and then falls back to the loss of its
// beginning does not recover by itself.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>

namespace cpfm::app {

class LossWatch {
 public:
  // The loss of x, about every second. True once, where it has stayed up for some time.
  bool add(double loss) {
    constexpr int kReports = 5;
    if (!first_) first_ = loss;
    least_ = std::min(least_, loss);
    above_ = loss > std::max(2 * least_, *first_ / 2) ? above_ + 1 : 0;
    return above_ == kReports;
  }
  double least() const { return least_; }

 private:
  std::optional<double> first_;
  double least_ = std::numeric_limits<double>::infinity();
  int above_ = 0;  // reports in a row
};

}  // namespace cpfm::app
