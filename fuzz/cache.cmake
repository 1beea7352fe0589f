# The settings of a fuzz build, in one place for cmake/fuzzers.cmake and scripts/fuzz:
#   cmake -C fuzz/cache.cmake -DCMAKE_CXX_COMPILER=clang++ -S . -B build/fuzz
# Only the parsers of untrusted bytes are in it, and nothing that they do not need.
set(CPFM_FUZZ ON CACHE BOOL "")
set(CPFM_SANITIZE "fuzzer-no-link,address,undefined" CACHE STRING "")
set(CPFM_APPS OFF CACHE BOOL "")
set(CPFM_TESTS OFF CACHE BOOL "")
set(CPFM_TORCH OFF CACHE STRING "")
set(CPFM_CUDA OFF CACHE STRING "")
set(CPFM_WERROR OFF CACHE BOOL "")  # the house's compiler is g++; clang's opinions are not a reason to stop
set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "")
set(CMAKE_DISABLE_FIND_PACKAGE_HDF5 ON CACHE BOOL "")
set(CMAKE_DISABLE_FIND_PACKAGE_CURL ON CACHE BOOL "")
