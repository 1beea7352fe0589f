// knn(k): 1 for a sample with itself and for two samples of which one is among the k nearest of the other, else 0.
// Found exactly, by comparing all pairs. The graph's matrix has negative eigenvalues in general, so its sign is
// unknown.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "kernel/arguments.hpp"
#include "kernel/points.hpp"
#include "kernel/stream.hpp"

namespace cpfm {
namespace {

class Knn final : public SampleKernel {
 public:
  // neighbours[i]: ascending, symmetric, with i itself.
  Knn(std::vector<std::vector<std::uint32_t>> neighbours, std::size_t k) : neighbours_(std::move(neighbours)), k_(k) {}

  std::size_t size() const override { return neighbours_.size(); }
  void evaluate(std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                MatrixView<float> out) const override {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const std::vector<std::uint32_t>& near = neighbours_[columns[c]];
      for (std::size_t r = 0; r < rows.size(); ++r) {
        out(c, r) = std::binary_search(near.begin(), near.end(), static_cast<std::uint32_t>(rows[r])) ? 1.0f : 0.0f;
      }
    }
  }
  void diagonal(std::span<float> out) const override { std::fill(out.begin(), out.end(), 1.0f); }
  std::string expression() const override { return fmt::format("knn({})", k_); }
  bool extends() const override { return false; }

 private:
  std::vector<std::vector<std::uint32_t>> neighbours_;
  std::size_t k_;
};

// The k nearest of samples [begin, end), ties to the lower number.
void find_nearest(const Points& points, std::size_t k, std::size_t begin, std::size_t end,
                  std::vector<std::vector<std::uint32_t>>& nearest) {
  constexpr std::size_t kTile = 1024;
  using Found = std::pair<float, std::uint32_t>;
  std::vector<std::size_t> mine(end - begin), others;
  std::iota(mine.begin(), mine.end(), begin);
  std::vector<std::vector<Found>> heaps(mine.size());  // the largest of the k smallest is on top
  std::vector<float> block(mine.size() * kTile);
  for (std::size_t first = 0; first < points.size(); first += kTile) {
    check_interrupt();
    others.resize(std::min(kTile, points.size() - first));
    std::iota(others.begin(), others.end(), first);
    points.distances2(mine, others, {block.data(), mine.size(), others.size()});
    for (std::size_t c = 0; c < mine.size(); ++c) {
      std::vector<Found>& heap = heaps[c];
      for (std::size_t r = 0; r < others.size(); ++r) {
        const Found found{block[c * others.size() + r], static_cast<std::uint32_t>(others[r])};
        if (others[r] == mine[c] || (heap.size() == k && !(found < heap.front()))) continue;
        if (heap.size() == k) {
          std::pop_heap(heap.begin(), heap.end());
          heap.pop_back();
        }
        heap.push_back(found);
        std::push_heap(heap.begin(), heap.end());
      }
    }
  }
  for (std::size_t c = 0; c < mine.size(); ++c) {
    for (const Found& found : heaps[c]) nearest[mine[c]].push_back(found.second);
  }
}

}  // namespace

SampleKernelPtr make_knn(const KernelSource& source, const Expression& call) {
  const Arguments arguments(source, call, {"k"});
  const std::size_t n = source.data.size();
  if (!arguments.has("k")) source.parsed.fail(call, "the number of neighbours is missing", "as in knn(10)");
  const double wanted = arguments.number("k").value_or(0);
  if (!(wanted >= 1 && wanted < static_cast<double>(n)) || wanted != std::floor(wanted)) {
    arguments.fail("k", fmt::format("{} is no number of neighbours here", arguments.text("k")),
                   fmt::format("a whole number from 1 to {}, which is one less than the samples", n - 1));
  }
  if (n > 0xFFFFFFFFu) source.parsed.fail(call, "there are too many samples", "at most 4294967295");
  const auto k = static_cast<std::size_t>(wanted);
  const Points points(source.data, Points::Use::kDistances, "knn");
  std::vector<std::vector<std::uint32_t>> nearest(n);
  for_row_chunks(n, 128, source.progress, "neighbours",
                 [&](std::size_t begin, std::size_t end) { find_nearest(points, k, begin, end, nearest); });
  std::vector<std::vector<std::uint32_t>> graph = nearest;
  for (std::size_t i = 0; i < n; ++i) {
    graph[i].push_back(static_cast<std::uint32_t>(i));
    for (const std::uint32_t j : nearest[i]) graph[j].push_back(static_cast<std::uint32_t>(i));
  }
  for (std::vector<std::uint32_t>& near : graph) {
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
  }
  return std::make_unique<Knn>(std::move(graph), k);
}

}  // namespace cpfm
