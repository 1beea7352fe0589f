#include "flow_library.hpp"

#include <cstdlib>
#if CPFM_HAS_TORCH
#include <malloc.h>
#endif

#include "base/load_library.hpp"
#include "cpfm/error.hpp"
#include "cpfm/parallel.hpp"

namespace cpfm::app {
#if CPFM_HAS_TORCH
namespace {

// Every step of training frees its tensors and asks for the same again. Large ones would go back to the system each
// time and come anew, page by page and cleared, which is a tenth of the time on a CPU: they are kept.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kKept = 1 << 30, kAtOnce = 64 << 20;  // bytes
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, kKept);
  mallopt(M_TOP_PAD, kAtOnce);
#endif
}

}  // namespace
#endif

FlowEntry& flow_library() {
#if CPFM_HAS_TORCH
  static FlowEntry* entry = [] {
    // Threads of OpenMP that wait for each other by spinning bring training to a stand on a busy machine: give up the
    // core after some microseconds, unless the user has a say in it.
    setenv("GOMP_SPINCOUNT", "10000", 0);
    keep_freed_memory();
    return reinterpret_cast<decltype(&cpfm_flow_entry)>(load_library("libcpfm_flow.so", "cpfm_flow_entry"))();
  }();
  entry->set_threads(threads());
  return *entry;
#else
  throw Error("cpfm", "this build has no flow library", "install libtorch (Debian: libtorch-dev) and build again");
#endif
}

}  // namespace cpfm::app
