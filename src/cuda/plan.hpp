// Questions to a plan on a device: what src/coupling/plan.cpp answers, with both sides kept there. As in sinkhorn.hpp,
// points lie along space-filling curves, and one block of threads meets one run of targets with the parts of the source
// that its boxes allow. Sums are in float (where the plan says so) over one part of 64 points and in double beyond,
// always in the same order: the same bytes every time on the same device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/host_device.hpp"
#include "cpfm/device.hpp"

namespace cpfm {

// Truncation, and the limits of float, take it that rows have about their mass. One that has not (of a plan that is far
// from its marginals) is for the host, by itself.
CPFM_HD inline bool has_its_mass(double total, double mass) { return total > 0.5 * mass && total < 2 * mass; }

// Everywhere below, targets are the rows of the plan, or its columns where it is transposed; sources are the others.
// Calls may come from any thread; one works at a time.
class DevicePlan {
 public:
  // As PlanParts has them; read by the constructor alone.
  struct Parts {
    std::size_t rows = 0, columns = 0;
    int dim = 0;
    double epsilon = 0;
    const double *w = nullptr, *p = nullptr, *row_potential = nullptr, *row_mass = nullptr;
    const double *y = nullptr, *column_potential = nullptr, *column_mass = nullptr;
    double drop = 0;  // mass that pairs left out may hold, 0: every pair is computed
    bool double_precision = false;
  };
  DevicePlan(Device device, const Parts& parts);
  ~DevicePlan();

  // One source for every entry of `which` (targets, any order, repeats allowed; null: every target once, in order, and
  // `count` is their number): the place in the source's cumulative mass, along its curve, of uniforms[e] in [0, 1).
  // kUndrawn where the target has not its mass.
  static constexpr std::uint32_t kUndrawn = 0xFFFFFFFFu;
  void draw(bool transposed, const std::size_t* which, std::size_t count, const double* uniforms, std::uint32_t* drawn);

  // Means of `values` (sources × columns) by the conditional law of every target, into targets × columns. lost[i] is 1,
  // and means of i are left unset, where target i has not its mass; else 0.
  void means(bool transposed, const float* values, std::size_t columns, float* means, unsigned char* lost);

  // The k ≤ kMostTop likeliest sources of every target, likeliest first and of equal ones the first first, with their
  // conditional probabilities: targets × k. Over every pair and in double, whatever the masses.
  static constexpr std::size_t kMostTop = 32;
  void top(bool transposed, std::size_t k, std::uint32_t* index, double* probability);

  // log2 Σ_j 2^(G_j - C_ij / (ε ln 2)) of other rows, given by w (count) and p (count × dim). Over every pair and in
  // double, safe from overflow.
  void log2_sums(const double* w, const double* p, std::size_t count, double* sums);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cpfm
