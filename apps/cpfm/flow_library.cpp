#include "flow_library.hpp"

#include <cstdlib>

#include "base/load_library.hpp"
#include "cpfm/error.hpp"
#include "cpfm/parallel.hpp"

namespace cpfm::app {

FlowEntry& flow_library() {
#if CPFM_HAS_TORCH
  static FlowEntry* entry = [] {
    // Threads of OpenMP that wait for each other by spinning bring training to a stand on a busy machine: give up the
    // core after some microseconds, unless the user has a say in it.
    setenv("GOMP_SPINCOUNT", "10000", 0);
    return reinterpret_cast<decltype(&cpfm_flow_entry)>(load_library("libcpfm_flow.so", "cpfm_flow_entry"))();
  }();
  entry->set_threads(threads());
  return *entry;
#else
  throw Error("cpfm", "this build has no flow library", "install libtorch (Debian: libtorch-dev) and build again");
#endif
}

}  // namespace cpfm::app
