# SPDX-License-Identifier: Apache-2.0
# edgewise_test declares the test program of a layer; one program per layer keeps heavy headers to few files.
#   edgewise_test(graph SOURCES relation_test.cc … [LIBRARIES edgewise_graph …] [ENVIRONMENT NAME=value …] [SHARDS 2]
#                 [TORCH | OPTIMISED] [SEPARATE])
# TORCH: the tests include libtorch.
# OPTIMISED: the tests compute as much as the library, in definitions in plain loops.
# SHARDS: CTest runs the program as several tests, <name>_0 and so on, which share the cores.
# SEPARATE: each file is compiled alone, because several files define the same names.
if(EDGEWISE_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# The options of the compiler for tests of a kind, and for the headers that are precompiled for them: test, torch_test, or
# optimised_test.
function(edgewise_test_options target kind)
  # Most tests compute little, and optimising them takes longer than it saves.
  if(NOT kind STREQUAL "optimised_test")
    target_compile_options(${target} PRIVATE -O0)
  elseif(NOT EDGEWISE_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(EDGEWISE_SANITIZE MATCHES undefined)
    # The library is checked, the tests are not: checks of the tests' arithmetic would double their build time.
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined -O0)
  endif()
endfunction()

function(edgewise_test name)
  cmake_parse_arguments(test "SEPARATE;TORCH;OPTIMISED" "SHARDS" "SOURCES;LIBRARIES;ENVIRONMENT" ${ARGN})
  add_executable(test_${name} ${test_SOURCES})
  if(NOT test_SEPARATE)
    set_target_properties(test_${name} PROPERTIES UNITY_BUILD ${EDGEWISE_UNITY})
  endif()
  target_link_libraries(test_${name} PRIVATE
    edgewise_compiler ${test_LIBRARIES} GTest::gmock GTest::gtest_main ${RAPIDCHECK_LIBRARY})
  set(kind test)
  if(test_TORCH)
    set(kind torch_test)
  elseif(test_OPTIMISED)
    set(kind optimised_test)
  endif()
  edgewise_test_options(test_${name} ${kind})
  edgewise_precompile(test_${name} ${kind})
  # Several programs share the cores at a time, and the busy-waiting threads of libtorch's OpenMP would take the cores
  # from other programs. die_after_fork=0: some tests start threads in a forked process. RC_PARAMS: a run of CTest has
  # the same random cases each time; scripts/soak and a program that is started by hand draw other ones.
  set(support "${PROJECT_SOURCE_DIR}/tests/support")
  set(environment
    "OMP_WAIT_POLICY=passive" "RC_PARAMS=seed=1"
    "LSAN_OPTIONS=suppressions=${support}/leaks.txt:print_suppressions=0"
    "TSAN_OPTIONS=suppressions=${support}/threads.txt:print_suppressions=0:die_after_fork=0" ${test_ENVIRONMENT})
  set_target_properties(test_${name} PROPERTIES EDGEWISE_ENVIRONMENT "${environment}")
  edgewise_test_shards(${name} "${test_SHARDS}" "${environment}" tests)
  set_target_properties(test_${name} PROPERTIES EDGEWISE_TESTS "${tests}")
endfunction()

# edgewise_test_shards runs the program test_<name> as a CTest test <test>, or as several, <test>_0 and so on, if there
# are several shards, and puts their names into the variable `tests`. One process for many tests: starting libtorch for
# each of hundreds of tests would take longer than the tests.
function(edgewise_test_shards test shards environment tests)
  string(REGEX REPLACE "_(slow|definition|cuda_emulated|cuda)$" "" program "test_${test}")
  set(names ${test})
  if(shards)
    math(EXPR last "${shards} - 1")
    set(names "")
    foreach(shard RANGE ${last})
      list(APPEND names ${test}_${shard})
    endforeach()
  endif()
  set(shard 0)
  foreach(name ${names})
    set(shard_environment ${environment})
    if(shards)
      list(APPEND shard_environment GTEST_TOTAL_SHARDS=${shards} GTEST_SHARD_INDEX=${shard})
    endif()
    math(EXPR shard "${shard} + 1")
    add_test(NAME ${name} COMMAND ${program} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES TIMEOUT 3000 ENVIRONMENT "${shard_environment}")
  endforeach()
  set(${tests} ${names} PARENT_SCOPE)
endfunction()

# edgewise_slow_tests makes the tests that match a filter of GoogleTest a CTest test of their own, <name>_slow with the
# label full; with SHARDS, several. `make test` leaves out the tests with this label, `make test-full` runs them.
#   edgewise_slow_tests(apps "Kill*:Train*" SHARDS 4)
function(edgewise_slow_tests name filter)
  cmake_parse_arguments(slow "" "SHARDS" "" ${ARGN})
  get_target_property(environment test_${name} EDGEWISE_ENVIRONMENT)
  edgewise_test_shards(${name}_slow "${slow_SHARDS}" "${environment};GTEST_FILTER=${filter}" slow_tests)
  # CTest starts the tests of the highest COST first.
  set_tests_properties(${slow_tests} PROPERTIES LABELS full COST 1000)
  get_target_property(quick_tests test_${name} EDGEWISE_TESTS)
  set_tests_properties(${quick_tests} PROPERTIES COST 900)
  foreach(test ${quick_tests})
    get_test_property(${test} ENVIRONMENT environment)
    set_tests_properties(${test} PROPERTIES ENVIRONMENT "${environment};GTEST_FILTER=-${filter}")
  endforeach()
endfunction()

# edgewise_operations_test runs the tests of a program once more, as the CTest test <name>_<operations>, with
# EDGEWISE_OPERATIONS=<operations>: `definition` are the operations in plain ATen, `cuda-emulated` those that call kernels
# for GPUs, in the emulator; `cuda` has the tensors of test_device() (tests/support/test_device.h) on a GPU. A build with
# CUDA has no emulator, and any other build no GPU. ONLY, WITHOUT: filters of GoogleTest with the tests to run, and with
# the tests that concern other kernels.
#   edgewise_operations_test(ops definition WITHOUT "Attend.TakesMemory*")
function(edgewise_operations_test name operations)
  cmake_parse_arguments(test "" "ONLY;WITHOUT" "" ${ARGN})
  if((EDGEWISE_CUDA AND operations STREQUAL "cuda-emulated") OR (NOT EDGEWISE_CUDA AND operations STREQUAL "cuda"))
    return()
  endif()
  get_target_property(environment test_${name} EDGEWISE_ENVIRONMENT)
  list(APPEND environment "GTEST_FILTER=${test_ONLY}-${test_WITHOUT}")
  if(operations STREQUAL "cuda")
    list(APPEND environment "EDGEWISE_TEST_DEVICE=cuda")
  else()
    list(APPEND environment "EDGEWISE_OPERATIONS=${operations}")
  endif()
  string(REPLACE "-" "_" suffix "${operations}")
  edgewise_test_shards(${name}_${suffix} "" "${environment}" tests)
  set_tests_properties(${tests} PROPERTIES LABELS full COST 500)
  if(operations STREQUAL "cuda")
    edgewise_gpu_tests(${tests})
  endif()
endfunction()

# edgewise_gpu_tests makes CTest skip tests where CUDA finds no GPU that it can use.
function(edgewise_gpu_tests)
  set_tests_properties(${ARGN} PROPERTIES SKIP_REGULAR_EXPRESSION
    "no CUDA-capable device is detected;driver version is insufficient;Found no NVIDIA driver;No CUDA GPUs are available")
endfunction()
