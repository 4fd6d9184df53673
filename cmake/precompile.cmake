# SPDX-License-Identifier: Apache-2.0
# Precompiled headers. Parsing the headers of libtorch takes 7 s of processor time for each file, reading them precompiled
# takes 1 s. Each set is compiled once, by a target of its own, for all targets with the same flags:
#   edgewise_precompile(target library|torch|test|torch_test|optimised_test)
# A file must not rely on these headers: `make tidy` compiles the library without them.
set(precompiled_standard
  <algorithm> <array> <charconv> <chrono> <cmath> <cstdint> <cstring> <exception> <filesystem> <functional> <iterator>
  <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view> <tuple> <unordered_map>
  <utility> <variant> <vector> <fmt/format.h> <fmt/ranges.h>)
set(precompiled_library ${precompiled_standard})
set(precompiled_torch ${precompiled_standard} <ATen/ATen.h>)
set(precompiled_test ${precompiled_standard} <gmock/gmock.h> <gtest/gtest.h> <rapidcheck.h> <rapidcheck/gtest.h>)
set(precompiled_optimised_test ${precompiled_test})
set(precompiled_torch_test ${precompiled_test} <ATen/ATen.h>)

function(edgewise_precompile target kind)
  if(EDGEWISE_TIDY OR EDGEWISE_FUZZ)
    return()
  endif()
  set(owner edgewise_headers_${kind})
  if(NOT TARGET ${owner})
    set(source "${PROJECT_BINARY_DIR}/${owner}.cc")
    file(GENERATE OUTPUT "${source}" CONTENT "")
    add_library(${owner} STATIC EXCLUDE_FROM_ALL "${source}")
    target_link_libraries(${owner} PRIVATE edgewise_compiler edgewise_openmp fmt::fmt)
    if(kind MATCHES torch)
      target_link_libraries(${owner} PRIVATE edgewise::libtorch)
    endif()
    if(kind MATCHES test)
      target_link_libraries(${owner} PRIVATE GTest::gmock)
      edgewise_test_options(${owner} ${kind})
    endif()
    target_precompile_headers(${owner} PRIVATE ${precompiled_${kind}})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
  # The compiler reads the headers only with the flag for position-independent code that they were compiled with.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  # ccache finds a result again only if the compiler writes which precompiled headers it read.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()
