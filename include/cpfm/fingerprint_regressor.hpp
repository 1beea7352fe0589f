// A judge of a property of molecules that has none of them measured: it learned from others, by their fingerprints.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cpfm/molecule.hpp"

namespace cpfm {

struct FingerprintRegressorOptions {
  double ridge = 0.3;       // beside a likeness of 1 of a molecule with itself
  std::size_t most = 5000;  // molecules to learn from, drawn at random; time grows with the cube
  std::uint64_t seed = 1;
};

class FingerprintRegressor {
 public:
  FingerprintRegressor(const Fingerprints& molecules, std::span<const double> values,
                       const FingerprintRegressorOptions& options = {});
  std::vector<double> predict(const Fingerprints& molecules) const;

 private:
  Fingerprints known_;
  std::vector<double> weights_;
  double mean_ = 0;
};

}  // namespace cpfm
