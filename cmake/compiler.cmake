# SPDX-License-Identifier: Apache-2.0
# The target edgewise_compiler: warnings, sanitizers and include folders. Every target of this project links it.
include(GNUInstallDirs)
add_library(edgewise_compiler INTERFACE)
target_include_directories(edgewise_compiler INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
target_compile_features(edgewise_compiler INTERFACE cxx_std_20)
set(edgewise_warnings
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Werror
  $<$<CXX_COMPILER_ID:Clang>:-Wno-unknown-warning-option>
  $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>  # at -O1, clang vectorises no loop
  -Wno-restrict)  # false warnings of g++ 12 about string concatenation, GCC bug 105651
# Only for this build, not for projects that use the installed package.
target_compile_options(edgewise_compiler INTERFACE "$<BUILD_INTERFACE:${edgewise_warnings}>")

if(EDGEWISE_SANITIZE)
  # g++ 12 gives false warnings of uninitialised members in instrumented code of the standard library.
  target_compile_options(edgewise_compiler INTERFACE
    -fsanitize=${EDGEWISE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  target_link_options(edgewise_compiler INTERFACE -fsanitize=${EDGEWISE_SANITIZE})
  if(EDGEWISE_SANITIZE MATCHES thread)
    # ThreadSanitizer does not support the fences with which Asio surrounds the calls of completion handlers.
    target_compile_definitions(edgewise_compiler INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
  if(EDGEWISE_SANITIZE MATCHES undefined)
    # AddressSanitizer reports null pointers too, and these two checks are an eighth of the build time.
    target_compile_options(edgewise_compiler INTERFACE -fno-sanitize=null,vptr)
  endif()
endif()

# OpenMP as flags, not as the path of the compiler's libgomp.so: libtorch contains a libgomp of the same name, and CMake
# would warn for every program that one may hide the other. Only one of them is loaded, by name.
add_library(edgewise_openmp INTERFACE)
target_compile_options(edgewise_openmp INTERFACE -fopenmp)
target_link_options(edgewise_openmp INTERFACE -fopenmp)
