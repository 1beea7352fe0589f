// .npy samples. A float32 file of N bytes is read straight into its N bytes of memory; other types and Fortran order
// pass through blocks of a few MiB. Only Fortran order from a stream of unknown length (gzip, a deflated npz member) is
// held twice: its rows are known once all of it came.
#include <fmt/format.h>

#include <algorithm>

#include "base/checked.hpp"
#include "data/array_shape.hpp"
#include "data/npy_format.hpp"
#include "data/readers.hpp"

namespace cpfm {
namespace {

// The C-order position of the f-th column counted in Fortran order, `dims` being the shape of one row.
std::size_t c_position(std::size_t f, std::span<const std::uint64_t> dims) {
  std::size_t position = 0;
  for (const std::uint64_t dim : dims) {
    position = position * dim + f % dim;
    f /= dim;
  }
  return position;
}

// Fortran order stores column after column. Several short columns are scattered at once, so that writes fill whole
// cache lines; a long one is read piece by piece.
FloatMatrix read_fortran(Reader& reader, const NpyHeader& header, const ArrayShape& shape) {
  const std::span<const std::uint64_t> row_dims = std::span(header.shape).subspan(1);
  check_declared_size(reader, checked_mul(shape.rows * shape.cols, header.type.size(), reader.name()), "samples");
  if (!reader.remaining()) {  // a stream of unknown length must not be trusted with one large allocation
    const FloatMatrix columns = read_matrix(reader, header.type, shape.cols, shape.rows, "samples");
    FloatMatrix samples(shape.rows, shape.cols);
    for (std::size_t f = 0; f < shape.cols; ++f) {
      const std::size_t c = c_position(f, row_dims);
      for (std::size_t i = 0; i < shape.rows; ++i) samples(i, c) = columns(f, i);
    }
    return samples;
  }
  FloatMatrix samples(shape.rows, shape.cols);
  constexpr std::size_t kBlockFloats = 1 << 20;
  const std::size_t block = std::clamp<std::size_t>(kBlockFloats / shape.rows, 1, 16);
  const std::size_t piece = std::min(shape.rows, kBlockFloats);  // all rows where several columns make a block
  for (std::size_t first = 0; first < shape.cols; first += block) {
    const std::size_t count = std::min(block, shape.cols - first);
    for (std::size_t begin = 0; begin < shape.rows; begin += piece) {
      const std::size_t rows = std::min(piece, shape.rows - begin);
      const FloatMatrix columns = read_matrix(reader, header.type, count, rows, "samples");
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t f = 0; f < count; ++f) samples(begin + i, c_position(first + f, row_dims)) = columns(f, i);
      }
    }
  }
  return samples;
}

}  // namespace

Dataset parse_npy(Reader& reader, const ReadOptions& options) {
  const NpyHeader header = read_npy_header(reader);
  if (header.is_text)
    throw Error(reader.name(), "holds text", "samples are numbers; text can be labels: --labels FILE.npy");
  ArrayShape shape = interpret_shape(header.shape, reader.name());
  Dataset data;
  data.format = "npy";
  data.dtype = header.type.name();
  data.image = shape.image;
  if (header.fortran_order && header.shape.size() > 1) {
    data.samples = read_fortran(reader, header, shape);
  } else {
    check_declared_size(reader, checked_mul(shape.rows * shape.cols, header.type.size(), reader.name()), "samples");
    if (options.limit) shape.rows = std::min(shape.rows, *options.limit);
    data.samples = read_matrix(reader, header.type, shape.rows, shape.cols, "samples");
  }
  if (shape.channels_last) move_channels_first(data.samples, *shape.image);
  if (shape.image && header.type.kind == NumberKind::kUInt8) data.value_range = {0, 255};
  return data;
}

}  // namespace cpfm
