# SPDX-License-Identifier: Apache-2.0
# edgewise_manual installs the manual page and the completions of a program, which scripts/write_manual writes:
#   edgewise_manual(edgewise-translate COMPONENT runtime)
function(edgewise_manual program)
  cmake_parse_arguments(manual "" "COMPONENT" "" ${ARGN})
  find_program(EDGEWISE_GZIP gzip REQUIRED)
  set(source "${PROJECT_SOURCE_DIR}/packaging/manual/${program}")
  set(page "${PROJECT_BINARY_DIR}/manual/${program}.1.gz")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}.1")
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/manual")
  execute_process(COMMAND "${EDGEWISE_GZIP}" --best --no-name --stdout "${source}.1" OUTPUT_FILE "${page}"
    COMMAND_ERROR_IS_FATAL ANY)
  install(FILES "${page}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT ${manual_COMPONENT})
  install(FILES "${source}.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
    RENAME "${program}" COMPONENT ${manual_COMPONENT})
  install(FILES "${source}.zsh" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions"
    RENAME "_${program}" COMPONENT ${manual_COMPONENT})
  install(FILES "${source}.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d"
    RENAME "${program}.fish" COMPONENT ${manual_COMPONENT})
endfunction()
