# SPDX-License-Identifier: Apache-2.0
# The target edgewise::libtorch, and imported targets of libtorch. The CMake files of the PyPI wheel are not
# used: they need a CUDA toolkit even for a CPU build.
if(EDGEWISE_TORCH_DIR)
  set(torch_dir "${EDGEWISE_TORCH_DIR}")
else()
  file(GLOB torch_dir "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
endif()
if(NOT EXISTS "${torch_dir}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "libtorch is not in '${torch_dir}'; run scripts/setup, or set EDGEWISE_TORCH_DIR")
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
