# SPDX-License-Identifier: Apache-2.0
# The compiler of kernels for GPUs, for a build with CUDA. cmake/cuda.cmake has the libraries.
find_program(EDGEWISE_NVCC nvcc HINTS "${nvidia_dir}/cu13/bin" DOC "The compiler of CUDA")
if(NOT EDGEWISE_NVCC)
  message(FATAL_ERROR "EDGEWISE_CUDA is ON and nvcc is neither in '${nvidia_dir}/cu13/bin' nor on PATH; "
    "run scripts/setup cuda, or set EDGEWISE_NVCC")
endif()

# edgewise_nvcc compiles .cu files, and replaces their names in a list by those of the objects. The
# objects have code for A100 (sm_80), H100 and H200 (sm_90a), and intermediate code for later GPUs. Not by CMake's own
# language CUDA, which does not find the folders of the PyPI packages.
#   edgewise_nvcc(sources)
file(STRINGS "${PROJECT_SOURCE_DIR}/edgewise/kernels/gpu/nvcc_options.txt" nvcc_options)
list(FILTER nvcc_options EXCLUDE REGEX "^-Xptxas")  # scripts/compile_cuda checks the registers
function(edgewise_nvcc list)
  set(objects "")
  foreach(file ${${list}})
    cmake_path(ABSOLUTE_PATH file NORMALIZE)
    file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}" "${file}")
    set(object "${PROJECT_BINARY_DIR}/nvcc/${name}.o")
    cmake_path(GET object PARENT_PATH folder)
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(OUTPUT "${object}"
      COMMAND "${EDGEWISE_NVCC}" ${nvcc_options} -gencode=arch=compute_80,code=[sm_80,compute_80]
        -gencode=arch=compute_90a,code=sm_90a -Xcompiler=-fPIC -I "${PROJECT_SOURCE_DIR}" -MD -MF "${object}.d"
        -c "${file}" -o "${object}"
      DEPENDS "${file}" DEPFILE "${object}.d" COMMENT "Compiling ${name} for GPUs" VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  set(${list} "${objects}" PARENT_SCOPE)
endfunction()
