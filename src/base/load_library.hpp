// Libraries of our own that stand on large ones of others (libtorch, RDKit) are loaded when they are first needed, so
// that a program which needs none of them starts at once.
#pragma once

namespace cpfm {

// The address of `symbol` in the library called `file`, as in libcpfm_flow.so, which is never unloaded. An Error says
// what stands in the way.
void* load_library(const char* file, const char* symbol);

}  // namespace cpfm
