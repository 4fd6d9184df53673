# SPDX-License-Identifier: Apache-2.0
# `cmake --install build`: the programs, and the package that find_package(edgewise COMPONENTS infer) finds: what
# translates, without libtorch.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/edgewise")
set(infer_layers base graph kernels text search options runtime translate)

list(TRANSFORM infer_layers PREPEND edgewise_ OUTPUT_VARIABLE infer_targets)
foreach(layer ${infer_layers})
  set_target_properties(edgewise_${layer} PROPERTIES EXPORT_NAME ${layer})
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/edgewise/${layer}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/edgewise"
    COMPONENT infer FILES_MATCHING PATTERN "*.h" PATTERN "*-inl.h" EXCLUDE)
endforeach()
install(TARGETS ${infer_targets} edgewise_compiler edgewise_openmp EXPORT edgewise_infer
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}/edgewise" COMPONENT infer)
install(EXPORT edgewise_infer NAMESPACE edgewise:: FILE edgewise-infer.cmake DESTINATION "${package_dir}" COMPONENT infer)

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/edgewise-config.cmake.in"
  "${PROJECT_BINARY_DIR}/edgewise-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/edgewise-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/edgewise-config.cmake" "${PROJECT_BINARY_DIR}/edgewise-config-version.cmake"
  DESTINATION "${package_dir}" COMPONENT infer)

install(TARGETS edgewise-translate COMPONENT infer)
install(TARGETS edgewise COMPONENT train)
