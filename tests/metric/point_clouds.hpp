// Small point sets for the tests of the metrics.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "cpfm/error.hpp"
#include "cpfm/matrix.hpp"
#include "cpfm/random.hpp"

namespace cpfm::test {

// n points of N(0, I) in d dimensions.
inline FloatMatrix normal_points(std::size_t n, std::size_t d, std::uint64_t seed) {
  FloatMatrix points(n, d);
  Rng rng(seed, 1);
  for (std::size_t i = 0; i < n; ++i) {
    for (float& value : points.row(i)) value = static_cast<float>(rng.normal());
  }
  return points;
}

inline FloatMatrix points_of(std::size_t d, const std::vector<float>& values) {
  FloatMatrix points(values.size() / d, d);
  std::copy(values.begin(), values.end(), points.data());
  return points;
}

// The Error that `call` throws names `field` and says all of `words`.
template <class Call>
void expect_error(const std::string& field, std::initializer_list<const char*> words, const Call& call) {
  try {
    call();
    ADD_FAILURE() << "no error about " << field;
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), field);
    for (const char* word : words) EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

}  // namespace cpfm::test
