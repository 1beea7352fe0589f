// The child gets a process group of its own. So a Ctrl-C reaches us alone, and we can end the child together with what
// it started (tar starts gzip, npm starts node).
#include "base/subprocess.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "base/text.hpp"
#include "cpfm/error.hpp"
#include "cpfm/interrupt.hpp"

extern char** environ;

namespace cpfm {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostOutput = std::size_t{1} << 20;
constexpr int kPollMilliseconds = 50;  // how late an interrupt may be seen
constexpr auto kGrace = 2s;            // between asking a child to end and ending it

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

struct SpawnActions {
  posix_spawn_file_actions_t value;
  SpawnActions() { posix_spawn_file_actions_init(&value); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&value); }
};

struct SpawnAttributes {
  posix_spawnattr_t value;
  SpawnAttributes() { posix_spawnattr_init(&value); }
  ~SpawnAttributes() { posix_spawnattr_destroy(&value); }
};

[[noreturn]] void fail(const std::string& program, const char* doing, int error) {
  throw Error(printable(program, 200), fmt::format("cannot {}: {}", doing, std::generic_category().message(error)),
              error == ENOENT ? "is it installed and in PATH?" : "");
}

// A started child. It is not reaped before this goes, so its number, and that of its group, stay its own.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    if (!ended()) end();
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Whether it has ended; does not wait.
  bool ended() {
    if (ended_) return true;
    siginfo_t info{};
    int failed = 0;
    do {
      failed = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    } while (failed != 0 && errno == EINTR);
    ended_ = failed != 0 || info.si_pid == pid_;  // failed: the host program reaps all its children by itself
    if (ended_) exit_code_ = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    return ended_;
  }
  int exit_code() const { return exit_code_; }
  void end() {
    kill(-pid_, SIGTERM);
    const auto deadline = std::chrono::steady_clock::now() + kGrace;
    while (!ended() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(5ms);
    kill(-pid_, SIGKILL);  // those of its group that did not listen
  }

 private:
  pid_t pid_;
  int exit_code_ = 0;
  bool ended_ = false;
};

pid_t spawn(const std::vector<std::string>& arguments, const std::filesystem::path& folder, int output) {
  SpawnActions actions;
  if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions.value, folder.c_str());
  posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions.value, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions.value, output, STDERR_FILENO);

  SpawnAttributes attributes;
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&defaults, signal);
  posix_spawnattr_setpgroup(&attributes.value, 0);
  posix_spawnattr_setsigmask(&attributes.value, &none);
  posix_spawnattr_setsigdefault(&attributes.value, &defaults);
  posix_spawnattr_setflags(&attributes.value, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, argv[0], &actions.value, &attributes.value, argv.data(), environ);
  if (error != 0) fail(arguments[0], "start it", error);
  return pid;
}

void append(std::string& output, std::string_view more) {
  output += more;
  // Cut rarely, not at every read.
  if (output.size() > 2 * kMostOutput) output.erase(0, output.size() - kMostOutput);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments, const std::filesystem::path& folder) {
  CPFM_ASSERT(!arguments.empty(), "no program named");
  check_interrupt();
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    throw Error(folder.string(), fmt::format("is not a folder to run {} in", printable(arguments[0], 200)));
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(arguments[0], "open a pipe to it", errno);
  Descriptor from_child(ends[0]), to_us(ends[1]);
  Child child(spawn(arguments, folder, to_us.get()));
  to_us.reset();
  fcntl(from_child.get(), F_SETFL, O_NONBLOCK);

  ProcessResult result;
  std::array<char, 65536> buffer;
  bool open = true;
  for (bool ended = false; !ended;) {
    check_interrupt();  // ~Child ends it
    if (open) {
      pollfd waiting{from_child.get(), POLLIN, 0};
      poll(&waiting, 1, kPollMilliseconds);
    } else {
      std::this_thread::sleep_for(1ms);
    }
    // Asked before the reads: what an ended child wrote is then in the pipe, and a grandchild that keeps the pipe open
    // cannot keep us.
    ended = child.ended();
    while (open) {
      const ssize_t count = read(from_child.get(), buffer.data(), buffer.size());
      if (count > 0) {
        append(result.output, {buffer.data(), static_cast<std::size_t>(count)});
        if (ended) continue;
        break;
      }
      if (count < 0 && errno == EINTR) continue;
      open = count < 0 && errno == EAGAIN;
      break;
    }
  }
  if (result.output.size() > kMostOutput) result.output.erase(0, result.output.size() - kMostOutput);
  result.exit_code = child.exit_code();
  return result;
}

}  // namespace cpfm
