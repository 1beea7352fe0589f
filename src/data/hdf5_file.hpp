// What every reader of HDF5 stands on: identifiers that close themselves, the file, and datasets that are safe to read.
//
// An HDF5 file declares sizes freely (a dataset of petabytes that was never written takes no room), so every dataset
// goes through open_array(), which compares what is declared with what the file can hold before anything is allocated.
//
// Included only where CPFM_HAS_HDF5 is 1.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace cpfm::hdf5 {

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
  explicit File(const std::filesystem::path& path);

  // A group or dataset; false when there is none. Throws for one in another file: links there are not followed.
  Handle open(const std::string& path) const;

  // Names what is at `path` for messages.
  std::string where(const std::string& path) const;

  // The most bytes that data declared by this file may take.
  std::size_t plausible_bytes() const;

  std::string name;
  std::uint64_t size = 0;
  Handle id;
};

inline bool is_dataset(const Handle& object) { return object && H5Iget_type(*object) == H5I_DATASET; }
inline bool is_group(const Handle& object) { return object && H5Iget_type(*object) == H5I_GROUP; }
inline bool is_number(H5T_class_t kind) { return kind == H5T_INTEGER || kind == H5T_FLOAT; }

// The enumeration of FALSE and TRUE that h5py writes for booleans.
bool is_boolean(const Handle& type);

// Names in a group, without links to other files.
std::vector<std::string> members(const File& file, const Handle& group);

// A single text; empty when there is none.
std::string text_attribute(const Handle& object, const char* name);

// One dataset, or one field of a dataset of records, whose declared size the file can hold.
struct Array {
  const File* file;
  std::string path;
  std::string field;  // empty where elements are plain
  Handle id, type;    // of the dataset, of one element or its field
  std::vector<std::uint64_t> dims;

  std::string where() const { return file->where(field.empty() ? path : path + ":" + field); }
  H5T_class_t kind() const { return H5Tget_class(*type); }
  // Booleans count: they are read as 0 and 1.
  bool is_numeric() const { return is_number(kind()) || is_boolean(type); }
};

// Throws where there is none, or where it cannot be what it says.
Array open_array(const File& file, const std::string& path, const std::string& field = {});

// numpy's name of a numeric type.
std::string dtype_name(const Array& array);

// Dimensions of the pieces that are compressed one by one; empty where the data is in one piece.
std::vector<std::uint64_t> chunk_dims(const Array& array);

// Rows [begin, begin + count) along the first dimension, converted to `memory_type`, one after the other.
void read_rows(const Array& array, std::uint64_t begin, std::uint64_t count, hid_t memory_type, void* out);

// All of a list of whole numbers.
std::vector<std::int64_t> read_integers(const Array& array);

// The first `count` of a list of texts.
std::vector<std::string> read_texts(const Array& array, std::size_t count);

[[noreturn]] void not_numbers(const Array& array);

}  // namespace cpfm::hdf5
