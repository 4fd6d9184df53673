# SPDX-License-Identifier: Apache-2.0
# `cmake --install build` installs the programs and the package that find_package(edgewise COMPONENTS …) finds. The
# components runtime, server and doctor have the programs without libtorch: edgewise-translate, edgewise-server and
# edgewise-doctor; the component models has the models of models/. The component infer is the library that translates
# and continues texts; the component convert adds models of other systems. The component attention is graphs, message
# passing and attention on tensors of libtorch; the component train has it, too, and needs infer: it adds training, and
# the program edgewise.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/edgewise")
# Each set of layers is one file of targets, edgewise-SET.cmake, lowest layer first.
set(core_layers base graph device kernels gpu_kernels)
set(infer_layers text search options positions runtime translate generate)
set(convert_layers convert)
set(attention_layers training_kernels message ops)
set(train_layers nn models data distributed train viz experiment benchmark pictures)

# Installs headers of folders of edgewise/, without those of kernels for GPUs and of what includes these headers.
function(edgewise_install_headers component)
  foreach(folder ${ARGN})
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/edgewise/${folder}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/edgewise"
      COMPONENT ${component} FILES_MATCHING PATTERN "*.h" PATTERN "*-inl.h" EXCLUDE PATTERN gloo_declarations EXCLUDE
      PATTERN kernels/gpu EXCLUDE PATTERN "*_cuda.h" EXCLUDE PATTERN cuda_declarations EXCLUDE
      PATTERN runtime/gpu EXCLUDE)
  endforeach()
endfunction()

# Installs the libraries and headers of a set of layers, and of further targets, as the component of its name.
function(edgewise_install set)
  set(targets ${ARGN})
  set(folders "")
  foreach(layer ${${set}_layers})
    set_target_properties(edgewise_${layer} PROPERTIES EXPORT_NAME ${layer})
    list(APPEND targets edgewise_${layer})
    if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/edgewise/${layer}")
      list(APPEND folders ${layer})
    endif()
  endforeach()
  edgewise_install_headers(${set} ${folders})
  install(TARGETS ${targets} EXPORT edgewise_${set}
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}/edgewise" COMPONENT ${set})
  install(EXPORT edgewise_${set} NAMESPACE edgewise:: FILE edgewise-${set}.cmake
    DESTINATION "${package_dir}" COMPONENT ${set})
endfunction()

# Lets the install of a component install another one, too, which CMake allows in one component only.
function(edgewise_install_with component needed)
  install(CODE "
    execute_process(COMMAND \"${CMAKE_COMMAND}\" --install \"${PROJECT_BINARY_DIR}\" --component ${needed}
      --prefix \"\${CMAKE_INSTALL_PREFIX}\" COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)" COMPONENT ${component})
endfunction()

edgewise_install(core edgewise_compiler edgewise_openmp)
edgewise_install(infer)
edgewise_install_with(infer core)
if(TARGET edgewise_convert)
  edgewise_install(convert)
endif()
if(EDGEWISE_TORCH)
  edgewise_install(attention)
  edgewise_install_with(attention core)
  edgewise_install_headers(attention options)  # kinds of layers, which the headers of operations include
  edgewise_install(train)
  edgewise_install_with(train attention)
  # The target of the component is edgewise::train.
  set_target_properties(edgewise_train PROPERTIES EXPORT_NAME trainer)
endif()

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/edgewise-config.cmake.in"
  "${PROJECT_BINARY_DIR}/edgewise-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/edgewise-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/edgewise-config.cmake" "${PROJECT_BINARY_DIR}/edgewise-config-version.cmake"
  DESTINATION "${package_dir}" COMPONENT core)

# For projects that use pkg-config instead of CMake.
file(RELATIVE_PATH EDGEWISE_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" EDGEWISE_PC_PREFIX "${EDGEWISE_PC_PREFIX}")
set(EDGEWISE_PC_LIBS "")
foreach(layer ${core_layers} ${infer_layers})
  string(PREPEND EDGEWISE_PC_LIBS "-ledgewise_${layer} ")
endforeach()
configure_file("${CMAKE_CURRENT_LIST_DIR}/edgewise.pc.in" "${PROJECT_BINARY_DIR}/edgewise.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/edgewise.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT infer)

edgewise_install_models("${CMAKE_INSTALL_DATADIR}/edgewise/models" COMPONENT models)

install(TARGETS edgewise-translate COMPONENT runtime)
install(TARGETS edgewise-doctor COMPONENT doctor)
install(TARGETS edgewise-server COMPONENT server)
if(EDGEWISE_TORCH)
  install(FILES "${CMAKE_CURRENT_LIST_DIR}/libtorch.cmake" DESTINATION "${package_dir}" COMPONENT attention)
  if(EDGEWISE_CUDA)
    install(FILES "${CMAKE_CURRENT_LIST_DIR}/cuda.cmake" DESTINATION "${package_dir}" COMPONENT attention)
  endif()
  if(NOT EDGEWISE_TRAIN_WHEEL)  # which has a run path of its own
    set_target_properties(edgewise PROPERTIES INSTALL_RPATH "${torch_dir}/lib")
  endif()
  install(TARGETS edgewise COMPONENT train)
endif()
