# SPDX-License-Identifier: Apache-2.0
# edgewise_manual lets a program write its manual page and its completions behind each build, and installs them with it:
#   edgewise_manual(edgewise-translate COMPONENT runtime)
#
# The build runs this file as a script, too: cmake -DPROGRAM=… -DNAME=… -DFOLDER=… -DGZIP=… -P manual.cmake
if(NOT CMAKE_SCRIPT_MODE_FILE)
  function(edgewise_manual program)
    cmake_parse_arguments(manual "" "COMPONENT" "" ${ARGN})
    if(EDGEWISE_SANITIZE OR CMAKE_CROSSCOMPILING)
      return()
    endif()
    find_program(EDGEWISE_GZIP gzip REQUIRED)
    set(folder "${PROJECT_BINARY_DIR}/manual/${program}")
    add_custom_command(TARGET ${program} POST_BUILD
      COMMAND "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:${program}>" "-DNAME=${program}" "-DFOLDER=${folder}"
              "-DGZIP=${EDGEWISE_GZIP}" -P "${PROJECT_SOURCE_DIR}/cmake/manual.cmake"
      VERBATIM)
    install(FILES "${folder}/${program}.1.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT ${manual_COMPONENT})
    install(FILES "${folder}/bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
      RENAME "${program}" COMPONENT ${manual_COMPONENT})
    install(FILES "${folder}/zsh" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions"
      RENAME "_${program}" COMPONENT ${manual_COMPONENT})
    install(FILES "${folder}/fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d"
      RENAME "${program}.fish" COMPONENT ${manual_COMPONENT})
  endfunction()
  return()
endif()

file(MAKE_DIRECTORY "${FOLDER}")
execute_process(COMMAND "${PROGRAM}" --print-manual OUTPUT_FILE "${FOLDER}/${NAME}.1" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${GZIP}" --best --no-name --force "${FOLDER}/${NAME}.1" COMMAND_ERROR_IS_FATAL ANY)
foreach(shell bash zsh fish)
  execute_process(COMMAND "${PROGRAM}" --print-completion ${shell} OUTPUT_FILE "${FOLDER}/${shell}"
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
