# SPDX-License-Identifier: Apache-2.0
# Build options and global defaults.
set(EDGEWISE_TORCH_DIR "" CACHE PATH "The libtorch or PyPI torch folder; empty means the one in .venv")
set(EDGEWISE_TORCH AUTO CACHE STRING
  "Build the layers above libtorch, models of other programs and drawings: ON, OFF, or AUTO, if scripts/setup installed libtorch")
set(EDGEWISE_TESTS AUTO CACHE STRING "Build the tests: ON, OFF, or AUTO, with libtorch if scripts/setup installed RapidCheck")
option(EDGEWISE_CUDA "Link libtorch_cuda, so that processes exchange tensors of GPUs through NCCL; needs scripts/setup cuda" OFF)
option(EDGEWISE_PYTHON "Build the extension module of the Python package, which translates; needs nanobind" OFF)
option(EDGEWISE_TRAIN_WHEEL "Install the program for the wheel edgewise-train, which finds libtorch in the package torch" OFF)
option(EDGEWISE_BENCHMARKS "Build the benchmarks of single kernels" OFF)
option(EDGEWISE_FUZZ "Build the fuzzers of the readers of untrusted files; needs clang" OFF)
option(EDGEWISE_TIDY "Prepare compile commands for clang-tidy, not a build" OFF)
option(EDGEWISE_UNITY "Compile the files of a layer in groups: shortens a full build, but one changed file takes longer" ON)
set(EDGEWISE_MODELS_COMMAND "" CACHE STRING
  "The command that installs the models of models/; if it is set, the error for an unknown name of a model has it")
set(EDGEWISE_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")

# The value ON or OFF of AUTO, for this run of CMake alone: what is installed later changes it.
find_library(RAPIDCHECK_LIBRARY rapidcheck)
file(GLOB installed_libtorch "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch/lib/libtorch_cpu.so")
if(EDGEWISE_TORCH STREQUAL "AUTO")
  set(EDGEWISE_TORCH OFF)
  if(EDGEWISE_TORCH_DIR OR installed_libtorch)
    set(EDGEWISE_TORCH ON)
  endif()
endif()
if(EDGEWISE_TESTS STREQUAL "AUTO")
  set(EDGEWISE_TESTS OFF)
  if(EDGEWISE_TORCH AND RAPIDCHECK_LIBRARY)
    set(EDGEWISE_TESTS ON)
  endif()
endif()
if(EDGEWISE_TESTS AND NOT EDGEWISE_TORCH)
  message(FATAL_ERROR "EDGEWISE_TESTS is ON and EDGEWISE_TORCH is OFF, the tests need libtorch")
endif()
if(EDGEWISE_CUDA AND NOT EDGEWISE_TORCH)
  message(FATAL_ERROR "EDGEWISE_CUDA is ON and EDGEWISE_TORCH is OFF, CUDA needs libtorch")
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# -O3 compiles a tenth longer, and only the kernels gain from it.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Larger groups compile faster in all, smaller ones after a change, and on more cores.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

find_program(EDGEWISE_CCACHE ccache)
if(EDGEWISE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The values of CCACHE_SLOPPINESS are those that ccache needs for precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros "${EDGEWISE_CCACHE}")
endif()
