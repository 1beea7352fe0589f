// CPFM_HD marks the few small functions that host and device share.
#pragma once

#ifdef __CUDACC__
#define CPFM_HD __host__ __device__
#else
#define CPFM_HD
#endif
