# cmake -D SOURCE=… -D HEADER=… -P commit.cmake: writes a header with the commit of a checkout, only when it changed, so
# that a build without a new commit compiles nothing.
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --exclude *
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit "no commit")
endif()
set(text "// Written by cmake/commit.cmake.\n#pragma once\n\nnamespace cpfm::app {\n
inline constexpr const char* kCommit = \"${commit}\";\n\n}  // namespace cpfm::app\n")
set(before "")
if(EXISTS ${HEADER})
  file(READ ${HEADER} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${HEADER} "${text}")
endif()
