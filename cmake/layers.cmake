# SPDX-License-Identifier: Apache-2.0
# One static library a layer.
#   edgewise_layer(graph SOURCES relation.cc … DEPENDS base [LIBRARIES fmt::fmt …] [TORCH] [HEADERS plain])
# A layer with TORCH sees libtorch; a layer without it cannot, whatever it depends on. HEADERS: which are precompiled.
function(edgewise_layer name)
  cmake_parse_arguments(layer "TORCH" "HEADERS" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  add_library(edgewise_${name} STATIC ${layer_SOURCES})
  list(TRANSFORM layer_DEPENDS PREPEND edgewise_)
  target_link_libraries(edgewise_${name} PUBLIC edgewise_compiler ${layer_DEPENDS} ${layer_LIBRARIES})
  if(layer_TORCH)
    target_link_libraries(edgewise_${name} PUBLIC edgewise_libtorch)
  endif()
  if(layer_HEADERS)
    edgewise_precompile(edgewise_${name} ${layer_HEADERS})
  endif()
endfunction()
