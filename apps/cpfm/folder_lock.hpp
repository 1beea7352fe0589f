// One command at a time writes into a folder: two that train into the same files would mix them. The lock is the
// system's and ends with the process, however that ends; nothing is left in the folder.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/text.hpp"
#include "cpfm/error.hpp"

namespace cpfm::app {

class FolderLock {
 public:
  // Throws cpfm::Error where another command holds it. File systems that know no locks are taken as they are.
  explicit FolderLock(const std::filesystem::path& folder)
      : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (folder_ < 0 || ::flock(folder_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    ::close(folder_);
    throw Error("--output", fmt::format("another command writes into {}", printable(folder.string(), 200)),
                "wait until it has ended, or name another folder");
  }
  ~FolderLock() {
    if (folder_ >= 0) ::close(folder_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int folder_;
};

}  // namespace cpfm::app
