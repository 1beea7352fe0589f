// A folder of this process alone, gone with the object.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "cpfm/error.hpp"

namespace cpfm {

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& purpose) {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    std::string name = (parent / ("cpfm-" + purpose + "-XXXXXX")).string();
    if (error || mkdtemp(name.data()) == nullptr) {
      throw Error(parent.string(), "cannot make a temporary folder there: " + std::generic_category().message(errno),
                  "set TMPDIR to a folder you may write to");
    }
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace cpfm
