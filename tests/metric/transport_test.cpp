// Exact and entropic transport against POT (Python Optimal Transport), an independent implementation: values stored,
// and computed again where it is installed.
#include <gtest/gtest.h>

#include <cmath>

#include "base/subprocess.hpp"
#include "cpfm/metric.hpp"
#include "support/python.hpp"

namespace cpfm {
namespace {

using namespace test;

// Made with POT 0.8.2 by: python3 tests/metric/transport_reference.py
constexpr const char* kStored = R"(
5 5 0.5 0.428933701067 0.597925012812 -1.137989788800 1.5e-13
40 40 0.5 0.340350300185 0.583471226915 -3.148877369923 2.1e-12
40 40 0.05 0.340350300185 0.361185686490 0.045001688613 4.7e-12
40 25 0.1 0.277852102194 0.317024440461 -0.317809508950 1.7e-12
150 150 0.1 3.069545773283 3.131892145745 2.252251888871 9.3e-12
150 150 0.02 3.069545773283 3.079679338765 2.924546639678 1.1e-11
)";

struct Reference {
  std::size_t n = 0, m = 0;
  double epsilon = 0, exact = 0, transport = 0, objective = 0, marginal_error = 0;
};

std::vector<Reference> parse(const std::string& text) {
  return records_of<Reference>(text, [](std::istream& fields, Reference& r) {
    return bool(fields >> r.n >> r.m >> r.epsilon >> r.exact >> r.transport >> r.objective >> r.marginal_error);
  });
}

void expect_agreement(const std::vector<Reference>& references) {
  ASSERT_EQ(references.size(), 6u);
  for (const Reference& pot : references) {
    SCOPED_TRACE(testing::Message() << pot.n << " x " << pot.m << ", ε = " << pot.epsilon);
    ASSERT_LE(pot.marginal_error, 1e-10) << "POT did not converge: not a reference";
    const FloatMatrix a = matrix_of(pot.n, 2, [](double i, std::size_t k) {
      return k == 0 ? std::sin(1.3 * i + 0.2) + 0.01 * i : std::cos(2.1 * i);
    });
    const FloatMatrix b = matrix_of(pot.m, 2, [](double j, std::size_t k) {
      return k == 0 ? std::sin(0.9 * j + 1) : std::cos(1.7 * j + 0.3) + 0.02 * j;
    });
    if (pot.n == pot.m) {
      EXPECT_NEAR(wasserstein2(a.view(), b.view()), pot.exact, 1e-8);
    }
    EntropicOptions tight;
    tight.tolerance = 1e-9;
    const EntropicDistance found = entropic_distance(a.view(), b.view(), pot.epsilon, tight);
    // Points are moved to about their mean in float, which is where they differ.
    EXPECT_NEAR(found.transport, pot.transport, 1e-6);
    EXPECT_NEAR(found.objective, pot.objective, 1e-6);
  }
}

TEST(Transport, StoredValuesOfPotAreMet) { expect_agreement(parse(kStored)); }

TEST(Transport, ValuesThatPotComputesNowAreMet) {
  const std::string python = python_with("ot");
  if (python.empty()) GTEST_SKIP() << "NOT CHECKED: no python3 here has POT (Debian: python3-pot)";
  const ProcessResult run = run_process({python, CPFM_TEST_SOURCE_DIR "/metric/transport_reference.py"});
  ASSERT_EQ(run.exit_code, 0) << run.output;
  expect_agreement(parse(run.output));
}

}  // namespace
}  // namespace cpfm
