# SPDX-License-Identifier: Apache-2.0
# The target edgewise::libtorch_cuda: libtorch_cuda.so of the folder ${torch_dir} of libtorch.cmake, and the headers of
# CUDA and NCCL. The targets libtorch::cudart and libtorch::cublaslt: the runtime of CUDA alone, and its matrix products.
# The NVIDIA libraries are PyPI packages beside torch, whose folders libtorch_cuda.so finds itself when a program starts.
set(nvidia_dir "${torch_dir}/../nvidia")
foreach(file
    "${torch_dir}/lib/libtorch_cuda.so" "${nvidia_dir}/cu13/include/cuda_runtime_api.h"
    "${nvidia_dir}/cu13/lib/libcudart.so.13" "${nvidia_dir}/cu13/lib/libcublasLt.so.13"
    "${nvidia_dir}/cu13/include/cublasLt.h" "${nvidia_dir}/cu13/include/cusparse.h" "${nvidia_dir}/nccl/include/nccl.h")
  if(NOT EXISTS "${file}")
    message(FATAL_ERROR "EDGEWISE_CUDA is ON and ${file} does not exist; run scripts/setup cuda")
  endif()
endforeach()

foreach(name c10_cuda torch_cuda)
  add_library(libtorch::${name} SHARED IMPORTED)
  set_target_properties(libtorch::${name} PROPERTIES IMPORTED_LOCATION "${torch_dir}/lib/lib${name}.so")
endforeach()
foreach(name cudart cublasLt)
  string(TOLOWER ${name} target)
  add_library(libtorch::${target} SHARED IMPORTED)
  set_target_properties(libtorch::${target} PROPERTIES IMPORTED_LOCATION "${nvidia_dir}/cu13/lib/lib${name}.so.13")
  target_compile_options(libtorch::${target} INTERFACE "SHELL:-idirafter ${nvidia_dir}/cu13/include")
endforeach()
add_library(edgewise::libtorch_cuda INTERFACE IMPORTED)
target_compile_options(edgewise::libtorch_cuda INTERFACE
  "SHELL:-idirafter ${nvidia_dir}/cu13/include" "SHELL:-idirafter ${nvidia_dir}/nccl/include")
# Programs need libtorch_cuda.so, which registers itself, even if they call none of its functions: some linkers leave such
# libraries out.
set(CMAKE_LINK_LIBRARY_USING_needed "LINKER:--push-state,--no-as-needed" "<LINK_ITEM>" "LINKER:--pop-state")
set(CMAKE_LINK_LIBRARY_USING_needed_SUPPORTED TRUE)
target_link_libraries(edgewise::libtorch_cuda INTERFACE
  $<LINK_LIBRARY:needed,libtorch::torch_cuda> libtorch::c10_cuda libtorch::cudart)
foreach(package cu13 cudnn nccl nvshmem cusparselt)
  target_link_options(edgewise::libtorch_cuda INTERFACE "LINKER:-rpath-link,${nvidia_dir}/${package}/lib")
endforeach()
