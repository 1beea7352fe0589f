// A live temporary file is flock()ed by its writer, so a leftover is one whose lock can be taken: no process numbers,
// which would lie on a shared file system.
#include "base/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"
#include "cpfm/random.hpp"

namespace cpfm {
namespace fs = std::filesystem;
namespace {

// ".model.cpfm.1a2b3c4d5e6f7a8b.tmp"
constexpr std::size_t kTagLength = 16;
constexpr std::string_view kSuffix = ".tmp";
constexpr std::size_t kLongestName = 255;

// A name that would grow too long is shortened: the tag tells files apart, not the name.
std::string prefix_of(const fs::path& target) {
  constexpr std::size_t kMost = kLongestName - (2 + kTagLength + kSuffix.size());
  return fmt::format(".{}.", target.filename().string().substr(0, kMost));
}

fs::path folder_of(const fs::path& target) { return target.has_parent_path() ? target.parent_path() : fs::path("."); }

// Where `path` leads through symbolic links, whether something is there or not.
fs::path follow_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  const std::string name = path.string();
  std::error_code error;
  for (int links = 0; fs::is_symlink(path, error); ++links) {
    const fs::path to = fs::read_symlink(path, error);
    if (error || links == kMostLinks) throw Error(name, "is a symbolic link that leads nowhere");
    path = path.parent_path() / to;  // which is `to` where that is absolute
  }
  return path;
}

std::string random_tag() {
  std::uint64_t seed[2] = {0, 0};
  if (getentropy(seed, sizeof(seed)) != 0) seed[0] = static_cast<std::uint64_t>(getpid());
  return fmt::format("{:016x}", Rng(seed[0], 0, seed[1]).bits64());
}

}  // namespace

AtomicFile::AtomicFile(const fs::path& target) : target_(target) {
  if (target_.empty()) throw Error("output", "the file name is empty");
  target_ = follow_links(target_);
  struct stat existing {};
  const bool exists = stat(target_.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode)) throw Error(target_.string(), "is a folder", "name a file inside it");
  if (exists && !S_ISREG(existing.st_mode)) {
    direct_ = true;
    do {  // a pipe without a reader makes open() wait, and a signal ends the wait
      check_interrupt();
      fd_ = open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    } while (fd_ < 0 && errno == EINTR);
    if (fd_ < 0) fail("open it for writing", errno);
    return;
  }
  // Renaming would replace it all the same; who took the right to write away did not mean that.
  if (exists && faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0 && errno == EACCES) {
    throw Error(target_.string(), "is read-only", "remove it, allow writing (chmod u+w), or choose another name");
  }
  remove_leftovers();
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary_ = folder_of(target_) / fmt::format("{}{}{}", prefix_of(target_), random_tag(), kSuffix);
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno == EEXIST) continue;
    if (fd_ < 0) fail("create a file there", errno);
    // Best effort: some file systems have no locks, and then leftovers stay.
    const bool taken = flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    struct stat mine {};
    if (!taken && fstat(fd_, &mine) == 0 && mine.st_nlink > 0) {
      if (exists) (void)!fchmod(fd_, existing.st_mode & 07777);
      return;
    }
    close(fd_);  // another writer takes it for a leftover, between our open and flock
    fd_ = -1;
  }
  fail("create a temporary file there", EEXIST);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  if (!direct_) unlink(temporary_.c_str());
  close(fd_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  CPFM_ASSERT(fd_ >= 0, "write after commit");
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      if (direct_) check_interrupt();  // a pipe may never take the rest; a file takes a moment
      continue;
    }
    if (written < 0) fail("write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

void AtomicFile::commit() {
  CPFM_ASSERT(fd_ >= 0, "commit twice");
  if (direct_) {
    if (close(std::exchange(fd_, -1)) != 0) fail("close", errno);
    return;
  }
  if (fsync(fd_) != 0) fail("write", errno);
  if (rename(temporary_.c_str(), target_.c_str()) != 0) fail("rename the finished file", errno);
  close(std::exchange(fd_, -1));
  // The name is durable once the folder is. Not every file system lets a folder be synced; the data itself is safe by
  // now.
  if (const int folder = open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    (void)fsync(folder);
    close(folder);
  }
}

void AtomicFile::fail(const char* doing, int error) const {
  const fs::path folder = folder_of(target_);
  std::error_code ignored;
  if (error == ENOENT && !fs::exists(folder, ignored)) {
    throw Error(target_.string(), fmt::format("there is no folder '{}'", folder.string()), "create it first");
  }
  std::string remedy;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG)
    remedy = "free some space; the old file, if any, is untouched";
  if (error == EACCES || error == EROFS || error == EPERM) remedy = "choose a place you may write to";
  throw Error(target_.string(), fmt::format("cannot {}: {}", doing, std::generic_category().message(error)), remedy);
}

void AtomicFile::remove_leftovers() const {
  const std::string prefix = prefix_of(target_);
  std::error_code error;
  for (fs::directory_iterator it(folder_of(target_), error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.size() != prefix.size() + kTagLength + kSuffix.size() || !name.starts_with(prefix) ||
        !name.ends_with(kSuffix) ||
        name.substr(prefix.size(), kTagLength).find_first_not_of("0123456789abcdef") != std::string::npos) {
      continue;
    }
    // Whatever has such a name is not waited for (a pipe) and not followed.
    const int fd = open(it->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    struct stat facts {};
    const bool regular = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
    if (regular && flock(fd, LOCK_EX | LOCK_NB) == 0) unlink(it->path().c_str());
    close(fd);
  }
}

}  // namespace cpfm
