#include "flow_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "cpfm/error.hpp"
#include "cpfm/parallel.hpp"

namespace cpfm::app {

FlowEntry& flow_library() {
#if CPFM_HAS_TORCH
  // Found through the program's run path; never unloaded, since libtorch does not survive that.
  static FlowEntry* entry = [] {
    void* library = dlopen("libcpfm_flow.so", RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) throw Error("libcpfm_flow.so", fmt::format("cannot be loaded: {}", dlerror()), "install cpfm again");
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
