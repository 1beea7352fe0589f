// Opens files and datasets, and reads blocks of them. Nothing here trusts a size, a length or a filter that the file
// declares: see check_storage().
#if CPFM_HAS_HDF5

#include "data/hdf5_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "data/byte_source.hpp"

namespace cpfm::hdf5 {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void damaged(const Array& array) { throw Error(array.where(), "cannot be read: the file is damaged"); }

void check_storage(const Array& array, std::size_t element_bytes) {
  const Handle creation(H5Dget_create_plist(*array.id), H5Pclose);
  if (!creation) damaged(array);
  if (H5Pget_layout(*creation) == H5D_VIRTUAL || H5Pget_external_count(*creation) > 0) {
    throw Error(array.where(), "is put together from other files or datasets", "copy its values into a plain dataset");
  }
  const std::size_t most = array.file->plausible_bytes();
  const auto check = [&](std::size_t bytes) {
    if (bytes <= most) return;
    throw Error(array.where(),
                fmt::format("declares {} but stores {}", human_bytes(double(bytes)),
                            human_bytes(double(H5Dget_storage_size(*array.id)))),
                "most of it was never written, or the file is damaged: write all of it, or a smaller dataset");
  };
  const std::size_t declared = checked_mul(checked_product(array.dims, array.where()), element_bytes, array.where());
  check(declared);
  if (declared > 0 && H5Dget_storage_size(*array.id) == 0) {
    throw Error(array.where(), "has a size but no data: it was never written");
  }
  if (H5Pget_layout(*creation) != H5D_CHUNKED) return;
  check(checked_mul(checked_product(chunk_dims(array), array.where()), element_bytes, array.where()));
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

}  // namespace

File::File(const fs::path& path) : name(path.string()), size(plain_file_size(path)) {
  if (access(path.c_str(), R_OK) != 0) {
    throw Error(name, "cannot be opened: " + std::generic_category().message(errno));
  }
  id = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!id) {
    throw Error(name, "cannot be opened as HDF5: truncated or damaged",
                "copy it again; if another program has it open for writing, close that one first");
  }
}

Handle File::open(const std::string& path) const {
  const auto refuse = [](const char*, const char*, const char*, const char*, unsigned*, hid_t,
                         void* refused) -> herr_t {
    *static_cast<bool*>(refused) = true;
    return -1;
  };
  bool refused = false;
  const Handle access(H5Pcreate(H5P_LINK_ACCESS), H5Pclose);
  H5Pset_elink_cb(*access, refuse, &refused);
  Handle object(H5Oopen(*id, path.c_str(), *access), H5Oclose);
  if (refused) throw Error(where(path), "is a link to another file, which is not followed", "give that file instead");
  return object;
}

std::string File::where(const std::string& path) const { return fmt::format("{}, '{}'", name, printable(path, 200)); }

// Deflate makes at most 1032 bytes out of one.
std::size_t File::plausible_bytes() const {
  return checked_add(checked_mul(1032, size, name), std::size_t{64} << 20, name);
}

bool is_boolean(const Handle& type) {
  if (!type || H5Tget_class(*type) != H5T_ENUM || H5Tget_nmembers(*type) != 2) return false;
  return H5Tget_member_index(*type, "FALSE") >= 0 && H5Tget_member_index(*type, "TRUE") >= 0;
}

std::vector<std::string> members(const File& file, const Handle& group) {
  std::vector<std::string> names;
  const auto add = [](hid_t, const char* name, const H5L_info_t* link, void* list) -> herr_t {
    try {
      if (link->type != H5L_TYPE_EXTERNAL) static_cast<std::vector<std::string>*>(list)->emplace_back(name);
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

Array open_array(const File& file, const std::string& path, const std::string& field) {
  Array array{&file, path, field, file.open(path), {}, {}};
  if (!is_dataset(array.id)) throw Error(array.where(), "there is no such dataset");
  array.type = Handle(H5Dget_type(*array.id), H5Tclose);
  const Handle space(H5Dget_space(*array.id), H5Sclose);
  const int rank = space ? H5Sget_simple_extent_ndims(*space) : -1;
  if (!array.type || rank < 0) damaged(array);
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

std::string dtype_name(const Array& array) {
  if (is_boolean(array.type)) return "bool";
  const std::size_t bits = 8 * H5Tget_size(*array.type);
  if (array.kind() == H5T_FLOAT) return fmt::format("float{}", bits);
  return fmt::format("{}int{}", H5Tget_sign(*array.type) == H5T_SGN_NONE ? "u" : "", bits);
}

std::vector<std::uint64_t> chunk_dims(const Array& array) {
  const Handle creation(H5Dget_create_plist(*array.id), H5Pclose);
  if (H5Pget_layout(*creation) != H5D_CHUNKED) return {};
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  const int rank = std::max(0, H5Pget_chunk(*creation, H5S_MAX_RANK, chunk.data()));
  return {chunk.begin(), chunk.begin() + rank};
}

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
    damaged(array);
  }
}

std::vector<std::int64_t> read_integers(const Array& array) {
  if (array.dims.size() != 1) throw Error(array.where(), "is not a list of numbers");
  if (array.kind() != H5T_INTEGER) throw Error(array.where(), "does not hold whole numbers");
  std::vector<std::int64_t> values(array.dims[0]);
  if (!values.empty()) read_rows(array, 0, array.dims[0], H5T_NATIVE_INT64, values.data());
  return values;
}

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

void not_numbers(const Array& array) {
  throw Error(array.where(), "does not hold numbers", "whole numbers or floating point are needed");
}

}  // namespace cpfm::hdf5

#endif
