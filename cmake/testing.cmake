# SPDX-License-Identifier: Apache-2.0
# edgewise_test declares the test program of a layer; one program per layer keeps heavy headers to few files.
#   edgewise_test(graph SOURCES relation_test.cc … [LIBRARIES edgewise_graph …] [SEPARATE])
# SEPARATE: each file is compiled alone, because several files define the same names.
if(EDGEWISE_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  find_library(RAPIDCHECK_LIBRARY rapidcheck REQUIRED)
endif()

function(edgewise_test name)
  cmake_parse_arguments(test "SEPARATE" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(test_${name} ${test_SOURCES})
  if(NOT test_SEPARATE)
    set_target_properties(test_${name} PROPERTIES UNITY_BUILD ${EDGEWISE_UNITY})
  endif()
  target_link_libraries(test_${name} PRIVATE
    edgewise_compiler ${test_LIBRARIES} GTest::gmock GTest::gtest_main ${RAPIDCHECK_LIBRARY})
  # Test code needs little optimisation: the time is spent in the library.
  target_compile_options(test_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(EDGEWISE_SANITIZE MATCHES undefined)
    # The library is checked, the tests are not: checks of the tests' arithmetic would double their build time, and
    # optimising tests takes longer than it saves.
    target_compile_options(test_${name} PRIVATE -fno-sanitize=undefined -O0)
  endif()
  # One process per program: starting libtorch for each of hundreds of tests would take longer than the tests.
  add_test(NAME ${name} COMMAND test_${name} --gtest_brief=1)
  # Several programs share the cores at a time, and the busy-waiting threads of libtorch's OpenMP would take the cores
  # from other programs. die_after_fork=0: some tests start threads in a forked process. RC_PARAMS: a run of CTest has
  # the same random cases each time; scripts/soak and a program that is started by hand draw other ones.
  set(support "${PROJECT_SOURCE_DIR}/tests/support")
  set_tests_properties(${name} PROPERTIES TIMEOUT 3000 ENVIRONMENT
    "OMP_WAIT_POLICY=passive;RC_PARAMS=seed=1;LSAN_OPTIONS=suppressions=${support}/leaks.txt:print_suppressions=0;TSAN_OPTIONS=suppressions=${support}/threads.txt:print_suppressions=0:die_after_fork=0")
endfunction()

# edgewise_slow_tests makes the tests that match a filter of GoogleTest a CTest test of their own, <name>_slow with the
# label slow. With SHARDS, they become several, <name>_slow_0 and so on, which share the cores. With sanitizers they take
# minutes, so CI runs them without sanitizers.
#   edgewise_slow_tests(apps "Kill*:Train*" SHARDS 4)
function(edgewise_slow_tests name filter)
  cmake_parse_arguments(slow "" "SHARDS" "" ${ARGN})
  get_test_property(${name} ENVIRONMENT environment)
  set(shards "${slow_SHARDS}")
  if(NOT shards)
    set(shards 1)
  endif()
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    set(test ${name}_slow)
    if(shards GREATER 1)
      set(test ${name}_slow_${shard})
    endif()
    add_test(NAME ${test} COMMAND test_${name} --gtest_brief=1 "--gtest_filter=${filter}")
    # CTest starts the tests of the highest COST first.
    set_tests_properties(${test} PROPERTIES LABELS slow TIMEOUT 3000 COST 1000 ENVIRONMENT
      "${environment};GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${shard}")
  endforeach()
  set_tests_properties(${name} PROPERTIES COST 900 ENVIRONMENT "${environment};GTEST_FILTER=-${filter}")
endfunction()
