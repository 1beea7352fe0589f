// Kernel ridge regression on descriptors, each scaled to the same spread; likeness is Gaussian, as wide as half of all
// pairs are apart.
#include "cpfm/descriptor_regressor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "chem/kernel_ridge.hpp"
#include "cpfm/error.hpp"
#include "cpfm/parallel.hpp"
#include "cpfm/random.hpp"

namespace cpfm {
namespace {

constexpr std::uint32_t kRowStream = 0x64726567;  // "dreg"
constexpr const char *kCenter = "descriptor_regressor.center", *kScale = "descriptor_regressor.scale",
                     *kKnown = "descriptor_regressor.known", *kWeights = "descriptor_regressor.weights",
                     *kMean = "descriptor_regressor.mean", *kLeftOut = "descriptor_regressor.left_out";

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const RowMajor> mapped(MatrixView<const float> view) {
  return {view.data, static_cast<Eigen::Index>(view.rows), static_cast<Eigen::Index>(view.cols)};
}

// exp(−|a − b|²) of all pairs of rows, those of `b` as columns.
Eigen::MatrixXf likeness(MatrixView<const float> a, MatrixView<const float> b) {
  const Eigen::Map<const RowMajor> left = mapped(a), right = mapped(b);
  Eigen::MatrixXf all = 2 * left * right.transpose();
  all.colwise() -= left.rowwise().squaredNorm();
  all.rowwise() -= right.rowwise().squaredNorm().transpose();
  return all.array().min(0).exp();
}

bool all_finite(MatrixView<const float> view) {
  return std::all_of(view.data, view.data + view.size(), [](float value) { return std::isfinite(value); });
}

// The median of the squared distances of some rows that differ at all.
double median_squared_distance(MatrixView<const float> rows) {
  constexpr std::size_t kRows = 500;
  const std::size_t n = std::min(kRows, rows.rows);
  std::vector<double> distances;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < rows.cols; ++k) {
        const double apart = rows.data[i * rows.cols + k] - rows.data[j * rows.cols + k];
        sum += apart * apart;
      }
      if (sum > 0) distances.push_back(sum);
    }
  }
  if (distances.empty()) return 1;
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  return *middle;
}

FloatMatrix read_matrix(const TensorFile& file, const char* name) {
  const TensorView& tensor = file.tensor(name);
  if (tensor.dtype != DType::kF32 || tensor.shape.size() != 2)
    throw Error(name, "is not a matrix of numbers", "the file is damaged");
  FloatMatrix matrix(tensor.shape[0], tensor.shape[1]);
  std::copy_n(tensor.bytes.data(), tensor.bytes.size(), reinterpret_cast<std::byte*>(matrix.data()));
  if (!all_finite(matrix.view())) throw Error(name, "is not finite", "the file is damaged");
  return matrix;
}

}  // namespace

DescriptorRegressor::DescriptorRegressor(MatrixView<const float> descriptors, MatrixView<const float> values,
                                         const DescriptorRegressorOptions& options) {
  if (values.rows != descriptors.rows || values.rows < 2 || values.cols == 0)
    throw Error("values", fmt::format("{} x {} for {} molecules", values.rows, values.cols, descriptors.rows),
                "a row for each of two or more molecules");
  if (descriptors.cols == 0) throw Error("descriptors", "there are none");
  if (!all_finite(values) || !all_finite(descriptors)) throw Error("values or descriptors", "are not all finite");
  if (options.most < 2) throw Error("most", fmt::format("is {}", options.most), "2 or more");
  if (!(options.ridge > 0) || !std::isfinite(options.ridge))
    throw Error("ridge", fmt::format("is {}", options.ridge), "a number above 0");
  const std::size_t dim = descriptors.cols, count = descriptors.rows;
  center_ = FloatMatrix(1, dim);
  scale_ = FloatMatrix(1, dim);
  for (std::size_t k = 0; k < dim; ++k) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < count; ++i) mean += descriptors.data[i * dim + k] / static_cast<double>(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double off = descriptors.data[i * dim + k] - mean;
      square += off * off / static_cast<double>(count);
    }
    center_(0, k) = static_cast<float>(mean);
    // What is the same for all tells nothing.
    scale_(0, k) = square > 1e-12 * std::max(1.0, mean * mean) ? static_cast<float>(1 / std::sqrt(square)) : 0;
  }

  std::vector<std::size_t> rows = permutation(count, options.seed, kRowStream);
  rows.resize(std::min(rows.size(), options.most));
  const std::size_t n = rows.size();
  FloatMatrix all = scaled(descriptors);
  known_ = FloatMatrix(n, dim);
  for (std::size_t i = 0; i < n; ++i) std::ranges::copy(all.row(rows[i]), known_.row(i).begin());
  const auto width = static_cast<float>(1 / std::sqrt(median_squared_distance(known_.view())));
  for (FloatMatrix* part : {&scale_, &known_, &all}) {
    for (std::size_t k = 0; k < part->rows() * part->cols(); ++k) part->data()[k] *= width;
  }

  mean_ = FloatMatrix(1, values.cols);
  Eigen::MatrixXd wanted(n, values.cols);
  for (std::size_t p = 0; p < values.cols; ++p) {
    double mean = 0;
    for (const std::size_t row : rows) mean += values.data[row * values.cols + p] / static_cast<double>(n);
    mean_(0, p) = static_cast<float>(mean);
    for (std::size_t i = 0; i < n; ++i)
      wanted(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(p)) =
          values.data[rows[i] * values.cols + p] - mean_(0, p);
  }
  Eigen::MatrixXd kernel = likeness(known_.view(), known_.view()).cast<double>();
  const RidgeFit fit = fit_ridge(kernel, options.ridge, wanted, true);
  weights_ = FloatMatrix(n, values.cols);
  std::copy_n(RowMajor(fit.weights.cast<float>()).data(), weights_.rows() * weights_.cols(), weights_.data());
  // Those it has not learned from it is asked about as they are.
  left_out_ = n < count ? predict(descriptors) : FloatMatrix(count, values.cols);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t p = 0; p < values.cols; ++p)
      left_out_(rows[i], p) =
          static_cast<float>(fit.left_out(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(p))) + mean_(0, p);
  }
}

FloatMatrix DescriptorRegressor::scaled(MatrixView<const float> descriptors) const {
  if (descriptors.cols != center_.cols())
    throw Error("descriptors", fmt::format("{} a molecule where {} are known", descriptors.cols, center_.cols()));
  FloatMatrix all(descriptors.rows, descriptors.cols);
  for (std::size_t i = 0; i < all.rows(); ++i) {
    for (std::size_t k = 0; k < all.cols(); ++k)
      all(i, k) = (descriptors.data[i * descriptors.cols + k] - center_(0, k)) * scale_(0, k);
  }
  return all;
}

FloatMatrix DescriptorRegressor::predict(MatrixView<const float> descriptors) const {
  constexpr std::size_t kAtOnce = 128;
  const FloatMatrix all = scaled(descriptors);
  FloatMatrix values(all.rows(), properties());
  parallel_for(all.rows(), kAtOnce, [&](std::size_t begin, std::size_t end) {
    const Eigen::MatrixXf alike = likeness({all.row(begin).data(), end - begin, all.cols()}, known_.view());
    const RowMajor said = (alike * mapped(weights_.view())).rowwise() + mapped(mean_.view()).row(0);
    std::copy_n(said.data(), said.size(), values.row(begin).data());
  });
  return values;
}

DescriptorRegressor::DescriptorRegressor(const TensorFile& file)
    : center_(read_matrix(file, kCenter)),
      scale_(read_matrix(file, kScale)),
      known_(read_matrix(file, kKnown)),
      weights_(read_matrix(file, kWeights)),
      mean_(read_matrix(file, kMean)),
      left_out_(read_matrix(file, kLeftOut)) {
  const std::size_t dim = known_.cols(), values = weights_.cols();
  if (dim == 0 || values == 0 || known_.rows() == 0 || known_.rows() != weights_.rows() || center_.rows() != 1 ||
      center_.cols() != dim || scale_.rows() != 1 || scale_.cols() != dim || mean_.rows() != 1 ||
      mean_.cols() != values || left_out_.cols() != values)
    throw Error(kKnown, "does not fit what is beside it", "the file is damaged");
}

void DescriptorRegressor::add_to(TensorFileWriter& writer) const {
  const auto add = [&](const char* name, const FloatMatrix& matrix) {
    writer.add(name, {matrix.rows(), matrix.cols()}, {matrix.data(), matrix.rows() * matrix.cols()});
  };
  add(kCenter, center_);
  add(kScale, scale_);
  add(kKnown, known_);
  add(kWeights, weights_);
  add(kMean, mean_);
  add(kLeftOut, left_out_);
}

}  // namespace cpfm
