// The laws that latent expressions are made of. A law is a map from the unit cube to the space: a point is a pure
// function of a few uniform numbers, so that independent and low-discrepancy points come from the same code. Two laws
// list their points instead: grid, and points(FILE).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace cpfm {

constexpr int kMostLatentDim = 8;

class LatentLaw {
 public:
  struct Dims {
    int least, most;  // what the law allows
    int own;          // where nobody asks for one
  };

  virtual ~LatentLaw() = default;

  // Of Rng, for the uniform numbers and for what prepare() draws.
  std::uint32_t stream() const { return stream_; }
  Dims dims() const { return dims_; }
  // How many uniform numbers a point of `dim` dimensions takes, at most kMostUniforms.
  virtual std::size_t uniforms(std::size_t dim) const = 0;
  // Whether points can be spread evenly instead of drawn.
  virtual bool can_spread() const { return true; }
  // Called once, before the points of a draw of n; `index` tells apart several laws of one expression.
  virtual void prepare(std::size_t /*n*/, std::uint64_t /*seed*/, std::uint64_t /*index*/) {}
  // Point j of n, y.size() is the dimension. Called from several threads at once.
  virtual void point(std::size_t j, std::size_t n, std::span<const double> u, std::span<double> y) const = 0;

  static constexpr std::size_t kMostUniforms = kMostLatentDim + 1;

 protected:
  LatentLaw(std::uint32_t stream, Dims dims) : stream_(stream), dims_(dims) {}

 private:
  std::uint32_t stream_;
  Dims dims_;
};

std::unique_ptr<LatentLaw> gaussian_law();
std::unique_ptr<LatentLaw> square_law();
std::unique_ptr<LatentLaw> circle_law();
std::unique_ptr<LatentLaw> sphere_law();
std::unique_ptr<LatentLaw> disk_law();
std::unique_ptr<LatentLaw> ring_law(double inner, double outer);  // 0 ≤ inner < outer
std::unique_ptr<LatentLaw> torus_law(double ring, double tube);   // 0 < tube < ring
std::unique_ptr<LatentLaw> grid_law();

// Throw cpfm::Error that names the file when it cannot be read, has more than 8 columns, or is all white.
std::unique_ptr<LatentLaw> points_law(const std::string& file);
std::unique_ptr<LatentLaw> image_law(const std::string& file);

}  // namespace cpfm
