#include "kernel/on_device.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

#include "base/log.hpp"
#include "kernel/sample_kernel.hpp"

namespace cpfm {
namespace {

template <class T>
std::size_t add(std::vector<T>& list, T value) {
  const auto found = std::find(list.begin(), list.end(), value);
  if (found != list.end()) return static_cast<std::size_t>(found - list.begin());
  list.push_back(std::move(value));
  return list.size() - 1;
}

void say_once(const std::string& expression, const std::string& device) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.insert(expression).second) log().info("{} has no form for {}: the CPU computes it", expression, device);
}

}  // namespace

std::size_t add_table(DeviceDescription& description, const float* values, std::size_t dim) {
  // Two kernels may have made the same centred copy.
  const auto same = [&](const DeviceDescription::Table& table) {
    return table.dim == dim &&
           (table.values == values || std::memcmp(table.values, values, description.n * dim * sizeof(float)) == 0);
  };
  const auto found = std::find_if(description.tables.begin(), description.tables.end(), same);
  if (found != description.tables.end()) return static_cast<std::size_t>(found - description.tables.begin());
  description.tables.push_back({values, dim});
  return description.tables.size() - 1;
}

std::size_t add_scalars(DeviceDescription& description, std::vector<float> scalars) {
  return add(description.scalars, std::move(scalars));
}

std::size_t add_labels(DeviceDescription& description, std::span<const std::int64_t> labels) {
  std::unordered_map<std::int64_t, std::int32_t> names;
  std::vector<std::int32_t> short_labels;
  for (const std::int64_t label : labels)
    short_labels.push_back(names.try_emplace(label, static_cast<std::int32_t>(names.size())).first->second);
  return add(description.labels, std::move(short_labels));
}

std::optional<DeviceDescription> describe_kernel(const Kernel& kernel) {
  const auto* sample_kernel = dynamic_cast<const SampleKernel*>(&kernel);
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max() / 2);
  if (sample_kernel == nullptr || kernel.size() > kMost) return {};
  DeviceDescription description;
  description.n = kernel.size();
  if (!sample_kernel->describe(description, description.terms)) return {};
  std::size_t factors = 0;
  for (const DeviceTerm& term : description.terms) factors += term.factors.size();
  if (description.terms.size() > DeviceDescription::kMostTerms || factors > DeviceDescription::kMostFactors ||
      description.tables.size() > DeviceDescription::kMostTables)
    return {};
  for (const DeviceDescription::Table& table : description.tables) {
    if (table.dim > kMost) return {};
  }
  description.groups.assign(kernel.groups().begin(), kernel.groups().end());
  return description;
}

std::shared_ptr<const DeviceKernel> kernel_on_device(const Kernel& kernel, Device device) {
  if (!device.is_cuda()) return nullptr;
  const std::optional<DeviceDescription> description = describe_kernel(kernel);
  if (!description) {
    say_once(kernel.expression(), device.name());
    return nullptr;
  }
  return std::make_shared<DeviceKernel>(device, *description);
}

}  // namespace cpfm
