# SPDX-License-Identifier: Apache-2.0
# edgewise_embed writes a C++ source with the text of files, sorted by their names, and appends its path to `sources`:
#   edgewise_embed(sources FUNCTION page_files HEADER edgewise/viz/page.h FILES pages/attention.js …)
# The header declares the function, which returns a std::span<const EmbeddedFile>.
#
# The build runs this file as a script, too: cmake -DOUTPUT=… -DFUNCTION=… -DHEADER=… "-DFILES=…" -P embed.cmake
if(NOT CMAKE_SCRIPT_MODE_FILE)
  function(edgewise_embed sources)
    cmake_parse_arguments(embed "" "FUNCTION;HEADER" "FILES" ${ARGN})
    set(output "${CMAKE_CURRENT_BINARY_DIR}/${embed_FUNCTION}.cc")
    set(script "${PROJECT_SOURCE_DIR}/cmake/embed.cmake")
    list(TRANSFORM embed_FILES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE paths)
    list(SORT paths)
    add_custom_command(
      OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DFUNCTION=${embed_FUNCTION}" "-DHEADER=${embed_HEADER}"
              "-DFILES=${paths}" -P "${script}"
      DEPENDS ${paths} "${script}"
      VERBATIM)
    # clang-tidy, which runs before a build, skips a file that is compiled alone and does not exist yet.
    set_source_files_properties("${output}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    set(${sources} ${${sources}} "${output}" PARENT_SCOPE)
  endfunction()
  return()
endif()

set(entries "")
foreach(path ${FILES})
  get_filename_component(name "${path}" NAME)
  file(READ "${path}" text)
  string(APPEND entries "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made by cmake/embed.cmake.
#include \"${HEADER}\"

#include <array>

namespace edgewise {

std::span<const EmbeddedFile> ${FUNCTION}() {
  static constexpr auto kFiles = std::to_array<EmbeddedFile>({
${entries}  });
  return kFiles;
}

}  // namespace edgewise
")
