# SPDX-License-Identifier: Apache-2.0
# The models that come with this project, which programs find by their names (edgewise/translate/model_paths.h): the
# folders of models/ with a manifest.json, which models/train writes.
file(GLOB model_manifests CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/../models/*/manifest.json")
set(model_folders "")
set(model_names "")
foreach(manifest ${model_manifests})
  get_filename_component(folder "${manifest}" DIRECTORY)
  get_filename_component(name "${folder}" NAME)
  list(APPEND model_folders "${folder}")
  list(APPEND model_names ${name})
endforeach()

# Installs the folder of each model into `destination`; further arguments are options of install.
function(edgewise_install_models destination)
  if(model_folders)
    install(DIRECTORY ${model_folders} DESTINATION "${destination}" ${ARGN})
  endif()
endfunction()
