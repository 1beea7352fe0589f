// k-nearest-neighbour classification, the judge of whether an embedding keeps classes together. All pairs are compared
// in float with dot_block, which is fast and inexact; every distance comes with a bound on its error, so that a few
// candidates per query are sure to hold the true neighbours, and those are compared again in double. The answer is the
// same on every machine, and right where float alone would swap neighbours.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/memory.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/metric.hpp"
#include "cpfm/parallel.hpp"
#include "kernel/dot_block.hpp"
#include "metric/point_sets.hpp"

namespace cpfm {
namespace {

constexpr std::size_t kQueries = 64, kTile = 512;  // queries and reference rows of one block of inner products
constexpr float kHalfUlp = 0x1p-24f;

// How points are brought to where float works best: about the mean of the reference, and scaled by a power of two such
// that no square overflows and only what is negligible underflows.
struct Frame {
  std::vector<double> mean;
  int exponent = 0;

  // Writes the point, and returns its squared norm.
  float place(std::span<const float> point, float* out) const {
    double square = 0;
    for (std::size_t k = 0; k < point.size(); ++k) {
      out[k] = static_cast<float>(std::ldexp(point[k] - mean[k], -exponent));
      square += static_cast<double>(out[k]) * out[k];
    }
    return static_cast<float>(square);
  }
};

Frame frame_of(MatrixView<const float> reference, MatrixView<const float> queries) {
  Frame frame;
  frame.mean.assign(reference.cols, 0);
  for (std::size_t i = 0; i < reference.rows; ++i) {
    for (std::size_t k = 0; k < reference.cols; ++k) frame.mean[k] += reference(i, k);
  }
  for (double& mean : frame.mean) mean /= static_cast<double>(reference.rows);
  double largest = 0;
  for (const MatrixView<const float>& points : {reference, queries}) {
    for (std::size_t i = 0; i < points.rows; ++i) {
      for (std::size_t k = 0; k < points.cols; ++k) {
        largest = std::max(largest, std::abs(points(i, k) - frame.mean[k]));
      }
    }
  }
  if (largest > 0) std::frexp(largest, &frame.exponent);
  return frame;
}

// The reference rows that have a label, placed in the frame.
struct Voters {
  std::vector<std::size_t> rows;  // of the reference
  FloatMatrix points;
  std::vector<float> squares;
  std::vector<const float*> pointers;
};

Voters place_voters(MatrixView<const float> reference, std::vector<std::size_t> rows, const Frame& frame) {
  require_memory(static_cast<double>(rows.size()) * static_cast<double>(reference.cols) * sizeof(float), "reference",
                 "a copy of the labelled rows about their mean");
  Voters voters;
  voters.points = FloatMatrix(rows.size(), reference.cols);
  voters.squares.resize(rows.size());
  voters.pointers.resize(rows.size());
  voters.rows = std::move(rows);
  parallel_for(voters.rows.size(), 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      voters.pointers[r] = voters.points.row(r).data();
      voters.squares[r] = frame.place(reference.row(voters.rows[r]), voters.points.row(r).data());
    }
  });
  return voters;
}

// How far float may be off: |found - true| ≤ relative · (|q|² + |r|²) + absolute for a squared distance in the frame. A
// chain of roundings of the inner product is at most min(d, 1024) + d / 8 long, the rest is for placing the two points,
// their squares and the last sums; what underflows is covered by the absolute part.
struct Slack {
  float relative, absolute;
  explicit Slack(std::size_t d) {
    const auto roundings = static_cast<double>(std::min<std::size_t>(d, 1024) + d / 8 + 32);
    relative = static_cast<float>(1.01 * roundings * kHalfUlp);
    absolute = static_cast<float>(static_cast<double>(d + 8) * 1e-37);
  }
};

// Rows that may be among the k nearest of one query.
class Candidates {
 public:
  explicit Candidates(std::size_t k) : k_(k) {}

  // What is further than this for sure need not be offered.
  float limit() const { return uppers_.size() == k_ ? uppers_.front() : std::numeric_limits<float>::infinity(); }

  // The squared distance of `voter` lies between the two, and lower ≤ limit().
  void offer(float lower, float upper, std::size_t voter) {
    if (uppers_.size() < k_ || upper < uppers_.front()) {
      if (uppers_.size() == k_) {
        std::pop_heap(uppers_.begin(), uppers_.end());
        uppers_.pop_back();
      }
      uppers_.push_back(upper);
      std::push_heap(uppers_.begin(), uppers_.end());
    }
    found_.emplace_back(lower, voter);
    if (found_.size() >= prune_at_) prune();
  }

  // What cannot be beaten by k others for sure.
  const std::vector<std::pair<float, std::size_t>>& take() {
    prune();
    return found_;
  }

 private:
  void prune() {
    std::erase_if(found_, [most = limit()](const auto& candidate) { return candidate.first > most; });
    prune_at_ = 2 * found_.size() + 64;
  }

  std::size_t k_, prune_at_ = 64;
  std::vector<float> uppers_;  // a heap: the largest of the k smallest upper bounds is on top
  std::vector<std::pair<float, std::size_t>> found_;
};

// The class with most members among `near`, which is sorted by distance; the first of them to appear in a tie.
std::int32_t majority(std::span<const std::pair<double, std::size_t>> near, std::span<const std::int32_t> labels) {
  std::unordered_map<std::int32_t, std::size_t> votes;
  std::size_t most = 0;
  for (const auto& neighbour : near) most = std::max(most, ++votes[labels[neighbour.second]]);
  for (const auto& neighbour : near) {
    if (votes[labels[neighbour.second]] == most) return labels[neighbour.second];
  }
  return -1;
}

struct Search {
  MatrixView<const float> reference, queries;
  std::span<const std::int32_t> labels;
  std::size_t k;
  bool leave_one_out;
  const Frame& frame;
  const Voters& voters;

  // Queries [begin, end).
  void run(std::size_t begin, std::size_t end, std::span<std::int32_t> result) const {
    const Slack slack(reference.cols);
    FloatMatrix placed(end - begin, reference.cols);
    std::vector<float> squares(end - begin), block((end - begin) * kTile);
    std::vector<const float*> pointers(end - begin);
    for (std::size_t q = 0; q < squares.size(); ++q) {
      pointers[q] = placed.row(q).data();
      squares[q] = frame.place(queries.row(begin + q), placed.row(q).data());
    }
    std::vector<Candidates> candidates(end - begin, Candidates(k));
    for (std::size_t first = 0; first < voters.rows.size(); first += kTile) {
      check_interrupt();
      const std::size_t count = std::min(kTile, voters.rows.size() - first);
      dot_block(pointers, std::span(voters.pointers).subspan(first, count), reference.cols, block.data(), kTile);
      for (std::size_t q = 0; q < squares.size(); ++q) {
        float limit = candidates[q].limit();
        for (std::size_t r = 0; r < count; ++r) {
          const float sum = squares[q] + voters.squares[first + r], error = slack.relative * sum + slack.absolute;
          const float distance = sum - 2 * block[q * kTile + r];
          if (distance - error > limit || (leave_one_out && voters.rows[first + r] == begin + q)) continue;
          candidates[q].offer(distance - error, distance + error, first + r);
          limit = candidates[q].limit();
        }
      }
    }
    std::vector<std::pair<double, std::size_t>> near;
    for (std::size_t q = 0; q < candidates.size(); ++q) {
      near.clear();
      for (const auto& candidate : candidates[q].take()) {
        const std::size_t row = voters.rows[candidate.second];
        near.emplace_back(squared_distance(queries.row(begin + q), reference.row(row)), row);
      }
      std::sort(near.begin(), near.end());
      near.resize(k);
      result[begin + q] = majority(near, labels);
    }
  }
};

}  // namespace

std::vector<std::int32_t> nearest_labels(MatrixView<const float> reference, std::span<const std::int32_t> labels,
                                         MatrixView<const float> queries, std::size_t k, bool leave_one_out) {
  check_points(reference, "reference");
  if (labels.size() != reference.rows) {
    throw Error("labels", fmt::format("{} labels for {} rows of the reference", labels.size(), reference.rows),
                "one per row");
  }
  if (queries.rows == 0) return {};
  check_points(queries, "queries");
  check_same_columns(queries, "queries", reference, "reference");
  if (leave_one_out && queries.rows != reference.rows) {
    throw Error("queries", fmt::format("{} rows, and the reference has {}", queries.rows, reference.rows),
                "leave_one_out wants the reference itself");
  }
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < -1) {
      throw Error("labels", fmt::format("label {} of row {} is none", labels[i], i + 1),
                  "-1 for unlabelled, or from 0");
    }
    if (labels[i] != -1) rows.push_back(i);
  }
  const std::size_t most = rows.size() - (leave_one_out && !rows.empty() ? 1 : 0);
  if (most == 0) throw Error("labels", fmt::format("{} rows have a label", rows.size()), "neighbours need labels");
  if (k < 1 || k > most) throw Error("k", fmt::format("{} neighbours", k), fmt::format("from 1 to {}", most));

  const Frame frame = frame_of(reference, queries);
  const Voters voters = place_voters(reference, std::move(rows), frame);
  const Search search{reference, queries, labels, k, leave_one_out, frame, voters};
  std::vector<std::int32_t> result(queries.rows);
  parallel_for(queries.rows, kQueries, [&](std::size_t begin, std::size_t end) { search.run(begin, end, result); });
  return result;
}

double agreement(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  if (a.size() != b.size()) throw Error("a", fmt::format("{} labels, and b has {}", a.size(), b.size()), "as many");
  std::size_t labelled = 0, equal = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    labelled += b[i] != -1;
    equal += b[i] != -1 && a[i] == b[i];
  }
  if (labelled == 0) throw Error("b", fmt::format("none of {} entries has a label", b.size()), "at least one");
  return static_cast<double>(equal) / static_cast<double>(labelled);
}

}  // namespace cpfm
