// Pivoted Cholesky is a Nyström map: with L the rows of Φ at the pivots, φ(x) = L⁻¹ k(pivots, x), so
//   p(x) = φ(x)ᵀ Φᵀ M = k(x, pivots) · L⁻ᵀ Φᵀ M        and        w(x) = k(x, pivots) · L⁻ᵀ Φᵀ μ.
// The two products on the right are a few numbers per pivot, and all that has to be kept. Where there are no pivots (a
// kernel of unknown sign, a centred one, no factor) the sums run over all samples: p(x) = k(x, X) M - c, w(x) = k(x, X)
// μ, where c is what centring moved every p by.
#include "coupling/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/log.hpp"
#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/parallel.hpp"
#include "cuda/memory.hpp"
#include "kernel/on_device.hpp"

namespace cpfm {
namespace {

// Both datasets as one, labels matched by name and properties too, so that a kernel can be built over it.
Dataset joined(const Dataset& reference, const Dataset& points, std::size_t begin, std::size_t end) {
  Dataset both;
  both.source = points.source;
  const std::size_t r = reference.size();
  both.samples = FloatMatrix(r + end - begin, reference.dim());
  std::copy_n(reference.samples.data(), reference.samples.size(), both.samples.data());
  std::copy(points.samples.row(begin).data(), points.samples.row(begin).data() + (end - begin) * points.dim(),
            both.samples.row(r).data());
  if (reference.labels && points.labels) {
    both.labels = reference.labels;
    std::map<std::string, std::int32_t> known;
    for (std::size_t c = 0; c < both.labels->names.size(); ++c)
      known[both.labels->names[c]] = static_cast<std::int32_t>(c);
    for (std::size_t i = begin; i < end; ++i) {
      const std::int32_t id = points.labels->ids[i];
      const auto found = id < 0 ? known.end() : known.find(points.labels->names[static_cast<std::size_t>(id)]);
      both.labels->ids.push_back(found == known.end() ? -1 : found->second);
    }
  }
  for (const Property& property : reference.properties) {
    const auto found = std::find_if(points.properties.begin(), points.properties.end(),
                                    [&](const Property& other) { return other.name == property.name; });
    if (found == points.properties.end()) continue;
    both.properties.push_back(property);
    both.properties.back().values.insert(both.properties.back().values.end(),
                                         found->values.begin() + static_cast<std::ptrdiff_t>(begin),
                                         found->values.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return both;
}

// Solves Lᵀ X = B in place for B of r × columns, L being the first r columns of the pivots' rows of Φ.
void solve_transposed(const KernelFactor& factor, std::vector<double>& b, std::size_t columns) {
  const std::size_t r = factor.pivots.size();
  for (std::size_t k = r; k-- > 0;) {
    const std::span<const float> row = factor.phi.row(factor.pivots[k]);
    double* own = &b[k * columns];
    for (std::size_t c = 0; c < columns; ++c) own[c] /= double(row[k]);
    // What is known now leaves the equations above.
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t c = 0; c < columns; ++c) b[i * columns + c] -= double(row[i]) * own[c];
    }
  }
}

// Of each sample behind the first r of a kernel: Σ k(x, reference) c for each of the coefficients, and Σ |k| (on a
// device Σ k), which is 0 where x is like none of the reference.
std::vector<double> kernel_sums(const Kernel& kernel, const Placement& placement, std::size_t r, std::size_t columns,
                                Device device) {
  const std::size_t count = kernel.size() - r, each = columns + 1;
  // There all pairs are computed, those of the reference too: for a few samples that is not worth it.
  constexpr std::size_t kFew = 64;
  try {
    if (const auto on_device = count * kFew > r ? kernel_on_device(kernel, device) : nullptr) {
      std::vector<double> right(kernel.size() * each);
      for (std::size_t k = 0; k < r; ++k) {
        std::copy_n(&placement.coefficients[k * columns], columns, &right[k * each]);
        right[k * each + columns] = 1;
      }
      std::vector<double> sums = kernel_times_on(kernel, on_device.get(), {right.data(), kernel.size(), each});
      sums.erase(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(r * each));
      return sums;
    }
  } catch (const OutOfDeviceMemory& error) {
    log().info("the CPU places samples: {}", error.problem());
  }
  std::vector<std::size_t> all(r);
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<double> sums(count * each);
  constexpr std::size_t kChunk = 64;
  parallel_for(count, kChunk, [&](std::size_t begin, std::size_t end) {
    check_interrupt();
    const std::size_t now = end - begin;
    std::vector<float> values(r * now);
    kernel.block(all, r + begin, r + end, {values.data(), r, now});
    for (std::size_t k = 0; k < r; ++k) {
      for (std::size_t i = 0; i < now; ++i) {
        const double value = values[k * now + i];
        if (value == 0) continue;
        double* sum = &sums[(begin + i) * each];
        for (std::size_t c = 0; c < columns; ++c) sum[c] += value * placement.coefficients[k * columns + c];
        sum[columns] += std::abs(value);
      }
    }
  });
  return sums;
}

}  // namespace

Placement make_placement(const Dataset& data, const Kernel& kernel, const KernelFactor& factor,
                         std::span<const double> row_mass, MatrixView<const double> mean, std::span<const double> km,
                         std::span<const double> p) {
  const std::size_t n = data.size(), columns = mean.cols + 1;
  Placement placement;
  placement.offset.assign(mean.cols, 0.0);
  std::vector<double> right(n * columns);  // [μ, M]
  for (std::size_t i = 0; i < n; ++i) {
    right[i * columns] = row_mass[i];
    std::copy_n(mean.row(i).data(), mean.cols, &right[i * columns + 1]);
  }
  std::vector<std::size_t> which = factor.pivots;
  if (!by_pivots(factor)) {
    which.resize(n);
    std::iota(which.begin(), which.end(), std::size_t{0});
    placement.coefficients = std::move(right);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < mean.cols; ++k)
        placement.offset[k] += (km[i * mean.cols + k] - p[i * mean.cols + k]) / static_cast<double>(n);
    }
  } else {
    const std::size_t rank = factor.phi.cols();
    placement.coefficients = parallel_reduce(
        n, 512, std::vector<double>(rank * columns, 0.0),
        [&](std::size_t begin, std::size_t end) {
          std::vector<double> part(rank * columns, 0.0);
          for (std::size_t i = begin; i < end; ++i) {
            const float* phi = factor.phi.row(i).data();
            for (std::size_t k = 0; k < rank; ++k) {
              if (phi[k] == 0) continue;
              for (std::size_t c = 0; c < columns; ++c)
                part[k * columns + c] += double(phi[k]) * right[i * columns + c];
            }
          }
          return part;
        },
        [](std::vector<double> sum, const std::vector<double>& part) {
          for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += part[k];
          return sum;
        });
    solve_transposed(factor, placement.coefficients, columns);
  }
  placement.reference = select(data, which);
  placement.reference.sample_names.clear();
  placement.reference.feature_names.clear();
  placement.reference.molecules.clear();
  // Only what the kernel looks at.
  const std::string expression = kernel.expression();
  if (expression.find("label") == std::string::npos) placement.reference.labels.reset();
  if (expression.find("property") == std::string::npos) placement.reference.properties.clear();
  return placement;
}

Plan Coupling::place(const Dataset& points, Progress* progress) const {
  // gram() would read a file that the coupling names.
  if (!placement || summary.kernel.find("gram") != std::string::npos) {
    throw Error(summary.kernel, "this kernel is defined on the coupled samples only, so new ones cannot be placed",
                "couple with a kernel that extends, such as heat, label or property");
  }
  const Dataset& reference = placement->reference;
  if (points.dim() != reference.dim()) {
    throw Error(points.source,
                fmt::format("has {} features, and the coupled data has {}", points.dim(), reference.dim()),
                "new samples need the same features, brought to the same scale");
  }
  const std::size_t d = summary.dim, sums_each = d + 2, r = reference.size();
  const Device device = plan.device();
  std::vector<double> w(points.size()), p(points.size() * d);
  std::size_t strangers = 0;
  constexpr std::size_t kBatch = 4096;
  // On a device, where pairs of the reference are computed too, more new samples at once make these a smaller part.
  const std::size_t batch = device.is_cuda() ? std::max(kBatch, r) : kBatch;
  if (progress != nullptr) progress->start("place", points.size(), "samples");
  for (std::size_t first = 0; first < points.size(); first += batch) {
    check_interrupt();
    const std::size_t last = std::min(points.size(), first + batch);
    const Dataset both = joined(reference, points, first, last);
    const auto kernel = make_kernel(summary.kernel, both);
    if (!kernel->extends()) throw Error(summary.kernel, "cannot be extended to new samples", "the coupling is damaged");
    const std::vector<double> sums = kernel_sums(*kernel, *placement, r, d + 1, device);
    for (std::size_t i = first; i < last; ++i) {
      const double* sum = &sums[(i - first) * sums_each];
      w[i] = sum[0];
      for (std::size_t k = 0; k < d; ++k) p[i * d + k] = sum[1 + k] - placement->offset[k];
      strangers += sum[d + 1] == 0 ? 1 : 0;
    }
    if (progress != nullptr) progress->update(last);
  }
  if (progress != nullptr) progress->finish();
  if (strangers > 0)
    log().warn("{} of {} samples are like no coupled one under {}: they may be anywhere", strangers, points.size(),
               summary.kernel);
  return plan.with_rows(w, p);
}

FloatMatrix Coupling::embed(const Plan& of, std::uint64_t seed, std::uint64_t index) const {
  const std::vector<std::uint32_t> drawn = of.draw(seed, index);
  FloatMatrix y(drawn.size(), latent.cols());
  for (std::size_t i = 0; i < drawn.size(); ++i)
    std::copy_n(latent.row(drawn[i]).data(), latent.cols(), y.row(i).data());
  return y;
}

FloatMatrix Coupling::embed_all(const Dataset& data, bool barycentric, std::uint64_t seed, Progress* progress) const {
  const auto embed_rows = [&](const Plan& of, std::uint64_t index) {
    return barycentric ? barycentres(of) : embed(of, seed, index);
  };
  if (fingerprint(data) != data_fingerprint) {
    throw Error(data.source, "is not the data this coupling was made of",
                "give the same data; new samples are placed with place()");
  }
  FloatMatrix coupled = embed_rows(plan, 0);
  if (rows.empty()) return coupled;
  std::vector<std::size_t> others;
  if (rows.back() >= data.size()) throw Error("rows", "name samples that are not there", "the coupling is damaged");
  for (std::size_t i = 0, at = 0; i < data.size(); ++i) {
    if (at < rows.size() && rows[at] == i)
      ++at;
    else
      others.push_back(i);
  }
  FloatMatrix all(data.size(), latent.cols());
  const auto put = [&](const FloatMatrix& from, const std::vector<std::size_t>& where) {
    for (std::size_t i = 0; i < where.size(); ++i)
      std::copy_n(from.row(i).data(), from.cols(), all.row(where[i]).data());
  };
  put(coupled, rows);
  put(embed_rows(place(select(data, others), progress), 1), others);
  return all;
}

FloatMatrix Coupling::barycentres(const Plan& of) const { return of.means(latent.view()); }

}  // namespace cpfm
