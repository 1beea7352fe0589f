# The fuzz targets as part of every normal build, so that they do not rot: where clang has a working libFuzzer, a nested
# build of the parsers alone (fuzz/cache.cmake), and a test per target that runs its corpus and then fuzzes for 3 seconds.
# scripts/fuzz is for the long runs.
include(ExternalProject)

if(CPFM_SANITIZE)
  message(STATUS "cpfm fuzz targets: not in a sanitizer build, they bring their own")
  return()
endif()

find_program(CPFM_FUZZ_CXX NAMES clang++ clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14
             DOC "clang++ that builds the fuzz targets")
if(NOT CPFM_FUZZ_CXX)
  message(STATUS "cpfm fuzz targets: OFF, there is no clang++")
  return()
endif()

# A clang without compiler-rt, or one that does not find a C++20 library, is no use. The answer is kept for that clang.
if(NOT CPFM_FUZZ_CXX_CHECKED STREQUAL CPFM_FUZZ_CXX)
  set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/fuzz_probe)
  file(WRITE ${probe}.cpp "#include <cstdint>\n#include <span>\n#include <sanitizer/allocator_interface.h>\n"
       "extern \"C\" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {\n"
       "  return std::span(data, size).size() != size;\n}\n")
  execute_process(
    COMMAND ${CPFM_FUZZ_CXX} -std=c++20 -fsanitize=fuzzer,address,undefined ${probe}.cpp -o ${probe}
    RESULT_VARIABLE failure OUTPUT_QUIET ERROR_QUIET)
  if(NOT failure)
    execute_process(COMMAND ${probe} -runs=1 RESULT_VARIABLE failure OUTPUT_QUIET ERROR_QUIET)
  endif()
  set(works ON)
  if(failure)
    set(works OFF)
  endif()
  set(CPFM_FUZZ_CXX_WORKS ${works} CACHE INTERNAL "CPFM_FUZZ_CXX builds and runs a libFuzzer program")
  set(CPFM_FUZZ_CXX_CHECKED ${CPFM_FUZZ_CXX} CACHE INTERNAL "The clang++ that was checked")
endif()
if(NOT CPFM_FUZZ_CXX_WORKS)
  message(STATUS "cpfm fuzz targets: OFF, ${CPFM_FUZZ_CXX} cannot build a libFuzzer program (libclang-rt is missing?)")
  return()
endif()
message(STATUS "cpfm fuzz targets: ON, with ${CPFM_FUZZ_CXX}")

set(launcher "")
if(CMAKE_CXX_COMPILER_LAUNCHER)
  list(JOIN CMAKE_CXX_COMPILER_LAUNCHER "|" words)
  set(launcher -DCMAKE_CXX_COMPILER_LAUNCHER=${words})
endif()
set(prefix_path "${CMAKE_PREFIX_PATH}")
list(JOIN prefix_path "|" prefix_path)
ExternalProject_Add(cpfm_fuzzers
  SOURCE_DIR ${PROJECT_SOURCE_DIR}
  PREFIX ${CMAKE_BINARY_DIR}/fuzz-project
  BINARY_DIR ${CMAKE_BINARY_DIR}/fuzz
  LIST_SEPARATOR "|"
  CMAKE_ARGS -C ${PROJECT_SOURCE_DIR}/fuzz/cache.cmake -DCMAKE_CXX_COMPILER=${CPFM_FUZZ_CXX}
             -DCMAKE_PREFIX_PATH=${prefix_path} ${launcher}
  BUILD_ALWAYS ON
  INSTALL_COMMAND "")

foreach(target npy csv idx cifar tensor_file expression selfies smiles molecule_rows)
  # libFuzzer writes what it finds into the first folder, which is a fresh one; the seeds in the source are only read. The
  # seed makes one run like the next as far as time allows; scripts/fuzz goes elsewhere each time.
  set(scratch ${CMAKE_BINARY_DIR}/fuzz-tests/${target})
  set(arguments new ${PROJECT_SOURCE_DIR}/fuzz/corpus/${target} -max_total_time=3 -timeout=10 -rss_limit_mb=2048 -seed=1
                -print_final_stats=1)
  list(JOIN arguments "' '" arguments)
  add_test(NAME fuzz.${target}
    COMMAND sh -c "rm -rf '${scratch}' && mkdir -p '${scratch}/new' && cd '${scratch}' && exec '${CMAKE_BINARY_DIR}/fuzz/bin/fuzz_${target}' '${arguments}'")
  set_tests_properties(fuzz.${target} PROPERTIES TIMEOUT 120)
endforeach()
