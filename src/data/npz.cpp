// .npz: a zip archive of .npy members, stored or deflated, with the 64-bit extensions numpy uses for large arrays. Only
// the central directory is trusted for positions, and every position is checked against the file.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "data/columns.hpp"
#include "data/npy_format.hpp"
#include "data/readers.hpp"

namespace cpfm {
namespace fs = std::filesystem;
namespace {

struct Member {
  std::string name;  // without ".npy"
  unsigned method = 0;
  std::uint32_t crc = 0;  // of the plain bytes
  std::uint64_t compressed = 0, header_at = 0;
};

template <class T>
T little_endian(std::span<const std::byte> bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) value = static_cast<T>(value << 8 | std::to_integer<T>(bytes[at + i]));
  return value;
}

class Zip {
 public:
  explicit Zip(fs::path file) : file_(std::move(file)), size_(plain_file_size(file_)) { read_directory(); }

  const std::vector<Member>& members() const { return members_; }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Member& member : members_) names.push_back(member.name);
    return names;
  }

  const Member* find(const std::string& name) const {
    const auto it = std::find_if(members_.begin(), members_.end(), [&](const Member& m) { return m.name == name; });
    return it == members_.end() ? nullptr : &*it;
  }

  // The member was read to its end, which is also when its checksum is compared.
  static void expect_end(Reader& reader) {
    if (!reader.at_end())
      throw Error(reader.name(), "holds more than one array", "the file is damaged: fetch or make it again");
  }

  // `progress` may be null.
  Reader open(const Member& member, Progress* progress) const {
    constexpr std::size_t kLocalHeader = 30;
    const auto local = bytes_at(member.header_at, kLocalHeader);
    if (little_endian<std::uint32_t>(local, 0) != 0x04034b50) damaged();
    const std::uint64_t start = member.header_at + kLocalHeader + little_endian<std::uint16_t>(local, 26) +
                                little_endian<std::uint16_t>(local, 28);
    if (start > size_ || member.compressed > size_ - start) damaged();
    const std::string name = file_.string() + " (" + printable(member.name) + ")";
    auto source = file_source(file_, start, member.compressed);
    if (progress != nullptr) source = watched_source(std::move(source), *progress);
    if (member.method == 8) {
      source = inflate_source(std::move(source), Deflate::kRaw, name);
    } else if (member.method != 0) {
      throw Error(name, fmt::format("is compressed by zip method {}", member.method),
                  "numpy.savez_compressed writes method 8");
    }
    return Reader(crc_source(std::move(source), member.crc, name), name, Gzip::kKeep);
  }

 private:
  [[noreturn]] void damaged() const {
    throw Error(file_.string(), "is not a whole npz file",
                "it is truncated or damaged: save it again with numpy.savez");
  }

  std::vector<std::byte> bytes_at(std::uint64_t offset, std::uint64_t length) const {
    if (offset > size_ || length > size_ - offset) damaged();
    std::vector<std::byte> bytes(length);
    Reader reader(file_source(file_, offset, length), file_.string(), Gzip::kKeep);
    reader.read_exact(bytes, "zip directory");
    return bytes;
  }

  void read_directory() {
    constexpr std::size_t kEnd = 22, kLongestComment = 65535;
    if (size_ < kEnd) damaged();
    const std::uint64_t tail_at = size_ - std::min<std::uint64_t>(size_, kEnd + kLongestComment);
    const auto tail = bytes_at(tail_at, size_ - tail_at);
    std::size_t end = tail.size() - kEnd + 1;
    while (end-- > 0 && little_endian<std::uint32_t>(tail, end) != 0x06054b50) {
      if (end == 0) damaged();
    }
    std::uint64_t count = little_endian<std::uint16_t>(tail, end + 10);
    std::uint64_t length = little_endian<std::uint32_t>(tail, end + 12);
    std::uint64_t offset = little_endian<std::uint32_t>(tail, end + 16);
    if (count == 0xFFFF || length == 0xFFFFFFFF || offset == 0xFFFFFFFF) {
      if (tail_at + end < 20) damaged();
      const auto locator = bytes_at(tail_at + end - 20, 20);
      if (little_endian<std::uint32_t>(locator, 0) != 0x07064b50) damaged();
      const auto end64 = bytes_at(little_endian<std::uint64_t>(locator, 8), 56);
      if (little_endian<std::uint32_t>(end64, 0) != 0x06064b50) damaged();
      count = little_endian<std::uint64_t>(end64, 32);
      length = little_endian<std::uint64_t>(end64, 40);
      offset = little_endian<std::uint64_t>(end64, 48);
    }
    constexpr std::uint64_t kLargestDirectory = 1 << 24;
    if (length > kLargestDirectory) damaged();
    const auto directory = bytes_at(offset, length);
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      constexpr std::size_t kEntry = 46;
      if (directory.size() - at < kEntry || little_endian<std::uint32_t>(directory, at) != 0x02014b50) damaged();
      Member member;
      member.method = little_endian<std::uint16_t>(directory, at + 10);
      member.crc = little_endian<std::uint32_t>(directory, at + 16);
      member.compressed = little_endian<std::uint32_t>(directory, at + 20);
      const std::uint32_t plain = little_endian<std::uint32_t>(directory, at + 24);
      const std::size_t name_length = little_endian<std::uint16_t>(directory, at + 28);
      const std::size_t extra_length = little_endian<std::uint16_t>(directory, at + 30);
      const std::size_t comment_length = little_endian<std::uint16_t>(directory, at + 32);
      member.header_at = little_endian<std::uint32_t>(directory, at + 42);
      at += kEntry;
      if (directory.size() - at < name_length + extra_length + comment_length) damaged();
      member.name.assign(reinterpret_cast<const char*>(directory.data()) + at, name_length);
      read_zip64(std::span(directory).subspan(at + name_length, extra_length), plain, member);
      at += name_length + extra_length + comment_length;
      if (member.name.ends_with(".npy")) {
        member.name.resize(member.name.size() - 4);
        members_.push_back(std::move(member));
      }
    }
    if (members_.empty()) throw Error(file_.string(), "holds no npy array");
  }

  // The extra field with id 1 carries, in this order, those of {plain size, compressed size, offset} that did not fit.
  void read_zip64(std::span<const std::byte> extra, std::uint32_t plain, Member& member) const {
    while (extra.size() >= 4) {
      const std::uint16_t id = little_endian<std::uint16_t>(extra, 0);
      const std::size_t length = little_endian<std::uint16_t>(extra, 2);
      extra = extra.subspan(4);
      if (length > extra.size()) damaged();
      if (id == 1) {
        auto field = extra.first(length);
        const auto next = [&] {
          if (field.size() < 8) damaged();
          const auto value = little_endian<std::uint64_t>(field, 0);
          field = field.subspan(8);
          return value;
        };
        if (plain == 0xFFFFFFFF) next();
        if (member.compressed == 0xFFFFFFFF) member.compressed = next();
        if (member.header_at == 0xFFFFFFFF) member.header_at = next();
      }
      extra = extra.subspan(length);
    }
  }

  fs::path file_;
  std::uint64_t size_;
  std::vector<Member> members_;
};

const Member& choose_samples(const Zip& zip, const fs::path& file, const ReadOptions& options) {
  if (!options.key.empty()) {
    if (const Member* member = zip.find(options.key)) return *member;
    throw Error(file.string(), fmt::format("holds no array '{}'", printable(options.key)),
                suggest(options.key, zip.names()));
  }
  if (zip.members().size() == 1) return zip.members()[0];
  for (const char* usual : {"X", "x", "data", "samples", "images", "features", "x_train", "arr_0"}) {
    if (const Member* member = zip.find(usual)) return *member;
  }
  throw Error(file.string(), "holds several arrays", "choose one with --key; " + suggest("", zip.names()));
}

}  // namespace

Dataset read_npz(const fs::path& file, const ReadOptions& options) {
  const Zip zip(file);
  const auto column = [&](const std::string& name) {
    Reader reader = zip.open(*zip.find(name), nullptr);
    Column result = parse_npy_column(reader);
    Zip::expect_end(reader);
    result.name = name;
    if (options.limit) keep_first(result, *options.limit);
    return result;
  };
  Reader reader = zip.open(choose_samples(zip, file, options), options.progress);
  Dataset data = parse_npy(reader, options);
  if (!options.limit) Zip::expect_end(reader);
  if (options.progress != nullptr) options.progress->finish();
  data.format = "npz";
  if (zip.find(options.labels) != nullptr) {
    data.labels = to_labels(column(options.labels), file.string() + ", array '" + options.labels + "'");
  }
  for (const std::string& name : options.properties) {
    data.properties.push_back(
        zip.find(name) != nullptr ? to_property(column(name), file.string() + ", array '" + name + "'") : Property{});
  }
  // A name that is neither here nor a file is refused with the arrays there are.
  const auto check = [&](const std::string& spec) {
    const bool number = spec.find_first_not_of("0123456789") == std::string::npos;  // a column, for read_dataset()
    if (!number && zip.find(spec) == nullptr && !names_a_file(spec)) {
      throw Error(file.string(), fmt::format("holds no array '{}'", printable(spec)), suggest(spec, zip.names()));
    }
  };
  check(options.labels);
  for (const std::string& spec : options.properties) check(spec);
  return data;
}

}  // namespace cpfm
