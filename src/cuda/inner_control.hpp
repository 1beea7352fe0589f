// When an inner problem of stage 1 is solved, and how far each half-iteration goes: one rule, followed by the host
// after every half-iteration and by a device on its own.
//
// Plain iterations first; where they turn out slow, over-relaxed ones. Plain Sinkhorn shrinks the error by a factor η
// per iteration in the end, and ω = 2 / (1 + √(1 - η)) makes that about ω - 1 (Thibault, Chizat, Dossal, Papadakis
// 2021). The error that counts is always that of the columns after plain rows.
#pragma once

#include <cmath>

#include "base/host_device.hpp"

namespace cpfm {

struct InnerControl {
  // What is asked: the columns' L1 error, the most iterations, whether to over-relax.
  double bound = 0;
  int limit = 1;
  bool relax = true;

  bool stop = false;                          // nothing more is to be done
  bool reached = false;                       // the bound is met
  bool stalled = false;                       // at the floor of the type
  double relaxation = 1, row_relaxation = 1;  // of the next update of the columns, and of the rows
  double error = 0;                           // of the columns, before their last update
  int iterations = 0;

  // The last update of the columns was over-relaxed: one more, plain, sets them right.
  CPFM_HD bool columns_are_off() const { return reached && relaxation != 1; }

  // After an update of the columns that found them off by `found`. The rows are next, unless `stop`.
  CPFM_HD void after_columns(double found) {
    constexpr int kPlain = 6, kStalled = 50;
    constexpr double kMostRelaxed = 1.9;
    error = found;
    ++iterations;
    if (!(found <= 1e300)) {  // not finite
      stop = true;
      return;
    }
    if (found <= bound && rows_right_) {
      stop = reached = true;
      return;
    }
    if (found < 0.999 * best_) {
      best_ = found;
      since_best_ = 0;
    } else if (++since_best_ > kStalled) {
      if (relaxation == 1) {
        stop = stalled = true;
        return;
      }
      relaxation = 1;
      plain_ = since_best_ = 0;
    }
    if (relaxation == 1 && ++plain_ >= kPlain && relax) {
      double rate = found / last_;
      rate = rate < 0 ? 0 : rate > 0.999999 ? 0.999999 : rate;
      relaxation = 2 / (1 + sqrt(1 - rate));
      if (relaxation > kMostRelaxed) relaxation = kMostRelaxed;
    } else if (relaxation != 1 && found > 4 * best_) {  // overshooting: plain again for a while
      relaxation = 1;
      plain_ = 0;
    }
    last_ = found;
    rows_right_ = relaxation == 1 || found <= bound;
    row_relaxation = rows_right_ ? 1 : relaxation;
  }

  CPFM_HD void after_rows() {
    if (iterations >= limit) stop = true;
  }

 private:
  static constexpr double kNone = 1e300;
  double best_ = kNone, last_ = kNone;
  int since_best_ = 0, plain_ = 0;
  bool rows_right_ = true;  // of the present potentials
};

}  // namespace cpfm
