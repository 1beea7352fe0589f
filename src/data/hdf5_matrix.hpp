// The samples of an HDF5 file as dense rows, whether it keeps them as an array or as AnnData's sparse matrices.
//
// Included only where CPFM_HAS_HDF5 is 1.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "cpfm/data.hpp"
#include "data/hdf5_file.hpp"

namespace cpfm::hdf5 {

struct Matrix {
  FloatMatrix samples;
  std::size_t total_rows = 0;  // in the file; samples has fewer when limited
  std::string dtype;
  std::optional<ImageShape> image;
  std::optional<std::array<float, 2>> value_range;
};

// How a group holds a matrix: compressed by rows or by columns, or not at all.
enum class Sparse { kNone, kCsr, kCsc };

Sparse sparse_format(const Handle& group);

Matrix read_dense(const File& file, const std::string& path, const ReadOptions& options);

// `group` is what is at `path`; its format is not kNone.
Matrix read_sparse(const File& file, const std::string& path, const Handle& group, const ReadOptions& options);

}  // namespace cpfm::hdf5
