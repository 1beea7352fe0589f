// From what the user typed to a checked Dataset: find the format, parse, attach labels and properties from other files,
// check.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <numeric>

#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "data/columns.hpp"
#include "data/npy_format.hpp"
#include "data/readers.hpp"

namespace cpfm {
namespace fs = std::filesystem;
namespace {

bool is_idx(std::string_view start) {
  return start.size() >= 4 && start[0] == 0 && start[1] == 0 && start[2] >= 0x08 && start[2] <= 0x0E && start[3] >= 1 &&
         start[3] <= 4;
}

// What the first bytes show a file to be; empty when they show nothing.
std::string_view format_of(std::string_view start) {
  if (start.starts_with(kNpyMagic)) return "npy";
  if (start.starts_with("PK\x03\x04") || start.starts_with("PK\x05\x06")) return "npz";
  if (start.starts_with("\x89HDF\r\n\x1a\n")) return "HDF5";
  if (start.starts_with("\x89PNG") || start.starts_with("\xFF\xD8\xFF")) return "picture";
  return is_idx(start) ? "idx" : "";
}

// Chooses the parser by the first bytes; the extension decides only where bytes cannot (CIFAR has no magic number).
Dataset parse(Reader& reader, const std::string& source, const ReadOptions& options) {
  const std::string extension = content_extension(source);
  if (reader.at_end()) throw Error(reader.name(), "is empty");
  const std::string_view format = format_of(reader.peek(8));
  if (source == "-") {
    if (format.empty()) return parse_csv(reader, options);
    throw Error(reader.name(), fmt::format("this is {} data", format), "give it as a file; '-' reads a table of text");
  }
  if (format == "npy") return parse_npy(reader, options);
  if (format == "npz" || format == "HDF5") {
    if (reader.unwrapped_gzip()) throw Error(source, fmt::format("is a gzipped {} file", format), "unpack it first");
    return format == "npz" ? read_npz(source, options) : read_hdf5(source, options);
  }
  if (format == "picture") {
    throw Error(source, "is one picture", "give a folder of pictures, or of one sub-folder per class");
  }
  if (extension == ".bin") return parse_cifar(reader, options);
  if (format == "idx") {
    Dataset data = parse_idx(reader, options);
    if (options.labels.empty()) {
      if (const std::string sibling = idx_sibling_labels(source); !sibling.empty()) {
        Reader labels = open_reader(sibling);
        const Dataset ids = parse_idx(labels, options);  // the same limit
        if (ids.dim() != 1) throw Error(sibling, "does not hold one label per picture");
        data.labels = to_labels(column_of_floats("label", ids.samples.values()), sibling);
        if (data.labels->ids.size() != data.size()) {
          throw Error(sibling, fmt::format("holds {} labels for {} samples of {}", data.labels->ids.size(), data.size(),
                                           source));
        }
      }
    }
    return data;
  }
  for (const auto& [known, meaning] : {std::pair{".npy", "an npy file"},
                                       {".npz", "an npz file"},
                                       {".h5", "an HDF5 file"},
                                       {".hdf5", "an HDF5 file"},
                                       {".h5ad", "an h5ad file"}}) {
    if (extension == known) {
      throw Error(source, fmt::format("is named like {} but does not begin like one", meaning),
                  "it is truncated, damaged or misnamed");
    }
  }
  return parse_csv(reader, options);
}

Dataset read_file(const std::string& source, const ReadOptions& options) {
  Reader reader = open_reader(source, options.progress);
  Dataset data = parse(reader, source, options);
  if (!options.limit) (void)reader.at_end();
  if (options.progress != nullptr) options.progress->finish();
  return data;
}

Dataset read_folder(const std::string& source, const ReadOptions& options) {
  const fs::path folder(source);
  std::error_code ignored;
  if (fs::exists(folder / "data_batch_1.bin", ignored)) return read_cifar_folder(folder, options);
  for (const char* name : {"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"}) {
    if (fs::exists(folder / name, ignored)) return read_file((folder / name).string(), options);
  }
  return read_image_folder(folder, options);
}

// Number of a column of a plain array, from 1.
std::optional<std::size_t> column_number(const std::string& spec, std::size_t columns) {
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(spec.data(), spec.data() + spec.size(), number);
  if (problem != std::errc{} || end != spec.data() + spec.size() || number < 1 || number > columns) return std::nullopt;
  return number - 1;
}

void remove_columns(Dataset& data, std::vector<std::size_t> columns) {
  if (columns.empty()) return;
  std::sort(columns.begin(), columns.end());
  if (std::adjacent_find(columns.begin(), columns.end()) != columns.end()) {
    throw Error(data.source, "a column is asked for twice", "a column is labels, a property or ignored");
  }
  if (columns.size() == data.dim()) throw Error(data.source, "has no column left for the samples");
  float* out = data.samples.data();
  for (std::size_t i = 0; i < data.size(); ++i) {
    std::size_t next = 0;
    for (std::size_t j = 0; j < data.dim(); ++j) {
      if (next < columns.size() && columns[next] == j)
        ++next;
      else
        *out++ = data.samples(i, j);
    }
  }
  const std::size_t rows = data.size(), left = data.dim() - columns.size();
  data.samples.reshape(rows, left);
  data.samples.shrink();
  for (std::size_t k = columns.size(); k-- > 0 && !data.feature_names.empty();) {
    data.feature_names.erase(data.feature_names.begin() + static_cast<std::ptrdiff_t>(columns[k]));
  }
}

// Labels and properties that the parser did not find inside the data: columns of a plain array, or other files.
void attach_columns(Dataset& data, const ReadOptions& options) {
  const bool limited = options.limit && *options.limit == data.size();
  const bool columns_have_numbers = data.format == "npy" || data.format == "npz" || data.format == "hdf5";
  const bool labels_found_inside =
      data.format == "csv" || data.format == "npz" || data.format == "hdf5" || data.format == "h5ad";
  std::vector<std::size_t> taken;
  const auto fetch = [&](const std::string& spec, const char* option) {
    if (names_a_file(spec)) return read_column_file(spec, data.size(), limited, options.header);
    const auto number = columns_have_numbers && !data.image ? column_number(spec, data.dim()) : std::nullopt;
    if (!number) {
      throw Error(option, fmt::format("'{}' is neither a file nor a column of {}", printable(spec), data.source),
                  columns_have_numbers && !data.image ? fmt::format("columns are numbered 1 to {}", data.dim())
                                                      : "give a file with one value per sample");
    }
    std::vector<float> values(data.size());
    for (std::size_t i = 0; i < data.size(); ++i) values[i] = data.samples(i, *number);
    taken.push_back(*number);
    return column_of_floats("column " + spec, values);
  };
  if (!options.labels.empty() && !(labels_found_inside && data.labels)) {
    data.labels = to_labels(fetch(options.labels, "--labels"), options.labels);
  }
  data.properties.resize(options.properties.size());
  for (std::size_t k = 0; k < options.properties.size(); ++k) {
    if (!data.properties[k].values.empty()) continue;  // found by the parser
    data.properties[k] = to_property(fetch(options.properties[k], "--property"), options.properties[k]);
  }
  for (const std::string& spec : data.format == "csv" ? std::vector<std::string>{} : options.ignore) {
    const auto named = std::find(data.feature_names.begin(), data.feature_names.end(), spec);
    const auto number = named != data.feature_names.end()
                            ? std::optional(static_cast<std::size_t>(named - data.feature_names.begin()))
                            : column_number(spec, data.dim());
    if (!number) {
      throw Error("--ignore", fmt::format("{} has no column '{}'", data.source, printable(spec)),
                  data.feature_names.empty() ? fmt::format("columns are numbered 1 to {}", data.dim())
                                             : suggest(spec, data.feature_names));
    }
    if (data.image) throw Error("--ignore", fmt::format("{} holds pictures, not columns", data.source));
    taken.push_back(*number);
  }
  remove_columns(data, std::move(taken));
}

}  // namespace

Dataset read_dataset(const std::string& source, const ReadOptions& options) {
  if (options.limit && *options.limit < options.fewest)
    throw Error("--limit", fmt::format("{} is too few", *options.limit),
                fmt::format("at least {} sample(s)", options.fewest));
  try {
    Dataset data;
    std::error_code ignored;
    if (source == "digits") {
      data = read_digits();
    } else if (fs::is_directory(source, ignored)) {
      data = read_folder(source, options);
    } else {
      data = read_file(source, options);
    }
    data.source = source == "-" ? "standard input" : source;
    if (options.limit && *options.limit < data.size()) {  // formats that had to read everything
      std::vector<std::size_t> first(*options.limit);
      std::iota(first.begin(), first.end(), std::size_t{0});
      data = select(data, first);
    }
    attach_columns(data, options);
    if (options.image) {
      if (options.image->size() != data.dim()) {
        throw Error("--image", fmt::format("{} × {} × {} is {} values, but rows of {} have {}", options.image->channels,
                                           options.image->height, options.image->width, options.image->size(),
                                           data.source, data.dim()));
      }
      data.image = options.image;
    }
    validate(data);
    if (data.size() < options.fewest) throw Error(data.source, "holds one row", "at least two samples are needed");
    return data;
  } catch (const std::bad_alloc&) {
    throw Error(source, "does not fit in memory", "read fewer rows with --limit");
  }
}

}  // namespace cpfm
