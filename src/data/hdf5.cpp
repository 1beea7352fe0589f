// HDF5 in two dialects: any file with a numeric dataset, and AnnData (.h5ad), whose matrix may be sparse and whose
// `obs` table labels the rows. Both become the same dense rows.
//
// An HDF5 file declares sizes freely (a dataset of petabytes that was never written takes no room), so every dataset
// goes through open_array(), which compares what is declared with what the file can hold before anything is allocated.
#include <fmt/format.h>

#include "cpfm/error.hpp"
#include "data/readers.hpp"

#if CPFM_HAS_HDF5

#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "cpfm/interrupt.hpp"
#include "data/array_shape.hpp"
#include "data/columns.hpp"

namespace cpfm {
namespace fs = std::filesystem;
namespace {

// ---- handles ----

// Owns one identifier of the library; false when the call that made it failed.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  explicit operator bool() const { return id_ >= 0; }
  hid_t operator*() const { return id_; }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

// The library prints its error stack to stderr unless told not to. Restores what was set.
class QuietErrors {
 public:
  QuietErrors() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietErrors() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

struct File {
  explicit File(const fs::path& path) : name(path.string()) {
    std::error_code error;
    size = fs::file_size(path, error);
    if (!error && access(path.c_str(), R_OK) != 0) error.assign(errno, std::generic_category());
    if (error) throw Error(name, "cannot be opened: " + error.message());
    id = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!id) {
      throw Error(name, "cannot be opened as HDF5: truncated or damaged",
                  "copy it again; if another program has it open for writing, close that one first");
    }
  }

  // A group or dataset; false when there is none.
  Handle open(const std::string& path) const { return Handle(H5Oopen(*id, path.c_str(), H5P_DEFAULT), H5Oclose); }

  // The most bytes that data declared by this file may take: deflate makes at most 1032 out of one.
  std::size_t plausible_bytes() const {
    return checked_add(checked_mul(1032, size, name), std::size_t{64} << 20, name);
  }

  std::string name;
  std::uint64_t size = 0;
  Handle id;
};

bool is_dataset(const Handle& object) { return object && H5Iget_type(*object) == H5I_DATASET; }
bool is_group(const Handle& object) { return object && H5Iget_type(*object) == H5I_GROUP; }

std::vector<std::string> members(const File& file, const Handle& group) {
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
    try {
      static_cast<std::vector<std::string>*>(list)->emplace_back(name);
      return 0;
    } catch (...) {  // must not cross the library
      return -1;
    }
  };
  if (H5Literate(*group, H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &names) < 0) {
    throw Error(file.name, "a group cannot be read: the file is damaged");
  }
  return names;
}

// A single text; empty when there is none.
std::string text_attribute(const Handle& object, const char* name) {
  constexpr std::size_t kLongest = 4096;
  if (H5Aexists(*object, name) <= 0) return {};
  const Handle attribute(H5Aopen(*object, name, H5P_DEFAULT), H5Aclose);
  if (!attribute) return {};
  const Handle type(H5Aget_type(*attribute), H5Tclose), space(H5Aget_space(*attribute), H5Sclose);
  if (!type || !space || H5Tget_class(*type) != H5T_STRING || H5Sget_simple_extent_npoints(*space) != 1) return {};
  if (H5Tis_variable_str(*type) > 0) {
    char* text = nullptr;
    if (H5Aread(*attribute, *type, &text) < 0 || text == nullptr) return {};
    std::string result(text, strnlen(text, kLongest));
    H5free_memory(text);
    return result;
  }
  if (H5Tget_size(*type) > kLongest) return {};
  std::string text(H5Tget_size(*type), '\0');
  if (H5Aread(*attribute, *type, text.data()) < 0) return {};
  return text.substr(0, text.find('\0'));
}

// ---- datasets ----

// One dataset, or one field of a dataset of records, whose declared size the file can hold.
struct Array {
  const File* file;
  std::string path;
  std::string field;  // empty where elements are plain
  Handle id, type;    // of the dataset, of one element or its field
  std::vector<std::uint64_t> dims;

  std::string where() const {
    return fmt::format("{}, '{}'", file->name, printable(field.empty() ? path : path + ":" + field, 200));
  }
  H5T_class_t kind() const { return H5Tget_class(*type); }
  bool is_numeric() const { return kind() == H5T_INTEGER || kind() == H5T_FLOAT; }
};

void check_storage(const Array& array, std::size_t element_bytes) {
  const std::size_t most = array.file->plausible_bytes();
  const auto check = [&](std::size_t bytes) {
    if (bytes <= most) return;
    throw Error(array.where(),
                fmt::format("declares {}, which a file of {} cannot hold", human_bytes(double(bytes)),
                            human_bytes(double(array.file->size))),
                "the file is damaged");
  };
  const std::size_t declared = checked_mul(checked_product(array.dims, array.where()), element_bytes, array.where());
  check(declared);
  if (declared > 0 && H5Dget_storage_size(*array.id) == 0) {
    throw Error(array.where(), "has a size but no data in this file",
                "it was never written, or refers to another file");
  }
  const Handle creation(H5Dget_create_plist(*array.id), H5Pclose);
  if (!creation) throw Error(array.where(), "cannot be read: the file is damaged");
  if (H5Pget_layout(*creation) != H5D_CHUNKED) return;
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  const int rank = std::max(0, H5Pget_chunk(*creation, H5S_MAX_RANK, chunk.data()));
  check(checked_mul(checked_product(std::vector<hsize_t>(chunk.begin(), chunk.begin() + rank), array.where()),
                    element_bytes, array.where()));
  const int filters = H5Pget_nfilters(*creation);
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0, config = 0;
    std::size_t values = 0;
    std::array<char, 64> name{};
    const H5Z_filter_t filter = H5Pget_filter2(*creation, static_cast<unsigned>(i), &flags, &values, nullptr,
                                               name.size() - 1, name.data(), &config);
    if (H5Zfilter_avail(filter) > 0) continue;
    throw Error(array.where(),
                fmt::format("is compressed by '{}' (filter {}), which this HDF5 library cannot undo",
                            printable(name.data()), filter),
                "write it with gzip, or install the filter as an HDF5 plugin");
  }
}

Array open_array(const File& file, const std::string& path, const std::string& field = {}) {
  Array array{&file, path, field, file.open(path), {}, {}};
  if (!is_dataset(array.id)) throw Error(array.where(), "there is no such dataset");
  array.type = Handle(H5Dget_type(*array.id), H5Tclose);
  const Handle space(H5Dget_space(*array.id), H5Sclose);
  const int rank = space ? H5Sget_simple_extent_ndims(*space) : -1;
  if (!array.type || rank < 0) throw Error(array.where(), "cannot be read: the file is damaged");
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(*space, dims.data(), nullptr);
  array.dims.assign(dims.begin(), dims.end());
  check_storage(array, H5Tget_size(*array.type));
  if (!field.empty()) {
    const int index = H5Tget_member_index(*array.type, field.c_str());
    array.type =
        Handle(index < 0 ? H5I_INVALID_HID : H5Tget_member_type(*array.type, static_cast<unsigned>(index)), H5Tclose);
    if (!array.type) throw Error(array.where(), "there is no such field");
  }
  return array;
}

// Rows [begin, begin + count) along the first dimension, converted to `memory_type`, one after the other.
void read_rows(const Array& array, std::uint64_t begin, std::uint64_t count, hid_t memory_type, void* out) {
  std::vector<hsize_t> start(array.dims.size(), 0), extent(array.dims.begin(), array.dims.end());
  start[0] = begin;
  extent[0] = count;
  const hsize_t total = checked_product(extent, array.where());
  const Handle from(H5Dget_space(*array.id), H5Sclose), to(H5Screate_simple(1, &total, nullptr), H5Sclose);
  Handle record;
  if (!array.field.empty()) {
    record = Handle(H5Tcreate(H5T_COMPOUND, H5Tget_size(memory_type)), H5Tclose);
    if (record) H5Tinsert(*record, array.field.c_str(), 0, memory_type);
  }
  if (!from || !to || H5Sselect_hyperslab(*from, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr) < 0 ||
      H5Dread(*array.id, record ? *record : memory_type, *to, *from, H5P_DEFAULT, out) < 0) {
    throw Error(array.where(), "cannot be read: the file is damaged");
  }
}

// numpy's name of a numeric type.
std::string dtype_name(const Array& array) {
  const std::size_t bits = 8 * H5Tget_size(*array.type);
  if (array.kind() == H5T_FLOAT) return fmt::format("float{}", bits);
  return fmt::format("{}int{}", H5Tget_sign(*array.type) == H5T_SGN_NONE ? "u" : "", bits);
}

[[noreturn]] void not_numbers(const Array& array) {
  throw Error(array.where(), "does not hold numbers", "whole numbers or floating point are needed");
}

std::vector<std::int64_t> read_integers(const Array& array) {
  if (array.dims.size() != 1) throw Error(array.where(), "is not a list of numbers");
  if (array.kind() != H5T_INTEGER) throw Error(array.where(), "does not hold whole numbers");
  std::vector<std::int64_t> values(array.dims[0]);
  if (!values.empty()) read_rows(array, 0, array.dims[0], H5T_NATIVE_INT64, values.data());
  return values;
}

// ---- columns ----

// What a column is read for: a boolean or enumerated one gives its names to classes and its numbers to a property.
enum class Use { kClasses, kNumbers };

// Frees the texts of variable length that a read left in `buffer`.
class TextMemory {
 public:
  TextMemory(hid_t type, hsize_t count, void* buffer)
      : type_(type), space_(H5Screate_simple(1, &count, nullptr), H5Sclose), buffer_(buffer) {}
  ~TextMemory() { H5Dvlen_reclaim(type_, *space_, H5P_DEFAULT, buffer_); }
  TextMemory(const TextMemory&) = delete;
  TextMemory& operator=(const TextMemory&) = delete;

 private:
  hid_t type_;
  Handle space_;
  void* buffer_;
};

std::vector<std::string> read_texts(const Array& array, std::size_t count) {
  constexpr std::size_t kBlock = 1024;
  const bool variable = H5Tis_variable_str(*array.type) > 0;
  const bool spaces = H5Tget_strpad(*array.type) == H5T_STR_SPACEPAD;
  const std::size_t width = H5Tget_size(*array.type);
  std::vector<std::string> texts;
  std::vector<char> buffer;
  std::size_t total = 0;  // rows may share one long text, so its length is bounded as a whole
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    check_interrupt();
    const std::size_t block = std::min(kBlock, count - begin);
    buffer.assign(block * width, '\0');
    std::optional<TextMemory> memory;
    if (variable) memory.emplace(*array.type, block, buffer.data());
    read_rows(array, begin, block, *array.type, buffer.data());
    for (std::size_t i = 0; i < block; ++i) {
      if (variable) {
        const char* text = nullptr;
        std::memcpy(&text, &buffer[i * width], sizeof(text));
        texts.emplace_back(text == nullptr ? "" : text);
      } else {
        texts.emplace_back(&buffer[i * width], strnlen(&buffer[i * width], width));
        if (spaces) texts.back().erase(texts.back().find_last_not_of(' ') + 1);
      }
      total += texts.back().size();
    }
    if (total > array.file->plausible_bytes()) throw Error(array.where(), "holds more text than the file can hold");
  }
  return texts;
}

std::vector<std::string> read_enum_names(const Array& array, std::size_t count) {
  const std::size_t width = H5Tget_size(*array.type);
  std::vector<char> raw(checked_mul(count, width, array.where()));
  read_rows(array, 0, count, *array.type, raw.data());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    std::array<char, 256> name{};
    if (H5Tenum_nameof(*array.type, &raw[i * width], name.data(), name.size() - 1) < 0) name[0] = '\0';  // missing
    names.emplace_back(name.data());
  }
  return names;
}

// The first `count` of `total` values; `total` 0: however many there are.
Column read_values(const Array& array, std::size_t total, std::size_t count, Use use) {
  const bool one_per_row = array.dims.size() == 1 || (array.dims.size() == 2 && array.dims[1] == 1);
  if (!one_per_row) throw Error(array.where(), "is not one value per sample", "a dataset with one dimension is needed");
  if (total == 0) {
    count = array.dims[0];
  } else if (array.dims[0] != total) {
    throw Error(array.where(), fmt::format("holds {} values for {} samples", array.dims[0], total));
  }
  Column column;
  if (count == 0) return column;
  if (array.kind() == H5T_STRING) {
    column.values = read_texts(array, count);
  } else if (array.kind() == H5T_ENUM && use == Use::kClasses) {
    column.values = read_enum_names(array, count);
  } else if (array.is_numeric() || array.kind() == H5T_ENUM) {
    std::vector<double> numbers(count);
    read_rows(array, 0, count, H5T_NATIVE_DOUBLE, numbers.data());
    column.values = std::move(numbers);
  } else {
    throw Error(array.where(), "holds neither numbers nor text");
  }
  return column;
}

// Codes into a list of categories; -1 is missing.
Column decode_categories(const Array& codes, const Array& categories, std::size_t total, std::size_t count, Use use) {
  if (codes.kind() != H5T_INTEGER)
    throw Error(codes.where(), "does not hold whole numbers, as codes of categories are");
  const Column code_column = read_values(codes, total, count, Use::kNumbers);
  const auto& numbers = std::get<std::vector<double>>(code_column.values);
  const Column names = read_values(categories, 0, 0, use);
  Column column;
  std::visit(
      [&](const auto& list) {
        using List = std::decay_t<decltype(list)>;
        typename List::value_type missing{};
        if constexpr (std::is_same_v<List, std::vector<double>>) missing = std::nan("");
        List values(numbers.size(), missing);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
          if (numbers[i] == -1) continue;
          if (numbers[i] < 0 || numbers[i] >= static_cast<double>(list.size())) {
            throw Error(codes.where(),
                        fmt::format("row {} has the code {} for {} categories", i + 1, numbers[i], list.size()));
          }
          values[i] = list[static_cast<std::size_t>(numbers[i])];
        }
        column.values = std::move(values);
      },
      names.values);
  return column;
}

// A column with a mask of its missing values beside it (AnnData's nullable-integer, -boolean and -string).
Column read_masked(const Array& array, const Array& mask, std::size_t total, std::size_t count, Use use) {
  Column column = read_values(array, total, count, use);
  const Column missing = read_values(mask, total, count, Use::kNumbers);
  const auto* flags = std::get_if<std::vector<double>>(&missing.values);
  if (flags == nullptr) not_numbers(mask);
  for (std::size_t i = 0; i < flags->size(); ++i) {
    if ((*flags)[i] == 0) continue;
    if (auto* texts = std::get_if<std::vector<std::string>>(&column.values))
      (*texts)[i].clear();
    else
      std::get<std::vector<double>>(column.values)[i] = std::nan("");
  }
  return column;
}

// The column at `path`, or nothing when there is no such object. Older AnnData keeps the categories of a dataset of
// codes elsewhere: at `categories`.
std::optional<Column> read_column_at(const File& file, const std::string& path, const std::string& categories,
                                     std::size_t total, std::size_t count, Use use) {
  const Handle object = file.open(path);
  if (is_dataset(object)) {
    const Array array = open_array(file, path);
    if (!categories.empty() && is_dataset(file.open(categories))) {
      return decode_categories(array, open_array(file, categories), total, count, use);
    }
    return read_values(array, total, count, use);
  }
  if (!is_group(object)) return std::nullopt;
  const auto has = [&](const char* name) { return is_dataset(file.open(path + "/" + name)); };
  if (has("codes") && has("categories")) {
    return decode_categories(open_array(file, path + "/codes"), open_array(file, path + "/categories"), total, count,
                             use);
  }
  if (has("values") && has("mask")) {
    return read_masked(open_array(file, path + "/values"), open_array(file, path + "/mask"), total, count, use);
  }
  throw Error(fmt::format("{}, '{}'", file.name, printable(path, 200)), "is a group that is not a column",
              "a dataset, or a categorical with codes and categories");
}

// ---- AnnData's tables (obs, var): a group of columns, or in old files one dataset of records ----

std::vector<std::string> table_columns(const File& file, const std::string& table) {
  const Handle object = file.open(table);
  std::vector<std::string> names;
  if (is_group(object)) {
    names = members(file, object);
    std::erase(names, "__categories");
  } else if (is_dataset(object)) {
    const Handle type(H5Dget_type(*object), H5Tclose);
    const int fields = type && H5Tget_class(*type) == H5T_COMPOUND ? H5Tget_nmembers(*type) : 0;
    for (int i = 0; i < fields; ++i) {
      char* name = H5Tget_member_name(*type, static_cast<unsigned>(i));
      if (name == nullptr) continue;
      names.emplace_back(name);
      H5free_memory(name);
    }
  }
  return names;
}

std::optional<Column> read_table_column(const File& file, const std::string& table, const std::string& name,
                                        std::size_t total, std::size_t count, Use use) {
  const std::vector<std::string> names = table_columns(file, table);
  if (std::find(names.begin(), names.end(), name) == names.end()) return std::nullopt;
  if (!is_dataset(file.open(table))) {
    return read_column_at(file, table + "/" + name, table + "/__categories/" + name, total, count, use);
  }
  const Array array = open_array(file, table, name);
  const std::string categories = "uns/" + name + "_categories";
  if (array.kind() == H5T_INTEGER && is_dataset(file.open(categories))) {
    return decode_categories(array, open_array(file, categories), total, count, use);
  }
  return read_values(array, total, count, use);
}

// Names of a table's rows; empty when it has none.
std::vector<std::string> row_names(const File& file, const std::string& table, std::size_t total, std::size_t count) {
  const Handle object = file.open(table);
  if (!object) return {};
  for (const std::string& name : {text_attribute(object, "_index"), std::string("_index"), std::string("index")}) {
    const auto column = read_table_column(file, table, name, total, count, Use::kClasses);
    if (!column) continue;
    if (const auto* texts = std::get_if<std::vector<std::string>>(&column->values)) return *texts;
    std::vector<std::string> texts;
    for (const double number : std::get<std::vector<double>>(column->values))
      texts.push_back(fmt::format("{}", number));
    return texts;
  }
  return {};
}

// ---- matrices ----

struct Matrix {
  FloatMatrix samples;
  std::size_t total_rows = 0;  // in the file; samples has fewer when limited
  std::string dtype;
  std::optional<ImageShape> image;
  std::optional<std::array<float, 2>> value_range;
};

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
  const Handle creation(H5Dget_create_plist(*array.id), H5Pclose);
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  const bool chunked =
      H5Pget_layout(*creation) == H5D_CHUNKED && H5Pget_chunk(*creation, H5S_MAX_RANK, chunk.data()) > 0;
  constexpr std::size_t kBlockFloats = std::size_t{1} << 22;
  std::size_t block = std::max<std::size_t>(1, kBlockFloats / shape.cols);
  if (chunked) block = std::max<std::size_t>(1, block / chunk[0]) * chunk[0];
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

enum class Sparse { kNone, kCsr, kCsc };

Sparse sparse_format(const Handle& group) {
  const std::string encoding = text_attribute(group, "encoding-type"), older = text_attribute(group, "h5sparse_format");
  if (encoding == "csr_matrix" || older == "csr") return Sparse::kCsr;
  return encoding == "csc_matrix" || older == "csc" ? Sparse::kCsc : Sparse::kNone;
}

// (rows, columns) from the group's attribute, or a dataset beside the data.
std::array<std::size_t, 2> sparse_shape(const File& file, const std::string& path, const Handle& group) {
  const std::string where = fmt::format("{}, '{}'", file.name, printable(path, 200));
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
  if (shape[0] < 1 || shape[1] < 1) throw Error(where, "the sparse matrix has no shape, or is empty");
  return {static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1])};
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

// ---- which dataset holds the samples ----

// Paths of everything that could: numeric datasets and sparse groups. Links can form circles, so the walk is bounded.
void find_matrices(const File& file, const std::string& path, int depth, int& budget, std::vector<std::string>& found) {
  constexpr int kDeepest = 8;
  const Handle group = file.open(path.empty() ? "/" : path);
  if (!is_group(group) || depth > kDeepest) return;
  for (const std::string& name : members(file, group)) {
    if (--budget < 0) return;
    const std::string inner = path.empty() ? name : path + "/" + name;
    const Handle object = file.open(inner);
    if (is_group(object)) {
      if (sparse_format(object) != Sparse::kNone)
        found.push_back(inner);
      else
        find_matrices(file, inner, depth + 1, budget, found);
    } else if (is_dataset(object)) {
      const Handle type(H5Dget_type(*object), H5Tclose), space(H5Dget_space(*object), H5Sclose);
      const H5T_class_t kind = type ? H5Tget_class(*type) : H5T_NO_CLASS;
      const bool numeric = kind == H5T_INTEGER || kind == H5T_FLOAT;
      if (numeric && space && H5Sget_simple_extent_ndims(*space) >= 1) found.push_back(inner);
    }
  }
}

std::vector<std::string> find_matrices(const File& file) {
  std::vector<std::string> found;
  int budget = 10'000;
  find_matrices(file, "", 0, budget, found);
  return found;
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
  if (found.empty()) throw Error(file.name, "holds no dataset of numbers");
  for (const char* usual : {"X", "data", "samples", "images", "features"}) {
    if (std::find(found.begin(), found.end(), usual) != found.end()) return usual;
  }
  throw Error(file.name, "holds several datasets", "choose one with --key; " + suggest("", found));
}

// ---- labels and properties ----

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
  std::error_code ignored;
  if (!in_obs && fs::is_regular_file(spec, ignored)) return std::nullopt;
  if (anndata) {
    throw Error(file.name, fmt::format("obs has no column '{}'", printable(name)),
                suggest(name, table_columns(file, "obs")));
  }
  if (name.find_first_not_of("0123456789") == std::string::npos) return std::nullopt;
  throw Error(file.name, fmt::format("holds no dataset '{}'", printable(name)), suggest(name, find_matrices(file)));
}

}  // namespace

Dataset read_hdf5(const fs::path& path, const ReadOptions& options) {
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
  const auto where = [&](const std::string& spec) { return fmt::format("{}, '{}'", file.name, printable(spec, 200)); };
  if (!options.labels.empty()) {
    const auto column = find_column(file, options.labels, anndata, total, rows, Use::kClasses);
    if (column) data.labels = to_labels(*column, where(options.labels));
  }
  for (const std::string& spec : options.properties) {
    const auto column = find_column(file, spec, anndata, total, rows, Use::kNumbers);
    if (column) data.properties.push_back(to_property(*column, where(spec)));
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
