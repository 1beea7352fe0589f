# cpfm_add_layer(NAME [SHARED] SOURCES … [PUBLIC libs…] [PRIVATE libs…]): one library per folder of src/, exported as
# cpfm::NAME, with the house's warnings.
add_library(cpfm_flags INTERFACE)
target_compile_options(cpfm_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic $<$<BOOL:${CPFM_WERROR}>:-Werror>>)
# GCC 12 sees overlaps in every "a" + string + "b" at -O3 (GCC bug 105651, gone in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(cpfm_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(CPFM_SANITIZE)
  target_compile_options(cpfm_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${CPFM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer>)
  # Visible to consumers of the static libraries too: without the runtime they would not link.
  add_link_options(-fsanitize=${CPFM_SANITIZE})
endif()

function(cpfm_add_layer name)
  cmake_parse_arguments(LAYER "SHARED" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  set(kind STATIC)
  if(LAYER_SHARED)
    set(kind SHARED)
  endif()
  add_library(cpfm_${name} ${kind} ${LAYER_SOURCES})
  add_library(cpfm::${name} ALIAS cpfm_${name})
  set_target_properties(cpfm_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(cpfm_${name} PUBLIC cxx_std_20)
  target_include_directories(cpfm_${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(cpfm_${name} PUBLIC ${LAYER_PUBLIC} PRIVATE $<BUILD_INTERFACE:cpfm_flags> ${LAYER_PRIVATE})
  set_property(GLOBAL APPEND PROPERTY CPFM_LAYERS cpfm_${name})
endfunction()
