# SPDX-License-Identifier: Apache-2.0
# One static library a layer.
#   edgewise_layer(graph SOURCES relation.cc … DEPENDS base [LIBRARIES fmt::fmt …] [TORCH])
# A layer with TORCH sees libtorch; a layer without it cannot, whatever it depends on.
function(edgewise_layer name)
  cmake_parse_arguments(layer "TORCH" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  add_library(edgewise_${name} STATIC ${layer_SOURCES})
  list(TRANSFORM layer_DEPENDS PREPEND edgewise_)
  target_link_libraries(edgewise_${name} PUBLIC edgewise_compiler ${layer_DEPENDS} ${layer_LIBRARIES})
  if(layer_TORCH)
    target_link_libraries(edgewise_${name} PUBLIC edgewise_libtorch)
    set_target_properties(edgewise_${name} PROPERTIES UNITY_BUILD ${EDGEWISE_UNITY})
  endif()
endfunction()
