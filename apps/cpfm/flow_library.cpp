#include "flow_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "cpfm/error.hpp"
#include "cpfm/parallel.hpp"

namespace cpfm::app {
#if CPFM_HAS_TORCH
namespace {

// Beside the program, where the build and the installation put it (a run path would not do: a sanitizer's dlopen
// ignores it); else wherever the system looks.
void* open_library() {
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  for (const char* folder : {"../lib", "../" CPFM_LIBDIR}) {
    const std::filesystem::path file = program.parent_path() / folder / "libcpfm_flow.so";
    if (std::filesystem::exists(file, ignored)) return dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
  return dlopen("libcpfm_flow.so", RTLD_NOW | RTLD_GLOBAL);
}

}  // namespace
#endif

FlowEntry& flow_library() {
#if CPFM_HAS_TORCH
  // Never unloaded: libtorch does not survive that.
  static FlowEntry* entry = [] {
    // Threads of OpenMP that wait for each other by spinning bring training to a stand on a busy machine: give up the
    // core after some microseconds, unless the user has a say in it.
    setenv("GOMP_SPINCOUNT", "10000", 0);
    void* library = open_library();
    if (library == nullptr)
      throw Error("libcpfm_flow.so", fmt::format("cannot be loaded: {}", dlerror()), "install cpfm again");
    const auto open = reinterpret_cast<decltype(&cpfm_flow_entry)>(dlsym(library, "cpfm_flow_entry"));
    if (open == nullptr) throw Error("libcpfm_flow.so", "is not cpfm's flow library", "install cpfm again");
    return open();
  }();
  entry->set_threads(threads());
  return *entry;
#else
  throw Error("cpfm", "this build has no flow library", "install libtorch (Debian: libtorch-dev) and build again");
#endif
}

}  // namespace cpfm::app
