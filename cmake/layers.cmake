# SPDX-License-Identifier: Apache-2.0
# One static library a layer.
#   edgewise_layer(graph SOURCES relation.cc … DEPENDS base [LIBRARIES fmt::fmt …] [TORCH] [SEPARATE])
# A layer with TORCH sees libtorch; a layer without it cannot, whatever it depends on.
# SEPARATE: each file is compiled alone, since its names are its own.
function(edgewise_layer name)
  cmake_parse_arguments(layer "TORCH;SEPARATE" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  add_library(edgewise_${name} STATIC ${layer_SOURCES})
  list(TRANSFORM layer_DEPENDS PREPEND edgewise_)
  target_link_libraries(edgewise_${name} PUBLIC edgewise_compiler ${layer_DEPENDS} ${layer_LIBRARIES})
  if(NOT layer_SEPARATE)
    set_target_properties(edgewise_${name} PROPERTIES UNITY_BUILD ${EDGEWISE_UNITY})
  endif()
  if(layer_TORCH)
    target_link_libraries(edgewise_${name} PUBLIC edgewise_libtorch)
  endif()
endfunction()
