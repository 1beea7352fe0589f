#include "coupling/latent_laws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "coupling/low_discrepancy.hpp"
#include "cpfm/data.hpp"
#include "cpfm/error.hpp"
#include "cpfm/random.hpp"
#include "data/image_io.hpp"

namespace cpfm {
namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

constexpr std::uint32_t kGaussianStream = 0x6c676175;  // "lgau"
constexpr std::uint32_t kSquareStream = 0x6c737172;    // "lsqr"
constexpr std::uint32_t kCircleStream = 0x6c636972;    // "lcir"
constexpr std::uint32_t kSphereStream = 0x6c737068;    // "lsph"
constexpr std::uint32_t kDiskStream = 0x6c64736b;      // "ldsk"
constexpr std::uint32_t kRingStream = 0x6c726e67;      // "lrng"
constexpr std::uint32_t kTorusStream = 0x6c746f72;     // "ltor"
constexpr std::uint32_t kGridStream = 0x6c677264;      // "lgrd"
constexpr std::uint32_t kPointsStream = 0x6c707473;    // "lpts"
constexpr std::uint32_t kImageStream = 0x6c696d67;     // "limg"

class GaussianLaw : public LatentLaw {
 public:
  GaussianLaw() : LatentLaw(kGaussianStream, {1, kMostLatentDim, 2}) {}
  std::size_t uniforms(std::size_t dim) const override { return dim; }
  void point(std::size_t, std::size_t, std::span<const double> u, std::span<double> y) const override {
    std::transform(u.begin(), u.end(), y.begin(), normal_quantile);
  }
};

class SquareLaw : public LatentLaw {
 public:
  SquareLaw() : LatentLaw(kSquareStream, {1, kMostLatentDim, 2}) {}
  std::size_t uniforms(std::size_t dim) const override { return dim; }
  void point(std::size_t, std::size_t, std::span<const double> u, std::span<double> y) const override {
    std::transform(u.begin(), u.end(), y.begin(), [](double x) { return 2 * x - 1; });
  }
};

// A uniform direction. In the plane an angle is enough and in space a height and an angle (Archimedes); above, the
// direction of a Gaussian point.
std::size_t direction_uniforms(std::size_t dim) { return dim <= 3 ? dim - 1 : dim; }

void direction(std::span<const double> u, std::span<double> y) {
  if (y.size() == 2) {
    y[0] = std::cos(kTwoPi * u[0]);
    y[1] = std::sin(kTwoPi * u[0]);
  } else if (y.size() == 3) {
    const double across = 2 * std::sqrt(u[0] * (1 - u[0]));
    y[0] = across * std::cos(kTwoPi * u[1]);
    y[1] = across * std::sin(kTwoPi * u[1]);
    y[2] = 2 * u[0] - 1;
  } else {
    double squares = 0;
    for (std::size_t k = 0; k < y.size(); ++k) {
      y[k] = normal_quantile(u[k]);
      squares += y[k] * y[k];
    }
    // Quantiles of our uniform numbers are 0 only at exactly 1/2, which open_unit() never gives.
    for (double& value : y) value /= std::sqrt(squares);
  }
}

class SphereLaw : public LatentLaw {
 public:
  SphereLaw(std::uint32_t stream, Dims dims) : LatentLaw(stream, dims) {}
  std::size_t uniforms(std::size_t dim) const override { return direction_uniforms(dim); }
  void point(std::size_t, std::size_t, std::span<const double> u, std::span<double> y) const override {
    direction(u, y);
  }
};

// Between two radii: |y|^d is uniform between a^d and b^d.
class RingLaw : public LatentLaw {
 public:
  RingLaw(std::uint32_t stream, Dims dims, double inner, double outer)
      : LatentLaw(stream, dims), hole_(inner / outer), outer_(outer) {}
  std::size_t uniforms(std::size_t dim) const override { return 1 + direction_uniforms(dim); }
  void point(std::size_t, std::size_t, std::span<const double> u, std::span<double> y) const override {
    if (y.size() == 1) {  // the disk of the line; a ring has two dimensions at least
      y[0] = 2 * u[0] - 1;
      return;
    }
    direction(u.subspan(1), y);
    const auto d = static_cast<double>(y.size());
    const double empty = std::pow(hole_, d);
    const double radius = outer_ * std::pow(empty + u[0] * (1 - empty), 1 / d);
    for (double& value : y) value *= radius;
  }

 private:
  double hole_, outer_;  // hole_: inner radius as a share of the outer
};

// The surface around the z axis. Area grows with the distance from the axis, so the angle θ around the tube has density
// (1 + e cos θ) / 2π with e = tube / ring, and distribution function 1/2 + (θ + e sin θ) / 2π on [-π, π].
class TorusLaw : public LatentLaw {
 public:
  TorusLaw(double ring, double tube) : LatentLaw(kTorusStream, {3, 3, 3}), ring_(ring), tube_(tube) {}
  std::size_t uniforms(std::size_t) const override { return 2; }
  void point(std::size_t, std::size_t, std::span<const double> u, std::span<double> y) const override {
    const double theta = tube_angle(kTwoPi * (u[0] - 0.5)), phi = kTwoPi * u[1];
    const double from_axis = ring_ + tube_ * std::cos(theta);
    y[0] = from_axis * std::cos(phi);
    y[1] = from_axis * std::sin(phi);
    y[2] = tube_ * std::sin(theta);
  }

 private:
  // θ + e sin θ = m by Newton's steps, halving the bracket where one would leave it.
  double tube_angle(double m) const {
    const double e = tube_ / ring_;
    double low = -std::numbers::pi, high = std::numbers::pi, theta = m / (1 + e);
    for (int k = 0; k < 60; ++k) {
      const double excess = theta + e * std::sin(theta) - m;
      if (std::abs(excess) < 4e-15) break;
      (excess > 0 ? high : low) = theta;
      theta -= excess / (1 + e * std::cos(theta));
      if (!(theta > low && theta < high)) theta = 0.5 * (low + high);
    }
    return theta;
  }

  double ring_, tube_;
};

// Cuts the cube into n boxes of equal volume and takes their centres. Along the first axis the box is cut into about
// n^(1/d) slabs, as thick as the share of points each gets; a slab is cut along the next axis, and so on. So the mean
// is 0 for every n, and n = k^d gives the regular lattice.
class GridLaw : public LatentLaw {
 public:
  GridLaw() : LatentLaw(kGridStream, {1, kMostLatentDim, 2}) {}
  std::size_t uniforms(std::size_t) const override { return 0; }
  void point(std::size_t j, std::size_t n, std::span<const double>, std::span<double> y) const override {
    for (std::size_t axis = 0; axis < y.size(); ++axis) {
      const double left = static_cast<double>(y.size() - axis), points = static_cast<double>(n);
      const std::size_t slabs =
          left == 1 ? n : static_cast<std::size_t>(std::max(1.0, std::round(std::pow(points, 1 / left))));
      if (slabs == n) {
        y[axis] = (2 * static_cast<double>(j) + 1) / points - 1;
        j = 0;
        n = 1;
        continue;
      }
      // Slab k holds the points from floor(k n / slabs) on. slabs ≤ √n, so no product here overflows.
      const std::size_t k = ((j + 1) * slabs - 1) / n;
      const std::size_t first = k * n / slabs, behind = (k + 1) * n / slabs;
      y[axis] = static_cast<double>(first + behind) / points - 1;
      j -= first;
      n = behind - first;
    }
  }
};

class PointsLaw : public LatentLaw {
 public:
  explicit PointsLaw(FloatMatrix rows)
      : LatentLaw(kPointsStream,
                  {static_cast<int>(rows.cols()), static_cast<int>(rows.cols()), static_cast<int>(rows.cols())}),
        rows_(std::move(rows)) {}
  std::size_t uniforms(std::size_t) const override { return 0; }
  bool can_spread() const override { return false; }
  void prepare(std::size_t n, std::uint64_t seed, std::uint64_t index) override {
    copied_ = n / rows_.rows() * rows_.rows();
    if (n > copied_) order_ = permutation(rows_.rows(), seed, stream(), index);
  }
  void point(std::size_t j, std::size_t, std::span<const double>, std::span<double> y) const override {
    const auto row = rows_.row(j < copied_ ? j % rows_.rows() : order_[j - copied_]);
    std::copy(row.begin(), row.end(), y.begin());
  }

 private:
  FloatMatrix rows_;
  std::size_t copied_ = 0;          // points that belong to whole copies of the rows
  std::vector<std::size_t> order_;  // of the rows, for the points behind
};

// The height is drawn from the ink of the rows, then the place within the row; both by inverting the distribution
// function, which also spreads points inside their pixel. One byte is kept per pixel, so a row is searched from its
// start.
class ImageLaw : public LatentLaw {
 public:
  ImageLaw(Picture grey, const std::string& file)
      : LatentLaw(kImageStream, {2, 2, 2}),
        picture_(std::move(grey)),
        width_(static_cast<std::size_t>(picture_.width)) {
    double total = 0;
    for (std::size_t y = 0; y < static_cast<std::size_t>(picture_.height); ++y) {
      for (std::size_t x = 0; x < width_; ++x) total += ink(y, x);
      ink_until_.push_back(total);
    }
    if (total == 0) throw Error(file, "is all white", "dark ink is where points go");
  }
  std::size_t uniforms(std::size_t) const override { return 2; }
  void point(std::size_t, std::size_t, std::span<const double> u, std::span<double> y) const override {
    const double height_ink = u[0] * ink_until_.back();
    // Rounding may reach the total, which belongs to the last row with ink.
    auto at = std::upper_bound(ink_until_.begin(), ink_until_.end(), height_ink);
    if (at == ink_until_.end()) at = std::lower_bound(ink_until_.begin(), ink_until_.end(), ink_until_.back());
    const auto row = static_cast<std::size_t>(at - ink_until_.begin());
    const double above = row == 0 ? 0 : ink_until_[row - 1], row_ink = *at - above;
    const double down = static_cast<double>(row) + (height_ink - above) / row_ink;

    double left = u[1] * row_ink, right = 0;
    for (std::size_t x = 0; x < width_; ++x) {
      if (ink(row, x) == 0) continue;
      right = static_cast<double>(x) + std::min(1.0, left / ink(row, x));
      if (left < ink(row, x)) break;
      left -= ink(row, x);
    }
    const double pixel = 2.0 / std::max(picture_.width, picture_.height);
    y[0] = (right - 0.5 * picture_.width) * pixel;
    y[1] = (0.5 * picture_.height - down) * pixel;
  }

 private:
  double ink(std::size_t y, std::size_t x) const { return 255 - picture_.pixels[y * width_ + x]; }

  Picture picture_;
  std::size_t width_;
  std::vector<double> ink_until_;  // of this row and all above; whole numbers, exact
};

}  // namespace

std::unique_ptr<LatentLaw> gaussian_law() { return std::make_unique<GaussianLaw>(); }
std::unique_ptr<LatentLaw> square_law() { return std::make_unique<SquareLaw>(); }
std::unique_ptr<LatentLaw> circle_law() { return std::make_unique<SphereLaw>(kCircleStream, LatentLaw::Dims{2, 2, 2}); }
std::unique_ptr<LatentLaw> sphere_law() {
  return std::make_unique<SphereLaw>(kSphereStream, LatentLaw::Dims{2, kMostLatentDim, 3});
}
std::unique_ptr<LatentLaw> disk_law() {
  return std::make_unique<RingLaw>(kDiskStream, LatentLaw::Dims{1, kMostLatentDim, 2}, 0, 1);
}
std::unique_ptr<LatentLaw> ring_law(double inner, double outer) {
  CPFM_ASSERT(0 <= inner && inner < outer, "the radii of a ring");
  return std::make_unique<RingLaw>(kRingStream, LatentLaw::Dims{2, kMostLatentDim, 2}, inner, outer);
}
std::unique_ptr<LatentLaw> torus_law(double ring, double tube) {
  CPFM_ASSERT(0 < tube && tube < ring, "the radii of a torus");
  return std::make_unique<TorusLaw>(ring, tube);
}
std::unique_ptr<LatentLaw> grid_law() { return std::make_unique<GridLaw>(); }

std::unique_ptr<LatentLaw> points_law(const std::string& file) {
  Dataset data = read_dataset(file);
  if (data.dim() > static_cast<std::size_t>(kMostLatentDim)) {
    throw Error(file, fmt::format("has {} columns", data.dim()),
                fmt::format("latent points have 1 to {} dimensions", kMostLatentDim));
  }
  return std::make_unique<PointsLaw>(std::move(data.samples));
}

std::unique_ptr<LatentLaw> image_law(const std::string& file) {
  return std::make_unique<ImageLaw>(with_channels(read_picture(file), 1), file);
}

}  // namespace cpfm
