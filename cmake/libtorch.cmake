# SPDX-License-Identifier: Apache-2.0
# The target edgewise::libtorch, and imported targets of libtorch. The CMake files of the PyPI wheel are not
# used: they need a CUDA toolkit even for a CPU build.
#
# libtorch is the folder EDGEWISE_TORCH_DIR, or else that of the clone, one of CMAKE_PREFIX_PATH, or the one of the
# build that installed this file (edgewise_BUILD_TORCH_DIR). Without any, torch_problem describes what is missing.
if(EDGEWISE_TORCH_DIR)
  set(torch_folders "${EDGEWISE_TORCH_DIR}")
else()
  file(GLOB torch_folders "${CMAKE_CURRENT_LIST_DIR}/../.venv/lib/python3*/site-packages/torch")
  foreach(folder ${CMAKE_PREFIX_PATH})
    list(APPEND torch_folders "${folder}" "${folder}/../..")  # the prefix of torch.utils is torch/share/cmake
  endforeach()
  list(APPEND torch_folders ${edgewise_BUILD_TORCH_DIR})
endif()
unset(torch_dir)
unset(torch_problem)
foreach(folder ${torch_folders})
  if(NOT torch_dir AND EXISTS "${folder}/lib/libtorch_cpu.so")
    get_filename_component(torch_dir "${folder}" REALPATH)
  endif()
endforeach()
if(NOT torch_dir)
  list(JOIN torch_folders "', '" searched)
  string(CONCAT torch_problem "no lib/libtorch_cpu.so is in '${searched}'; set EDGEWISE_TORCH_DIR to the folder of the "
    "PyPI package torch or of libtorch")
  return()
endif()

foreach(name c10 torch_cpu)
  add_library(libtorch::${name} SHARED IMPORTED)
  set_target_properties(libtorch::${name} PROPERTIES IMPORTED_LOCATION "${torch_dir}/lib/lib${name}.so")
endforeach()

add_library(edgewise::libtorch INTERFACE IMPORTED)
# These folders are searched last: they contain headers of other versions of fmt and oneDNN with the same names.
target_compile_options(edgewise::libtorch INTERFACE
  "SHELL:-idirafter ${torch_dir}/include" "SHELL:-idirafter ${torch_dir}/include/torch/csrc/api/include")
target_link_libraries(edgewise::libtorch INTERFACE libtorch::torch_cpu libtorch::c10)
# The folder of the CUDA runtime that libtorch_cpu.so needs.
target_link_options(edgewise::libtorch INTERFACE "LINKER:-rpath-link,${torch_dir}/../nvidia/cu13/lib")
