// Labels of neighbours against a plain loop over all pairs in double, and the rules for ties.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "cpfm/interrupt.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/parallel.hpp"
#include "metric/point_clouds.hpp"

namespace cpfm {
namespace {

using namespace test;
using Labels = std::vector<std::int32_t>;

Labels plain(const FloatMatrix& reference, const Labels& labels, const FloatMatrix& queries, std::size_t k,
             bool leave_one_out) {
  Labels result;
  for (std::size_t q = 0; q < queries.rows(); ++q) {
    std::vector<std::pair<double, std::size_t>> all;
    for (std::size_t i = 0; i < reference.rows(); ++i) {
      if (labels[i] == -1 || (leave_one_out && i == q)) continue;
      double sum = 0;
      for (std::size_t c = 0; c < reference.cols(); ++c)
        sum += (double{reference(i, c)} - queries(q, c)) * (double{reference(i, c)} - queries(q, c));
      all.emplace_back(sum, i);
    }
    std::sort(all.begin(), all.end());
    std::map<std::int32_t, std::size_t> votes, first;
    for (std::size_t i = 0; i < k; ++i) {
      const std::int32_t label = labels[all[i].second];
      ++votes[label];
      first.emplace(label, i);
    }
    const auto better = [&](const auto& a, const auto& b) {
      return a.second != b.second ? a.second < b.second : first[a.first] > first[b.first];
    };
    result.push_back(std::max_element(votes.begin(), votes.end(), better)->first);
  }
  return result;
}

// From 0 to classes - 1, and -1 for about one in eight.
Labels random_labels(std::size_t n, std::uint64_t classes) {
  Labels labels(n);
  Rng rng(11, 11, classes);
  for (std::int32_t& label : labels) label = rng.below(8) == 0 ? -1 : static_cast<std::int32_t>(rng.below(classes));
  return labels;
}

TEST(NearestLabels, AgreeWithThePlainLoop) {
  for (const std::size_t d : {1u, 2u, 17u, 300u}) {
    for (const std::size_t k : {1u, 2u, 10u, 200u}) {
      const FloatMatrix reference = normal_points(600, d, 1), queries = normal_points(100, d, 2);
      const Labels labels = random_labels(600, 7);
      EXPECT_EQ(nearest_labels(reference.view(), labels, queries.view(), k),
                plain(reference, labels, queries, k, false))
          << d << " " << k;
      EXPECT_EQ(nearest_labels(reference.view(), labels, reference.view(), k, true),
                plain(reference, labels, reference, k, true))
          << d << " " << k;
    }
  }
}

TEST(NearestLabels, AreExactWhereFloatSumsAreNot) {
  // Distances that differ in their last digits only, far from the origin.
  for (const float offset : {0.0f, 100.0f, 1e6f}) {
    FloatMatrix reference = normal_points(600, 50, 3), queries = normal_points(100, 50, 4);
    for (FloatMatrix* points : {&reference, &queries}) {
      for (std::size_t i = 0; i < points->rows(); ++i) {
        double norm = 0;
        for (const float value : points->row(i)) norm += double{value} * value;
        const bool query = points == &queries;
        for (float& value : points->row(i)) {
          value = offset + static_cast<float>(value * (query ? 1e-4 : 1 / std::sqrt(norm)));
        }
      }
    }
    const Labels labels = random_labels(600, 600);
    EXPECT_EQ(nearest_labels(reference.view(), labels, queries.view(), 1), plain(reference, labels, queries, 1, false))
        << offset;
  }
}

TEST(NearestLabels, HoldForTheLargestAndSmallestNumbers) {
  for (const float scale : {1e37f, 1e-37f}) {
    FloatMatrix reference = normal_points(300, 3, 5), queries = normal_points(50, 3, 6);
    for (FloatMatrix* points : {&reference, &queries}) {
      for (std::size_t i = 0; i < points->size(); ++i) points->data()[i] *= scale;
    }
    reference(0, 0) = 1e38f;  // beside which the smallest are nothing
    const Labels labels = random_labels(300, 5);
    EXPECT_EQ(nearest_labels(reference.view(), labels, queries.view(), 3), plain(reference, labels, queries, 3, false));
  }
}

TEST(NearestLabels, TiesGoToTheClassWithTheNearestMember) {
  const FloatMatrix reference = points_of(1, {3, 4, -1, 10, 2, 11});
  const FloatMatrix query = points_of(1, {0});
  const Labels labels = {1, 1, 0, 2, 0, 2};  // by distance: 0 0 1 1 2 2
  EXPECT_EQ(nearest_labels(reference.view(), labels, query.view(), 4), Labels{0});
  EXPECT_EQ(nearest_labels(reference.view(), labels, query.view(), 6), Labels{0});
  EXPECT_EQ(nearest_labels(reference.view(), labels, points_of(1, {12}).view(), 6), Labels{2});
}

TEST(NearestLabels, RepeatedPointsCountInTheirOrder) {
  const FloatMatrix reference = points_of(2, std::vector<float>(2 * 3000, 0.5f));
  Labels labels(3000, 3);
  labels[0] = -1;
  labels[1] = 9;
  EXPECT_EQ(nearest_labels(reference.view(), labels, points_of(2, {1, 1}).view(), 1), Labels{9});
  EXPECT_EQ(nearest_labels(reference.view(), labels, points_of(2, {1, 1}).view(), 3), Labels{3});
  EXPECT_EQ(nearest_labels(reference.view(), labels, reference.view(), 1, true)[1], 3);
}

TEST(NearestLabels, AreTheSameForAnyNumberOfThreads) {
  const FloatMatrix reference = normal_points(2000, 20, 7), queries = normal_points(500, 20, 8);
  const Labels labels = random_labels(2000, 10);
  set_threads(1);
  const Labels one = nearest_labels(reference.view(), labels, queries.view(), 5);
  set_threads(4);
  EXPECT_EQ(nearest_labels(reference.view(), labels, queries.view(), 5), one);
  set_threads(0);
}

TEST(NearestLabels, RefuseWhatCannotBeAnswered) {
  const FloatMatrix points = normal_points(5, 2, 9), other = normal_points(3, 3, 9);
  const Labels labels = {0, 1, -1, 0, 1}, none(5, -1), odd = {0, 1, -7, 0, 1};
  const auto ask = [&](const Labels& with, const FloatMatrix& queries, std::size_t k, bool leave = false) {
    return [&, k, leave] { nearest_labels(points.view(), with, queries.view(), k, leave); };
  };
  expect_error("k", {"from 1 to 4"}, ask(labels, points, 0));
  expect_error("k", {"5 neighbours", "from 1 to 4"}, ask(labels, points, 5));
  expect_error("k", {"from 1 to 3"}, ask(labels, points, 4, true));
  expect_error("labels", {"0 rows"}, ask(none, points, 1));
  expect_error("labels", {"-7", "row 3"}, ask(odd, points, 1));
  expect_error("labels", {"1 labels for 5 rows"}, ask({0}, points, 1));
  expect_error("queries", {"3 values", "2 values"}, ask(labels, other, 1));
  expect_error("queries", {"4 rows", "5"}, ask(labels, normal_points(4, 2, 1), 1, true));
  FloatMatrix broken = normal_points(2, 2, 1);
  broken(0, 1) = std::numeric_limits<float>::infinity();
  expect_error("queries", {"row 1, column 2", "inf"}, ask(labels, broken, 1));
  EXPECT_TRUE(nearest_labels(points.view(), labels, {points.data(), 0, 2}, 1).empty());
}

TEST(NearestLabels, StopWhenInterrupted) {
  const FloatMatrix points = normal_points(200, 2, 10);
  request_interrupt();
  EXPECT_THROW(nearest_labels(points.view(), Labels(200, 1), points.view(), 1), Interrupted);
  clear_interrupt();
}

TEST(Agreement, IsTheShareOfEqualLabelsAmongTheKnown) {
  EXPECT_DOUBLE_EQ(agreement(Labels{1, 2, 3, 4}, Labels{1, 2, 0, -1}), 2.0 / 3);
  EXPECT_EQ(agreement(Labels{-1, 5}, Labels{-1, 5}), 1);
  EXPECT_EQ(agreement(Labels{-1}, Labels{0}), 0);
  expect_error("a", {"1 labels", "2"}, [] { agreement(Labels{1}, Labels{1, 2}); });
  expect_error("b", {"none of 2"}, [] { agreement(Labels{1, 1}, Labels{-1, -1}); });
}

}  // namespace
}  // namespace cpfm
