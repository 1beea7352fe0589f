#include "data/byte_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"

namespace cpfm {
namespace {

constexpr std::size_t kBufferSize = 1 << 16;

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::size_t read(std::span<std::byte> out) override {
    const std::size_t count = std::min(out.size(), bytes_.size());
    if (count > 0) std::memcpy(out.data(), bytes_.data(), count);
    bytes_ = bytes_.subspan(count);
    return count;
  }
  std::optional<std::uint64_t> remaining() const override { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

class FdSource final : public ByteSource {
 public:
  // `left`: how much of the descriptor may be read; nothing means until its end.
  FdSource(int fd, bool owned, std::string name, std::optional<std::uint64_t> left)
      : fd_(fd), owned_(owned), name_(std::move(name)), left_(left) {}
  ~FdSource() override {
    if (owned_) close(fd_);
  }
  FdSource(const FdSource&) = delete;
  FdSource& operator=(const FdSource&) = delete;

  std::size_t read(std::span<std::byte> out) override {
    constexpr std::size_t kMost = 1 << 24;  // so that an interrupt is seen within a moment
    std::size_t wanted = std::min(out.size(), kMost);
    if (left_) wanted = std::min<std::uint64_t>(wanted, *left_);
    for (;;) {
      check_interrupt();
      const ssize_t got = ::read(fd_, out.data(), wanted);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw Error(name_, fmt::format("cannot be read: {}", std::generic_category().message(errno)));
      if (left_) *left_ -= static_cast<std::uint64_t>(got);
      return static_cast<std::size_t>(got);
    }
  }
  std::optional<std::uint64_t> remaining() const override { return left_; }

 private:
  int fd_;
  bool owned_;
  std::string name_;
  std::optional<std::uint64_t> left_;
};

class InflateSource final : public ByteSource {
 public:
  InflateSource(std::unique_ptr<ByteSource> compressed, Deflate kind, std::string name)
      : compressed_(std::move(compressed)), kind_(kind), name_(std::move(name)), input_(kBufferSize) {
    // Window bits: negative for a raw deflate stream, +16 for gzip.
    if (inflateInit2(&stream_, kind == Deflate::kRaw ? -MAX_WBITS : 16 + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~InflateSource() override { inflateEnd(&stream_); }
  InflateSource(const InflateSource&) = delete;
  InflateSource& operator=(const InflateSource&) = delete;

  std::size_t read(std::span<std::byte> out) override {
    if (ended_ || out.empty()) return 0;
    const auto wanted = static_cast<uInt>(std::min<std::size_t>(out.size(), 1u << 30));
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = wanted;
    while (stream_.avail_out == wanted) {
      if (stream_.avail_in == 0 && !refill()) {
        throw Error(name_, "the compressed data ends too early", "the file is truncated: fetch or make it again");
      }
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        // gzip files may be several streams one after another.
        if (kind_ == Deflate::kGzip && (stream_.avail_in > 0 || refill())) {
          inflateReset(&stream_);
          continue;
        }
        ended_ = true;
        break;
      }
      if (status == Z_MEM_ERROR) throw std::bad_alloc();
      if (status != Z_OK && status != Z_BUF_ERROR) {
        throw Error(name_, fmt::format("the compressed data is damaged ({})", stream_.msg ? stream_.msg : "zlib error"),
                    "fetch or make the file again");
      }
    }
    return wanted - stream_.avail_out;
  }

 private:
  bool refill() {
    const std::size_t got = compressed_->read(input_);
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(got);
    return got > 0;
  }

  std::unique_ptr<ByteSource> compressed_;
  Deflate kind_;
  std::string name_;
  std::vector<std::byte> input_;
  z_stream stream_{};
  bool ended_ = false;
};

class CrcSource final : public ByteSource {
 public:
  CrcSource(std::unique_ptr<ByteSource> source, std::uint32_t expected, std::string name)
      : source_(std::move(source)), expected_(expected), name_(std::move(name)) {}

  std::size_t read(std::span<std::byte> out) override {
    const std::size_t got = source_->read(out);
    crc_ = crc32_z(crc_, reinterpret_cast<const Bytef*>(out.data()), got);
    if (got == 0 && !out.empty() && crc_ != expected_) {
      throw Error(name_, "its checksum does not match", "the file is damaged: fetch or make it again");
    }
    return got;
  }
  std::optional<std::uint64_t> remaining() const override { return source_->remaining(); }

 private:
  std::unique_ptr<ByteSource> source_;
  uLong crc_ = 0;
  std::uint32_t expected_;
  std::string name_;
};

class WatchedSource final : public ByteSource {
 public:
  WatchedSource(std::unique_ptr<ByteSource> source, Progress& progress)
      : source_(std::move(source)), progress_(progress) {
    progress_.start("reading", source_->remaining().value_or(0), "bytes");
  }

  std::size_t read(std::span<std::byte> out) override {
    const std::size_t got = source_->read(out);
    done_ += got;
    progress_.update(done_);
    return got;
  }
  std::optional<std::uint64_t> remaining() const override { return source_->remaining(); }

 private:
  std::unique_ptr<ByteSource> source_;
  Progress& progress_;
  std::uint64_t done_ = 0;
};

int open_for_reading(const std::filesystem::path& file, struct stat& facts) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const int error = errno;
    throw Error(file.string(), error == ENOENT
                                   ? "there is no such file"
                                   : fmt::format("cannot be opened: {}", std::generic_category().message(error)));
  }
  if (fstat(fd, &facts) != 0 || S_ISDIR(facts.st_mode)) {
    close(fd);
    throw Error(file.string(), "is a folder where a file is needed");
  }
  return fd;
}

}  // namespace

std::unique_ptr<ByteSource> memory_source(std::span<const std::byte> bytes) {
  return std::make_unique<MemorySource>(bytes);
}

std::unique_ptr<ByteSource> file_source(const std::filesystem::path& file) {
  struct stat facts {};
  const int fd = open_for_reading(file, facts);
  std::optional<std::uint64_t> size;
  if (S_ISREG(facts.st_mode)) size = static_cast<std::uint64_t>(facts.st_size);
  return std::make_unique<FdSource>(fd, true, file.string(), size);
}

std::unique_ptr<ByteSource> file_source(const std::filesystem::path& file, std::uint64_t offset, std::uint64_t length) {
  struct stat facts {};
  const int fd = open_for_reading(file, facts);
  auto source = std::make_unique<FdSource>(fd, true, file.string(), length);
  if (lseek(fd, static_cast<off_t>(offset), SEEK_SET) < 0) throw Error(file.string(), "cannot be read from the middle");
  return source;
}

std::unique_ptr<ByteSource> stdin_source() {
  return std::make_unique<FdSource>(STDIN_FILENO, false, "standard input", std::nullopt);
}

std::unique_ptr<ByteSource> inflate_source(std::unique_ptr<ByteSource> compressed, Deflate kind, std::string name) {
  return std::make_unique<InflateSource>(std::move(compressed), kind, std::move(name));
}

std::unique_ptr<ByteSource> crc_source(std::unique_ptr<ByteSource> source, std::uint32_t expected, std::string name) {
  return std::make_unique<CrcSource>(std::move(source), expected, std::move(name));
}

std::unique_ptr<ByteSource> watched_source(std::unique_ptr<ByteSource> source, Progress& progress) {
  return std::make_unique<WatchedSource>(std::move(source), progress);
}

Reader::Reader(std::unique_ptr<ByteSource> source, std::string name, Gzip gzip)
    : source_(std::move(source)), name_(std::move(name)), buffer_(kBufferSize) {
  unwrapped_ = gzip == Gzip::kUnwrap && peek(2) == "\x1f\x8b";
  if (unwrapped_) {
    // What was buffered to recognise gzip goes back in front of the compressed bytes.
    class Rejoined final : public ByteSource {
     public:
      Rejoined(std::vector<std::byte> head, std::unique_ptr<ByteSource> rest)
          : head_(std::move(head)), front_(head_), rest_(std::move(rest)) {}
      std::size_t read(std::span<std::byte> out) override {
        const std::size_t count = front_.read(out);
        return count > 0 ? count : rest_->read(out);
      }

     private:
      std::vector<std::byte> head_;
      MemorySource front_;
      std::unique_ptr<ByteSource> rest_;
    };
    std::vector<std::byte> head(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(end_));
    begin_ = end_ = 0;
    source_ = inflate_source(std::make_unique<Rejoined>(std::move(head), std::move(source_)), Deflate::kGzip, name_);
  }
}

void Reader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  end_ += source_->read(std::span(buffer_).subspan(end_));
}

std::string_view Reader::peek(std::size_t count) {
  CPFM_ASSERT(count <= 4096, "peek is for magic numbers and headers");
  while (end_ - begin_ < count) {
    const std::size_t before = end_ - begin_;
    fill();
    if (end_ - begin_ == before) break;
  }
  return {reinterpret_cast<const char*>(buffer_.data()) + begin_, std::min(count, end_ - begin_)};
}

std::string_view Reader::buffered() {
  if (begin_ == end_) fill();
  return {reinterpret_cast<const char*>(buffer_.data()) + begin_, end_ - begin_};
}

void Reader::consume(std::size_t count) {
  CPFM_ASSERT(count <= end_ - begin_, "consume more than is buffered");
  begin_ += count;
  position_ += count;
}

std::size_t Reader::read_some(std::span<std::byte> out) {
  if (out.empty()) return 0;
  std::size_t count = std::min(out.size(), end_ - begin_);
  if (count > 0) {
    std::memcpy(out.data(), buffer_.data() + begin_, count);
    begin_ += count;
  } else {
    count = source_->read(out);  // large reads go straight to their place
  }
  position_ += count;
  return count;
}

void Reader::read_exact(std::span<std::byte> out, std::string_view what) {
  const std::size_t wanted = out.size();
  while (!out.empty()) {
    const std::size_t got = read_some(out);
    if (got == 0) {
      throw Error(name_, fmt::format("ends after {} of the {} bytes of its {}", wanted - out.size(), wanted, what),
                  "the file is truncated: fetch or make it again");
    }
    out = out.subspan(got);
  }
}

std::optional<std::uint64_t> Reader::remaining() const {
  const auto behind = source_->remaining();
  if (!behind) return std::nullopt;
  return *behind + (end_ - begin_);
}

Reader open_reader(const std::string& path, Progress* progress) {
  auto source = path == "-" ? stdin_source() : file_source(path);
  if (progress != nullptr) source = watched_source(std::move(source), *progress);
  return Reader(std::move(source), path == "-" ? "standard input" : path);
}

std::uint64_t plain_file_size(const std::filesystem::path& file) {
  std::error_code error;
  const bool plain = std::filesystem::is_regular_file(file, error);
  if (!error && !plain) {
    throw Error(file.string(), "must be a plain file: it is read from several places", "save it to a file first");
  }
  const std::uint64_t size = error ? 0 : std::filesystem::file_size(file, error);
  if (error) throw Error(file.string(), "cannot be opened: " + error.message());
  return size;
}

std::string content_extension(const std::string& name) {
  std::filesystem::path path(lower(name));
  if (path.extension() == ".gz") path = path.stem();
  return path.extension().string();
}

}  // namespace cpfm
