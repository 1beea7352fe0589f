// A guess at properties of molecules that have not been measured, by their descriptors (molecule_descriptors()), after
// molecules that have.
#pragma once

#include <cstdint>

#include "cpfm/matrix.hpp"
#include "cpfm/model.hpp"

namespace cpfm {

struct DescriptorRegressorOptions {
  double ridge = 0.2;       // beside a likeness of 1 of a molecule with itself
  std::size_t most = 5000;  // molecules to learn from, drawn at random; time grows with the cube
  std::uint64_t seed = 1;
};

class DescriptorRegressor {
 public:
  // `values`: a row per molecule, a column per property.
  DescriptorRegressor(MatrixView<const float> descriptors, MatrixView<const float> values,
                      const DescriptorRegressorOptions& options = {});
  // What add_to() wrote.
  explicit DescriptorRegressor(const TensorFile& file);

  std::size_t properties() const { return weights_.cols(); }
  std::size_t descriptors() const { return known_.cols(); }
  FloatMatrix predict(MatrixView<const float> descriptors) const;
  // What it says of each molecule it was made with, as if it had not learned from that one (up to the means and scales,
  // which are of all): as wrong as it is about others.
  const FloatMatrix& left_out() const { return left_out_; }

  // Tensors named "descriptor_regressor…"; they live as long as this object.
  void add_to(TensorFileWriter& writer) const;

 private:
  FloatMatrix scaled(MatrixView<const float> descriptors) const;

  FloatMatrix center_, scale_;  // 1 × descriptors: what makes likeness exp(−|a − b|²)
  FloatMatrix known_;           // the scaled descriptors of the molecules it learned from
  FloatMatrix weights_, mean_;
  FloatMatrix left_out_;
};

}  // namespace cpfm
