// CPFM_LAUNCH(kernel, grid, block, shared, stream)(arguments): the triple brackets, or where kernels are tested on the
// CPU (tests/cuda_on_cpu) their stand-in. Put a kernel with a comma in its name into parentheses.
#pragma once

#include <cuda_runtime.h>

#ifdef CPFM_CUDA_ON_CPU
#define CPFM_LAUNCH(kernel, ...) cuda_on_cpu::prepare(#kernel, kernel, __VA_ARGS__)
#else
#define CPFM_LAUNCH(kernel, ...) (kernel)<<<__VA_ARGS__>>>
#endif
