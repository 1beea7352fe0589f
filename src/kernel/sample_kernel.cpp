#include "kernel/sample_kernel.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <vector>

namespace cpfm {

void SampleKernel::block(std::span<const std::size_t> columns, std::size_t begin, std::size_t end,
                         MatrixView<float> out) const {
  std::vector<std::size_t> rows(end - begin);
  std::iota(rows.begin(), rows.end(), begin);
  evaluate(columns, rows, out);
}

void evaluate_rows(const Kernel& kernel, std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                   MatrixView<float> out) {
  if (rows.empty() || columns.empty()) return;
  if (const auto* sample_kernel = dynamic_cast<const SampleKernel*>(&kernel)) {
    sample_kernel->evaluate(columns, rows, out);
    return;
  }
  if (rows.back() - rows.front() + 1 == rows.size()) {
    kernel.block(columns, rows.front(), rows.back() + 1, out);
    return;
  }
  constexpr std::size_t kWidest = 4096;  // rows asked for at once, wanted or not
  std::vector<float> piece;
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t last = first + 1;
    while (last < rows.size() && rows[last] - rows[first] < kWidest) ++last;
    const std::size_t begin = rows[first], width = rows[last - 1] + 1 - begin;
    piece.resize(columns.size() * width);
    kernel.block(columns, begin, begin + width, {piece.data(), columns.size(), width});
    for (std::size_t c = 0; c < columns.size(); ++c) {
      for (std::size_t r = first; r < last; ++r) out(c, r) = piece[c * width + rows[r] - begin];
    }
    first = last;
  }
}

std::vector<std::vector<std::size_t>> group_members(const Kernel& kernel) {
  const std::span<const std::int64_t> groups = kernel.groups();
  std::vector<std::vector<std::size_t>> members;
  if (groups.empty()) {
    members.emplace_back(kernel.size());
    std::iota(members[0].begin(), members[0].end(), std::size_t{0});
    return members;
  }
  std::unordered_map<std::int64_t, std::size_t> place;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto [found, is_new] = place.try_emplace(groups[i], members.size());
    if (is_new) members.emplace_back();
    members[found->second].push_back(i);
  }
  return members;
}

}  // namespace cpfm
