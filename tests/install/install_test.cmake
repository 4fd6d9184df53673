# SPDX-License-Identifier: Apache-2.0
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()

# Sets `command` to the one that configures a project with a program's source against a component in a folder.
macro(set_configure_command source component folder)
  list(JOIN blocks "," block_files)
  set(command ${CMAKE_COMMAND} --fresh -S "${SOURCE}/tests/install/consumer" -B "${WORK}/${component}" -G "${GENERATOR}" ${flags}
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${WORK}/${folder}" "-DCOMPONENT=${component}"
    "-DEXAMPLE=${source}" "-DBLOCKS=${block_files}")
endmacro()

# Builds a program's source as ${WORK}/COMPONENT/example, and the files ${blocks}.
function(build_program source component folder)
  set_configure_command(${source} ${component} ${folder})
  run(${command})
  run(${CMAKE_COMMAND} --build "${WORK}/${component}")
endfunction()

# Throws an error unless find_package refuses a component with a text.
function(expect_refused component folder text)
  set_configure_command("${SOURCE}/examples/translate.cpp" ${component} ${folder})
  execute_process(COMMAND ${command} RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE errors)
  string(REGEX REPLACE "[ \n]+" " " errors "${errors}")
  string(FIND "${errors}" "${text}" place)
  if(code EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "find_package of ${component} ends with ${code}, needs an error with: ${text}\n${errors}")
  endif()
endfunction()

# Writes each block of C++ on a page as a file of its own, and adds the files to `blocks`.
function(write_blocks page)
  file(READ "${SOURCE}/${page}" rest)
  get_filename_component(name "${page}" NAME_WE)
  string(FIND "${rest}" "\n```cpp\n" begin)
  while(NOT begin EQUAL -1)
    math(EXPR begin "${begin} + 8")
    string(SUBSTRING "${rest}" ${begin} -1 rest)
    string(FIND "${rest}" "\n```" end)
    string(SUBSTRING "${rest}" 0 ${end} block)
    list(LENGTH blocks number)
    file(WRITE "${WORK}/blocks/${name}_${number}.cc" "${block}\n")
    list(APPEND blocks "${WORK}/blocks/${name}_${number}.cc")
    string(FIND "${rest}" "\n```cpp\n" begin)
  endwhile()
  set(blocks "${blocks}" PARENT_SCOPE)
endfunction()

if(FLAGS)
  set(flags -DCMAKE_CXX_FLAGS=-fsanitize=${FLAGS})
endif()
file(REMOVE_RECURSE "${WORK}")
foreach(component infer runtime server doctor)
  run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${WORK}/installed" --component ${component})
endforeach()
write_blocks(docs/generating.md)
list(POP_FRONT blocks generating)
build_program("${generating}" infer installed)
build_program("${SOURCE}/examples/translate.cpp" infer installed)
expect_refused(train installed "edgewise has no component attention in")
expect_refused(trian installed "which has: infer. The build of edgewise installs one by")

# The same example by pkg-config.
file(GLOB_RECURSE pc_file "${WORK}/installed/edgewise.pc")
get_filename_component(pc_folder "${pc_file}" DIRECTORY)
execute_process(COMMAND "${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${pc_folder}" pkg-config --cflags --libs edgewise
  OUTPUT_VARIABLE pc_flags COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(pc_flags UNIX_COMMAND "${pc_flags}")
if(FLAGS)
  list(APPEND pc_flags -fsanitize=${FLAGS})
endif()
run(${COMPILER} -std=c++20 "${SOURCE}/examples/translate.cpp" -o "${WORK}/by-pkg-config" ${pc_flags})

foreach(program
    "${WORK}/infer/example" "${WORK}/by-pkg-config" "${WORK}/installed/bin/edgewise-doctor"
    "${WORK}/installed/bin/edgewise-translate" "${WORK}/installed/bin/edgewise-server")
  execute_process(COMMAND ldd "${program}" OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
  if(libraries MATCHES "torch")
    message(FATAL_ERROR "${program} needs libtorch:\n${libraries}")
  endif()
  if(libraries MATCHES "dnnl" AND program MATCHES "edgewise-(translate|server)$")
    message(FATAL_ERROR "${program} needs oneDNN:\n${libraries}")
  endif()
endforeach()
run("${WORK}/installed/bin/edgewise-translate" --version)
run("${WORK}/installed/bin/edgewise-server" --version)

run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${WORK}/installed" --component convert)
build_program("${SOURCE}/examples/import.cpp" convert installed)
# The expected output is that of transformers (tests/convert/models/marian_2/cases.json).
set(expected "j j j j j j j j j j\n")
execute_process(COMMAND "${WORK}/convert/example" "${SOURCE}/tests/convert/models/marian_2" "${WORK}/model"
  "y sister bought three red apples" OUTPUT_VARIABLE found COMMAND_ERROR_IS_FATAL ANY)
if(NOT found STREQUAL expected)
  message(FATAL_ERROR "examples/import.cpp prints ${found}, needs ${expected}")
endif()

# Installed programs find models by their names.
file(COPY "${WORK}/model/" DESTINATION "${WORK}/installed/share/edgewise/models/imported")
run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${WORK}/installed" --component models)
file(WRITE "${WORK}/input" "y sister bought three red apples\n")
file(GLOB manifests "${SOURCE}/models/*/manifest.json")
foreach(manifest imported/manifest.json ${manifests})
  get_filename_component(folder "${manifest}" DIRECTORY)
  get_filename_component(name "${folder}" NAME)
  execute_process(COMMAND "${WORK}/installed/bin/edgewise-translate" --model ${name} "${WORK}/input"
    WORKING_DIRECTORY "${WORK}" OUTPUT_VARIABLE found_by_${name} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT found_by_imported STREQUAL expected)
  message(FATAL_ERROR "edgewise-translate --model imported prints ${found_by_imported}, needs ${expected}")
endif()

run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${WORK}/installed" --component train)
# Headers of kernels for GPUs need nvcc or the emulator, which are no part of the packages.
file(GLOB_RECURSE device_headers "${WORK}/installed/*_cuda.h" "${WORK}/installed/*emulator*.h"
  "${WORK}/installed/include/edgewise/kernels/gpu/*" "${WORK}/installed/include/edgewise/runtime/gpu/*")
if(device_headers)
  message(FATAL_ERROR "headers of kernels for GPUs are installed, needs none: ${device_headers}")
endif()
# The program finds libtorch, and so does the project, because both are on the machine of the build.
run(${CMAKE_COMMAND} -E env --unset=LD_LIBRARY_PATH "${WORK}/installed/bin/edgewise" --version)
# The code in the documents compiles as it is printed.
set(blocks "")
file(GLOB pages RELATIVE "${SOURCE}" "${SOURCE}/README.md" "${SOURCE}/docs/*.md")
foreach(page ${pages})
  write_blocks("${page}")
endforeach()
if(NOT blocks)
  message(FATAL_ERROR "no page has a block of C++, needs README.md and docs/cpp.md to have some")
endif()
build_program("${SOURCE}/examples/train.cpp" train installed)
set(blocks "")
# The program starts and reports that the config is missing.
execute_process(COMMAND "${WORK}/train/example" "${WORK}/none.toml" RESULT_VARIABLE code ERROR_VARIABLE errors)
if(NOT code EQUAL 2)
  message(FATAL_ERROR "examples/train.cpp ends with ${code} for a missing config, needs 2:\n${errors}")
endif()

# Attention alone needs neither the libraries of text nor those of pictures.
run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${WORK}/alone" --component attention)
build_program("${SOURCE}/examples/window.cpp" attention alone)
run("${WORK}/attention/example")
execute_process(COMMAND ldd "${WORK}/attention/example" OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
foreach(library icu lzma rsvg sentencepiece ssl yaml zip zstd)
  if(libraries MATCHES "lib${library}")
    message(FATAL_ERROR "examples/window.cpp needs lib${library} for attention:\n${libraries}")
  endif()
endforeach()
expect_refused(infer alone "which has: attention. The build of edgewise installs one by")
