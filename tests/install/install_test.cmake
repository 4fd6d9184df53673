# SPDX-License-Identifier: Apache-2.0
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()

if(FLAGS)
  set(flags -DCMAKE_CXX_FLAGS=-fsanitize=${FLAGS})
endif()
file(REMOVE_RECURSE "${WORK}")
run(${CMAKE_COMMAND} --install "${BUILD}" --prefix "${WORK}/installed" --component infer)
run(${CMAKE_COMMAND} -S "${SOURCE}/tests/install/consumer" -B "${WORK}/build" -G "${GENERATOR}" ${flags}
  "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${WORK}/installed" "-DEXAMPLE=${SOURCE}/examples/translate.cpp")
run(${CMAKE_COMMAND} --build "${WORK}/build")

foreach(program "${WORK}/build/translate" "${WORK}/installed/bin/edgewise-translate")
  execute_process(COMMAND ldd "${program}" OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
  if(libraries MATCHES "torch")
    message(FATAL_ERROR "${program} needs libtorch:\n${libraries}")
  endif()
endforeach()
run("${WORK}/installed/bin/edgewise-translate" --version)
