// gram(FILE.npy): a kernel computed elsewhere, an n × n matrix of float32 or float64. Held in memory as float32.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/memory.hpp"
#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "data/byte_source.hpp"
#include "data/npy_format.hpp"
#include "data/number_stream.hpp"
#include "kernel/arguments.hpp"

namespace cpfm {
namespace {

constexpr double kAsymmetry = 1e-5;  // relative; below it the mean of both entries is used

class Gram final : public SampleKernel {
 public:
  Gram(FloatMatrix values, std::string argument) : values_(std::move(values)), argument_(std::move(argument)) {}

  std::size_t size() const override { return values_.rows(); }
  void evaluate(std::span<const std::size_t> columns, std::span<const std::size_t> rows,
                MatrixView<float> out) const override {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const float* const row = values_.data() + columns[c] * values_.cols();  // symmetric
      for (std::size_t r = 0; r < rows.size(); ++r) out(c, r) = row[rows[r]];
    }
  }
  void diagonal(std::span<float> out) const override {
    for (std::size_t i = 0; i < size(); ++i) out[i] = values_(i, i);
  }
  std::string expression() const override { return fmt::format("gram({})", argument_); }
  bool extends() const override { return false; }

 private:
  FloatMatrix values_;
  std::string argument_;
};

FloatMatrix read_square(const std::string& file, std::size_t n) {
  Reader reader = open_reader(file);
  if (reader.peek(kNpyMagic.size()) != kNpyMagic) throw Error(file, "is not a .npy file", "numpy.save writes one");
  const NpyHeader header = read_npy_header(reader);
  if (header.is_text || (header.type.kind != NumberKind::kFloat32 && header.type.kind != NumberKind::kFloat64)) {
    throw Error(file, fmt::format("holds {}", header.is_text ? "text" : header.type.name()),
                "a gram matrix is float32 or float64");
  }
  if (header.shape != std::vector<std::uint64_t>{n, n}) {
    std::string shape;
    for (const std::uint64_t dim : header.shape) shape += fmt::format("{}{}", shape.empty() ? "" : " × ", dim);
    throw Error(file, fmt::format("is {}", shape.empty() ? "a single number" : shape),
                fmt::format("the data has {0} samples, so it must be {0} × {0}", n));
  }
  require_memory(4.0 * static_cast<double>(n) * static_cast<double>(n), file,
                 fmt::format("a gram matrix of {0} × {0}", n));
  FloatMatrix values = read_matrix(reader, header.type, n, n, "gram matrix");
  if (!reader.at_end()) throw Error(file, "goes on behind the matrix");
  return values;
}

void check_and_symmetrise(FloatMatrix& values, const std::string& file) {
  float largest = 0;
  for (std::size_t i = 0; i < values.rows(); ++i) {
    for (std::size_t j = 0; j < values.cols(); ++j) {
      if (!std::isfinite(values(i, j)))
        throw Error(file, fmt::format("row {}, column {} is {}", i + 1, j + 1, values(i, j)),
                    "entries must be finite float32 numbers");
      largest = std::max(largest, std::abs(values(i, j)));
    }
  }
  // Entries that are rounding errors themselves need not agree.
  const double negligible = 1e-7 * static_cast<double>(largest);
  for (std::size_t i = 0; i < values.rows(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double a = values(i, j), b = values(j, i);
      if (std::abs(a - b) > kAsymmetry * std::max(std::abs(a), std::abs(b)) + negligible) {
        throw Error(file,
                    fmt::format("is not symmetric: row {}, column {} is {}, and row {}, column {} is {}", i + 1, j + 1,
                                a, j + 1, i + 1, b),
                    "(K + K.T) / 2 is");
      }
      values(i, j) = values(j, i) = static_cast<float>(0.5 * (a + b));
    }
  }
}

}  // namespace

SampleKernelPtr make_gram(const KernelSource& source, const Expression& call) {
  const Arguments arguments(source, call, {"file"});
  const std::string file = arguments.text("file");
  if (file.empty()) source.parsed.fail(call, "the file is missing", "as in gram(kernel.npy)");
  if (file == "-") arguments.fail("file", "a gram matrix cannot come from stdin", "name a file");
  const std::optional<std::string> argument = as_argument(file);
  if (!argument)
    arguments.fail("file", "a file name with both kinds of quotes cannot be written in an expression", "rename it");
  FloatMatrix values = read_square(file, source.data.size());
  check_and_symmetrise(values, printable(file, 4096));
  return std::make_unique<Gram>(std::move(values), *argument);
}

}  // namespace cpfm
