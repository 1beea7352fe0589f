#include "loss_watch.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cpfm::app {
namespace {

// How often a training with these losses is said to have come apart.
int warnings(const std::vector<double>& losses) {
  LossWatch watch;
  int count = 0;
  for (const double loss : losses) count += watch.add(loss) ? 1 : 0;
  return count;
}

TEST(LossWatch, TellsOnceOfALossThatReturnsToItsBeginning) {
  // As TinyImageNet's was at too large a rate.
  std::vector<double> losses{1.33, 0.885, 0.327, 0.291, 0.263, 0.256};
  losses.insert(losses.end(), 30, 1.16);
  EXPECT_EQ(warnings(losses), 1);
}

TEST(LossWatch, LeavesUsualTrainingsAlone) {
  EXPECT_EQ(warnings({1.3, 1.2, 1.25, 1.2, 1.3, 1.25, 1.3, 1.2, 1.3}), 0) << "nothing learned yet";
  EXPECT_EQ(warnings({1.3, 0.01, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03}), 0) << "noise far below the beginning";
  EXPECT_EQ(warnings({1.3, 0.3, 1.2, 1.2, 0.3, 1.2, 1.2, 0.3, 1.2, 1.2}), 0) << "it comes back";
  EXPECT_EQ(warnings({}), 0);
}

}  // namespace
}  // namespace cpfm::app
