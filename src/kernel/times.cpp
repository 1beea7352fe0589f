// K times a vector or a few columns, exactly, by streaming blocks of K. Samples of different groups never meet.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cpfm/error.hpp"
#include "kernel/on_device.hpp"
#include "kernel/sample_kernel.hpp"
#include "kernel/stream.hpp"

namespace cpfm {
namespace {

constexpr std::size_t kRows = 192;    // rows of the result in one task
constexpr std::size_t kOthers = 512;  // samples they meet at a time; with kRows, a block of 384 kB

struct Task {
  const std::vector<std::size_t>* members;
  std::size_t begin, end;  // of members
};

void check_count(std::size_t given, std::size_t wanted, const char* what) {
  if (given != wanted) throw Error(what, fmt::format("{} are given for a kernel on {} samples", given, wanted));
}

std::vector<double> on_cpu(const Kernel& kernel, MatrixView<const double> m, Progress* progress) {
  const std::size_t d = m.cols;
  const std::vector<std::vector<std::size_t>> groups = group_members(kernel);
  std::vector<Task> tasks;
  for (const auto& members : groups) {
    for (std::size_t begin = 0; begin < members.size(); begin += kRows) {
      tasks.push_back({&members, begin, std::min(begin + kRows, members.size())});
    }
  }
  std::vector<double> result(kernel.size() * d, 0.0);
  const auto run = [&](const Task& task) {
    const std::span<const std::size_t> members = *task.members;
    const auto mine = members.subspan(task.begin, task.end - task.begin);
    std::vector<float> block(mine.size() * std::min(kOthers, members.size()));
    for (std::size_t first = 0; first < members.size(); first += kOthers) {
      check_interrupt();
      const auto others = members.subspan(first, std::min(kOthers, members.size() - first));
      evaluate_rows(kernel, mine, others, {block.data(), mine.size(), others.size()});
      for (std::size_t c = 0; c < mine.size(); ++c) {
        const float* values = block.data() + c * others.size();
        double* sums = result.data() + mine[c] * d;
        if (d == 1) {
          double sum = 0;
          for (std::size_t r = 0; r < others.size(); ++r) sum += values[r] * m.data[others[r]];
          sums[0] += sum;
          continue;
        }
        for (std::size_t r = 0; r < others.size(); ++r) {
          const double* row = m.data + others[r] * d;
          for (std::size_t t = 0; t < d; ++t) sums[t] += values[r] * row[t];
        }
      }
    }
  };
  for_row_chunks(
      tasks.size(), 1, progress, "kernel sums",
      [&](std::size_t begin, std::size_t end) {
        for (std::size_t t = begin; t < end; ++t) run(tasks[t]);
      },
      "blocks");
  return result;
}

std::vector<double> on_cuda(const DeviceKernel& kernel, MatrixView<const double> m, Progress* progress) {
  constexpr std::uint64_t kSteps = 1000;
  std::vector<double> result(m.size());
  check_interrupt();
  if (progress != nullptr) progress->start("kernel sums", kSteps, "steps");
  kernel.times(m.data, m.cols, result.data(), [&](double done) {
    check_interrupt();
    if (progress != nullptr) progress->update(static_cast<std::uint64_t>(done * kSteps));
  });
  if (progress != nullptr) progress->finish();
  return result;
}

}  // namespace

std::vector<double> kernel_times_on(const Kernel& kernel, const DeviceKernel* on_device, MatrixView<const double> m,
                                    Progress* progress) {
  check_count(m.rows, kernel.size(), "rows");
  const std::vector<double> result =
      on_device == nullptr ? on_cpu(kernel, m, progress) : on_cuda(*on_device, m, progress);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!std::isfinite(result[i])) {
      throw Error(kernel.expression(),
                  fmt::format("the sum over row {} of the kernel is {}", i / m.cols + 1, result[i]),
                  "kernel values must be finite, and the weights too");
    }
  }
  return result;
}

std::vector<double> kernel_times(const Kernel& kernel, MatrixView<const double> m, Progress* progress, Device device) {
  check_count(m.rows, kernel.size(), "rows");  // before anything is copied
  return kernel_times_on(kernel, kernel_on_device(kernel, device).get(), m, progress);
}

std::vector<double> kernel_times(const Kernel& kernel, std::span<const double> weights, Progress* progress,
                                 Device device) {
  check_count(weights.size(), kernel.size(), "weights");
  return kernel_times(kernel, {weights.data(), weights.size(), 1}, progress, device);
}

}  // namespace cpfm
