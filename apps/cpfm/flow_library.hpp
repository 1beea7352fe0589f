// Loads libcpfm_flow.so when a command needs torch, and only then (see src/flow/entry.hpp).
#pragma once

#include "flow/entry.hpp"

namespace cpfm::app {

// Throws cpfm::Error when this build has no flow library or it cannot be loaded. Passes the thread setting on.
FlowEntry& flow_library();

}  // namespace cpfm::app
