# SPDX-License-Identifier: Apache-2.0
# Warnings and sanitizers, as one target that every target of ours links.
include(GNUInstallDirs)
add_library(edgewise_compiler INTERFACE)
target_include_directories(edgewise_compiler INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_compile_features(edgewise_compiler INTERFACE cxx_std_20)
set(edgewise_warnings
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Werror
  $<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-warning-option>
  -Wno-restrict)  # false alarms of g++ 12 on adding strings, GCC bug 105651
# Ours, not those of who installs this.
target_compile_options(edgewise_compiler INTERFACE "$<BUILD_INTERFACE:${edgewise_warnings}>")

if(EDGEWISE_SANITIZE)
  # g++ 12 raises false alarms of uninitialised members in instrumented code of the standard library.
  target_compile_options(edgewise_compiler INTERFACE
    -fsanitize=${EDGEWISE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  target_link_options(edgewise_compiler INTERFACE -fsanitize=${EDGEWISE_SANITIZE})
endif()

# As flags, not as the compiler's libgomp.so by its path: libtorch brings a libgomp of the same name, and CMake would warn
# for every program that one may hide the other. One of them is loaded, by that name.
add_library(edgewise_openmp INTERFACE)
target_compile_options(edgewise_openmp INTERFACE -fopenmp)
target_link_options(edgewise_openmp INTERFACE -fopenmp)
