# SPDX-License-Identifier: Apache-2.0
# Headers that most files of a kind include, parsed once for all of them: a file that uses libtorch's takes a third of the
# time, at half a gigabyte a kind in the build folder.
option(EDGEWISE_PRECOMPILED "Parse heavy headers once for all files that include them" OFF)

set(edgewise_headers_plain
  <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <optional> <span> <string>
  <string_view> <unordered_map> <utility> <vector> <fmt/format.h>)
set(edgewise_headers_torch ${edgewise_headers_plain} <ATen/core/Tensor.h> <ATen/TensorOperators.h>)
set(edgewise_headers_program ${edgewise_headers_plain} <CLI/CLI.hpp>)
set(edgewise_headers_test ${edgewise_headers_plain} <gmock/gmock.h> <rapidcheck.h>)
set(edgewise_headers_torch_test
  ${edgewise_headers_test} <ATen/ATen.h> <torch/csrc/autograd/autograd.h>)

#   edgewise_precompile(edgewise_ops torch)
# The first target of a kind builds its headers, the others reuse them: no definition of the first may be missing there.
function(edgewise_precompile target kind)
  if(NOT EDGEWISE_PRECOMPILED)
    return()
  endif()
  get_property(first GLOBAL PROPERTY edgewise_precompiled_${kind})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${edgewise_headers_${kind}})
    set_property(GLOBAL PROPERTY edgewise_precompiled_${kind} ${target})
  endif()
endfunction()
