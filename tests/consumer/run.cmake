# cmake -D BUILD=… -D CONFIG=… -D CXX=… [-D LINK_FLAGS=…] -P run.cmake: installs the build into a temporary prefix, moves
# the prefix (nothing may remember where it was), uses it from another project, and runs the installed program.
cmake_minimum_required(VERSION 3.22)
set(work "${BUILD}/consumer test")
set(prefix "${work}/moved prefix")
file(REMOVE_RECURSE "${work}")
file(MAKE_DIRECTORY "${work}")

# run(OUTPUT COMMAND…): stops at the first command that fails.
function(run output)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${work}"
    RESULT_VARIABLE result OUTPUT_VARIABLE text ERROR_VARIABLE errors)
  if(NOT result EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}\nended with ${result}\n${text}\n${errors}")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

function(expect text pattern)
  if(NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "expected '${pattern}' in\n${text}")
  endif()
endfunction()

run(ignored ${CMAKE_COMMAND} --install ${BUILD} --config ${CONFIG} --prefix ${work}/prefix)
file(RENAME "${work}/prefix" "${prefix}")

# Without libtorch: only the component flow may ask for it.
run(ignored ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${work}/build -G Ninja
  -D CMAKE_BUILD_TYPE=${CONFIG} -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_EXE_LINKER_FLAGS=${LINK_FLAGS}
  -D CMAKE_PREFIX_PATH=${prefix} -D CMAKE_DISABLE_FIND_PACKAGE_Torch=ON)
run(ignored ${CMAKE_COMMAND} --build ${work}/build --config ${CONFIG})
# A sanitizer's dlopen does not see the run path.
file(GLOB_RECURSE late "${prefix}/libcpfm_rdkit.so")
if(LINK_FLAGS AND late)
  get_filename_component(folder "${late}" DIRECTORY)
  set(ENV{LD_LIBRARY_PATH} "${folder}:$ENV{LD_LIBRARY_PATH}")
endif()
set(ethanol)
if(late)
  set(ethanol OCC)
endif()
run(shape ${work}/build/consumer digits.cpfm ${ethanol})
expect("${shape}" "1797 x 64")

find_program(program cpfm PATHS "${prefix}/bin" NO_DEFAULT_PATH)
if(program)
  run(info ${program} info digits.cpfm --json)
  expect("${info}" "\"digits\"")
  run(build ${program} info --json) # loads the flow library where there is one
  expect("${build}" "\"components\"")
  if(late)
    file(WRITE "${work}/benzene.smi" "c1ccccc1\n")
    run(selfies ${program} selfies encode benzene.smi)
    expect("${selfies}" "Ring1")
  endif()
endif()
file(REMOVE_RECURSE "${work}")
