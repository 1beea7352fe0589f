# cmake --install: the program, the public headers, the libraries and a package for find_package(cpfm). The flow library is
# an export set of its own, so that a consumer without libtorch never hears of it.
include(CMakePackageConfigHelpers)
set(CPFM_CONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/cpfm)

get_property(layers GLOBAL PROPERTY CPFM_LAYERS)
foreach(layer IN LISTS layers)
  # A header-only library is all inside our objects; whoever links them needs no package for it.
  get_target_property(links ${layer} INTERFACE_LINK_LIBRARIES)
  if(links)
    list(FILTER links EXCLUDE REGEX "nlohmann_json|Eigen3::")
    set_property(TARGET ${layer} PROPERTY INTERFACE_LINK_LIBRARIES "${links}")
  endif()
  set(export cpfmTargets)
  get_target_property(kind ${layer} TYPE)
  if(kind STREQUAL "SHARED_LIBRARY")
    # Beside its sisters, and libtorch and RDKit where this build found them.
    set_target_properties(${layer} PROPERTIES INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
  endif()
  if(layer STREQUAL "cpfm_rdkit")
    # Loaded, never linked.
    install(TARGETS ${layer} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    continue()
  endif()
  if(layer STREQUAL "cpfm_flow")
    set(export cpfmFlowTargets)
  endif()
  install(TARGETS ${layer} EXPORT ${export}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()

if(TARGET cpfm)
  install(TARGETS cpfm RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cpfm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE ${PROJECT_SOURCE_DIR}/README.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Messages name pages of it.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT cpfmTargets NAMESPACE cpfm:: DESTINATION ${CPFM_CONFIG_DIR})
if(CPFM_HAS_TORCH)
  install(EXPORT cpfmFlowTargets NAMESPACE cpfm:: DESTINATION ${CPFM_CONFIG_DIR})
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/cpfmConfig.cmake.in ${PROJECT_BINARY_DIR}/cpfmConfig.cmake
  INSTALL_DESTINATION ${CPFM_CONFIG_DIR} NO_SET_AND_CHECK_MACRO)
# While the version is 0.x a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cpfmConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cpfmConfig.cmake ${PROJECT_BINARY_DIR}/cpfmConfigVersion.cmake
  DESTINATION ${CPFM_CONFIG_DIR})
