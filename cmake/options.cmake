# SPDX-License-Identifier: Apache-2.0
# Build options and global defaults.
option(EDGEWISE_TORCH "Build the layers above libtorch; without them, only what translates is built, and no tests" ON)
option(EDGEWISE_CUDA "Link libtorch_cuda, so that processes exchange tensors of GPUs through NCCL; needs scripts/setup cuda" OFF)
option(EDGEWISE_PYTHON "Build the extension module of the Python package, which translates; needs nanobind" OFF)
option(EDGEWISE_TRAIN_WHEEL "Install the program for the wheel edgewise-train, which finds libtorch in the package torch" OFF)
option(EDGEWISE_TESTS "Build the tests" ${EDGEWISE_TORCH})
option(EDGEWISE_BENCHMARKS "Build the benchmarks of single kernels" OFF)
option(EDGEWISE_FUZZ "Build the fuzzers of the readers of untrusted files; needs clang" OFF)
option(EDGEWISE_TIDY "Prepare compile commands for clang-tidy, not a build" OFF)
option(EDGEWISE_UNITY "Compile the files of a layer together: halves the time of a full build, but one changed file takes longer" ON)
set(EDGEWISE_MODELS_COMMAND "" CACHE STRING
  "The command that installs the models of models/; if it is set, the error for an unknown name of a model has it")
set(EDGEWISE_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")
set(EDGEWISE_TORCH_DIR "" CACHE PATH "The libtorch or PyPI torch folder; empty means the one in .venv")

if(EDGEWISE_TESTS AND NOT EDGEWISE_TORCH)
  message(FATAL_ERROR "EDGEWISE_TESTS is ON and EDGEWISE_TORCH is OFF, the tests need libtorch")
endif()
if(EDGEWISE_CUDA AND NOT EDGEWISE_TORCH)
  message(FATAL_ERROR "EDGEWISE_CUDA is ON and EDGEWISE_TORCH is OFF, CUDA needs libtorch")
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)  # one group for each layer

find_program(EDGEWISE_CCACHE ccache)
if(EDGEWISE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Another checkout of the same sources finds the results of this one.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 "${EDGEWISE_CCACHE}")
endif()
