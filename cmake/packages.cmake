# SPDX-License-Identifier: Apache-2.0
# Debian packages by CPack, which `make packages` runs: edgewise-runtime, edgewise-models, edgewise-server and
# libedgewise-dev. They have the components of install.cmake, and what only a package installs, such as the service.
set(EDGEWISE_MAINTAINER "" CACHE STRING
  "The maintainer of packages, as \"Name <address>\"; empty means the user of this machine who builds them")
set(maintainer "${EDGEWISE_MAINTAINER}")
if(maintainer STREQUAL "")
  execute_process(COMMAND id --user --name OUTPUT_VARIABLE user OUTPUT_STRIP_TRAILING_WHITESPACE)
  cmake_host_system_information(RESULT host QUERY HOSTNAME)
  set(maintainer "Local build <${user}@${host}>")
endif()

# The files that CPack reads, beside those of the components.
set(debian "${PROJECT_SOURCE_DIR}/packaging/debian")
set(package_files "${PROJECT_BINARY_DIR}/packages")
string(TIMESTAMP EDGEWISE_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)

install(FILES packaging/edgewise-server.service packaging/edgewise-server.socket
  DESTINATION lib/systemd/system COMPONENT service EXCLUDE_FROM_ALL)
install(FILES "${debian}/edgewise-server.sysusers" DESTINATION lib/sysusers.d RENAME edgewise-server.conf
  COMPONENT service EXCLUDE_FROM_ALL)
install(FILES "${debian}/server.toml" DESTINATION "${CMAKE_INSTALL_FULL_SYSCONFDIR}/edgewise"
  PERMISSIONS OWNER_READ OWNER_WRITE COMPONENT service EXCLUDE_FROM_ALL)
install(FILES "${debian}/edgewise-server.lintian-overrides" DESTINATION "${CMAKE_INSTALL_DATADIR}/lintian/overrides"
  RENAME edgewise-server COMPONENT service EXCLUDE_FROM_ALL)
install(DIRECTORY DESTINATION "${CMAKE_INSTALL_FULL_LOCALSTATEDIR}/lib/edgewise" COMPONENT service EXCLUDE_FROM_ALL)

# Installs the documents that Debian requires of each package.
function(edgewise_package_documents package component)
  set(EDGEWISE_PACKAGE ${package})
  configure_file("${debian}/changelog.in" "${package_files}/${package}/changelog.Debian" @ONLY)
  find_program(EDGEWISE_GZIP gzip REQUIRED)
  execute_process(COMMAND "${EDGEWISE_GZIP}" --best --no-name --force "${package_files}/${package}/changelog.Debian"
    COMMAND_ERROR_IS_FATAL ANY)
  install(FILES "${debian}/copyright" "${package_files}/${package}/changelog.Debian.gz"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}" COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()
edgewise_package_documents(edgewise-runtime runtime-documents)
edgewise_package_documents(edgewise-models models-documents)
edgewise_package_documents(edgewise-server service)
edgewise_package_documents(libedgewise-dev dev-documents)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME edgewise)
set(CPACK_PACKAGE_CONTACT "${maintainer}")
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime doctor runtime-documents server service infer convert dev-documents)
if(model_names)
  list(APPEND CPACK_COMPONENTS_ALL models models-documents)
endif()
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME edgewise-runtime)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION text)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "translate text with Transformers
edgewise-translate translates text, one sentence per line, whole texts and
HTML, with models that Edgewise trained or imported. edgewise-doctor describes
the machine and tests it.")

if(model_names)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS edgewise-models)
endif()

set(CPACK_DEBIAN_MODELS_PACKAGE_NAME edgewise-models)
set(CPACK_DEBIAN_MODELS_PACKAGE_SECTION text)
set(CPACK_DEBIAN_MODELS_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_MODELS_PACKAGE_SHLIBDEPS OFF)
list(JOIN model_names ", " names)
set(CPACK_COMPONENT_MODELS_DESCRIPTION "small translation models for everyday sentences
Models that were trained on the sentences of Tatoeba. edgewise-translate and
edgewise-server find them by their names, which are languages:
${names}.")

set(CPACK_DEBIAN_SERVER_PACKAGE_NAME edgewise-server)
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION net)
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers")
set(CPACK_DEBIAN_SERVER_PACKAGE_SUGGESTS "edgewise-runtime, edgewise-models")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA
  "${debian}/conffiles;${debian}/postinst;${debian}/prerm;${debian}/postrm")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENT_SERVER_DESCRIPTION "translation server with the interfaces of LibreTranslate and DeepL
edgewise-server serves models that Edgewise trained or imported, and has a
page to translate with. The package runs it as a service of systemd, with a
user of its own.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libedgewise-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  libfmt-dev libhwy-dev libicu-dev liblzma-dev libsentencepiece-dev libssl-dev libyaml-dev libzip-dev
  libzstd-dev pkg-config zlib1g-dev)
list(JOIN CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS)
set(CPACK_COMPONENT_DEV_DESCRIPTION "C++ library that translates with Transformers
Static libraries, headers, and the files for CMake and pkg-config of the
components infer, which translates, and convert, which imports and exports
models of other programs.")

include(CPack)
cpack_add_component_group(runtime DESCRIPTION "${CPACK_COMPONENT_RUNTIME_DESCRIPTION}")
cpack_add_component_group(server DESCRIPTION "${CPACK_COMPONENT_SERVER_DESCRIPTION}")
cpack_add_component_group(dev DESCRIPTION "${CPACK_COMPONENT_DEV_DESCRIPTION}")
cpack_add_component(runtime GROUP runtime)
cpack_add_component(doctor GROUP runtime)
cpack_add_component(runtime-documents GROUP runtime)
if(model_names)
  cpack_add_component_group(models DESCRIPTION "${CPACK_COMPONENT_MODELS_DESCRIPTION}")
  cpack_add_component(models GROUP models)
  cpack_add_component(models-documents GROUP models)
endif()
cpack_add_component(server GROUP server)
cpack_add_component(service GROUP server)
cpack_add_component(infer GROUP dev)
cpack_add_component(convert GROUP dev)
cpack_add_component(dev-documents GROUP dev)

# Everything that the packages have.
add_custom_target(package_contents)
add_dependencies(package_contents edgewise-translate edgewise-doctor edgewise-server)
foreach(layer ${core_layers} ${infer_layers} ${convert_layers})
  if(TARGET edgewise_${layer})
    add_dependencies(package_contents edgewise_${layer})
  endif()
endforeach()
