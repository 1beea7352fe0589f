// Reads matrices block by block: a long read can be interrupted, tells its progress, and needs little memory beside the
// rows themselves.
#if CPFM_HAS_HDF5

#include "data/hdf5_matrix.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "data/array_shape.hpp"

namespace cpfm::hdf5 {
namespace {

// A small sparse file can stand for any number of zeros, so here the machine is the bound.
FloatMatrix allocate(std::size_t rows, std::size_t cols, const std::string& where) {
  const std::size_t bytes = checked_mul(checked_mul(rows, cols, where), sizeof(float), where);
  const auto memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  try {
    if (static_cast<double>(bytes) > memory) throw std::bad_alloc();
    return FloatMatrix(rows, cols);
  } catch (const std::bad_alloc&) {
    throw Error(where,
                fmt::format("{} × {} values need {} of memory; this machine has {}", rows, cols,
                            human_bytes(static_cast<double>(bytes)), human_bytes(memory)),
                "read fewer rows with --limit N, or a smaller matrix with --key");
  }
}

std::size_t kept_rows(std::size_t rows, const ReadOptions& options) {
  return options.limit ? std::min(rows, *options.limit) : rows;
}

// (rows, columns) from the group's attribute, or a dataset beside the data.
std::array<std::size_t, 2> sparse_shape(const File& file, const std::string& path, const Handle& group) {
  std::array<std::int64_t, 2> shape{-1, -1};
  for (const char* name : {"shape", "h5sparse_shape"}) {
    if (H5Aexists(*group, name) <= 0) continue;
    const Handle attribute(H5Aopen(*group, name, H5P_DEFAULT), H5Aclose);
    const Handle space(attribute ? H5Aget_space(*attribute) : H5I_INVALID_HID, H5Sclose);
    if (space && H5Sget_simple_extent_npoints(*space) == 2) H5Aread(*attribute, H5T_NATIVE_INT64, shape.data());
  }
  if (shape[0] < 0 && is_dataset(file.open(path + "/shape"))) {
    const std::vector<std::int64_t> values = read_integers(open_array(file, path + "/shape"));
    if (values.size() == 2) shape = {values[0], values[1]};
  }
  if (shape[0] < 1 || shape[1] < 1) throw Error(file.where(path), "the sparse matrix has no shape, or is empty");
  return {static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1])};
}

}  // namespace

Sparse sparse_format(const Handle& group) {
  const std::string encoding = text_attribute(group, "encoding-type"), older = text_attribute(group, "h5sparse_format");
  if (encoding == "csr_matrix" || older == "csr") return Sparse::kCsr;
  return encoding == "csc_matrix" || older == "csc" ? Sparse::kCsc : Sparse::kNone;
}

Matrix read_dense(const File& file, const std::string& path, const ReadOptions& options) {
  const Array array = open_array(file, path);
  if (!array.is_numeric()) not_numbers(array);
  const ArrayShape shape = interpret_shape(array.dims, array.where());
  Matrix matrix;
  matrix.total_rows = shape.rows;
  matrix.dtype = dtype_name(array);
  matrix.image = shape.image;
  if (shape.image && matrix.dtype == "uint8") matrix.value_range = {0, 255};
  const std::size_t rows = kept_rows(shape.rows, options);
  matrix.samples = allocate(rows, shape.cols, array.where());
  // Whole chunks at a time: a chunk is decompressed anew for every read that touches it.
  const std::vector<std::uint64_t> chunk = chunk_dims(array);
  constexpr std::size_t kBlockFloats = std::size_t{1} << 22;
  std::size_t block = std::max<std::size_t>(1, kBlockFloats / shape.cols);
  if (!chunk.empty()) block = std::max<std::size_t>(1, block / chunk[0]) * chunk[0];
  if (options.progress != nullptr) options.progress->start("reading", rows, "rows");
  for (std::size_t begin = 0; begin < rows;) {
    check_interrupt();
    const std::size_t end = begin + std::min(block, rows - begin);
    read_rows(array, begin, end - begin, H5T_NATIVE_FLOAT, matrix.samples.row(begin).data());
    begin = end;
    if (options.progress != nullptr) options.progress->update(end);
  }
  if (options.progress != nullptr) options.progress->finish();
  if (shape.channels_last) move_channels_first(matrix.samples, *shape.image);
  return matrix;
}

Matrix read_sparse(const File& file, const std::string& path, const Handle& group, const ReadOptions& options) {
  const bool by_rows = sparse_format(group) == Sparse::kCsr;
  const auto [rows, cols] = sparse_shape(file, path, group);
  const Array data = open_array(file, path + "/data"), indices = open_array(file, path + "/indices");
  const Array indptr = open_array(file, path + "/indptr");
  if (!data.is_numeric()) not_numbers(data);
  if (indices.kind() != H5T_INTEGER) throw Error(indices.where(), "does not hold whole numbers");
  if (data.dims.size() != 1 || indices.dims != data.dims) {
    throw Error(indices.where(), "does not match 'data' of the sparse matrix", "the file is damaged");
  }
  const std::uint64_t entries = data.dims[0];
  const std::size_t major_count = by_rows ? rows : cols, minor_count = by_rows ? cols : rows;
  const std::vector<std::int64_t> start = read_integers(indptr);
  if (start.size() != checked_add(major_count, 1, indptr.where()) || start[0] != 0 ||
      !std::is_sorted(start.begin(), start.end()) || static_cast<std::uint64_t>(start.back()) != entries) {
    throw Error(indptr.where(),
                fmt::format("does not cut {} entries into {} {}", entries, major_count, by_rows ? "rows" : "columns"),
                "the file is damaged");
  }
  Matrix matrix;
  matrix.total_rows = rows;
  matrix.dtype = dtype_name(data);
  const std::size_t kept = kept_rows(rows, options);
  matrix.samples = allocate(kept, cols, data.where());
  std::fill_n(matrix.samples.data(), matrix.samples.size(), 0.0f);

  constexpr std::uint64_t kBlock = std::uint64_t{1} << 20;
  const std::uint64_t wanted = by_rows ? static_cast<std::uint64_t>(start[kept]) : entries;
  std::vector<std::int64_t> minors(std::min(kBlock, wanted));
  std::vector<float> values(minors.size());
  if (options.progress != nullptr) options.progress->start("reading", wanted, "entries");
  std::size_t major = 0;
  for (std::uint64_t begin = 0; begin < wanted; begin += kBlock) {
    check_interrupt();
    const std::uint64_t count = std::min(kBlock, wanted - begin);
    read_rows(indices, begin, count, H5T_NATIVE_INT64, minors.data());
    read_rows(data, begin, count, H5T_NATIVE_FLOAT, values.data());
    for (std::uint64_t k = 0; k < count; ++k) {
      while (static_cast<std::uint64_t>(start[major + 1]) <= begin + k) ++major;
      if (minors[k] < 0 || static_cast<std::uint64_t>(minors[k]) >= minor_count) {
        throw Error(indices.where(),
                    fmt::format("entry {} is {}, but there are {} {}", begin + k + 1, minors[k], minor_count,
                                by_rows ? "columns" : "rows"),
                    "the file is damaged");
      }
      const auto minor = static_cast<std::size_t>(minors[k]);
      const std::size_t row = by_rows ? major : minor, column = by_rows ? minor : major;
      if (row < kept) matrix.samples(row, column) += values[k];  // an entry given twice counts twice, as in scipy
    }
    if (options.progress != nullptr) options.progress->update(begin + count);
  }
  if (options.progress != nullptr) options.progress->finish();
  return matrix;
}

}  // namespace cpfm::hdf5

#endif
