// Shortest augmenting paths after R. Jonker and A. Volgenant, "A shortest augmenting path algorithm for dense and
// sparse linear assignment problems", Computing 38 (1987). Cheap passes assign most rows and find good prices v of the
// columns; each row that is left is assigned along a shortest path in the reduced costs cost(i, j) - v[j], by
// Dijkstra's algorithm. Two things differ. The passes do not start from nothing but from the solution for a random
// third of rows and columns, found the same way: without that, costs far from what two samples of one law have
// (clusters here, none there) took up to ten times as long. And the search keeps its columns in place instead of
// sorting them into lists, so that its one hot loop runs straight through memory.
#include "metric/assignment.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/random.hpp"

namespace cpfm {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int32_t kFree = -1;
constexpr std::size_t kSmall = 128;                  // up to here no sample is solved first
constexpr std::size_t kSampleShare = 3;              // the sample has this part of the rows and of the columns
constexpr std::size_t kOffersPerRow = 8;             // the most in one pass of offers, on average
constexpr std::uint32_t kSampleStream = 0x6d617367;  // "masg"

// Two at a time, in the vectors of GCC and clang: every x86-64 and Arm has registers of that size.
using Doubles __attribute__((vector_size(16))) = double;
using Integers __attribute__((vector_size(16))) = std::int64_t;
constexpr std::size_t kLanes = 2, kBlock = 64;

struct TwoSmallest {
  double first = kInfinity, second = kInfinity;
  std::size_t at_first = 0, at_second = 0;
};

// The two smallest of cost[j] - v[j].
TwoSmallest two_smallest(const double* cost, const double* v, std::size_t n) {
  TwoSmallest found;
  for (std::size_t j = 0; j < n; ++j) {
    const double reduced = cost[j] - v[j];
    if (reduced >= found.second) continue;
    if (reduced < found.first) {
      found.second = found.first;
      found.at_second = found.at_first;
      found.first = reduced;
      found.at_first = j;
    } else {
      found.second = reduced;
      found.at_second = j;
    }
  }
  return found;
}

class Solver {
 public:
  explicit Solver(MatrixView<const double> cost)
      : cost_(cost), n_(cost.rows), column_of_(n_, kFree), row_of_(n_, kFree), v_(n_, kInfinity) {}

  Assignment solve() {
    reduce_columns(n_ <= kSmall ? std::vector<double>(n_) : sampled_u());
    transfer_reductions();
    std::vector<std::int32_t> free_rows;
    for (std::size_t i = 0; i < n_; ++i) {
      if (column_of_[i] == kFree) free_rows.push_back(static_cast<std::int32_t>(i));
    }
    for (int pass = 0; pass < 2 && n_ > 1; ++pass) free_rows = reduce_rows(std::move(free_rows));
    for (const std::int32_t row : free_rows) {
      check_interrupt();
      augment(row);
    }
    Assignment result;
    result.column_of.assign(column_of_.begin(), column_of_.end());
    result.u.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) result.u[i] = reduced(i, result.column_of[i]);
    result.v = std::move(v_);
    return result;
  }

 private:
  const double* row(std::size_t i) const { return cost_.data + i * n_; }
  double reduced(std::size_t i, std::size_t j) const { return cost_(i, j) - v_[j]; }

  // Prices every column by the row that can pay most when it keeps u, and assigns the two to each other where the row
  // is free.
  void reduce_columns(const std::vector<double>& u) {
    std::vector<std::int32_t> best(n_, 0);
    for (std::size_t i = 0; i < n_; ++i) {
      const double* cost = row(i);
      for (std::size_t j = 0; j < n_; ++j) {
        if (cost[j] - u[i] < v_[j]) {
          v_[j] = cost[j] - u[i];
          best[j] = static_cast<std::int32_t>(i);
        }
      }
    }
    times_best_.assign(n_, 0);
    for (std::size_t j = 0; j < n_; ++j) {
      const auto i = static_cast<std::size_t>(best[j]);
      if (times_best_[i]++ == 0) assign(i, j);
    }
  }

  // Solves the problem of some rows and columns first; u is what every row has by the prices of those columns.
  std::vector<double> sampled_u() {
    const std::size_t m = n_ / kSampleShare;
    const std::vector<std::size_t> rows = permutation(n_, 0, kSampleStream, 0);
    const std::vector<std::size_t> columns = permutation(n_, 0, kSampleStream, 1);
    std::vector<double> cost(m * m);
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < m; ++j) cost[i * m + j] = cost_(rows[i], columns[j]);
    }
    const Assignment sample = Solver({cost.data(), m, m}).solve();
    std::vector<double> u(n_, kInfinity);
    for (std::size_t i = 0; i < n_; ++i) {
      for (std::size_t j = 0; j < m; ++j) u[i] = std::min(u[i], cost_(i, columns[j]) - sample.v[j]);
    }
    return u;
  }

  // A row that won one column only would pay its second choice for it: that column's price falls by the difference.
  void transfer_reductions() {
    for (std::size_t i = 0; i < n_ && n_ > 1; ++i) {
      if (times_best_[i] != 1) continue;
      const auto mine = static_cast<std::size_t>(column_of_[i]);
      double other = kInfinity;
      const double* cost = row(i);
      for (std::size_t j = 0; j < mine; ++j) other = std::min(other, cost[j] - v_[j]);
      for (std::size_t j = mine + 1; j < n_; ++j) other = std::min(other, cost[j] - v_[j]);
      v_[mine] -= other - reduced(i, mine);
    }
  }

  // Every free row takes its best column, also from another row, and pays what it gains over its second choice; who
  // loses a column to a better offer bids again at once, who loses it in a tie waits. Returns the rows left. Prices
  // fall with every offer, but offers may be tiny, so their number is limited.
  std::vector<std::int32_t> reduce_rows(std::vector<std::int32_t> queue) {
    std::vector<std::int32_t> left;
    std::size_t offers = kOffersPerRow * n_;
    for (std::size_t next = 0; next < queue.size();) {
      const std::int32_t bidder = queue[next++];
      const auto i = static_cast<std::size_t>(bidder);
      if (offers == 0) {
        left.push_back(bidder);
        continue;
      }
      --offers;
      TwoSmallest best = two_smallest(row(i), v_.data(), n_);
      const double price = v_[best.at_first] - (best.second - best.first);
      const bool gains = price < v_[best.at_first];
      if (gains) {
        v_[best.at_first] = price;
      } else if (row_of_[best.at_first] != kFree) {
        best.at_first = best.at_second;
      }
      const std::int32_t loser = row_of_[best.at_first];
      assign(i, best.at_first);
      if (loser == kFree) continue;
      column_of_[static_cast<std::size_t>(loser)] = kFree;
      if (gains) {
        queue[--next] = loser;
      } else {
        left.push_back(loser);
      }
    }
    return left;
  }

  // Dijkstra's algorithm from a free row to the nearest free column, then the exchange along the path. distance_[j] is
  // the shortest way found to column j, infinite once the column is done; price_[j] is v[j], or minus infinity once it
  // is done, so that no way leads there again.
  void augment(std::int32_t start) {
    distance_.assign(n_, kInfinity);
    shortest_.resize((n_ + kBlock - 1) / kBlock);
    from_row_.assign(n_, start);
    price_ = v_;
    done_.clear();
    auto i = static_cast<std::size_t>(start);
    double length = 0, base = 0;
    std::size_t j = 0;
    while (true) {
      length = relax(i, base);
      j = nearest_column(length);
      if (row_of_[j] == kFree) break;
      done_.push_back({j, length});
      distance_[j] = kInfinity;
      price_[j] = -kInfinity;
      i = static_cast<std::size_t>(row_of_[j]);
      base = length - reduced(i, j);
    }
    for (const Done& column : done_) v_[column.index] -= std::max(0.0, length - column.distance);
    while (true) {
      const auto from = static_cast<std::size_t>(from_row_[j]);
      const std::int32_t freed = column_of_[from];
      assign(from, j);
      if (static_cast<std::int32_t>(from) == start) return;
      j = static_cast<std::size_t>(freed);
    }
  }

  // Shortens the ways to all columns by those through row i, which is `base` away; returns the length of the shortest,
  // and leaves that of every block of columns.
  double relax(std::size_t i, double base) {
    double shortest = kInfinity;
    for (std::size_t block = 0; block < shortest_.size(); ++block) {
      const std::size_t first = block * kBlock;
      shortest_[block] = relax(i, base, first, std::min(n_, first + kBlock));
      shortest = std::min(shortest, shortest_[block]);
    }
    return shortest;
  }

  double relax(std::size_t i, double base, std::size_t first, std::size_t last) {
    const double *cost = row(i), *price = price_.data();
    double* distance = distance_.data();
    std::int64_t* from = from_row_.data();
    const auto me = static_cast<std::int64_t>(i);
    Doubles shortest = Doubles{} + kInfinity, costs, prices, ways;
    Integers rows;
    std::size_t j = first;
    for (; j + kLanes <= last; j += kLanes) {
      std::memcpy(&costs, cost + j, sizeof costs);
      std::memcpy(&prices, price + j, sizeof prices);
      std::memcpy(&ways, distance + j, sizeof ways);
      std::memcpy(&rows, from + j, sizeof rows);
      const Doubles mine = base + (costs - prices);
      const Integers better = mine < ways;
      ways = better ? mine : ways;
      rows = (better & me) | (~better & rows);
      shortest = ways < shortest ? ways : shortest;
      std::memcpy(distance + j, &ways, sizeof ways);
      std::memcpy(from + j, &rows, sizeof rows);
    }
    double result = std::min(shortest[0], shortest[1]);
    for (; j < last; ++j) {
      const double mine = base + (cost[j] - price[j]);
      if (mine < distance[j]) {
        distance[j] = mine;
        from[j] = me;
      }
      result = std::min(result, distance[j]);
    }
    return result;
  }

  // A column at that distance, a free one where there is one.
  std::size_t nearest_column(double length) const {
    std::size_t found = n_;
    for (std::size_t block = 0; block < shortest_.size(); ++block) {
      if (shortest_[block] != length) continue;
      for (std::size_t j = block * kBlock; j < std::min(n_, (block + 1) * kBlock); ++j) {
        if (distance_[j] != length) continue;
        if (row_of_[j] == kFree) return j;
        found = std::min(found, j);
      }
    }
    CPFM_ASSERT(found < n_, "a free row always reaches a column that is not done");
    return found;
  }

  void assign(std::size_t i, std::size_t j) {
    column_of_[i] = static_cast<std::int32_t>(j);
    row_of_[j] = static_cast<std::int32_t>(i);
  }

  struct Done {
    std::size_t index;
    double distance;
  };
  MatrixView<const double> cost_;
  std::size_t n_;
  std::vector<std::int32_t> column_of_, row_of_;
  std::vector<double> v_;
  std::vector<std::int32_t> times_best_;
  std::vector<double> distance_, price_, shortest_;
  std::vector<std::int64_t> from_row_;
  std::vector<Done> done_;
};

}  // namespace

Assignment solve_assignment(MatrixView<const double> cost) {
  CPFM_ASSERT(cost.rows == cost.cols && cost.rows >= 1 && cost.rows < (std::size_t{1} << 31), "a square matrix");
  return Solver(cost).solve();
}

}  // namespace cpfm
