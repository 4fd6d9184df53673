# SPDX-License-Identifier: Apache-2.0
# edgewise_layer declares the static library of a layer.
#   edgewise_layer(graph SOURCES relation.cc … DEPENDS base [LIBRARIES fmt::fmt …] [TORCH] [SEPARATE])
# TORCH: the layer may include libtorch; other layers cannot, whatever they depend on.
# SEPARATE: each file is compiled alone and without precompiled headers, because several files define the same names, or
# include themselves.
function(edgewise_layer name)
  cmake_parse_arguments(layer "TORCH;SEPARATE" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  add_library(edgewise_${name} STATIC ${layer_SOURCES})
  list(TRANSFORM layer_DEPENDS PREPEND edgewise_)
  target_link_libraries(edgewise_${name} PUBLIC edgewise_compiler ${layer_DEPENDS} ${layer_LIBRARIES})
  if(layer_TORCH)
    target_link_libraries(edgewise_${name} PUBLIC edgewise::libtorch)
  endif()
  if(NOT layer_SEPARATE)
    set_target_properties(edgewise_${name} PROPERTIES UNITY_BUILD ${EDGEWISE_UNITY})
    if(layer_TORCH)
      edgewise_precompile(edgewise_${name} torch)
    else()
      edgewise_precompile(edgewise_${name} library)
    endif()
  endif()
endfunction()
