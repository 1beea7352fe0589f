// HDF5 in two dialects: any file with a numeric dataset, and AnnData (.h5ad), whose matrix may be sparse and whose
// `obs` table labels the rows. Both become the same dense rows. Here is what tells them apart: which dataset holds the
// samples, and what names a column. A build without the library has only a read_hdf5() that says so.
#include "cpfm/error.hpp"
#include "data/readers.hpp"

#if CPFM_HAS_HDF5

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "base/text.hpp"
#include "data/columns.hpp"
#include "data/hdf5_columns.hpp"
#include "data/hdf5_file.hpp"
#include "data/hdf5_matrix.hpp"

namespace cpfm {
namespace hdf5 {
namespace {

// Paths of what could hold the samples.
struct Found {
  std::vector<std::string> numbers;   // numeric datasets and sparse groups
  std::vector<std::string> booleans;  // seldom the samples where there are numbers
};

// Links can form circles, so the walk is bounded.
void find_matrices(const File& file, const std::string& path, int depth, int& budget, Found& found) {
  constexpr int kDeepest = 8;
  const Handle group = file.open(path.empty() ? "/" : path);
  if (!is_group(group) || depth > kDeepest) return;
  for (const std::string& name : members(file, group)) {
    if (--budget < 0) return;
    const std::string inner = path.empty() ? name : path + "/" + name;
    const Handle object = file.open(inner);
    if (is_group(object)) {
      if (sparse_format(object) != Sparse::kNone)
        found.numbers.push_back(inner);
      else
        find_matrices(file, inner, depth + 1, budget, found);
    } else if (is_dataset(object)) {
      const Handle type(H5Dget_type(*object), H5Tclose), space(H5Dget_space(*object), H5Sclose);
      const H5T_class_t kind = type ? H5Tget_class(*type) : H5T_NO_CLASS;
      if (!space || H5Sget_simple_extent_ndims(*space) < 1) continue;
      if (is_number(kind)) found.numbers.push_back(inner);
      if (is_boolean(type)) found.booleans.push_back(inner);
    }
  }
}

std::vector<std::string> find_matrices(const File& file) {
  Found found;
  int budget = 10'000;
  find_matrices(file, "", 0, budget, found);
  return found.numbers.empty() ? found.booleans : found.numbers;
}

// The matrices of an AnnData file whose rows are its samples.
std::vector<std::string> anndata_matrices(const File& file) {
  std::vector<std::string> found = find_matrices(file);
  std::erase_if(found, [](const std::string& path) {
    return path != "X" && path != "raw/X" && !path.starts_with("layers/") && !path.starts_with("obsm/");
  });
  return found;
}

std::string choose_matrix(const File& file, const ReadOptions& options, bool anndata) {
  if (!options.key.empty()) {
    if (file.open(options.key))
      return options.key.substr(std::min(options.key.find_first_not_of('/'), options.key.size()));
    throw Error(file.name, fmt::format("holds no dataset '{}'", printable(options.key)),
                suggest(options.key, anndata ? anndata_matrices(file) : find_matrices(file)));
  }
  if (anndata) {
    if (file.open("X")) return "X";
    throw Error(file.name, "holds no matrix X",
                "choose another one with --key; " + suggest("", anndata_matrices(file)));
  }
  std::vector<std::string> found = find_matrices(file);
  std::erase_if(found, [&](const std::string& path) {
    return path == options.labels || std::count(options.properties.begin(), options.properties.end(), path) > 0;
  });
  if (found.size() == 1) return found[0];
  if (found.empty()) throw Error(file.name, "holds no dataset of numbers", "links to other files are not followed");
  for (const char* usual : {"X", "data", "samples", "images", "features"}) {
    if (std::find(found.begin(), found.end(), usual) != found.end()) return usual;
  }
  throw Error(file.name, "holds several datasets", "choose one with --key; " + suggest("", found));
}

// The column a spec names inside the file: obs:NAME, NAME of obs, or the path of a dataset. Nothing when it names a
// file on disk or the number of a column instead, which read_dataset() takes care of.
std::optional<Column> find_column(const File& file, const std::string& spec, bool anndata, std::size_t total,
                                  std::size_t count, Use use) {
  const bool in_obs = anndata && spec.starts_with("obs:");
  const std::string name = in_obs ? spec.substr(4) : spec;
  std::optional<Column> column;
  if (anndata) column = read_table_column(file, "obs", name, total, count, use);
  if (!column && !in_obs) column = read_column_at(file, name, {}, total, count, use);
  if (column) {
    column->name = name;
    return column;
  }
  if (!in_obs && names_a_file(spec)) return std::nullopt;
  if (anndata) {
    throw Error(file.name, fmt::format("obs has no column '{}'", printable(name)),
                suggest(name, table_columns(file, "obs")));
  }
  if (name.find_first_not_of("0123456789") == std::string::npos) return std::nullopt;
  throw Error(file.name, fmt::format("holds no dataset '{}'", printable(name)), suggest(name, find_matrices(file)));
}

}  // namespace
}  // namespace hdf5

Dataset read_hdf5(const std::filesystem::path& path, const ReadOptions& options) {
  using namespace hdf5;
  const QuietErrors quiet;
  const File file(path);
  const bool anndata = file.open("obs") && (file.open("X") || file.open("var"));
  const std::string key = choose_matrix(file, options, anndata);

  Dataset data;
  data.source = path.string();
  data.format = anndata ? "h5ad" : "hdf5";
  const Handle object = file.open(key);
  if (is_group(object) && sparse_format(object) == Sparse::kNone) {
    std::vector<std::string> inside = find_matrices(file);
    std::erase_if(inside, [&](const std::string& name) { return !name.starts_with(key + "/"); });
    throw Error(file.name, fmt::format("'{}' is a group, not a matrix", printable(key)), suggest("", inside));
  }
  Matrix matrix = is_group(object) ? read_sparse(file, key, object, options) : read_dense(file, key, options);
  const std::size_t rows = matrix.samples.rows(), total = matrix.total_rows;
  data.samples = std::move(matrix.samples);
  data.dtype = std::move(matrix.dtype);
  data.image = matrix.image;
  data.value_range = matrix.value_range;

  if (anndata) {
    data.sample_names = row_names(file, "obs", total, rows);
    const std::size_t cols = data.samples.cols();
    if (key == "X" || key.starts_with("layers/")) data.feature_names = row_names(file, "var", cols, cols);
    if (key == "raw/X") data.feature_names = row_names(file, "raw/var", cols, cols);
  }
  if (!options.labels.empty()) {
    const auto column = find_column(file, options.labels, anndata, total, rows, Use::kClasses);
    if (column) data.labels = to_labels(*column, file.where(options.labels));
  }
  for (const std::string& spec : options.properties) {
    const auto column = find_column(file, spec, anndata, total, rows, Use::kNumbers);
    data.properties.push_back(column ? to_property(*column, file.where(spec)) : Property{});
  }
  return data;
}

}  // namespace cpfm

#else

namespace cpfm {

Dataset read_hdf5(const std::filesystem::path& path, const ReadOptions&) {
  throw Error(path.string(), "this build of cpfm does not read HDF5",
              "install libhdf5-dev and build again, or convert the file to .npy");
}

}  // namespace cpfm

#endif
