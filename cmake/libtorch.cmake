# SPDX-License-Identifier: Apache-2.0
# libtorch as imported targets of our own: the CMake files of the PyPI wheel insist on a CUDA toolkit, which a build for
# the CPU does not need. Brings the target edgewise_libtorch.
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

add_library(edgewise_libtorch INTERFACE)
# Searched last, since libtorch carries headers of other fmt and oneDNN versions under the names of Debian's.
target_compile_options(edgewise_libtorch INTERFACE
  "SHELL:-idirafter ${torch_dir}/include" "SHELL:-idirafter ${torch_dir}/include/torch/csrc/api/include")
target_link_libraries(edgewise_libtorch INTERFACE libtorch::torch_cpu libtorch::c10)
# The CUDA runtime that libtorch_cpu.so itself needs lies beside it.
target_link_options(edgewise_libtorch INTERFACE "LINKER:-rpath-link,${torch_dir}/../nvidia/cu13/lib")
