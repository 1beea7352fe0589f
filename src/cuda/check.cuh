// Errors of the CUDA runtime as exceptions; for .cu files alone.
#pragma once

#include <cuda_runtime.h>

namespace cpfm {

// Throws OutOfDeviceMemory where memory is short, Error where a device takes no work, std::runtime_error for all else;
// clears the error, so that the process stays usable where CUDA allows it.
void check_cuda(cudaError_t error, const char* what);
inline void check_launch(const char* what) { check_cuda(cudaGetLastError(), what); }

}  // namespace cpfm
