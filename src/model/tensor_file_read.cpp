// Opening a tensor file: everything the header claims is compared with the bytes that are there, once, so that nobody
// who holds a TensorFile needs to check again.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/model.hpp"
#include "model/tensor_header.hpp"

namespace cpfm {
namespace {

struct Mapped {
  std::shared_ptr<const void> mapping;
  std::span<const std::byte> bytes;
};

Mapped map_file(const std::string& name) {
  const auto fail = [&](const char* doing) {
    throw Error(name, fmt::format("cannot {} it: {}", doing, std::generic_category().message(errno)));
  };
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail("open");
  const std::shared_ptr<const void> closer(nullptr, [fd](const void*) { close(fd); });
  struct stat status {};
  if (fstat(fd, &status) != 0) fail("read");
  if (S_ISDIR(status.st_mode)) throw Error(name, "is a folder", "name a file");
  if (!S_ISREG(status.st_mode)) throw Error(name, "is not a plain file", "it must be mapped into memory");
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) fail("map");
  Mapped mapped;
  mapped.mapping = std::shared_ptr<const void>(address, [size](const void* p) { munmap(const_cast<void*>(p), size); });
  mapped.bytes = {static_cast<const std::byte*>(address), size};
  return mapped;
}

// Splits the file into the header's text and the data behind it.
std::pair<std::string_view, std::span<const std::byte>> split(std::span<const std::byte> bytes,
                                                              const std::string& name) {
  if (bytes.size() < kLengthBytes) {
    throw Error(name, fmt::format("{} bytes are too few for a tensor file", bytes.size()), "it may be truncated");
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > kMaxHeader) {
    throw Error(name, fmt::format("a header of {} bytes is too long", length),
                fmt::format("at most {}; it may not be a safetensors file", kMaxHeader));
  }
  if (length > bytes.size() - kLengthBytes) {
    throw Error(name, fmt::format("the header has {} bytes, but the file only {}", length, bytes.size()),
                "it may be truncated");
  }
  const std::string_view json(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  return {json, bytes.subspan(kLengthBytes + length)};
}

// Not damage: thrown on as it is.
class NewerVersion : public Error {
  using Error::Error;
};

// The number a file of ours carries.
int parse_version(const std::string& text, const std::string& name) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (!digits || text[0] == '0') {
    throw Error(name, fmt::format("the metadata '{}' is '{}'", kFormatVersionKey, printable(text)),
                "it is a whole number from 1 on");
  }
  int version = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (problem != std::errc{} || version > kFormatVersion) {  // more digits than an int holds is newer, too
    throw NewerVersion(
        name,
        fmt::format("has format version {}, but this cpfm knows versions up to {}", printable(text), kFormatVersion),
        "update cpfm");
  }
  return version;
}

TensorView checked_tensor(const HeaderTensor& entry, std::span<const std::byte> data, const std::string& where) {
  const std::optional<DType> dtype = parse_dtype(entry.dtype);
  if (!dtype) {
    throw Error(where, fmt::format("the dtype '{}' is not known", printable(entry.dtype)),
                "known are " + known_dtypes());
  }
  if (entry.begin > entry.end) {
    throw Error(where, fmt::format("data_offsets [{}, {}] run backwards", entry.begin, entry.end));
  }
  const std::uint64_t wanted = tensor_bytes(*dtype, entry.shape, where);
  if (wanted != entry.end - entry.begin) {
    throw Error(where, fmt::format("its shape and dtype {} make {} bytes, but data_offsets [{}, {}] hold {}",
                                   entry.dtype, wanted, entry.begin, entry.end, entry.end - entry.begin));
  }
  if (entry.end > data.size()) {
    throw Error(where, fmt::format("ends at byte {} of the data, but the file holds {}", entry.end, data.size()),
                "it may be truncated");
  }
  return {*dtype, entry.shape, data.subspan(entry.begin, entry.end - entry.begin)};
}

// The tensors cover the data from end to end, each byte once.
void check_cover(const TensorHeader& header, std::size_t data_size, const std::string& name) {
  std::vector<const std::pair<const std::string, HeaderTensor>*> order;
  for (const auto& entry : header.tensors) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  std::uint64_t covered = 0;
  for (const auto* entry : order) {
    const std::uint64_t begin = entry->second.begin;
    if (begin < covered) {
      throw Error(tensor_place(name, entry->first),
                  fmt::format("starts at byte {} of the data and overlaps the tensor before it, which ends at {}",
                              begin, covered));
    }
    if (begin > covered) {
      throw Error(tensor_place(name, entry->first),
                  fmt::format("starts at byte {} of the data, but the tensors before it end at {}", begin, covered),
                  "there may be no gaps");
    }
    covered = entry->second.end;
  }
  if (covered != data_size) {
    throw Error(name, fmt::format("{} bytes behind the last tensor belong to none", data_size - covered));
  }
}

template <class Map>
const typename Map::mapped_type& look_up(const Map& map, std::string_view key, const std::string& file,
                                         const char* what) {
  const auto found = map.find(key);
  if (found != map.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& entry : map) names.push_back(entry.first);
  throw Error(file, fmt::format("there is no {} '{}' in it", what, printable(key)), suggest(key, names));
}

}  // namespace

TensorFile TensorFile::open(const std::filesystem::path& file) {
  const Mapped mapped = map_file(file.string());
  TensorFile result = parse(mapped.bytes, file.string());
  result.mapping_ = mapped.mapping;
  return result;
}

TensorFile TensorFile::parse(std::span<const std::byte> bytes, const std::string& name) {
  TensorFile file;
  file.name_ = name;
  file.file_size_ = bytes.size();
  try {
    file.check(bytes);
  } catch (const NewerVersion&) {
    throw;
  } catch (const Error& error) {
    throw DamagedFile(error);
  }
  return file;
}

void TensorFile::check(std::span<const std::byte> bytes) {
  const auto [json, data] = split(bytes, name_);
  // The version first: what else looks wrong may be what is new.
  if (const auto version = find_format_version(json)) format_version_ = parse_version(*version, name_);
  TensorHeader header = parse_tensor_header(json, name_);
  for (const auto& [tensor, entry] : header.tensors)
    tensors_.emplace_hint(tensors_.end(), tensor, checked_tensor(entry, data, tensor_place(name_, tensor)));
  check_cover(header, data.size(), name_);
  metadata_ = std::move(header.metadata);
  // Files of others, and older ones of ours, have none.
  const auto written = metadata_.find(kChecksumKey);
  if (written != metadata_.end() && written->second != checksum(metadata_, tensors_))
    throw Error(name_, "its bytes are not those that were written",
                fmt::format("the file is damaged; make it again or copy it again. A program that changed it on purpose "
                            "has to leave {} out of its metadata",
                            kChecksumKey));
}

const TensorView& TensorFile::tensor(std::string_view name) const { return look_up(tensors_, name, name_, "tensor"); }

const std::string& TensorFile::metadata(std::string_view key) const {
  return look_up(metadata_, key, name_, "metadata");
}

}  // namespace cpfm
