# SPDX-License-Identifier: Apache-2.0
# `cmake --install build` installs the programs and the package that find_package(edgewise COMPONENTS …) finds. The
# components runtime, server and doctor have the programs without libtorch: edgewise-translate, edgewise-server and
# edgewise-doctor; the component models has the models of models/. The component infer is the library that translates;
# the component convert adds models of other systems, and the component train the libraries above libtorch, with the
# program edgewise.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/edgewise")
set(infer_layers base graph kernels text search options gpus runtime translate)  # lowest layer first
set(convert_layers convert)
set(train_layers training_kernels gpu_runtime message ops nn models data distributed train viz experiment)

# Installs the libraries and headers of the listed layers as one component, without headers of kernels for GPUs and of
# what includes these headers.
function(edgewise_install component)
  list(TRANSFORM ARGN PREPEND edgewise_ OUTPUT_VARIABLE targets)
  foreach(layer ${ARGN})
    set_target_properties(edgewise_${layer} PROPERTIES EXPORT_NAME ${layer})
    if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/edgewise/${layer}")
      install(DIRECTORY "${PROJECT_SOURCE_DIR}/edgewise/${layer}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/edgewise"
        COMPONENT ${component} FILES_MATCHING PATTERN "*.h" PATTERN "*-inl.h" EXCLUDE PATTERN gloo_declarations EXCLUDE
        PATTERN kernels/device EXCLUDE PATTERN "*_cuda.h" EXCLUDE PATTERN cuda_declarations EXCLUDE
        REGEX "/kernels/.*_gpu\\.h$" EXCLUDE PATTERN gpu_runtime EXCLUDE)
    endif()
  endforeach()
  if(component STREQUAL "infer")
    list(APPEND targets edgewise_compiler edgewise_openmp)
  elseif(component STREQUAL "train")
    list(APPEND targets edgewise_gpu_kernels)
    set_target_properties(edgewise_gpu_kernels PROPERTIES EXPORT_NAME gpu_kernels)
    if(NOT EDGEWISE_CUDA)
      list(APPEND targets edgewise_emulator)
      set_target_properties(edgewise_emulator PROPERTIES EXPORT_NAME emulator)
    endif()
  endif()
  install(TARGETS ${targets} EXPORT edgewise_${component}
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}/edgewise" COMPONENT ${component})
  install(EXPORT edgewise_${component} NAMESPACE edgewise:: FILE edgewise-${component}.cmake
    DESTINATION "${package_dir}" COMPONENT ${component})
endfunction()

edgewise_install(infer ${infer_layers})
if(TARGET edgewise_convert)
  edgewise_install(convert ${convert_layers})
endif()
if(EDGEWISE_TORCH)
  edgewise_install(train ${train_layers})
  # The target of the component is edgewise::train.
  set_target_properties(edgewise_train PROPERTIES EXPORT_NAME trainer)
endif()

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/edgewise-config.cmake.in"
  "${PROJECT_BINARY_DIR}/edgewise-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/edgewise-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/edgewise-config.cmake" "${PROJECT_BINARY_DIR}/edgewise-config-version.cmake"
  DESTINATION "${package_dir}" COMPONENT infer)

# For projects that use pkg-config instead of CMake.
file(RELATIVE_PATH EDGEWISE_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" EDGEWISE_PC_PREFIX "${EDGEWISE_PC_PREFIX}")
set(EDGEWISE_PC_LIBS "")
foreach(layer ${infer_layers})
  string(PREPEND EDGEWISE_PC_LIBS "-ledgewise_${layer} ")
endforeach()
configure_file("${CMAKE_CURRENT_LIST_DIR}/edgewise.pc.in" "${PROJECT_BINARY_DIR}/edgewise.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/edgewise.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT infer)

edgewise_install_models("${CMAKE_INSTALL_DATADIR}/edgewise/models" COMPONENT models)

install(TARGETS edgewise-translate COMPONENT runtime)
install(TARGETS edgewise-doctor COMPONENT doctor)
install(TARGETS edgewise-server COMPONENT server)
if(EDGEWISE_TORCH)
  install(FILES "${CMAKE_CURRENT_LIST_DIR}/libtorch.cmake" DESTINATION "${package_dir}" COMPONENT train)
  if(EDGEWISE_CUDA)
    install(FILES "${CMAKE_CURRENT_LIST_DIR}/cuda.cmake" DESTINATION "${package_dir}" COMPONENT train)
  endif()
  install(TARGETS edgewise COMPONENT train)
endif()
